"""The real PX4 on ground and water vehicles of the catalogue. Needs IRONBIRD_PX4; `make test-autopilots` runs it."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ironbird.autopilots.px4.process import VARIABLE, free_instance, px4_runs
from ironbird.flight.flight import Flight, fly
from ironbird.flight.order import make_order

pytestmark = [
    pytest.mark.autopilot,
    pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} names no PX4"),
]


def drive(vehicle: str, keep: Path, **ordered: Any) -> Flight:
    """The vehicle's own mission on a free instance; its lock is free afterwards."""
    instance = free_instance()
    order = make_order(vehicle, control="px4", options={"instance": instance}, until_s=400.0, **ordered)
    flight = fly(order, folder=keep)
    assert not px4_runs(instance)
    return flight


def distances(flight: Flight, axes: int) -> list[float]:
    """From each waypoint to the nearest place of the path."""
    path = flight.log["body.p_NB_N"][:, :axes]
    targets = [np.array([item.north_m, item.east_m, -item.height_m])[:axes] for item in flight.order.items()]
    return [float(np.linalg.norm(path - target, axis=1).min()) for target in targets]


@pytest.mark.parametrize(
    ("vehicle", "nearest_m"),
    [
        ("rover_differential", 0.1),  # acceptance radius 0.05 m
        ("car_escort", 6.0),  # it cuts sharp corners
        ("boat_otter", 8.0),  # acceptance radius
        ("rov_bluerov2_heavy", 1.5),  # acoustic fixes wander by 0.6 m; down too
    ],
)
def test_the_vehicle_goes_through_its_mission_and_is_disarmed(vehicle: str, nearest_m: float, tmp_path: Path) -> None:
    flight = drive(vehicle, tmp_path)
    assert flight.stop is None
    assert [h.text for h in flight.autopilot_events if h.kind == "finished"] == ["disarmed"]
    reached = [h.text for h in flight.autopilot_events if h.kind == "item" and "reached" in h.text]
    assert reached == [f"item {n} reached" for n in range(len(flight.order.items()))]
    assert max(distances(flight, 3 if vehicle.startswith("rov_") else 2)) < nearest_m
    assert len(list(tmp_path.glob("*.ulg"))) == 1
    assert flight.ended_s / flight.wall_s > 1.5  # some seconds at the pace of the wall clock, then as PX4 answers


def test_steps_of_an_armed_rover_are_all_answered(tmp_path: Path) -> None:
    flight = drive("rover_differential", tmp_path)
    assert next(h.text for h in flight.autopilot_events if h.kind == "armed") == "armed"
    assert not [h for h in flight.autopilot_events if h.kind == "link" and "wall clock" in h.text]


def test_a_stopped_rover_ends_the_run_within_its_deadline(tmp_path: Path) -> None:
    """SIGSTOP while it drives: PX4 owes answers, so its silence is an error."""
    stopped: list[float] = []
    instance = free_instance()

    def stop(share: float) -> None:
        if share * 400.0 > 15.0 and not stopped:
            folders = [p for p in Path("/proc").iterdir() if p.name.isdigit()]
            mine = [int(p.name) for p in folders if _is_px4_of(p, instance)]
            assert len(mine) == 1
            os.kill(mine[0], signal.SIGSTOP)
            stopped.append(time.monotonic())

    order = make_order("rover_differential", control="px4", options={"instance": instance}, until_s=400.0)
    flight = fly(order, folder=tmp_path, progress=stop)
    assert time.monotonic() - stopped[0] < 30.0
    assert flight.verdict == "error" and flight.log.rows() > 0
    assert re.search(r"PX4 gave no HIL_ACTUATOR_CONTROLS|no heartbeat", flight.judged.sentence)
    assert not px4_runs(instance)


def _is_px4_of(process: Path, instance: int) -> bool:
    """Whether a process is the PX4 of an instance that this one has started."""
    try:
        ours = (process / "cmdline").read_bytes().endswith(f"\0-i\0{instance}\0".encode())
        parent = (process / "stat").read_text().rsplit(")", 1)[1].split()[1]
    except OSError:
        return False
    return ours and int(parent) == os.getpid()
