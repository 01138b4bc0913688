"""Sensor chips, one file each."""
