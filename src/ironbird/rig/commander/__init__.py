"""Commands to the navigator of the reference autopilot, whoever gives them."""
