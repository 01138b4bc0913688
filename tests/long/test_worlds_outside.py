"""Worlds with control systems outside, and scenarios of mixed vehicles: kernels that take long to compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironbird.flight.flight import fly
from ironbird.flight.order import make_order
from ironbird.flight.sights import sha256_of
from ironbird.scenario.grammar import BUILT_IN
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

    flown = [fly_scenario(file, workers=workers) for workers in (1, 2, 1)]

    assert len({one.sha256 for one in flown}) == 1
    assert len({sha256_of(one.vehicle("seeker").samples) for one in flown}) == 1
    assert len(flown[0].vehicle("seeker").samples) == 200


def test_who_goes_round_a_wall_hits_it_with_a_blind_lidar(tmp_path: Path) -> None:
    file = BUILT_IN / "round_the_wall.toml"
    text = file.read_text().replace("worlds/wall.toml", str(BUILT_IN / "worlds" / "wall.toml"))
    blind = tmp_path / "blind.toml"
    blind.write_text(f'{text}\nfault = ["sight.black@1:instance=lidar,start=2"]\n')
    flown = fly_scenario(blind)

    assert flown.verdict == "fail" and "collision" in flown.vehicle("pilot").judged.outcome
    assert flown.witnesses["pilot"][0].effective
