"""ArduPilot: its JSON link, channels, parameters, faults, logs and process."""
