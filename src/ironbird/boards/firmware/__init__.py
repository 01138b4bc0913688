"""Firmware in the loop: a microcontroller that runs an image, its board, and the tilt-rotor bench."""
