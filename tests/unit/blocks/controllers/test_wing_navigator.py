"""The fixed wing's navigator: take-off, legs, circles, return, landing, commands, failsafes."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
import pytest

from ironbird.blocks.controllers.mission_table import (
    DISARMED,
    HOLD,
    LAND,
    LANDING,
    LOITER_ITEM,
    MISSION,
    RETURN,
    RETURN_ITEM,
    TAKE_OFF,
    TAKE_OFF_ITEM,
)
from ironbird.blocks.controllers.wing_navigator import WingNavigator
from ironbird.compiler.compiled import CompiledModel
from ironbird.model.signal import Number
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import run
from ironbird.testing.alone import alone

STEP_S = 0.02
ACCEPT, LOITER = 60.0, 120.0
SLOPE = 0.07


@functools.cache
def model() -> CompiledModel:
    return alone(
        WingNavigator(4, sample_s=STEP_S), step_s=STEP_S, count=3, cruise_speed=25.0, acceptance_radius=ACCEPT,
        loiter_radius=LOITER, point_0=[0.0, 0.0, -100.0], belly_height=0.2, approach_speed=21.0, approach_height=40.0,
        glide_slope=SLOPE,
    )  # fmt: skip


def mission(*items: tuple[float, float, float, float, float], **params: float) -> RunState:
    """Items: north, east, height, hold, kind."""
    table = np.zeros((6, 4))
    for number, (north, east, height, hold, kind) in enumerate(items):
        table[:, number] = [north, east, -height, 0.0, hold, kind]
    values: dict[str, Number] = {"table": table.tolist(), "count": float(len(items)), **params}
    return start(model(), params={f"block.{name}": value for name, value in values.items()})


def at(
    state: RunState, *place: float, samples: int = 2, v: Sequence[float] = (25.0, 0.0, 0.0)
) -> dict[str, np.ndarray]:
    """Outputs after the vehicle has been at a place for some samples."""
    state.set_input("p_NB_N", list(place))
    state.set_input("v_NB_N", list(v))
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


def test_take_off_is_straight_with_full_throttle_and_fixed_pitch_until_the_height() -> None:
    state = mission(
        (0.0, 0.0, 40.0, 0.0, TAKE_OFF_ITEM), (400.0, 0.0, 60.0, 0.0, 0.0), airborne=0.0, arm_time=1.0,
    )  # fmt: skip
    still = (0.0, 0.0, 0.0)
    waits = at(state, 0.0, 0.0, -1.5, samples=10, v=still)
    assert waits["mode"] == DISARMED and waits["launch"] == 0 and waits["disarmed"] == 1
    assert waits["throttle_limits"].tolist() == [0.0, 0.0]
    rises = at(state, 0.0, 0.0, -1.5, samples=45, v=still)
    assert rises["mode"] == TAKE_OFF and rises["launch"] == 1 and rises["disarmed"] == 0
    assert rises["throttle_limits"].tolist() == [1.0, 1.0]
    np.testing.assert_allclose(rises["pitch_limits"], 0.2618)  # [RflyModel] 9.2.2.1: 15 degrees
    assert rises["path_kind"] == 0 and rises["path_course"] == 0 and rises["height_set"] == 40.0
    assert at(state, 200.0, 3.0, -39.9)["mode"] == TAKE_OFF
    flies = at(state, 210.0, 3.0, -40.1, samples=3)
    assert flies["mode"] == MISSION and flies["item"] == 1 and flies["launch"] == 0
    np.testing.assert_allclose(flies["path_course"], math.atan2(-3.0, 190.0), rtol=1e-12)  # from here, not from home


def test_mission_without_a_take_off_item_takes_off_all_the_same() -> None:
    state = mission((400.0, 0.0, 60.0, 0.0, 0.0), airborne=0.0, take_off_height=25.0)

    assert at(state, 0.0, 0.0, -1.5, samples=3)["mode"] == TAKE_OFF
    found = at(state, 100.0, 0.0, -25.1, samples=3)
    assert found["mode"] == MISSION and found["item"] == 0


def test_loiter_item_shows_as_hold_and_return_item_circles_home() -> None:
    state = mission((300.0, 0.0, 100.0, 1.0, LOITER_ITEM), (0.0, 0.0, 80.0, 0.5, RETURN_ITEM))
    found = at(state, 250.0, 0.0, -100.0)
    assert found["mode"] == HOLD and found["path_kind"] == 1 and found["item"] == 0
    found = at(state, 250.0, 0.0, -100.0, samples=55)
    assert found["mode"] == RETURN and found["item"] == 1 and found["path_kind"] == 0
    np.testing.assert_allclose(np.abs(found["path_course"]), math.pi, rtol=1e-12)
    found = at(state, 100.0, 0.0, -80.0, samples=10)
    assert found["path_kind"] == 1 and found["height_set"] == 80.0 and found["done"] == 0
    np.testing.assert_allclose(found["path_origin"], [0.0, 0.0, -80.0], atol=1e-9)
    assert at(state, 100.0, 0.0, -80.0, samples=30)["done"] == 1


def test_landing_goes_by_circle_slope_and_flare_to_rest() -> None:
    state = mission((0.0, 0.0, 0.0, 0.0, LAND))
    entry = -40.0 / math.tan(SLOPE)
    found = at(state, -300.0, 300.0, -60.0)
    assert found["mode"] == LANDING and found["airspeed_set"] == 21.0
    # The circle touches the line where the glide begins; it is left there, on course and at the height
    found = at(state, entry, 2.0, -60.0)
    assert found["path_kind"] == 1 and found["height_set"] == 40.0  # too high: goes on circling
    np.testing.assert_allclose(found["path_origin"], [entry, LOITER, -40.0], atol=1e-9)
    assert at(state, entry, 2.0, -41.0, v=(0.0, 25.0, 0.0))["path_kind"] == 1  # not on course
    found = at(state, entry + 1.0, 2.0, -41.0, v=(20.0, 1.0, 0.0))
    assert found["path_kind"] == 0 and found["path_course"] == 0
    found = at(state, -200.0, 2.0, -15.0, v=(20.0, 0.0, 1.4))
    np.testing.assert_allclose(found["height_set"], 200.0 * math.tan(SLOPE) + 0.2, rtol=1e-12)
    np.testing.assert_allclose(found["climb_ahead"], -20.0 * math.tan(SLOPE), rtol=1e-12)
    assert found["speed_weight"] == 1 and found["throttle_limits"].tolist() == [0.0, 1.0]
    # Near the ground its distance counts, not the height above the take-off point
    state.set_input("ground_distance", 5.2)
    found = at(state, -60.0, 2.0, -8.0, v=(20.0, 0.0, 1.4))
    np.testing.assert_allclose(found["height_set"], 8.0 + 60.0 * math.tan(SLOPE) - 5.0, rtol=1e-12)
    state.set_input("ground_distance", 2.0)
    found = at(state, -20.0, 2.0, -5.0, v=(20.0, 0.0, 1.4), samples=3)
    assert found["throttle_limits"].tolist() == [0.0, 0.0] and found["speed_weight"] == 0
    np.testing.assert_allclose(found["climb_ahead"], -(1.8 / 2.0 + 0.4), rtol=1e-12)  # exponential flare
    state.set_input("ground_distance", 0.2)
    assert at(state, 40.0, 2.0, -0.2, v=(5.0, 0.0, 0.0), samples=120)["done"] == 0
    found = at(state, 45.0, 2.0, -0.2, v=(0.1, 0.0, 0.0), samples=110)
    assert found["done"] == 1 and found["landed"] == 0 and found["disarmed"] == 1


def test_commands_hold_return_and_land_and_after_a_return_only_landing_is_heard() -> None:
    state = mission((4000.0, 0.0, 100.0, 0.0, 0.0))
    assert at(state, 500.0, 0.0, -100.0)["mode"] == MISSION
    state.set_input("command", float(HOLD))
    found = at(state, 510.0, 0.0, -100.0, samples=3)
    assert found["mode"] == HOLD and found["path_kind"] == 1
    np.testing.assert_allclose(found["path_origin"], [510.0, 0.0, -100.0], atol=1e-9)
    state.set_input("command", float(RETURN))
    assert at(state, 510.0, 0.0, -100.0)["mode"] == RETURN
    state.set_input("command", float(MISSION))
    assert at(state, 510.0, 0.0, -100.0)["mode"] == RETURN  # [RflyModel] 9.2.2.2
    state.set_input("command", float(LANDING))
    assert at(state, 510.0, 0.0, -100.0)["mode"] == LANDING


@pytest.mark.parametrize(("port", "value", "mode", "kind"), [("gnss_age", 5.0, HOLD, 2.0), ("healthy", 0.0, HOLD, 2.0)])
def test_without_position_it_circles_with_a_steady_bank_and_goes_on_afterwards(
    port: str, value: float, mode: int, kind: float
) -> None:
    state = mission((4000.0, 0.0, 100.0, 0.0, 0.0))
    at(state, 500.0, 0.0, -100.0)
    state.set_input(port, value)
    found = at(state, 510.0, 0.0, -100.0, samples=3)
    assert found["mode"] == mode and found["path_kind"] == kind and found["bank_set"] == pytest.approx(0.26)
    state.set_input(port, 0.0 if port == "gnss_age" else 1.0)
    assert at(state, 510.0, 0.0, -100.0, samples=3)["mode"] == MISSION


def test_fence_and_silent_link_send_it_home() -> None:
    state = mission((4000.0, 0.0, 100.0, 0.0, 0.0), fence_radius=600.0)
    assert at(state, 590.0, 0.0, -100.0)["mode"] == MISSION
    assert at(state, 610.0, 0.0, -100.0, samples=3)["mode"] == RETURN
    assert at(state, 400.0, 0.0, -100.0, samples=3)["failsafe"].tolist() == [0, 0, 0, 1, 0, 0]
    state = mission((4000.0, 0.0, 100.0, 0.0, 0.0))
    state.set_input("link_stamp", 0.0)
    assert at(state, 500.0, 0.0, -100.0, samples=90)["mode"] == MISSION
    assert at(state, 500.0, 0.0, -100.0, samples=20)["mode"] == RETURN


def test_aircraft_that_comes_to_rest_elsewhere_has_landed_early() -> None:
    state = mission((4000.0, 0.0, 100.0, 0.0, 0.0))
    at(state, 500.0, 0.0, -100.0)
    found = at(state, 800.0, 0.0, -0.2, v=(0.0, 0.0, 0.0), samples=110)

    assert found["landed"] == 1 and found["done"] == 0 and found["throttle_limits"].tolist() == [0.0, 0.0]


# ---------------------------------------------------------------------- going around, wind, battery


def on_the_glide(**params: float) -> RunState:
    """A landing at the origin, course north, on its glide."""
    state = mission((0.0, 0.0, 0.0, 0.0, LAND), **params)
    at(state, -300.0, 300.0, -60.0)
    entry = -40.0 / math.tan(SLOPE)
    at(state, entry, 2.0, -41.0)
    found = at(state, entry + 1.0, 2.0, -41.0, v=(20.0, 1.0, 0.0))
    assert found["path_kind"] == 0 and found["climb_ahead"] < 0
    return state


@pytest.mark.parametrize(
    ("place", "goes"),
    [
        ((-300.0, 29.0, -21.4), False), ((-300.0, 31.0, -21.4), True), ((-300.0, -31.0, -21.4), True),
        ((-300.0, 0.0, -37.0), True), ((-300.0, 0.0, -35.0), False), ((-300.0, 0.0, -8.5), False),
        ((-400.0, 0.0, -12.0), True), ((-60.0, 40.0, -5.0), False), ((240.0, 0.0, -5.0), False),
        ((260.0, 0.0, -5.0), True),
    ],
)  # fmt: skip
def test_glide_that_is_missed_is_flown_again(place: tuple[float, float, float], goes: bool) -> None:
    state = on_the_glide()
    found = at(state, *place, v=(20.0, 0.0, 1.4))

    assert found["mode"] == LANDING
    if goes:  # straight ahead up to the approach height, then to the circle
        assert found["height_set"] == 40.0 and found["path_course"] == 0 and found["throttle_limits"][1] == 1
        assert found["pitch_limits"].tolist() == [-1.5, 1.5] and found["climb_ahead"] == 0
        found = at(state, 300.0, 0.0, -36.0, v=(20.0, 0.0, -2.0))
        assert abs(math.degrees(float(found["path_course"][0]))) > 90  # back to the circle
    else:
        assert found["climb_ahead"] < 0


def test_it_goes_around_by_order_and_by_itself_not_more_often_than_allowed() -> None:
    state = on_the_glide(most_rounds=0.0)
    assert at(state, -300.0, 35.0, -21.4, v=(20.0, 0.0, 1.4))["climb_ahead"] < 0
    state.set_input("command", float(TAKE_OFF))
    assert at(state, -290.0, 35.0, -21.4, v=(20.0, 0.0, 1.4))["height_set"] == 40.0


@pytest.mark.parametrize(
    ("choice", "wind", "course_deg"),
    [
        (0.0, (5.0, 0.0), 0.0), (1.0, (5.0, 0.0), 180.0), (1.0, (-5.0, 3.0), 0.0), (1.0, (0.5, 4.0), 0.0),
        (2.0, (0.0, 4.0), -90.0), (2.0, (-3.0, 3.0), -45.0), (2.0, (0.3, 0.3), 0.0),
    ],
)  # fmt: skip
def test_landing_course_follows_the_wind_where_it_is_allowed_to(
    choice: float, wind: tuple[float, float], course_deg: float
) -> None:
    """The wind blows towards its vector; the circle touches the approach line, right of it, where the glide begins."""
    state = mission((0.0, 0.0, 0.0, 0.0, LAND), course_by_wind=choice)
    state.set_input("wind_N", [*wind, 0.0])
    at(state, 2000.0, 2000.0, -60.0)
    state.set_input("wind_N", [-9.0, -9.0, 0.0])  # a course that was chosen stays
    course = math.radians(course_deg)
    along, right = np.array([math.cos(course), math.sin(course)]), np.array([-math.sin(course), math.cos(course)])
    centre = -along * 40.0 / math.tan(SLOPE) + right * LOITER
    # On the circle: beside its centre a line from here to it would have its origin here, wherever the course leads
    found = at(state, *(centre + LOITER * along), -60.0, v=(20.0, 0.0, 0.0))

    np.testing.assert_allclose(found["path_origin"][:2], centre, atol=1e-6)


def test_low_battery_sends_it_home_and_an_empty_one_lands_it() -> None:
    state = mission((4000.0, 0.0, 100.0, 0.0, 0.0))
    state.set_input("battery_remaining", 0.19)
    found = at(state, 500.0, 0.0, -100.0)
    assert found["mode"] == RETURN and found["failsafe"][0] == 1
    state.set_input("battery_remaining", 0.25)  # it stays
    assert at(state, 400.0, 0.0, -100.0)["mode"] == RETURN
    state.set_input("battery_remaining", 0.09)
    assert at(state, 300.0, 0.0, -100.0)["mode"] == LANDING
