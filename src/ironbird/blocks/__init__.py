"""Blocks of vehicles and surroundings, one file each; folders are the subsystems of [Dai] Eq. 3 and 4."""
