"""The planner: straight on where it is free, round what is in the way, nowhere if there is no way."""

from __future__ import annotations

import numpy as np
import pytest

from ironbird.world.model import Box, Plane, World
from ironbird.world.rays import Scene
from ironbird.world.vfh import Planner, cell_directions

GOAL = np.array([30.0, 0.0, -6.0])
START = np.array([0.0, 0.0, -6.0])


def planner() -> Planner:
    return Planner(radius_m=0.4, speed_mps=3.0)


def test_cells_are_unit_vectors_ten_degrees_apart() -> None:
    cells = cell_directions()

    np.testing.assert_allclose((cells**2).sum(axis=1), 1.0)
    others = np.sort(cells[4 * 36 : 5 * 36] @ cells[4 * 36])[::-1]
    assert np.degrees(np.arccos(others[1])) == pytest.approx(10.0)


def test_a_free_way_is_flown_straight_and_slows_down_at_the_goal() -> None:
    np.testing.assert_allclose(planner().velocity(START, GOAL), [3.0, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(planner().velocity(GOAL - [1.0, 0.0, 0.0], GOAL), [1.0, 0.0, 0.0], atol=1e-9)


def test_it_turns_away_from_what_is_ahead_as_far_as_its_size_needs() -> None:
    seen = planner()
    seen.see(0.0, START, START + np.array([[6.0, 0.0, 0.0]]))

    way = seen.velocity(START, GOAL)

    angle = np.degrees(np.arccos(way[0] / np.linalg.norm(way)))
    assert angle >= np.degrees(np.arcsin(1.2 / 6.0)) - 1e-9  # radius and margin, seen from 6 m
    assert angle < 30.0


def test_it_stands_if_everything_is_blocked() -> None:
    seen = planner()
    seen.see(0.0, START, START + 2.0 * cell_directions())

    np.testing.assert_array_equal(seen.velocity(START, GOAL), np.zeros(3))


def test_it_forgets() -> None:
    seen = planner()
    seen.see(0.0, START, START + np.array([[6.0, 0.0, 0.0]]))
    seen.see(10.0, START, np.zeros((0, 3)))

    np.testing.assert_allclose(seen.velocity(START, GOAL), [3.0, 0.0, 0.0], atol=1e-9)


def test_a_point_mass_passes_a_wall_without_touching_it() -> None:
    scene = Scene(World("yard", terrain=Plane(), obstacles=(Box("wall", (15.0, 2.0, -7.0), size_m=(1.0, 16.0, 14.0)),)))
    pilot, rays = planner(), cell_directions()
    place, nearest, path = START.copy(), np.inf, []
    for step in range(300):
        hits = scene.cast(np.broadcast_to(place, rays.shape), rays, 30.0)
        pilot.see(0.1 * step, place, place + rays * np.where(hits.object >= 0, hits.range_m, np.nan)[:, None])
        place = place + 0.1 * pilot.velocity(place, GOAL)
        nearest = min(nearest, float(scene.distance(place[None], terrain=False)[0][0]))
        path.append(place)
        if np.linalg.norm(place - GOAL) < 0.3:
            break

    assert np.linalg.norm(place - GOAL) < 0.5
    assert nearest > 0.4 + 0.3
    assert np.abs(np.array(path)[:, 1]).max() > 4.0  # it went round: the wall reaches 6 m west
