"""Vehicles from a parts list: hover, endurance, range and payload, a vehicle file, and a search over parts."""
