"""Derived signals: what their definitions mean, against other ways to compute it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ironbird import CompiledModel
from ironbird.conditions import evaluate
from ironbird.conditions.formula import parse_number
from ironbird.conditions.names import Names
from ironbird.errors import UnknownNameError
from ironbird.flight.derived import DERIVED, derived, make_trace, paths_to_log
from ironbird.flight.flight import Flight, fly
from ironbird.flight.inside import fly_lanes
from ironbird.flight.order import Weather, make_order
from ironbird.flight.prepare import model_of
from ironbird.runtime.log import Log
from ironbird.runtime.state import Stop


@pytest.fixture(scope="module")
def flight() -> Flight:
    fault = "rotor.blade_damage@1:instance=1,severity=0.3,start=3"
    return fly("quad_f450", control="truth", mission="square", until_s=12.0, weather=Weather(5.0, 40.0), faults=[fault])


def test_each_is_what_its_name_says(flight: Flight) -> None:
    log = flight.log
    position, velocity = log["body.p_NB_N"], log["body.v_NB_N"]
    expected = {
        "height": -position[:, 2],
        "depth": position[:, 2],
        "distance": np.linalg.norm(position[:, :2], axis=1),
        "speed": np.linalg.norm(velocity, axis=1),
        "climb": -velocity[:, 2],
        "tilt": np.arccos(log["body.R_NB"][:, 8]),
        "rate": np.linalg.norm(log["body.w_NB_B"], axis=1),
        "position_error": np.linalg.norm(position - log["navigator.position_set"], axis=1),
    }
    assert set(expected) == set(DERIVED)
    for name, values in expected.items():
        # acos loses half of the digits near zero
        np.testing.assert_allclose(derived(log, name), values, atol=1e-7 if name == "tilt" else 1e-12, err_msg=name)
    assert derived(log, "tilt").max() > 0.1


@pytest.fixture(scope="module")
def lanes() -> Log:
    """Two flights side by side that differ."""
    orders = [
        make_order("quad_f450", control="truth", mission="square", until_s=6.0, log_s=0.02, seed=seed, weather=weather)
        for seed, weather in ((0, Weather(5.0, 40.0)), (7, Weather()))
    ]
    return fly_lanes(orders, model_of(orders[0]), everything=True)[0].log


def test_a_trace_has_the_same_values_for_all_lanes(lanes: Log) -> None:
    trace = make_trace(lanes, [*DERIVED, "body.euler[1]", "time"], [3.0, np.inf], {})
    for name in DERIVED:
        for lane in (0, 1):
            np.testing.assert_array_equal(trace.values[name][lane], derived(lanes, name, lane), err_msg=name)
    np.testing.assert_array_equal(trace.values["body.euler[1]"][1], lanes.lane("body.euler", 1)[:, 1])
    assert (derived(lanes, "tilt") != derived(lanes, "tilt", 1)).any()


def test_a_level_vehicle_has_no_tilt_although_its_cosines_are_rounded_above_one() -> None:
    beyond = np.nextafter(1.0, 2.0)
    turned = evaluate.values(parse_number("acos(y)", Names({"y": "1"})), lambda name: np.array([beyond, -beyond]))

    np.testing.assert_array_equal(turned, [0.0, np.pi])


def test_a_trace_tells_fault_crash_and_completion_in_the_row_in_which_they_came(lanes: Log) -> None:
    def fate(name: str, *stops: Stop | None) -> np.ndarray:
        ends = {"completed": [stop is done for stop in stops], "landed": [stop is landing for stop in stops]}
        return make_trace(replace(lanes, stops=list(stops)), [name], [3.0, np.inf], ends).values[name]

    crash, landing = Stop(2.0, "hard landing"), Stop(2.01, "landed before the end of the mission")
    done = Stop(5.9999, "mission completed")

    active = fate("fault_active", None, None)
    np.testing.assert_array_equal(active[0], [0.0] * 150 + [1.0] * 150)  # rows 20 ms apart: the 151st is at 3 s
    assert not active[1].any()  # it has no fault
    np.testing.assert_array_equal(np.argwhere(fate("crashed", crash, landing)), [[0, 100]])  # its last row, at 2 s
    np.testing.assert_array_equal(np.argwhere(fate("completed", crash, done)), [[1, 299]])
    np.testing.assert_array_equal(np.argwhere(fate("landed", landing, done)), [[0, 100]])
    assert not fate("crashed", done, landing).any()


def test_their_sources_are_logged(f450: CompiledModel) -> None:
    kept = paths_to_log([], f450)
    assert set(paths_to_log(["position_error", "tilt", "crashed", "air.airspeed", "body.R_NB[8]"], f450)) == {
        *kept, "air.airspeed", "body.R_NB",
    }  # fmt: skip


def test_an_unknown_one_is_named(flight: Flight) -> None:
    with pytest.raises(UnknownNameError, match="unknown derived signal 'tlit'; did you mean 'tilt'"):
        derived(flight.log, "tlit")


def test_the_log_of_a_flight_knows_the_short_names_of_requirements(flight: Flight) -> None:
    log = flight.log

    for name in DERIVED:
        np.testing.assert_array_equal(log[name], derived(flight.log, name))
    np.testing.assert_array_equal(log["altitude"], log["terrain.height_above_ground"])
    np.testing.assert_array_equal(log["mode"], log["navigator.mode"])
    with pytest.raises(UnknownNameError, match="unknown signal 'tillt' in this log; did you mean 'tilt'"):
        log["tillt"]
