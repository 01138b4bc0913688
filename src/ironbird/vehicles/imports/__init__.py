"""Import of vehicles from other simulators and autopilots to vehicle files."""
