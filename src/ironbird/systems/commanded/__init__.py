"""Vehicles whose own autopilot flies them and accepts commands from outside: front ends, the commander, the stream."""
