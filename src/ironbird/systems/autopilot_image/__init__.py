"""An autopilot's unmodified image on an emulated flight controller."""
