"""Faults as data: what breaks, how, and how it is named."""
