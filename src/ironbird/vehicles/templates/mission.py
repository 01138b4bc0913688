"""Default mission of a vehicle, until a flight sets another."""

from __future__ import annotations

import numpy as np

from ironbird.blocks.controllers.mission_table import FLY, ROWS

MISSION_ITEMS = 16


def mission_table(first: list[float]) -> list[list[float]]:
    """A mission of one item: north, east, down, yaw, hold time."""
    table = np.zeros((ROWS, MISSION_ITEMS))
    table[:, 0] = [*first, FLY]
    return [list(row) for row in table]
