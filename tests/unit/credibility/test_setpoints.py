"""Recorded set-points fly a vehicle: the one that made the record is found again, a wrong one is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ironbird.credibility.compare import compare
from ironbird.credibility.plan import Plan
from ironbird.credibility.readers import WANTED
from ironbird.credibility.record import Record, Track
from ironbird.credibility.setpoints import fitted, fly_setpoints
from ironbird.errors import RecordError

TIME_S = np.arange(0.0, 8.0, 0.1)
STEP = {"wanted_velocity_north": 2.0 * (TIME_S > 2), "wanted_velocity_east": -1.0 * (TIME_S > 5)}


def wanted() -> dict[str, Track]:
    return {name: Track(TIME_S, np.asarray(STEP.get(name, 0 * TIME_S), float), "m/s") for name in WANTED}


def indices(real: Record, params: dict[str, float]) -> dict[str, float]:
    flown, window_s = fly_setpoints(real, "quad_f450", params=params)
    plan = Plan.model_validate({"tolerance": 0.1})
    found = compare(real, [flown], fitted(plan, real), shift_s=0.0, window_s=window_s)
    return {index.test.signal: index.value for index in found.indices}


def test_the_vehicle_that_made_a_record_follows_its_set_points_alike_and_a_slower_one_does_not() -> None:
    flown, (low, high) = fly_setpoints(Record(Path("a"), "csv", wanted()), "quad_f450")
    assert (low, high) == pytest.approx((0.0, 7.9), abs=0.05)
    north = flown.track("velocity_north")
    assert north.at(np.array([1.5]))[0] == pytest.approx(0.0, abs=0.1)
    assert north.at(np.array([6.5]))[0] == pytest.approx(2.0, abs=0.3)
    inside = {n: t for n, t in flown.tracks.items() if n.startswith("velocity_")}
    real = Record(Path("a"), "csv", {**wanted(), **inside})

    same, slower = indices(real, {}), indices(real, {"control.velocity_gain": 0.8})

    assert min(same["velocity_north"], same["velocity_east"]) > 0.9
    assert slower["velocity_north"] < same["velocity_north"] - 0.1


def test_a_record_without_set_points_is_refused() -> None:
    with pytest.raises(RecordError, match="wanted velocities"):
        fly_setpoints(Record(Path("a"), "csv", {}), "quad_f450")
    with pytest.raises(RecordError, match="can be flown"):
        fly_setpoints(Record(Path("a"), "csv", wanted()), "quad_f450", window_s=(1.0, 1.5))
