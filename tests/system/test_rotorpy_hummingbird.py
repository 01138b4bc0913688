"""RotorPy's Hummingbird with its aerodynamics on: the same rotor speeds, the same motion, the same push of the wind."""

from __future__ import annotations

import functools
import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import advance, run
from ironbird.vehicles.load import load_vehicle

DATA = Path(__file__).parents[1] / "data" / "rotorpy"
HEIGHT_M, HOVER_RADPS, TOP_RADPS, COMMAND_S = 30.0, math.sqrt(0.5 * 9.81 / 4 / 5.57e-6), 1500.0, 0.01
AIR = ("inflow", "translational_lift", "rotor_drag")
# [RotorPy] compute_body_wrench at hover speed: wind (m/s, forward and up) to acceleration (m/s^2, forward and up)
IN_WIND = {(0.0, 2.0): (0.0, 1.82169), (2.0, 0.0): (0.93336, 0.10848), (10.0, 0.0): (5.46682, 2.712)}


@functools.cache
def model() -> CompiledModel:
    return compile_model(load_vehicle(str(DATA / "hummingbird.toml")).diagram)


def hovering(**params: float) -> RunState:
    """At 30 m, rotors at the speed that carries the weight, driven by commands of ours."""
    state = start(model())
    state.set_param("body.p_0", [0.0, 0.0, -HEIGHT_M])
    state.set_param("navigator.arm_time", 1e6)  # the autopilot, which is not asked, must not end the flight
    for number in range(1, 5):
        state.set_param(f"rotor/{number}/motor.omega_0", HOVER_RADPS)
        state.set_param(f"rotor/{number}/motor.override", 1.0)
        state.set_param(f"rotor/{number}/motor.override_throttle", HOVER_RADPS / TOP_RADPS)
        for name, value in params.items():
            state.set_param(f"rotor/{number}/propeller.{name}", value)
    return state


def fly(state: RunState) -> np.ndarray:
    """Greatest distance from RotorPy after 2 and after 6 s of the figure eight."""
    rows = np.loadtxt(DATA / "figure_eight.csv", delimiter=",", skiprows=1)
    state.set_param("body.v_0", [3.266, -3.266, 0.0])
    ticks = round(COMMAND_S / state.model.step_s)
    away = [0.0]
    for row, after in itertools.pairwise(rows):
        for number in range(1, 5):
            state.set_param(f"rotor/{number}/motor.override_throttle", row[number] / TOP_RADPS)
        advance(state, ticks)
        north, east, down = state.get("body.p")
        away.append(float(np.linalg.norm([north - after[5], -east - after[6], -(down + HEIGHT_M) - after[7]])))
    return np.array([max(away[:201]), max(away)])


def test_the_figure_eight_of_rotorpy_is_met_within_a_tenth_of_a_metre_after_six_seconds() -> None:
    after_2, after_6 = fly(hovering())

    assert after_2 < 0.02  # m
    assert after_6 < 0.1  # m; 5 m without the aerodynamics of the rotors


@pytest.mark.parametrize("name", AIR)
def test_each_effect_of_the_rotors_in_moving_air_is_needed_for_the_figure_eight(name: str) -> None:
    assert fly(hovering(**{name: 0.0}))[1] > 0.1  # m


@pytest.mark.parametrize("wind", IN_WIND)
def test_wind_accelerates_the_hovering_vehicle_as_in_rotorpy(wind: tuple[float, float]) -> None:
    state = hovering()
    state.set_param("wind/steady.velocity_N", [wind[0], 0.0, -wind[1]])
    specific = run(state, 0.002, log=["body.specific_force_B"], log_s=0.001)["body.specific_force_B"][1]

    np.testing.assert_allclose([specific[0], -specific[2] - 9.81], IN_WIND[wind], atol=0.01)  # m/s^2, 1 ms of motion
