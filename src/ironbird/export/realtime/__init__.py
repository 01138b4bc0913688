"""A program that runs a vehicle in real time on a small Linux board."""
