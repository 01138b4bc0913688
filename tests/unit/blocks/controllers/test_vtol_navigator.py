"""VtolNavigator: the stages and what makes them follow one another, with a vehicle that is put where it should be."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from ironbird.blocks.controllers.mission_table import (
    BACK_TRANSITION,
    CRUISE,
    FLY,
    HOVER,
    LAND,
    LANDING,
    RETURN,
    ROWS,
    TRANSITION,
)
from ironbird.blocks.controllers.navigator import BY_POSITION, BY_RATE, BY_VELOCITY
from ironbird.blocks.controllers.vtol_navigator import ACCELERATES, BRAKES, FLIES, HOVERS, SLOWS, VtolNavigator
from ironbird.compiler.compiled import CompiledModel
from ironbird.model.signal import Number
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone
from ironbird.testing.checks import check_block

PARAMS: dict[str, Number] = {
    "count": 3.0, "cruise_speed": 5.0, "acceleration": 2.0, "wing_speed": 15.0, "transition_speed": 12.0,
    "back_speed": 9.0, "slowing": 1.0, "acceptance_radius": 40.0,
}  # fmt: skip
TABLE = np.zeros((ROWS, 4))
TABLE[:, 0] = [400.0, 0.0, -40.0, 0.0, 0.0, FLY]
TABLE[:, 1] = [400.0, 300.0, -60.0, 0.0, 0.0, FLY]
TABLE[:, 2] = [0.0, 0.0, 0.0, 0.0, 0.0, LAND]


@functools.cache
def model() -> CompiledModel:
    return alone(VtolNavigator(4, sample_s=0.02), table=TABLE.tolist(), **PARAMS)  # type: ignore[arg-type]


class Vehicle:
    """A vehicle that is where it is told to be."""

    def __init__(self) -> None:
        self.state: RunState = start(model())
        self.put([0.0, 0.0, -40.0])

    def put(self, p: list[float], v: tuple[float, ...] = (0.0, 0, 0), yaw: float = 0.0, airspeed: float = 0.0) -> None:
        c, s = math.cos(yaw), math.sin(yaw)
        for name, value in {
            "p_NB_N": p, "v_NB_N": v, "R_NB": [c, s, 0, -s, c, 0, 0, 0, 1], "airspeed": airspeed,
        }.items():  # fmt: skip
            self.state.set_input(name, np.array(value, float))

    def after(self, seconds: float) -> dict[str, np.ndarray]:
        log = run(self.state, self.state.time_s + seconds, log_s=0.02)
        return {name.split(".")[1]: log[name][-1] for name in log.signals if name.startswith("block.")}


def in_cruise() -> Vehicle:
    vehicle = Vehicle()
    assert vehicle.after(8.0)["stage"] == ACCELERATES
    vehicle.put([30.0, 0.0, -40.0], (13.0, 0, 0), airspeed=13.0)
    assert vehicle.after(2.5)["stage"] == FLIES
    return vehicle


def test_block_passes_the_public_check() -> None:
    check_block(VtolNavigator(4, sample_s=0.02), params={**PARAMS, "table": TABLE.tolist()})


def test_a_long_leg_begins_with_the_nose_towards_it() -> None:
    vehicle = Vehicle()
    vehicle.put([0.0, 0.0, -40.0], yaw=1.0)
    waiting = vehicle.after(8.0)
    assert (
        waiting["stage"] == HOVERS and waiting["mode"] == HOVER and waiting["yaw_set"] == pytest.approx(0.0, abs=1e-9)
    )
    assert waiting["control_kind"] == BY_POSITION

    vehicle.put([0.0, 0.0, -40.0], yaw=0.1)
    gone = vehicle.after(0.1)
    assert gone["stage"] == ACCELERATES and gone["mode"] == TRANSITION and gone["control_kind"] == BY_RATE


def test_a_low_vehicle_and_a_short_leg_stay_on_rotors() -> None:
    vehicle = Vehicle()
    vehicle.put([0.0, 0.0, -12.0])  # wing_height is 15 m
    assert vehicle.after(10.0)["stage"] == HOVERS
    vehicle.put([320.0, 0.0, -40.0])  # 80 m to go, wing_distance is 100 m
    assert vehicle.after(5.0)["stage"] == HOVERS


def test_a_transition_takes_at_least_two_seconds_and_needs_airspeed() -> None:
    vehicle = Vehicle()
    vehicle.after(8.0)
    vehicle.put([10.0, 0.0, -40.0], (14.0, 0, 0), airspeed=11.0)
    assert vehicle.after(3.0)["stage"] == ACCELERATES
    vehicle.put([30.0, 0.0, -40.0], (14.0, 0, 0), airspeed=12.5)
    found = vehicle.after(0.1)
    assert found["stage"] == FLIES and found["mode"] == CRUISE and found["airspeed_set"] == 15.0


def test_a_transition_that_takes_too_long_is_given_up_and_the_vehicle_returns_on_rotors() -> None:
    vehicle = Vehicle()
    vehicle.after(8.0)
    vehicle.put([200.0, 0.0, -40.0], (8.0, 0, 0), airspeed=8.0)
    assert vehicle.after(10.0)["stage"] == ACCELERATES  # transition_timeout is 15 s, take-off took some of the eight
    found = vehicle.after(5.0)
    assert found["chute"] == 1.0 and found["stage"] == BRAKES
    vehicle.put([300.0, 0.0, -40.0])
    home = vehicle.after(5.0)
    assert home["stage"] == HOVERS and home["mode"] == RETURN and home["chute"] == 1.0


def test_lost_height_on_wings_opens_the_quad_chute() -> None:
    vehicle = in_cruise()
    vehicle.put([100.0, 0.0, -28.5], (14.0, 0, 3.0), airspeed=13.0)  # 11.5 m below; chute_loss is 12 m
    assert vehicle.after(0.2)["chute"] == 0.0
    vehicle.put([100.0, 0.0, -27.5], (14.0, 0, 3.0), airspeed=13.0)
    found = vehicle.after(0.1)
    assert found["chute"] == 1.0 and found["stage"] == BRAKES and found["mode"] == BACK_TRANSITION


def test_a_way_point_is_passed_within_its_radius_and_height_changes_along_the_leg() -> None:
    vehicle = in_cruise()
    vehicle.put([350.0, 0.0, -40.0], (15.0, 0, 0), airspeed=15.0)
    assert vehicle.after(0.1)["item"] == 0.0
    vehicle.put([365.0, 5.0, -40.0], (15.0, 0, 0), airspeed=15.0)
    assert vehicle.after(0.1)["item"] == 1.0
    vehicle.put([402.0, 100.0, -46.0], (0.0, 15.0, 0), airspeed=15.0)
    found = vehicle.after(0.1)
    assert found["stage"] == FLIES
    assert found["height_set"] == pytest.approx(40.0 + 20.0 / 3.0, abs=1e-9)  # a third of the way from 40 m to 60 m
    np.testing.assert_allclose(found["position_set"], [400.0, 100.0, -40.0 - 20.0 / 3.0], rtol=0, atol=1e-9)
    assert found["path_course"] == pytest.approx(math.pi / 2, abs=1e-12)


def test_before_a_landing_it_slows_down_on_wings_and_stops_on_rotors() -> None:
    vehicle = in_cruise()
    vehicle.put([365.0, 5.0, -40.0], (15.0, 0, 0), airspeed=15.0)
    vehicle.after(0.1)
    vehicle.put([400.0, 180.0, -52.0], (0.0, 15.0, 0), yaw=1.6, airspeed=15.0)  # 120 m to go, 15^2 / 2 = 112.5 m
    assert vehicle.after(0.1)["stage"] == FLIES
    vehicle.put([400.0, 190.0, -52.7], (0.0, 15.0, 0), yaw=1.6, airspeed=15.0)
    slowing = vehicle.after(0.1)
    assert slowing["stage"] == SLOWS and slowing["mode"] == BACK_TRANSITION and slowing["airspeed_set"] < 9.0

    vehicle.put([400.0, 260.0, -57.0], (0.0, 8.5, 0), yaw=1.6, airspeed=8.5)
    braking = vehicle.after(1.0)
    assert braking["stage"] == BRAKES and braking["control_kind"] == BY_VELOCITY
    assert braking["velocity_set"][1] == pytest.approx(8.5 - 1.5 * 1.0, abs=0.1)  # braking is 1.5 m/s^2
    assert braking["yaw_set"] == pytest.approx(1.6, abs=1e-9)

    vehicle.put([400.0, 290.0, -58.0], (0.0, 0.5, 0), yaw=1.6)
    assert vehicle.after(2.0)["stage"] == HOVERS
    vehicle.put([400.0, 300.0, -60.0], yaw=1.6)
    there = [vehicle.after(0.5) for _ in range(20)]
    landing = next(found for found in there if found["item"] == 2.0)
    assert landing["mode"] == LANDING and landing["velocity_set"][2] > 0


def test_order_to_return_in_cruise_is_flown_on_wings_from_where_it_came() -> None:
    vehicle = in_cruise()
    vehicle.put([300.0, 0.0, -40.0], (15.0, 0, 0), airspeed=15.0)
    vehicle.after(0.1)
    vehicle.state.set_input("command", np.array([float(RETURN)]))
    found = vehicle.after(0.1)

    assert found["stage"] == FLIES and found["mode"] == CRUISE
    np.testing.assert_allclose(found["path_origin"], [300.0, 0.0, -40.0], rtol=0, atol=1e-12)
    assert abs(found["path_course"]) == pytest.approx(math.pi, abs=1e-12) and found["height_set"] == 40.0
    vehicle.put([100.0, 0.0, -40.0], (-15.0, 0, 0), yaw=math.pi, airspeed=15.0)  # 15^2 / 2 = 112.5 m
    assert vehicle.after(0.1)["stage"] == SLOWS


def test_order_to_land_in_cruise_stops_first() -> None:
    vehicle = in_cruise()
    vehicle.state.set_input("command", np.array([5.0]))
    assert vehicle.after(0.1)["stage"] == SLOWS


@pytest.mark.parametrize(("ahead", "right", "turns"), [(0.2, 0.1, -1), (0.2, -0.1, 1), (-0.2, 0.1, 1), (0.0, 0.2, 0)])
def test_a_hovering_tail_sitter_turns_edgewise_to_its_lean(ahead: float, right: float, turns: int) -> None:
    state = start(model(), params={"block.weathervane": 1.0, "block.wing_distance": 1000.0})
    lean = [math.cos(ahead), 0, ahead, 0, math.cos(right), right, -ahead, -right, 1.0]  # small angles: x and y dip
    for name, value in {"p_NB_N": [0.0, 0, -40.0], "v_NB_N": [0.0, 0, 0], "R_NB": lean}.items():
        state.set_input(name, np.array(value, float))
    log = run(state, 10.0, log_s=0.02)

    change = log["block.yaw_set"][-1] - log["block.yaw_set"][-51]  # over one second
    assert change == pytest.approx(turns * abs(ahead), abs=1e-9)
