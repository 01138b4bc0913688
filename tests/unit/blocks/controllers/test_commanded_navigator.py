"""Commanded navigators of vehicles that hover: lift-off, set-points, sticks, attitudes, wings, loss of the stream."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from commanded_bench import Bench, heading

from ironbird.blocks.controllers.command_ports import (
    BY_ALTITUDE,
    BY_ATTITUDE,
    BY_POSITION_STICKS,
    BY_RATES,
    BY_STABILIZED,
)
from ironbird.blocks.controllers.commanded_navigator import (
    LEASH_M,
    SETTLES_S,
    CommandedHelicopterNavigator,
    CommandedNavigator,
    CommandedSpiralNavigator,
    CommandedVtolNavigator,
)
from ironbird.blocks.controllers.mission_table import (
    ALTITUDE,
    ARMED,
    DISARMED,
    HOLD,
    OFFBOARD,
    POSITION,
    RETURN,
    STABILIZED,
    TAKE_OFF,
    MissionTable,
)
from ironbird.blocks.controllers.navigator import BY_POSITION
from ironbird.blocks.controllers.vtol_navigator import ACCELERATES, HOVERS
from ironbird.compiler.compiled import CompiledModel
from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.testing.alone import alone
from ironbird.testing.checks import check_block

Kind = Callable[..., MissionTable]
SAMPLE_S, ACCELERATION, HOVER_SHARE = 0.02, 2.0, 0.4
HOVER: dict[str, Any] = {
    "count": 1.0, "cruise_speed": 5.0, "acceleration": ACCELERATION, "hover_thrust": HOVER_SHARE,
    "table": [[0.0, 0.0], [0.0, 0.0], [-10.0, 0.0], [0.0, 0.0], [1e9, 0.0], [0.0, 0.0]],
}  # fmt: skip
WINGS = {
    **HOVER, "wing_speed": 15.0, "transition_speed": 12.0, "back_speed": 9.0, "slowing": 1.0, "acceptance_radius": 40.0,
}  # fmt: skip
KINDS: list[tuple[Kind, dict[str, Any]]] = [
    (CommandedNavigator, HOVER), (CommandedHelicopterNavigator, HOVER), (CommandedSpiralNavigator, HOVER),
    (CommandedVtolNavigator, WINGS),
]  # fmt: skip
HERE = [3.0, 4.0, -40.0]


@functools.cache
def model(kind: Kind) -> CompiledModel:
    return alone(kind(2, sample_s=SAMPLE_S), step_s=SAMPLE_S, **dict(KINDS)[kind])


def aloft(kind: Kind = CommandedNavigator) -> Bench:
    """Holding a place at height, nose to the north."""
    bench = Bench(model(kind), HERE, now=float(HOLD), asked=float(HOLD), point=HERE, stay=HERE)
    bench.give(R_NB=heading(0.0), ground_distance=40.0)
    bench.order(HOLD, goto=1.0, offboard_position=HERE)
    assert bench.after()["mode"] == HOLD
    return bench


@pytest.mark.parametrize(("kind", "params"), KINDS, ids=lambda value: getattr(value, "__name__", ""))
def test_block_passes_the_public_check(kind: Kind, params: dict[str, Any]) -> None:
    check_block(kind(2, sample_s=SAMPLE_S), params=params, until_s=0.1, step_s=SAMPLE_S)


def test_armed_it_idles_until_a_set_point_is_above_it_and_without_a_stream_it_is_disarmed() -> None:
    bench = Bench(model(CommandedNavigator), [0.0, 0.0, 0.0])
    bench.give(R_NB=heading(0.0))
    bench.order(DISARMED)
    assert bench.after()["armed"] == 0
    bench.order(ARMED)
    found = bench.after()
    assert found["mode"] == ARMED and found["armed"] == 1 and found["grounded"] == 1
    bench.target(offboard_position=[0.0, 0.0, 0.0])
    bench.order(OFFBOARD)
    assert bench.after()["mode"] == ARMED
    bench.target(offboard_position=[0.0, 0.0, -3.0])
    assert bench.after()["mode"] == OFFBOARD

    idle = Bench(model(CommandedNavigator), [0.0, 0.0, 0.0])
    idle.give(R_NB=heading(0.0), link_stamp=0.0)
    idle.order(OFFBOARD)
    assert idle.after(1.9)["mode"] == ARMED
    assert idle.after(0.3)["mode"] == DISARMED


def test_take_off_rises_above_the_pad() -> None:
    bench = Bench(model(CommandedNavigator), [0.0, 0.0, 0.0])
    bench.give(R_NB=heading(0.0))
    bench.order(TAKE_OFF)
    found = bench.after(1.0)
    assert found["mode"] == TAKE_OFF and found["position_set"][2] < 0 and found["velocity_set"][2] < 0


def test_velocity_and_acceleration_count_on_the_axes_on_which_they_are_given() -> None:
    bench = aloft()
    bench.target(offboard_velocity=[1.0, -2.0, -0.5], offboard_acceleration=[0.1, 0.0, 0.0], offboard_yaw_rate=0.3)
    bench.order(OFFBOARD)
    before = bench.after()
    found = bench.after(1.0)

    assert found["mode"] == OFFBOARD and found["control_kind"] == BY_POSITION
    np.testing.assert_allclose(found["velocity_set"], [1.0, -2.0, -0.5])
    np.testing.assert_allclose(found["acceleration_set"], [0.1, 0.0, 0.0])
    assert found["position_weight"].tolist() == [0, 0, 0] and found["velocity_weight"].tolist() == [1, 1, 1]
    np.testing.assert_allclose(found["yaw_set"] - before["yaw_set"], 0.3, rtol=1e-9)  # psi = r t

    bench.give(offboard_given=[0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0], offboard_position=[0.0, 0.0, -42.0])
    found = bench.after()
    assert found["position_weight"].tolist() == [0, 0, 1] and found["velocity_weight"].tolist() == [1, 0, 1]
    assert found["position_set"][2] == -42.0


def test_whole_position_is_flown_to_with_limited_speed_and_acceleration() -> None:
    bench = aloft()
    bench.target(offboard_position=[3.0, 24.0, -40.0], offboard_yaw=1.0)
    bench.order(OFFBOARD)
    rows = bench.rows(15.0)
    speed = np.linalg.norm(rows["velocity_set"], axis=1)

    np.testing.assert_allclose(rows["position_set"][-1], [3.0, 24.0, -40.0], atol=0.05)
    assert speed.max() <= 5.0 + 1e-9 and np.diff(speed).max() <= ACCELERATION * SAMPLE_S + 1e-9
    assert rows["yaw_set"][-1] == pytest.approx(1.0)


def test_attitude_rates_and_thrust_go_to_a_controller_that_takes_them() -> None:
    bench = aloft()
    bench.target(BY_ATTITUDE, offboard_attitude=[0.2, -0.1, 0.7], offboard_thrust=0.45)
    bench.order(OFFBOARD)
    found = bench.after()
    assert found["control_kind"] == BY_ATTITUDE and found["thrust_set"] == pytest.approx(0.45)
    np.testing.assert_allclose(found["attitude_set"], [0.2, -0.1, 0.7])

    bench.target(BY_RATES, offboard_rates=[0.5, 0.0, -0.2], offboard_thrust=0.45)
    found = bench.after()
    assert found["control_kind"] == BY_RATES
    np.testing.assert_allclose(found["rate_wanted_B"], [0.5, 0.0, -0.2])


@pytest.mark.parametrize(("throttle", "share"), [(-1.0, 0.0), (0.0, HOVER_SHARE), (1.0, 1.0)])
def test_stabilized_sticks_are_tilt_and_thrust_with_hover_in_the_middle(throttle: float, share: float) -> None:
    bench = aloft()
    bench.give(stick=[0.5, 0.4, throttle, 0.0])
    bench.order(OFFBOARD, direct=float(BY_STABILIZED))
    found = bench.after()

    assert found["mode"] == STABILIZED and found["control_kind"] == BY_ATTITUDE
    np.testing.assert_allclose(found["attitude_set"], [0.5 * 0.5, -0.4 * 0.5, 0.0], atol=1e-12)
    np.testing.assert_allclose(found["thrust_set"], share, atol=1e-12)


def test_altitude_sticks_lean_by_an_acceleration_and_hold_the_height() -> None:
    bench = aloft()
    bench.give(stick=[0.5, 0.0, 0.0, 0.0], R_NB=heading(math.pi / 2))
    bench.order(OFFBOARD, direct=float(BY_ALTITUDE))
    found = bench.after()

    assert found["mode"] == ALTITUDE and found["position_weight"].tolist() == [0, 0, 1]
    # to the right of a nose that points east is south: a = g tan(phi)
    push = STANDARD_GRAVITY_MPS2 * math.tan(0.25)
    np.testing.assert_allclose(found["acceleration_set"], [-push, 0.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("roll", [0.0, 0.3])
def test_tilted_thrust_is_the_acceleration_it_gives_where_attitudes_are_not_taken(roll: float) -> None:
    bench = aloft(CommandedHelicopterNavigator)
    bench.target(BY_ATTITUDE, offboard_attitude=[roll, 0.0, 0.0], offboard_thrust=HOVER_SHARE)
    bench.order(OFFBOARD)
    found = bench.after()

    assert found["control_kind"] == BY_POSITION and found["velocity_weight"].tolist() == [0, 0, 0]
    expected = STANDARD_GRAVITY_MPS2 * np.array([0.0, math.sin(roll), 1 - math.cos(roll)])
    np.testing.assert_allclose(found["acceleration_set"], expected, atol=1e-12)


def test_position_sticks_move_the_set_point_with_a_leash() -> None:
    bench = aloft(CommandedSpiralNavigator)
    bench.give(stick=[0.0, 0.4, 0.0, 0.0])
    bench.order(OFFBOARD, direct=float(BY_POSITION_STICKS))
    rows = bench.rows(10.0)
    speed = rows["velocity_set"][:, 0]

    assert rows["mode"][-1] == POSITION
    np.testing.assert_allclose(speed[-1], 0.4 * 5.0, rtol=1e-9)
    np.testing.assert_allclose(np.diff(speed).max(), ACCELERATION * SAMPLE_S, rtol=1e-6)
    np.testing.assert_allclose(rows["position_set"][-1], np.add(HERE, [LEASH_M, 0.0, 0.0]), atol=1e-9)


def test_lost_stream_is_held_out_and_then_it_returns() -> None:
    bench = aloft()
    bench.give(link_stamp=bench.state.time_s)
    bench.target(offboard_velocity=[1.0, 0.0, 0.0])
    bench.order(OFFBOARD)
    assert bench.after(1.9)["mode"] == OFFBOARD
    found = bench.after(0.3)
    assert found["mode"] == HOLD and found["failsafe"].tolist() == [0, 0, 0, 0, 0, 1]
    assert bench.after(4.5)["mode"] == HOLD
    assert bench.after(0.7)["mode"] == RETURN


@pytest.mark.parametrize(
    ("wings", "distance", "stage"), [(1.0, 400.0, ACCELERATES), (0.0, 400.0, HOVERS), (1.0, 50.0, HOVERS)]
)
def test_only_a_long_way_that_may_be_flown_on_wings_is(wings: float, distance: float, stage: float) -> None:
    bench = aloft(CommandedVtolNavigator)
    bench.order(HOLD, goto=1.0, wings=wings, offboard_position=np.add(HERE, [distance, 0.0, 0.0]))
    assert bench.after(1.0)["stage"] == stage


def test_commanded_down_it_has_landed_when_it_has_stood_for_a_second() -> None:
    bench = aloft()
    bench.target(offboard_velocity=[0.0, 0.0, 1.0])
    bench.order(OFFBOARD)
    bench.give(v_NB_N=[0.0, 0.0, 1.0])
    assert bench.after(2.0)["mode"] == OFFBOARD  # it sinks
    bench.put([3.0, 4.0, 0.0])
    bench.give(ground_distance=0.0)
    assert bench.after(0.8 * SETTLES_S)["mode"] == OFFBOARD
    assert bench.after(0.4 * SETTLES_S)["mode"] == ARMED  # idles: whoever commands it may go up again
