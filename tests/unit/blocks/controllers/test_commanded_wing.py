"""The commanded wing: orders while it climbs, places, courses, sticks, attitudes, loss of the stream."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from commanded_bench import Bench

from ironbird.blocks.controllers.command_ports import BY_ALTITUDE, BY_ATTITUDE, BY_COURSE, BY_POSITION_STICKS
from ironbird.blocks.controllers.commanded_wing import CommandedWingNavigator
from ironbird.blocks.controllers.fixed_wing_control import BANK, LINE, ORBIT
from ironbird.blocks.controllers.mission_table import (
    ALTITUDE,
    ARMED,
    DISARMED,
    HOLD,
    LANDING,
    MISSION,
    OFFBOARD,
    POSITION,
    RETURN,
    TAKE_OFF,
)
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.alone import alone
from ironbird.testing.checks import check_block

STEP_S, CRUISE, LOITER, TOP = 0.02, 25.0, 120.0, 30.0
PARAMS: dict[str, Any] = {
    "count": 1.0, "cruise_speed": CRUISE, "acceptance_radius": 60.0, "loiter_radius": LOITER, "airborne": 0.0,
    "table": [[0.0, 0.0], [0.0, 0.0], [-50.0, 0.0], [0.0, 0.0], [1e9, 0.0], [0.0, 0.0]], "take_off_height": TOP,
}  # fmt: skip
PLACE = [600.0, 300.0, -80.0]


@functools.cache
def model() -> CompiledModel:
    return alone(CommandedWingNavigator(2, sample_s=STEP_S), step_s=STEP_S, **PARAMS)


def climbing() -> Bench:
    bench = Bench(model(), [0.0, 0.0, -1.5])
    bench.order(ARMED)
    assert bench.after()["mode"] == ARMED
    bench.order(TAKE_OFF)
    found = bench.after()
    assert found["mode"] == TAKE_OFF and found["launch"] == 1
    bench.put([60.0, 0.0, -15.0], (CRUISE, 0.0, 2.0))
    return bench


def aloft() -> Bench:
    bench = climbing()
    bench.put([150.0, 0.0, -TOP - 0.1], (CRUISE, 0.0, 0.0))
    assert bench.after(0.1)["mode"] == HOLD
    return bench


def test_block_passes_the_public_check() -> None:
    check_block(CommandedWingNavigator(2, sample_s=STEP_S), params=PARAMS, step_s=STEP_S, until_s=0.1)


def test_place_that_is_told_during_the_climb_is_circled_after_it() -> None:
    bench = climbing()
    bench.order(HOLD, goto=1.0, offboard_position=PLACE)
    found = bench.after(1.0)
    assert found["mode"] == TAKE_OFF and found["path_kind"] == LINE and found["path_course"] == 0  # first things first

    bench.put([150.0, 0.0, -TOP - 0.1], (CRUISE, 0.0, 0.0))
    bench.after(0.1)
    bench.put([PLACE[0], PLACE[1] - LOITER, PLACE[2]], (CRUISE, 0.0, 0.0))
    found = bench.after(0.1)

    assert found["mode"] == HOLD and found["path_kind"] == ORBIT
    np.testing.assert_allclose(found["path_origin"], PLACE, atol=1e-9)


@pytest.mark.parametrize("command", [HOLD, RETURN, LANDING, OFFBOARD, MISSION])
def test_order_that_comes_during_the_climb_is_heard_at_its_end(command: int) -> None:
    bench = climbing()
    bench.target(BY_COURSE, offboard_course=0.7, offboard_height=60.0)
    bench.order(command)
    assert bench.after(1.0)["mode"] == TAKE_OFF

    bench.put([150.0, 20.0, -TOP - 0.1], (CRUISE, 0.0, 0.0))
    found = bench.after(0.1)
    assert found["mode"] == command
    if command == HOLD:
        np.testing.assert_allclose(found["path_origin"][:2], [150.0, 20.0], atol=1e-9)


def test_place_is_circled_at_its_height_and_course_and_velocity_are_lines_through_here() -> None:
    bench = aloft()
    bench.target(offboard_position=PLACE)
    bench.order(OFFBOARD)
    found = bench.after()
    assert found["mode"] == OFFBOARD and found["path_kind"] == ORBIT and found["path_radius"] == LOITER
    np.testing.assert_allclose(found["path_origin"], PLACE, atol=1e-9)
    assert found["height_set"] == pytest.approx(80.0) and found["airspeed_set"] == CRUISE

    bench.target(BY_COURSE, offboard_course=0.7, offboard_height=60.0, offboard_speed=22.0)
    found = bench.after()
    assert found["path_kind"] == LINE and found["path_course"] == pytest.approx(0.7)
    assert found["height_set"] == pytest.approx(60.0) and found["airspeed_set"] == pytest.approx(22.0)
    np.testing.assert_allclose(found["path_origin"][:2], [150.0, 0.0], atol=1e-9)

    bench.target(offboard_velocity=[0.0, 20.0, -1.0])
    found = bench.after()
    assert found["path_course"] == pytest.approx(math.pi / 2) and found["airspeed_set"] == pytest.approx(20.0)
    assert found["climb_ahead"] == pytest.approx(1.0)


def test_sticks_are_bank_climb_rate_and_speed_and_a_centred_one_holds_the_line() -> None:
    bench = aloft()
    bench.give(stick=[0.5, -0.5, 1.0, 0.0])
    bench.order(OFFBOARD, direct=float(BY_ALTITUDE))
    before = bench.after()
    found = bench.after(1.0)
    assert found["mode"] == ALTITUDE and found["path_kind"] == BANK
    np.testing.assert_allclose(found["bank_set"], 0.5 * 0.6, rtol=1e-12)
    np.testing.assert_allclose(found["airspeed_set"], CRUISE * 1.2, rtol=1e-12)
    np.testing.assert_allclose(found["climb_ahead"], 0.5 * 3.0, rtol=1e-12)
    np.testing.assert_allclose(found["height_set"] - before["height_set"], 1.5, rtol=1e-6)  # h = w t

    bench.give(stick=[0.0, 0.0, 0.0, 0.0])
    bench.order(OFFBOARD, direct=float(BY_POSITION_STICKS))
    bench.after()
    bench.put([200.0, 9.0, -31.0], (CRUISE, 3.0, 0.0))
    found = bench.after(0.2)
    assert found["mode"] == POSITION and found["path_kind"] == LINE and found["path_course"] == 0
    np.testing.assert_allclose(found["path_origin"][:2], [150.0, 0.0], atol=1e-9)  # not moved by the drift


def test_attitude_with_a_thrust_is_bank_pitch_and_throttle() -> None:
    bench = aloft()
    bench.target(BY_ATTITUDE, offboard_attitude=[-0.3, 0.1, 0.0], offboard_thrust=0.6)
    bench.order(OFFBOARD)
    found = bench.after()

    assert found["path_kind"] == BANK and found["bank_set"] == pytest.approx(-0.3)
    np.testing.assert_allclose(found["pitch_limits"], 0.1)
    np.testing.assert_allclose(found["throttle_limits"], 0.6)


def test_lost_stream_is_circled_out_and_then_it_comes_home() -> None:
    bench = aloft()
    bench.give(link_stamp=bench.state.time_s)
    bench.target(BY_COURSE, offboard_course=0.0)
    bench.order(OFFBOARD)
    assert bench.after(1.8)["mode"] == OFFBOARD
    found = bench.after(0.5)
    assert found["mode"] == HOLD and found["failsafe"].tolist() == [0, 0, 0, 0, 0, 1]
    np.testing.assert_allclose(found["path_origin"][:2], [150.0, 0.0], atol=1e-9)
    assert bench.after(4.0)["mode"] == HOLD
    assert bench.after(1.0)["mode"] == RETURN
    bench.order(HOLD)
    found = bench.after()
    assert found["mode"] == HOLD and found["failsafe"].tolist() == [0] * 6


@pytest.mark.parametrize("flying", [climbing, aloft])
def test_disarmed_by_force_the_throttle_is_closed(flying: Callable[[], Bench]) -> None:
    bench = flying()
    bench.order(DISARMED)
    assert bench.after()["throttle_limits"].tolist() == [0.0, 0.0]
