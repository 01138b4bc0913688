"""Worlds with control systems outside, and scenarios of mixed vehicles: kernels that take long to compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironbird.flight.flight import fly
from ironbird.flight.order import make_order
from ironbird.scenario.run import fly_scenario
from ironbird.vehicles import places as at

WALL = """schema = 1
[terrain]
kind = "plane"
[[box]]
name = "wall"
north_m = 12.0
size_m = [1.0, 40.0, 30.0]
"""
MIXED = """schema = 1
world = "field"
until_s = 20.0
require = ["always (distance(quad, heli) > 2 m)"]
[[vehicle]]
name = "quad"
vehicle = "quad_f450"
[[vehicle]]
name = "car"
vehicle = "car_escort"
east_m = 12.0
[[vehicle]]
name = "heli"
vehicle = "heli_xcell60"
east_m = -12.0
[[vehicle]]
name = "seeker"
vehicle = "quad_f450"
north_m = -6.0
avoid = { north_m = 10.0, east_m = 4.0, height_m = 6.0 }
[[vehicle]]
name = "commanded"
vehicle = "quad_f450"
control = "commanded"
north_m = -12.0
"""


def test_a_control_system_outside_hits_the_wall_too() -> None:
    outside = fly(make_order("quad_f450", control="commanded", world=WALL, until_s=14.0))

    assert outside.stop is not None and outside.stop.reason == "collision"
    assert outside.log[at.BODY.position][-1, 0] == pytest.approx(11.5 - 0.301, abs=0.1)


def test_five_mixed_vehicles_with_a_lidar_are_equal_on_one_and_two_workers_and_twice(tmp_path: Path) -> None:
    file = tmp_path / "mixed.toml"
    file.write_text(MIXED)

    hashes = [fly_scenario(file, workers=workers).sha256 for workers in (1, 2, 1)]

    assert len(set(hashes)) == 1


@pytest.mark.parametrize("name", ["leader_follower", "landing_on_a_deck", "round_the_wall"])
def test_the_shipped_scenarios_pass(name: str) -> None:
    flown = fly_scenario(name)

    assert flown.verdict == "pass", flown.sentence
