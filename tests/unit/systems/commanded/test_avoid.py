"""The front end `avoid`: a mission flown round what a lidar sees, in ordinary flights and cases, with its faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironbird.campaign.batch import fly_batch
from ironbird.campaign.result import FlightResult
from ironbird.campaign.suite import load_suite
from ironbird.errors import LinkError
from ironbird.flight.flight import fly
from ironbird.flight.order import make_order

WALL = """
schema = 1
[terrain]
kind = "plane"
[[box]]
name = "wall"
north_m = 9.0
east_m = 1.5
size_m = [1.0, 8.0, 14.0]
"""
SUITE = """
schema = 1
[[case]]
id = "round"
vehicle = "quad_f450"
control = "commanded"
options = { front = "avoid", state = "truth", avoid_mps = 4.0 }
world = "wall.toml"
until_s = 20.0
mission = { item = [{ kind = "waypoint", north_m = 15.0, height_m = 3.0 }] }
[[case.sight]]
kind = "scanning_lidar"
name = "lidar"
rings = 9
columns = 36
low_deg = -40.0
high_deg = 40.0
max_m = 30.0
[[case.require]]
name = "clear"
formula = "always (min_distance > 0.3 m)"
[[case.require]]
name = "there"
formula = "eventually (distance > 13 m)"
"""
BLIND = SUITE.replace('id = "round"', 'id = "blind"').replace("schema = 1\n", "") + (
    '[[case.fault]]\nid = "sight.black@1"\ninstance = "lidar"\nstart_s = 0.0\n'
)


@pytest.fixture(scope="module")
def flown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FlightResult]:
    folder = tmp_path_factory.mktemp("avoid")
    (folder / "wall.toml").write_text(WALL)
    (folder / "suite.toml").write_text(SUITE + BLIND)
    flights = load_suite(folder / "suite.toml").flights()
    return {flight.case_id: fly_batch([flight], threads=1).flights[0] for flight in flights}


def test_a_case_goes_round_the_wall_that_its_lidar_sees(flown: dict[str, FlightResult]) -> None:
    assert (flown["round"].verdict, flown["round"].crashed) == ("pass", False)
    assert flown["round"].ended_s < 15.0  # it ends when it is there


def test_with_a_black_lidar_it_hits_the_wall(flown: dict[str, FlightResult]) -> None:
    assert flown["blind"].verdict == "fail" and "collision" in flown["blind"].outcome
    (witness,) = flown["blind"].witnesses
    assert witness["effective"]


def test_a_flight_repeats_to_the_bit(flown: dict[str, FlightResult], tmp_path: Path) -> None:
    (tmp_path / "wall.toml").write_text(WALL)
    (tmp_path / "suite.toml").write_text(SUITE)
    (case,) = load_suite(tmp_path / "suite.toml").flights()
    again = fly(case)
    assert again.sha256 == flown["round"].sha256 and again.repeats
    assert again.order.script  # its commands were recorded


def test_what_it_cannot_do_is_told_before_the_flight() -> None:
    blind = make_order("quad_f450", control="commanded", options={"front": "avoid"}, mission="square")
    with pytest.raises(LinkError, match="sees nothing: order a world and a lidar"):
        fly(blind)
