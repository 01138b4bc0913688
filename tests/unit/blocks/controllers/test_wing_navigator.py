"""The fixed wing's navigator: legs, acceptance, turning back, circles, the end of the mission."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from ironbird.blocks.controllers.navigator import HOLD, LAND, MISSION
from ironbird.blocks.controllers.wing_navigator import WingNavigator
from ironbird.compiler.compiled import CompiledModel
from ironbird.model.signal import Number
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import run
from ironbird.testing.rig import alone

STEP_S = 0.02
ACCEPT, LOITER = 60.0, 120.0


@functools.cache
def model() -> CompiledModel:
    return alone(
        WingNavigator(4, sample_s=STEP_S), step_s=STEP_S, count=3, cruise_speed=25.0, acceptance_radius=ACCEPT,
        loiter_radius=LOITER, point_0=[0.0, 0.0, -100.0],
    )  # fmt: skip


def mission(*items: tuple[float, float, float, float, float], **params: float) -> RunState:
    """Items: north, east, height, hold, kind."""
    table = np.zeros((6, 4))
    for number, (north, east, height, hold, kind) in enumerate(items):
        table[:, number] = [north, east, -height, 0.0, hold, kind]
    values: dict[str, Number] = {"table": table.tolist(), "count": float(len(items)), **params}
    return start(model(), params={f"block.{name}": value for name, value in values.items()})


def at(state: RunState, *place: float, samples: int = 2) -> dict[str, np.ndarray]:
    """Outputs after the vehicle has been at a place for some samples."""
    state.set_input("p_NB_N", list(place))
    log = run(state, state.time_s + samples * STEP_S, log_s=STEP_S)
    return {path.partition(".")[2]: np.atleast_1d(log[path][-1]) for path in model().signals()}


def test_leg_is_the_line_between_waypoints_and_its_height_changes_evenly() -> None:
    state = mission((400.0, 0.0, 140.0, 0.0, 0.0), (400.0, 300.0, 140.0, 0.0, 0.0), (0.0, 0.0, 100.0, 0.0, 0.0))
    found = at(state, 100.0, 7.0, -90.0)

    assert found["path_kind"] == 0 and found["item"] == 0 and found["mode"] == MISSION and found["done"] == 0
    np.testing.assert_allclose(found["path_course"], 0.0, atol=1e-15)
    np.testing.assert_allclose(found["position_set"], [100.0, 0.0, -110.0], rtol=0, atol=1e-9)  # a quarter of the climb
    np.testing.assert_allclose(found["height_set"], 110.0, rtol=1e-12)
    np.testing.assert_allclose(found["path_origin"], found["position_set"], rtol=0, atol=1e-9)
    assert found["airspeed_set"] == 25.0


def test_waypoint_is_reached_within_the_radius_and_not_before() -> None:
    state = mission((400.0, 0.0, 100.0, 0.0, 0.0), (400.0, 300.0, 100.0, 0.0, 0.0), (0.0, 0.0, 100.0, 0.0, 0.0))

    assert at(state, 400.0 - ACCEPT - 0.1, 0.0, -100.0)["item"] == 0
    found = at(state, 400.0 - ACCEPT + 0.1, 0.0, -100.0)
    assert found["item"] == 1
    np.testing.assert_allclose(found["path_course"], math.pi / 2, rtol=1e-12)
    # On the way from one leg to the next the nearer one counts
    np.testing.assert_allclose(found["position_set"], [400.0 - ACCEPT + 0.1, 0.0, -100.0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(at(state, 380.0, 40.0, -100.0)["position_set"], [400.0, 40.0, -100.0], atol=1e-9)


def test_vehicle_that_missed_a_waypoint_is_led_back_to_it() -> None:
    state = mission((400.0, 0.0, 100.0, 0.0, 0.0), (0.0, 0.0, 100.0, 0.0, 0.0))
    found = at(state, 420.0, 100.0, -100.0, samples=3)

    assert found["item"] == 0
    np.testing.assert_allclose(found["path_course"], math.atan2(-100.0, -20.0), rtol=1e-12)


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_last_item_is_circled_for_its_time_and_longer(sense: float) -> None:
    state = mission((500.0, 0.0, 100.0, 2.0, 0.0), sense=sense)
    assert at(state, 500.0 - LOITER - ACCEPT - 1.0, 0.0, -100.0)["path_kind"] == 0
    found = at(state, 500.0 - LOITER - 10.0, 0.0, -100.0)

    assert found["path_kind"] == 1 and found["path_radius"] == sense * LOITER and found["done"] == 0
    np.testing.assert_allclose(found["path_origin"], [500.0, 0.0, -100.0], rtol=0, atol=1e-9)
    found = at(state, 500.0, LOITER + 5.0, -100.0, samples=95)
    assert found["done"] == 0
    np.testing.assert_allclose(found["position_set"], [500.0, LOITER, -100.0], rtol=0, atol=1e-9)
    found = at(state, 500.0, LOITER, -100.0, samples=10)
    assert found["done"] == 1 and found["mode"] == HOLD and found["path_kind"] == 1


def test_item_with_a_hold_is_circled_and_left_after_it() -> None:
    state = mission((500.0, 0.0, 100.0, 1.0, 0.0), (0.0, 0.0, 100.0, 0.0, 0.0))

    assert at(state, 450.0, 0.0, -100.0)["path_kind"] == 1
    found = at(state, 450.0, 0.0, -100.0, samples=51)
    assert found["item"] == 1 and found["path_kind"] == 0
    np.testing.assert_allclose(np.abs(found["path_course"]), math.pi, rtol=1e-12)


def test_landing_item_is_circled_where_the_vehicle_was_sent_before() -> None:
    state = mission((300.0, 0.0, 100.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0, LAND))
    at(state, 290.0, 0.0, -100.0)
    found = at(state, 290.0, 0.0, -100.0)

    assert found["item"] == 1 and found["height_set"] == 100.0  # not to the ground
    np.testing.assert_allclose(found["path_origin"], [300.0, 0.0, -100.0], rtol=0, atol=1e-9)
