"""Templates that turn a vehicle file into a diagram, one per kind of vehicle.

All put the same parts at the same places, those of `ironbird.vehicles.places`, so that sensors, faults and reports fit
every vehicle. Tables of a file follow from the blocks that take their values: `ironbird.vehicles.tables`.
"""
