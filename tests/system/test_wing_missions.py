"""The Aerosonde on its reference autopilot: take-off, loiter, return, landing, failsafes; 20 seeds in wind."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ironbird.blocks.controllers.mission_table import HOLD, LANDING, MISSION, RETURN, TAKE_OFF
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.flight.flight import fly
from ironbird.flight.mission import load_mission
from ironbird.flight.order import Weather
from ironbird.flight.words import COMPLETED
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.vehicles.load import load_vehicle

LANES = 20
SIGNALS = ["body.p_NB_N", "body.v_NB_N", "estimator.p_NB_N", "navigator", "air.airspeed", "control.path_error", "crash"]


@functools.cache
def model() -> CompiledModel:
    return compile_model(load_vehicle("aerosonde", control="reference").diagram)


@functools.cache
def flown(name: str, lanes: int) -> Log:
    mission = load_mission(name)
    state = start(model(), lanes=lanes, seed=100)
    wind = Weather(speed_mps=5.0, from_deg=240.0, turbulence_mps=7.7)  # light turbulence of [MIL8785C]
    for path, value in {**mission.params(16), **wind.params()}.items():
        state.set_param(path, value)
    return run(state, 400.0, log=SIGNALS, log_s=0.1)


def test_every_seed_takes_off_flies_the_circuit_and_lands_softly_beside_the_launcher() -> None:
    log = flown("airfield", LANES)

    for lane in range(LANES):
        stop = log.stops[lane]
        assert stop is not None and stop.reason == COMPLETED, f"lane {lane}: {stop}"
        assert set(np.unique(log.lane("navigator.mode", lane))) == {0, TAKE_OFF, MISSION, LANDING}
        north, east = log.lane("body.p_NB_N", lane)[-1, :2]
        assert 0.0 < north < 110.0 and abs(east - 40.0) < 5.0, f"lane {lane}: {north:.0f} m, {east:.0f} m"
        assert log.lane("crash.impact_speed", lane).max() < 2.0  # m/s of sink
        flying = log.lane("navigator.mode", lane).ravel() == MISSION
        assert log.lane("air.airspeed", lane).ravel()[flying].min() > 19.0  # m/s; the stall is near 14
        gap = log.lane("estimator.p_NB_N", lane)[flying] - log.lane("body.p_NB_N", lane)[flying]
        assert np.linalg.norm(gap, axis=1).max() < 8.0  # m: wander of GNSS


def test_take_off_climbs_straight_to_its_height_and_circles() -> None:
    log = flown("take_off", 4)

    for lane in range(4):
        mode, p = log.lane("navigator.mode", lane).ravel(), log.lane("body.p_NB_N", lane)
        rising = p[mode == TAKE_OFF]
        assert np.abs(rising[:, 1]).max() < 10.0 and np.all(np.diff(-rising[:, 2]) > -0.5)  # m
        assert -rising[-1, 2] == pytest.approx(40.0, abs=4.0)
        circling = log.lane("navigator.path_kind", lane).ravel() == 1
        assert np.abs(log.lane("control.path_error", lane).ravel()[circling][-100:]).max() < 8.0  # m
        stop = log.stops[lane]
        assert stop is not None and stop.reason == COMPLETED


def test_loiter_circles_for_its_time_at_its_height() -> None:
    log = flown("loiter", 4)

    for lane in range(4):
        item, circles = (log.lane(f"navigator.{name}", lane).ravel() for name in ("item", "path_kind"))
        for number, height, east in ((1, 40.0, 0.0), (2, 60.0, 200.0)):
            on = (item == number) & (circles == 1)
            assert np.sum(on) * 0.1 == pytest.approx(60.0, abs=0.3)
            p = log.lane("body.p_NB_N", lane)[on][-200:]
            assert np.abs(np.hypot(p[:, 0] - 300.0, p[:, 1] - east) - 120.0).max() < 12.0  # m, GNSS wander included
            assert np.abs(-p[:, 2] - height).max() < 8.0  # m, barometer and GNSS included
        assert set(np.unique(log.lane("navigator.mode", lane))) <= {0, TAKE_OFF, HOLD, MISSION}


def test_return_ends_circling_above_the_launcher() -> None:
    log = flown("return", 4)

    for lane in range(4):
        stop = log.stops[lane]
        assert stop is not None and stop.reason == COMPLETED
        p = log.lane("body.p_NB_N", lane)[-50:]
        assert np.abs(np.hypot(p[:, 0], p[:, 1]) - 120.0).max() < 15.0  # m
        assert log.lane("navigator.mode", lane).ravel()[-1] == RETURN


def test_faults_can_wait_for_the_landing() -> None:
    flight = fly(
        "aerosonde", mission="landing", seed=3,
        faults=["rotor.blade_damage@1:severity=1,start=0,when=mode == 'land'"],
    )  # fmt: skip

    begin = flight.log.time()[np.flatnonzero(flight.log["navigator.mode"].ravel() == LANDING)[0]]
    assert flight.witnesses[0].effective
    assert flight.ended_s > begin


def test_without_gnss_it_circles_level_and_goes_on_when_it_is_back() -> None:
    flight = fly(
        "aerosonde", mission="airfield", seed=2, weather=Weather(5.0, 240.0, 0.0),
        faults=["environment.gnss_denied@1:start=40,end=70"],
    )  # fmt: skip

    log, time_s = flight.log, flight.log.time()
    blind = log["navigator.path_kind"].ravel() == 2
    assert blind[(time_s > 46.0) & (time_s < 68.0)].all()  # 3 s without a fix, and what the receiver takes to notice
    assert np.all(log["navigator.mode"].ravel()[blind] == HOLD)
    height = -log["body.p_NB_N"][blind, 2]
    assert np.ptp(height) < 10.0  # m
    assert flight.outcome.startswith(COMPLETED)


def test_airspeed_that_is_measured_too_high_is_flown_too_low() -> None:
    flight = fly(
        "aerosonde", mission="loiter", seed=2, faults=["airspeed.scale@1:severity=0.2,start=40"]
    )  # fmt: skip

    speed = flight.log["air.airspeed"].ravel()[(flight.log.time() > 60.0)]
    assert flight.survived
    assert np.mean(speed) == pytest.approx(25.0 / np.sqrt(1.2), abs=0.5)  # 20 % more pressure
