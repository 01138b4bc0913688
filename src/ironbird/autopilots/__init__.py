"""What PX4 and ArduPilot call things: their parameters for every kind of vehicle, channels, messages, programs."""
