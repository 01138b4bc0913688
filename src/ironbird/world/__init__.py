"""The world [Dai] S_3d, Eq. 3: terrain, obstacles, water, pads, moving objects, and the sensors that see them."""
