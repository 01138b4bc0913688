"""Data about PX4 and ArduPilot: their parameters for every kind of vehicle, channels, messages, programs."""
