"""Functional Mock-up Units of others as control systems."""
