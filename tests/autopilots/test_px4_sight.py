"""The real PX4 sees our world: its collision prevention stops before a wall, and its estimator hears our sensors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyulog import ULog

from ironbird.autopilots.px4.process import VARIABLE
from ironbird.flight.flight import Flight, fly
from ironbird.flight.mission import Mission
from ironbird.flight.order import make_order

pytestmark = [
    pytest.mark.autopilot,
    pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} names no PX4"),
]
WALL = """
schema = 1
[terrain]
kind = "plane"
[material.white]
reflectance = 0.9
checker_m = 0.7
[[box]]
name = "wall"
north_m = 30.5
size_m = [1.0, 60.0, 20.0]
material = "white"
"""
WALL_M = 30.0
KEPT_M = 4.0  # CP_DIST
RING = {"kind": "ring", "name": "around", "beams": 72, "rate_hz": 20, "max_m": 25.0}


def mission(north_m: float, hold_s: float = 0.0) -> Mission:
    place = {"kind": "waypoint", "north_m": north_m, "height_m": 5.0, "hold_s": hold_s}
    return Mission.model_validate({"schema": 1, "cruise_speed_mps": 5.0, "item": [place, {"kind": "land"}]})


def flown(folder: Path, params: str, *tables: dict[str, Any], pilot: str = "sticks", **more: Any) -> Flight:
    said = {"mission": mission(45.0), "sight": tables or (RING,), **more}
    options = {"time": "virtual", "pilot": pilot, "params": params}
    order = make_order("quad_f450", control="px4", world=WALL, until_s=120.0, options=options, **said)
    return fly(order, folder=folder)


def test_px4_stops_before_a_wall_that_our_ring_sees_and_repeats_to_the_byte(tmp_path: Path) -> None:
    flight = flown(tmp_path / "a", f"CP_DIST={KEPT_M:g}")
    north = flight.log["body.p_NB_N"][:, 0]
    assert flight.verdict == "pass" and "finished" in [event.kind for event in flight.autopilot_events]
    assert np.linalg.norm(flight.log["body.v_NB_N"], axis=1).max() > 3.5  # it came on in earnest
    assert WALL_M - KEPT_M - 1.0 < north.max() < WALL_M - KEPT_M + 0.5
    assert any("not reached" in event.text for event in flight.autopilot_events)
    again = flown(tmp_path / "b", f"CP_DIST={KEPT_M:g}")
    assert again.sha256_of_all == flight.sha256_of_all
    assert [s.time_s for s in again.samples] == [s.time_s for s in flight.samples]


@pytest.mark.parametrize(
    ("params", "faults"),
    [("", ()), (f"CP_DIST={KEPT_M:g}", ("sight.frozen@1:instance=around,start=15",))],
    ids=["without collision prevention", "with a frozen ring"],
)
def test_px4_hits_the_wall_otherwise(params: str, faults: tuple[str, ...], tmp_path: Path) -> None:
    flight = flown(tmp_path, params, faults=faults)
    assert flight.verdict == "fail" and "collision" in flight.outcome
    assert all(witness.effective for witness in flight.witnesses)


def test_px4_hears_a_rangefinder_optical_flow_and_odometry(tmp_path: Path) -> None:
    down = {"kind": "rangefinder", "name": "down", "euler_deg": [0, -90, 0], "rate_hz": 20, "max_m": 40.0}
    flow = {"kind": "optical_flow", "name": "flow", "rate_hz": 20, "width": 32, "height": 32}
    odometry = {"kind": "odometry", "name": "vio", "rate_hz": 30, "noise_m": 0.02, "noise_mps": 0.02, "noise_deg": 0.5}
    flight = flown(tmp_path, "", RING, down, flow, odometry, pilot="ours", mission=mission(0.0, 5.0))
    assert flight.verdict == "pass"
    (path,) = tmp_path.glob("*.ulg")
    topics = {data.name: data.data for data in ULog(str(path)).data_list}
    heard = topics["distance_sensor"]
    assert heard["current_distance"].max() == pytest.approx(flight.log["sight/down.range"].max(), abs=0.3)
    place = topics["vehicle_visual_odometry"]
    assert place["position[2]"].min() == pytest.approx(flight.log["body.p_NB_N"][:, 2].min(), abs=0.3)
    assert "vehicle_optical_flow" in topics or "sensor_optical_flow" in topics
