"""Whether the way of a mission, flown straight from item to item, passes through an obstacle or the ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ironbird.flight.mission import Item
from ironbird.world.model import World
from ironbird.world.rays import Scene

STEP_M = 0.2  # between the points that are examined
ARMED_S = 3.0  # a mission begins about so long after the start
CLIMB_MPS = 2.5  # of the take-off, about


@dataclass(frozen=True)
class Passage:
    """Where a mission first comes too near to something."""

    name: str  # of the obstacle; "the ground"
    item: int  # number of the mission's item on the way to it, from 1
    north_m: float
    east_m: float
    height_m: float
    time_s: float  # after the start, about

    def sentence(self) -> str:
        """What the mission passes, where, and about when."""
        return (
            f"The mission passes through {self.name} on the way to item {self.item}, {self.north_m:.0f} m north, "
            f"{self.east_m:.0f} m east, {self.height_m:.0f} m high, about {self.time_s:.0f} s after the start"
        )


def first_obstacle(items: Sequence[Item], world: World, *, reach_m: float, speed_mps: float) -> Passage | None:
    """The first place where the way of a mission is nearer to an obstacle than the vehicle's reach; None if free."""
    here, time_s = np.array([0.0, 0.0, -float(world.height_at(0.0, 0.0))]), ARMED_S
    scene = Scene(world).at(0.0)
    for number, item in enumerate(items, start=1):
        lands = item.kind == "land"
        there = np.array([here[0], here[1], 0.0] if lands else [item.north_m, item.east_m, -item.height_m])
        length = float(np.linalg.norm(there - here))
        points = here + (there - here) * np.linspace(0.0, 1.0, max(2, round(length / STEP_M)))[:, None]
        speed = CLIMB_MPS if lands or number == 1 else max(speed_mps, 0.1)
        distance, found = scene.distance(points, terrain=False)
        struck = (distance < reach_m) & (found >= 0)
        below = -points[:, 2] < world.height_at(points[:, 0], points[:, 1]) - STEP_M
        wrong = struck if lands or number == 1 else struck | below
        if wrong.any():
            row = int(np.argmax(wrong))
            name = scene.names[int(found[row])] if struck[row] else "the ground"
            place = points[row]
            passed_s = time_s + float(np.linalg.norm(place - here)) / speed
            return Passage(name, number, place[0], place[1], -place[2], passed_s)
        time_s += length / speed + item.hold_s
        here = there
    return None
