"""Distances to shapes: closed forms, the ray caster's own distances, and gradients by differences."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from ironbird.rotations import from_euler
from ironbird.symbolic import shapes
from ironbird.testing.alone import numeric
from ironbird.world.model import Box, Cylinder, Obstacle, Plane, Sphere, World
from ironbird.world.near import columns_of
from ironbird.world.rays import Scene

TURN = tuple(from_euler([0.4, -0.7, 1.1]))
SHAPES: list[Obstacle] = [
    Box("box", (1.0, -2.0, 3.0), TURN, size_m=(1.0, 2.0, 0.6)),
    Cylinder("cylinder", (-1.0, 0.5, -2.0), TURN, radius_m=0.7, height_m=1.8),
    Sphere("ball", (0.3, 0.2, -0.1), radius_m=0.9),
]
distance = numeric(lambda p, s: shapes.distance_to(p, s, ca.SX(0))[0], 3, shapes.SLOT_ROWS)
away = numeric(lambda p, s: shapes.distance_to(p, s, ca.SX(0))[1], 3, shapes.SLOT_ROWS)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.name)
def test_distances_agree_with_the_ray_casters(shape: Obstacle) -> None:
    random = np.random.default_rng(1)
    places = np.asarray(shape.p_N_m) + random.normal(scale=1.2, size=(300, 3))
    column = columns_of(shape)[:, 0]
    scene = Scene(World("one", terrain=Plane(-1000.0), obstacles=(shape,)))

    ours = np.array([float(distance(place, column)[0]) for place in places])

    theirs, _ = scene.distance(places, terrain=False)
    np.testing.assert_allclose(ours, theirs, atol=1e-9)
    assert (ours < 0).any() and (ours > 0).any()


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.name)
def test_the_direction_is_the_gradient(shape: Obstacle) -> None:
    random = np.random.default_rng(2)
    column, h = columns_of(shape)[:, 0], 1e-6
    for place in np.asarray(shape.p_N_m) + random.normal(scale=1.2, size=(20, 3)):
        slope = [
            float(distance(place + h * axis, column)[0] - distance(place - h * axis, column)[0]) / (2 * h)
            for axis in np.eye(3)
        ]
        np.testing.assert_allclose(away(place, column), slope, atol=1e-5)


def test_an_empty_slot_is_far_away_and_a_moving_shape_moves() -> None:
    moving = columns_of(SHAPES[2])[:, 0]
    moving[shapes.VELOCITY : shapes.VELOCITY + 3] = [2.0, 0.0, 0.0]
    later = numeric(lambda p, s, t: shapes.distance_to(p, s, t)[0], 3, shapes.SLOT_ROWS, 1)

    assert float(distance([0.0, 0.0, 0.0], np.zeros(shapes.SLOT_ROWS))[0]) == shapes.FAR_M
    assert float(later([5.3, 0.2, -0.1], moving, [1.0])[0]) == pytest.approx(3.0 - 0.9)


def test_of_several_slots_the_nearest_counts() -> None:
    table = np.stack([columns_of(shape)[:, 0] for shape in SHAPES], axis=1)
    nearest = numeric(lambda p, s: shapes.nearest_of(p, s.reshape((shapes.SLOT_ROWS, 3)), ca.SX(0))[0], 3, 3 * 22)
    for place in np.random.default_rng(3).normal(scale=2.0, size=(20, 3)):
        expected = min(float(distance(place, column)[0]) for column in table.T)

        assert float(nearest(place, table.flatten(order="F"))[0]) == pytest.approx(expected, abs=1e-12)
