"""A vehicle behind the functions of RflySim's model libraries."""
