"""Blows between vehicles: momentum and its moment are kept, energy never grows, the closed form of two balls."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from ironbird import rotations
from ironbird.runtime.state import RunState
from ironbird.scenario.impact import RESTITUTION, Body, collide


class Lane:
    """Takes what would be written into a run."""

    def set_state(self, path: str, value: object, lane: int) -> None:
        """Nothing is kept."""


def body(random: np.random.Generator, mass: float) -> Body:
    q = random.normal(size=4)
    inertia = np.diag(random.uniform(0.5, 1.0, 3)) * mass * 0.02
    return Body(
        cast(RunState, Lane()), 0, True, mass, inertia, random.normal(scale=0.2, size=3),
        random.normal(scale=3.0, size=3), q / np.linalg.norm(q), random.normal(scale=2.0, size=3),
    )  # fmt: skip


def energy(b: Body) -> float:
    return float(0.5 * b.mass * b.velocity @ b.velocity + 0.5 * b.rates @ b.inertia @ b.rates)


def moment(b: Body) -> np.ndarray:
    R = rotations.matrix(b.q)
    return np.asarray(np.cross(b.position, b.mass * b.velocity) + R @ (b.inertia @ b.rates))


def test_blows_keep_momentum_and_make_no_energy() -> None:
    random = np.random.default_rng(1)
    hits = 0
    for _ in range(300):
        a, b = body(random, random.uniform(0.5, 5.0)), body(random, random.uniform(0.5, 5.0))
        n = random.normal(size=3)
        n /= np.linalg.norm(n)
        where = random.normal(scale=0.3, size=3)
        momentum = a.mass * a.velocity + b.mass * b.velocity
        turning, before = moment(a) + moment(b), energy(a) + energy(b)

        hits += collide(a, b, where, n) > 0

        np.testing.assert_allclose(a.mass * a.velocity + b.mass * b.velocity, momentum, atol=1e-9)
        np.testing.assert_allclose(moment(a) + moment(b), turning, atol=1e-9)
        assert energy(a) + energy(b) <= before * (1 + 1e-12)
    assert hits > 80


def test_two_balls_head_on_are_the_closed_form() -> None:
    random = np.random.default_rng(2)
    a, b = body(random, 1.0), body(random, 3.0)
    for one, north, speed in ((a, 0.0, 2.0), (b, 1.0, -1.0)):
        one.position, one.velocity, one.rates = np.array([north, 0, 0]), np.array([speed, 0, 0]), np.zeros(3)

    closing = collide(a, b, np.array([0.5, 0.0, 0.0]), np.array([-1.0, 0.0, 0.0]))

    assert closing == pytest.approx(3.0)
    blow = (1 + RESTITUTION) * 3.0 / (1 / 1.0 + 1 / 3.0)
    assert a.velocity[0] == pytest.approx(2.0 - blow) and b.velocity[0] == pytest.approx(-1.0 + blow / 3.0)


def test_bodies_that_part_are_left_alone() -> None:
    random = np.random.default_rng(3)
    a, b = body(random, 1.0), body(random, 1.0)
    a.velocity, b.velocity = np.array([-1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])
    a.rates = b.rates = np.zeros(3)

    assert collide(a, b, np.zeros(3), np.array([-1.0, 0.0, 0.0])) == 0.0
