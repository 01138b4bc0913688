"""Many flights: case files and suites, batches and workers, the store, search, statistics."""
