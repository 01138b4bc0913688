"""Commands to the navigator of the reference autopilot, from any source."""
