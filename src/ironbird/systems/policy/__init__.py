"""Trained policies as control systems: read from a file, flown, faulted, judged, and exported to C."""
