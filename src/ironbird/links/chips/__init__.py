"""Chips in use: their models in C, measurements from the vehicle, wire faults, and clients that nobody here wrote."""
