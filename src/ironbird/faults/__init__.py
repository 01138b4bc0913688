"""Faults as data: which parameter or signal they change, how, and their names."""
