"""Chips in use: their models in C, measurements from the vehicle, wire faults, and drivers of other projects."""
