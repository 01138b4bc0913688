"""Sticks: gamepads, keyboards and recorded stick files, into the reference autopilot or over MAVLink."""
