"""The reference autopilot in closed loop: failsafes, commands and offboard set-points, each with its own reaction."""

from __future__ import annotations

import numpy as np
import pytest

import ironbird as ib
from ironbird.blocks.controllers.mission_table import (
    DESCEND,
    DISARMED,
    HOLD,
    LANDING,
    MISSION,
    OFFBOARD,
    RETURN,
    TERMINATED,
)
from ironbird.faults.catalog import parse_fault
from ironbird.flight.mission import Mission, load_mission
from ironbird.flight.order import Weather
from ironbird.flight.prepare import inject
from ironbird.runtime.log import Log
from ironbird.runtime.state import RunState

FAR = Mission.model_validate(
    {
        "schema": 1,
        "item": [{"kind": "waypoint", "north_m": n, "height_m": 12.0, "hold_s": 2.0} for n in (0, 40, 80, 40)],
    }
)


@pytest.fixture(scope="module")
def model() -> ib.CompiledModel:
    return ib.compile_model(ib.load_vehicle("quad_f450", control="reference").diagram)


def prepared(model: ib.CompiledModel, mission: Mission = FAR, lanes: int = 2) -> RunState:
    state = ib.start(model, lanes=lanes, seed=5)
    for path, value in {**mission.params(16), **Weather(3.0, 250.0, 4.0).params()}.items():
        state.set_param(path, value)
    return state


def modes(log: Log, lane: int = 0) -> list[int]:
    """Modes in the order in which they came."""
    seen = log.lane("navigator.mode", lane).astype(int)
    return [int(m) for i, m in enumerate(seen) if i == 0 or m != seen[i - 1]]


def fly(state: RunState, until_s: float = 70.0) -> Log:
    return ib.run(state, until_s, log=["navigator", "body.p_NB_N", "body.v_NB_N", "body.euler", "estimator.healthy"])


def test_a_low_battery_brings_the_vehicle_home(model: ib.CompiledModel) -> None:
    state = prepared(model)
    state.set_param("navigator.battery_critical", 0.0)
    inject(state, parse_fault("battery.low_voltage@1:severity=0.17,start=16"))
    log = fly(state)
    assert modes(log)[:5] == [DISARMED, 1, MISSION, RETURN, LANDING]
    assert log["navigator.failsafe"][-1][0] == 1 or log.stops[0] is not None
    assert np.linalg.norm(log["body.p_NB_N"][-1][:2]) < 3.0  # GNSS is good to a metre or two


def test_an_empty_battery_lands_at_once(model: ib.CompiledModel) -> None:
    state = prepared(model)
    state.set_param("navigator.battery_critical", 0.999)
    state.set_param("navigator.battery_low", 0.999)
    inject(state, parse_fault("battery.low_voltage@1:severity=0.17,start=16"))
    log = fly(state)
    assert RETURN not in modes(log) and LANDING in modes(log)


def descended(state: RunState) -> Log:
    """A flight that loses GNSS at 16 s, descends and lands."""
    inject(state, parse_fault("environment.gnss_denied@1:start=16"))
    log = fly(state)
    assert DESCEND in modes(log) and LANDING not in modes(log)
    began = log.time()[np.flatnonzero(log["navigator.mode"] == DESCEND)[0]]
    assert 16.0 + 2.5 < began < 16.0 + 4.5  # the time-out is 3 s
    stop = log.stops[0]
    assert stop is not None and stop.reason == "landed before the end of the mission"
    return log


def test_without_gnss_the_vehicle_brakes_by_what_it_sees_and_lands_without_drift(model: ib.CompiledModel) -> None:
    log = descended(prepared(model))  # in wind
    last = log["body.p_NB_N"][:, 2] > log["body.p_NB_N"][-1, 2] - 0.5  # the last half metre
    late = log.time() > 20.0
    assert np.linalg.norm(log["body.v_NB_N"][last & late, :2], axis=1).max() < 0.5


def test_without_gnss_and_flow_the_vehicle_brakes_descends_level_and_lands(model: ib.CompiledModel) -> None:
    state = prepared(model)
    state.set_param("flow/1/chip.farthest", 0.0)  # no texture
    state.set_param("wind/steady.velocity_N", 0.0)  # it would drift with the wind and touch down too fast
    state.set_param("wind/turbulence.wind_20ft", 0.0)
    log = descended(state)
    began = log.time()[np.flatnonzero(log["navigator.mode"] == DESCEND)[0]]
    assert np.degrees(np.abs(log["body.euler"][log.time() > began + 2, :2])).max() < 15.0


def test_a_fence_turns_the_vehicle_round(model: ib.CompiledModel) -> None:
    state = prepared(model)
    state.set_param("navigator.fence_radius", 30.0)
    log = fly(state)
    assert modes(log)[:5] == [DISARMED, 1, MISSION, RETURN, LANDING]
    assert np.linalg.norm(log["body.p_NB_N"][:, :2], axis=1).max() < 45.0  # room to stop from 5 m/s at 2 m/s^2


def test_a_silent_link_brings_the_vehicle_home(model: ib.CompiledModel) -> None:
    state = prepared(model)
    state.set_input("link_stamp", 20.0)  # the last message came at 20 s
    log = fly(state)
    began = log.time()[np.flatnonzero(log["navigator.mode"] == RETURN)[0]]
    assert began == pytest.approx(22.0, abs=0.1)  # the time-out is 2 s


def test_a_tilt_beyond_the_limit_terminates_the_flight(model: ib.CompiledModel) -> None:
    state = prepared(model)
    state.set_param("navigator.tilt_time", 0.05)
    inject(state, parse_fault("rotor.speed_loss@1:instance=1,start=16"))
    log = fly(state)
    assert modes(log)[-1] == TERMINATED and log["navigator.armed"][-1] == 0
    assert log.stops[0] is not None and log.stops[0].reason in ("hard landing", "rollover")


def test_an_estimator_that_fails_is_not_trusted(model: ib.CompiledModel) -> None:
    state = prepared(model)
    for unit in (1, 2, 3):
        inject(state, parse_fault(f"imu.gyro_dropout@1:instance={unit},start=16"))
    log = fly(state, 20.0)
    lost = log.time()[np.flatnonzero((log["estimator.healthy"] < 0.5) & (log.time() > 10))[0]]
    assert lost < 17.0
    assert DESCEND in modes(log) or log.stops[0] is not None


def test_commands_are_obeyed_and_landing_goes_before_all(model: ib.CompiledModel) -> None:
    state = prepared(model, load_mission("square"))
    state.set_param("navigator.script", [[18.0, 24.0, 30.0, 1e9], [HOLD, MISSION, LANDING, 0.0]])
    log = fly(state)
    assert modes(log)[:7] == [DISARMED, 1, MISSION, HOLD, MISSION, LANDING, DISARMED]
    held = (log.time() > 21.0) & (log.time() < 24.0)
    assert np.ptp(log["body.p_NB_N"][held][:, :2], axis=0).max() < 1.0


def test_offboard_set_points_move_the_vehicle(model: ib.CompiledModel) -> None:
    state = prepared(model)
    state.set_input("command", float(OFFBOARD))
    state.set_input("offboard_position", [15.0, -10.0, -8.0])
    log = fly(state, 25.0)
    assert np.linalg.norm(log["body.p_NB_N"][-1] - [15.0, -10.0, -8.0]) < 3.0
    state.set_input("offboard_kind", 1.0)
    state.set_input("offboard_velocity", [0.0, 2.0, 0.0])
    log = fly(state, 32.0)
    np.testing.assert_allclose(log["body.v_NB_N"][-100:].mean(axis=0), [0.0, 2.0, 0.0], atol=0.4)  # in turbulence
    state.set_input("offboard_kind", 2.0)
    state.set_input("offboard_attitude", [0.1, 0.0, 0.3])
    state.set_input("offboard_thrust", 0.5)
    log = fly(state, 34.0)
    np.testing.assert_allclose(log["body.euler"][-1], [0.1, 0.0, 0.3], atol=0.06)
    state.set_input("offboard_kind", 3.0)
    state.set_input("offboard_rate", [0.0, 0.0, 0.4])
    before = log["body.euler"][-1][2]
    log = fly(state, 35.0)
    assert log["body.euler"][-1][2] - before == pytest.approx(0.4, abs=0.1)
