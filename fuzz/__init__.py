"""Fuzzers of everything that reads what others wrote: see README.md in this folder."""
