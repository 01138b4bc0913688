"""The reference autopilot behind PX4 mixer files."""
