"""Labelled data sets of faulted flights, for learning to detect and diagnose faults."""
