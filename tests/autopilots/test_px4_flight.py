"""The real PX4 on vehicles of the catalogue. Needs IRONBIRD_PX4; `make test-autopilots` runs it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ironbird.autopilots.px4.process import VARIABLE, free_instance, px4_runs
from ironbird.flight import flight as flights
from ironbird.flight.flight import Flight
from ironbird.flight.order import Weather, make_order

pytestmark = [
    pytest.mark.autopilot,
    pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} names no PX4"),
]
CORNERS = ((0.0, 0.0), (20.0, 0.0), (20.0, 20.0), (0.0, 20.0), (0.0, 0.0))  # north, east of the mission `square`


def fly(vehicle: str, keep: Path, **ordered: Any) -> Flight:
    """A flight on a free instance; its port and lock are free afterwards."""
    instance = free_instance()
    order = make_order(vehicle, control="px4", options={"instance": instance}, until_s=240.0, **ordered)
    flight = flights.fly(order, folder=keep)
    assert not px4_runs(instance)
    return flight


def position(flight: Flight) -> np.ndarray:
    """Of the body: north, east, down."""
    return flight.log["body.p_NB_N"]


def said(flight: Flight, kind: str) -> list[str]:
    """What PX4 did of a kind."""
    return [event.text for event in flight.autopilot_events if event.kind == kind]


def test_f450_flies_a_square_in_wind_and_lands(tmp_path: Path) -> None:
    flight = fly("quad_f450", tmp_path, mission="square", weather=Weather(5.0, 270.0, 5.0), seed=1)
    assert flight.stop is None  # no crash
    assert said(flight, "finished") == ["landed and disarmed"]
    path = position(flight)
    for north, east in CORNERS:
        away = np.hypot(path[:, 0] - north, path[:, 1] - east)[path[:, 2] < -8]
        assert away.min() < 3.0  # acceptance radius of 2 m, wander of the receiver
    assert -path[:, 2].max() < 0.5  # on the ground
    assert -path[:, 2].min() == pytest.approx(10.0, abs=2.5)  # barometer's drift and wind pressure
    assert len(list(tmp_path.glob("*.ulg"))) == 1
    assert flight.ended_s / flight.wall_s > 1.0  # faster than real time on any machine


def test_a_lost_rotor_brings_the_quadcopter_down(tmp_path: Path) -> None:
    fault = "rotor.speed_loss@1:instance=1,severity=1,start=25"
    flight = fly("quad_f450", tmp_path, mission="square", faults=(fault,))
    assert flight.stop is not None and flight.stop.time_s > 25.0
    assert flight.witnesses[0].effective


@pytest.mark.parametrize("vehicle", ["hexa_x", "octo_coax", "quad_h250"])
def test_multicopters_of_all_sizes_fly(vehicle: str, tmp_path: Path) -> None:
    flight = fly(vehicle, tmp_path, mission="square")
    assert flight.stop is None
    assert said(flight, "finished") == ["landed and disarmed"]


def test_tilt_rotor_flies_a_square_in_wind_and_repeats_to_the_byte(tmp_path: Path) -> None:
    ordered: dict[str, Any] = {"mission": "square", "weather": Weather(5.0, 240.0, 5.0), "seed": 2}
    order = make_order("tiltrotor_provant", control="px4", until_s=240.0, options={"time": "virtual"}, **ordered)
    first, second = (flights.fly(order, folder=tmp_path / name) for name in ("a", "b"))
    assert first.stop is None and said(first, "finished") == ["landed and disarmed"]
    path = position(first)
    for north, east in CORNERS:
        away = np.hypot(path[:, 0] - north, path[:, 1] - east)[path[:, 2] < -8]
        assert away.min() < 3.0
    tilts = np.degrees(first.log["body.tilt"])
    assert np.abs(tilts).max() > 3.0  # pitch and yaw are theirs
    assert first.judged.sha256 == second.judged.sha256


def test_tail_sitter_lands_in_wind_with_the_edges_of_its_wings_in_it(tmp_path: Path) -> None:
    weather = Weather(5.0, 270.0, 5.0)
    order = make_order("vtol_tailsitter", control="px4", until_s=400.0, options={"time": "virtual"}, weather=weather)
    flight = flights.fly(order, folder=tmp_path)
    assert flight.stop is None and said(flight, "finished") == ["landed and disarmed"]
    assert np.hypot(*position(flight)[-1, :2]) < 3.0


def test_quadplane_changes_to_wings_and_back(tmp_path: Path) -> None:
    flight = fly("vtol_standard", tmp_path)
    assert said(flight, "finished") == ["landed and disarmed"]
    speed = np.linalg.norm(flight.log["body.v_NB_N"], axis=1)
    assert speed.max() > 12.0  # on wings
