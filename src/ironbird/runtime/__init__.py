"""Run states, stepping, events, logs."""
