"""Vehicles whose own autopilot flies them and hears commands from outside: front ends, the commander, the stream."""
