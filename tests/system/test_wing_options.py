"""The Aerosonde with a battery, launched to the east: course by wind, going around, a battery that runs low."""

from __future__ import annotations

import functools

import numpy as np

from ironbird.blocks.controllers.mission_table import LANDING, MISSION, RETURN, TAKE_OFF
from ironbird.compiler.compiled import compile_model
from ironbird.flight.mission import load_mission
from ironbird.flight.order import Weather
from ironbird.flight.words import COMPLETED
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.vehicles import places as at
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.templates.fixed_wing import FixedWingSpec, build
from ironbird.vehicles.templates.rotorcraft import BatteryTable

CAPACITY_AH, EFFICIENCY, ELECTRONICS_W, CELLS = 12.0, 0.9, 10.0, 12
USUAL, BEHIND, AROUND, LOW = range(4)  # lanes
SIGNALS = [
    "body.p_NB_N", "body.v_NB_N", "navigator.mode", "navigator.failsafe", "battery", "rotor/1/propeller.shaft_power",
    "crash.impact_speed",
]  # fmt: skip


@functools.cache
def flown() -> Log:
    """Four flights of the airfield's circuit, which lands to the north, in 5 m/s of wind with turbulence."""
    spec = load_spec("aerosonde")
    assert isinstance(spec, FixedWingSpec)
    battery = BatteryTable.model_validate(
        {
            "cells": CELLS, "capacity_Ah": CAPACITY_AH, "resistance_ohm": 0.05, "efficiency": EFFICIENCY,
            "electronics_W": ELECTRONICS_W,
        }
    )  # fmt: skip
    assert spec.launcher is not None
    launcher = spec.launcher.model_copy(update={"course_deg": 90.0})
    spec = spec.model_copy(update={"battery": battery, "launcher": launcher})
    state = start(compile_model(build(spec, "reference")), lanes=4, seed=100)
    mission = load_mission("airfield").params(16)
    for lane in range(4):
        wind = Weather(speed_mps=5.0, from_deg=180.0 if lane == BEHIND else 0.0, turbulence_mps=7.7)
        for path, value in {**mission, **wind.params()}.items():
            state.set_param(path, value, lane=lane)
    state.set_param("navigator.course_by_wind", 1.0)
    # Of the circuit the glide is flown from about 120 s
    state.set_param("navigator.script", [[138.0, 1e9, 1e9, 1e9], [float(TAKE_OFF), 0.0, 0.0, 0.0]], lane=AROUND)
    state.set_param(at.BATTERY_GAUGE("capacity"), 600.0, lane=LOW)  # A s: a pack for a minute and a half
    return run(state, 260.0, log=SIGNALS, log_s=0.1)


def modes(lane: int) -> list[int]:
    mode = flown().lane("navigator.mode", lane).ravel()
    return [int(mode[i]) for i in range(1, len(mode)) if mode[i] != mode[i - 1]]


def test_launcher_points_where_its_file_says() -> None:
    for lane in range(4):
        place = flown().lane("body.p_NB_N", lane)[60]  # 3 s after the launch
        assert place[1] > 40.0 and abs(place[0]) < 10.0  # m


def test_strip_is_used_against_the_wind() -> None:
    log = flown()
    for lane, ahead in ((USUAL, 1.0), (BEHIND, -1.0)):
        assert modes(lane) == [TAKE_OFF, MISSION, LANDING]
        stop = log.stops[lane]
        assert stop is not None and stop.reason == COMPLETED
        height = -log.lane("body.p_NB_N", lane)[:, 2]
        touches = int(np.flatnonzero(height > 1.0)[-1])
        velocity = log.lane("body.v_NB_N", lane)[touches]
        assert 10.0 < ahead * velocity[0] < 20.0 and abs(velocity[1]) < 3.0  # m/s over ground: head wind
        assert log.lane("crash.impact_speed", lane).max() < 2.0
        assert np.hypot(*(log.lane("body.p_NB_N", lane)[-1, :2] - [0.0, 40.0])) < 120.0  # m from the place


def test_ordered_to_go_around_it_climbs_and_lands_at_the_next_try() -> None:
    log = flown()
    stop, height, time_s = log.stops[AROUND], -log.lane("body.p_NB_N", AROUND)[:, 2], log.time(AROUND)
    low = height[(time_s > 100) & (time_s < 140)].min()

    assert stop is not None and stop.reason == COMPLETED and stop.time_s > 200.0
    assert low < 25.0 and height[(time_s > 140) & (time_s < 175)].max() > 35.0  # m


def test_low_battery_returns_and_an_empty_one_lands() -> None:
    log = flown()

    mode = log.lane("navigator.mode", LOW).ravel()
    taken_As = (1 - log.lane("battery.remaining", LOW).ravel()) * CAPACITY_AH * 3600
    assert modes(LOW) == [TAKE_OFF, MISSION, RETURN, LANDING]
    np.testing.assert_allclose(taken_As[int(np.argmax(mode == RETURN))], 0.8 * 600.0, rtol=0.03)
    np.testing.assert_allclose(taken_As[int(np.argmax(mode == LANDING))], 0.9 * 600.0, rtol=0.03)


def test_charge_taken_is_that_of_the_shaft_power() -> None:
    """Book-keeping apart from the block: power over efficiency and electronics, over the voltage."""
    log = flown()
    power = log.lane("rotor/1/propeller.shaft_power", USUAL).ravel() / EFFICIENCY + ELECTRONICS_W
    volts, left = (log.lane(f"battery.{name}", USUAL).ravel() for name in ("voltage", "remaining"))
    taken_As = float((np.maximum(power, 0) / volts).sum() * 0.1)

    assert abs((1 - left[-1]) * CAPACITY_AH * 3600 / taken_As - 1) < 0.02
    assert volts[-1] < volts[20]
