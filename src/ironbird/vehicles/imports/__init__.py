"""Vehicles of other simulators and autopilots made into vehicle files."""
