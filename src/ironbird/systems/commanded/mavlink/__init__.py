"""MAVLink front end of the reference autopilot, compatible with PX4: ground stations and libraries work unchanged."""
