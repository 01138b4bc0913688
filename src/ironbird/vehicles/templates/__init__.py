"""Recipes that turn a vehicle file into a diagram, one per kind of vehicle.

All use the same names for the same places, so that sensors, faults and reports fit every vehicle:
`body`, `gravity`, `atmosphere`, `magnetic`, `terrain`, `air`, `wind/steady`, `wind/shear`, `wind/gust`,
`wind/turbulence`, `rotor/N/motor`, `rotor/N/propeller`, `airframe`, `contact`, `battery`, `control`, `navigator`,
`crash`.
"""
