"""Functional Mock-up Units (FMUs) of other tools as control systems."""
