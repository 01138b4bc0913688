"""Vehicles in a world: hulls that hold the vehicle, and diagrams that stay whole."""

from __future__ import annotations

import numpy as np
import pytest

from ironbird.vehicles import places as at
from ironbird.vehicles.in_world import MOST_BALLS, Hull, hull_of, put_in_world
from ironbird.vehicles.load import load_vehicle


@pytest.mark.parametrize("name", ["quad_f450", "aerosonde", "car_escort", "rover_differential", "boat_otter"])
def test_every_kind_of_vehicle_can_be_put_in_a_world(name: str) -> None:
    vehicle = load_vehicle(name)
    blocks = set(vehicle.diagram.blocks)

    placed = put_in_world(vehicle)

    placed.diagram.validate()
    assert {at.POSE.path, at.CLEARANCE.path} <= set(placed.diagram.blocks) - blocks
    assert set(vehicle.diagram.blocks) == blocks  # the vehicle without a world is what it was
    assert ("world/obstacles" in placed.diagram.blocks) == ("force_B" in vehicle.diagram.block("body").inputs)


def test_the_hull_of_the_f450_reaches_its_propellers_and_stands_on_its_gear() -> None:
    hull = hull_of(load_vehicle("quad_f450").diagram)

    assert 0.28 < hull.half_m[0] < 0.35  # arm 0.159 m along x, propeller 0.127 m
    assert hull.centre_m[2] + hull.half_m[2] == pytest.approx(0.12)
    balls = hull.balls_m()
    assert (balls[2] + hull.radius_m).max() == pytest.approx(0.12)


@pytest.mark.parametrize("half", [(1.0, 1.0, 1.0), (2.0, 0.5, 0.5), (0.3, 0.3, 0.08), (1.5, 0.1, 0.1)])
def test_the_balls_fill_the_hull_without_gaps_and_are_few(half: tuple[float, float, float]) -> None:
    hull = Hull((0.1, 0.2, 0.3), half)
    balls, r = hull.balls_m(), hull.radius_m

    assert balls.shape[1] <= MOST_BALLS
    for axis, size in enumerate(half):
        places = np.unique(np.round(balls[axis], 9))
        assert (np.diff(places) <= 2 * r + 1e-9).all()
        assert places.max() + r >= hull.centre_m[axis] + size - 1e-9
