"""Structures that RflySim sends over UDP."""
