"""Processes of other programs on this computer: start, supervision, end, real time, and virtual time."""
