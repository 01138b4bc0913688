"""Formats of other programs: MAVLink, plans, parameters, autopilot logs, RflySim structures. No processes."""
