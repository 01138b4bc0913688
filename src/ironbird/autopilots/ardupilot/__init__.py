"""ArduPilot: parameters and output channels for every kind of vehicle, its program."""
