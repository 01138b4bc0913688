"""The reference autopilot behind drivers of chips."""
