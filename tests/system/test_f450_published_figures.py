"""The three F450 files fly at the hover speed, throttle and level-flight speed that their parameters imply.

The figures come from the parameters of [Dai] Fig. 14 and 15 and of the models' own files (CopterSim's Init.m says 0.609
for its hover throttle), for sea-level air and a full battery. They are flown here, not computed: whole vehicle, closed
loop, the atmosphere at height zero, and a battery without resistance that never empties. Hover is printed for
g = 9.8 m/s^2; the level speeds are those of standard gravity (8.51 m/s would be 8.50 at 9.8 m/s^2).
"""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from ironbird.compiler.compiled import compile_model
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.spec import Environment, Home
from ironbird.vehicles.templates.multicopter import MulticopterSpec, build

CRUISE_HEIGHT_M = 10.0
HOVER_G, LEVEL_G = 9.8, 9.80665
# Hover speed (rad/s), hover throttle, level-flight speed at 15 degrees tilt (m/s): computed from the printed parameters
PUBLISHED = {
    "quad_f450": (607.76, 0.6439, 7.41),
    "quad_f450_coptersim": (557.14, 0.6085, 8.18),
    "quad_f450_mpsoc": (469.90, 0.5309, 8.51),
}


def spec_of(vehicle: str) -> MulticopterSpec:
    spec = load_spec(vehicle)
    assert isinstance(spec, MulticopterSpec)
    return spec.model_copy(
        update={
            "home": Home(height_m=-CRUISE_HEIGHT_M),  # so that the flight is at height zero: density 1.225
            "environment": Environment(gravity=HOVER_G),
            "battery": spec.battery.model_copy(update={"resistance_ohm": 0.0, "capacity_Ah": 1e6}),
        }
    )


@functools.cache
def flights(vehicle: str) -> Log:
    """Lane 0 hovers; lane 1 flies north at a commanded tilt of 15 degrees."""
    model = compile_model(build(spec_of(vehicle)))
    table = np.zeros((6, model.flat.p.signals["navigator.table"].columns))
    table[:, 0] = [0.0, 0.0, -CRUISE_HEIGHT_M, 0.0, 1e6, 0.0]
    state = start(model, lanes=2)
    state.set_param("navigator.table", table, 0)
    table[0, 0] = 1e4
    state.set_param("navigator.table", table, 1)
    state.set_param("navigator.point_0", [0.0, 0.0, -CRUISE_HEIGHT_M])
    state.set_param("body.p_0", [0.0, 0.0, -CRUISE_HEIGHT_M])
    state.set_param("crash.max_distance", 1e5)
    state.set_param("navigator.cruise_speed", 20.0, 1)
    state.set_param("control.max_speed", 20.0, 1)
    state.set_param("control.max_tilt", math.radians(15), 1)
    state.set_param("gravity.acceleration", LEVEL_G, 1)
    state.set_param("wakes.ground_effect", 0.0)  # 4e-6 of the rotor speed at this height
    return run(state, 60.0, log_s=0.1)


def last(log: Log, signal: str, lane: int) -> np.ndarray:
    """The mean of the last five seconds: the vehicle is steady."""
    values = log.lane(signal, lane)[-50:]
    assert np.ptp(values, axis=0).max() < 1e-6 * max(1.0, float(np.abs(values).max()))  # steady
    return np.asarray(values.mean(axis=0))


@pytest.mark.parametrize("vehicle", PUBLISHED)
def test_hover_speed_and_throttle_are_the_published_ones(vehicle: str) -> None:
    log = flights(vehicle)
    speed, throttle, _ = PUBLISHED[vehicle]

    for number in range(1, 5):
        assert abs(last(log, f"rotor/{number}/motor.speed", 0) - speed) < 0.0051  # rad/s: two decimals printed
        assert abs(last(log, f"control.throttle_{number}", 0) - throttle) < 5.1e-5  # four decimals printed


@pytest.mark.parametrize("vehicle", PUBLISHED)
def test_level_flight_at_15_degrees_has_the_published_speed(vehicle: str) -> None:
    log = flights(vehicle)

    tilt = math.degrees(math.acos(last(log, "body.R_NB", 1)[8]))
    assert abs(tilt - 15.0) < 1e-4  # degrees: the controller has settled
    assert abs(last(log, "air.airspeed", 1) - PUBLISHED[vehicle][2]) < 0.0051  # m/s: two decimals printed
    assert abs(last(log, "body.v_NB_N", 1)[2]) < 1e-6  # m/s: level


@pytest.mark.parametrize("vehicle", PUBLISHED)
def test_flown_figures_are_the_closed_forms(vehicle: str) -> None:
    log, spec = flights(vehicle), spec_of(vehicle)
    mass, propeller, motor = spec.body.mass_kg, spec.propeller["standard"], spec.motor["standard"]

    speed = math.sqrt(mass * HOVER_G / (4 * propeller.thrust_coefficient_Ns2))
    assert abs(last(log, "rotor/1/motor.speed", 0) / speed - 1) < 1e-6  # density at height zero, control to 1e-6
    throttle = (speed - motor.idle_speed_radps) / motor.slope_radps
    assert abs(last(log, "control.throttle_1", 0) - throttle) < 1e-6
    # Level flight at 15 degrees: forces of four rotors, body and weight agree, ahead and up
    sine, cosine, v = math.sin(math.radians(15)), math.cos(math.radians(15)), float(last(log, "air.airspeed", 1))
    ahead, up = 0.0, -mass * LEVEL_G
    for number in range(1, 5):
        w = float(last(log, f"rotor/{number}/motor.speed", 1))
        lift = propeller.thrust_coefficient_Ns2 * w * w - propeller.inflow_Ns2pm * w * v * sine
        lift += propeller.translational_lift_Ns2pm2 * (v * cosine) ** 2 - propeller.climb_loss_Ns2pm2 * (v * sine) ** 2
        drag = propeller.rotor_drag_Ns2pm * w * v * cosine
        ahead, up = ahead + lift * sine - drag * cosine, up + lift * cosine + drag * sine
    front, _, top = spec.airframe.drag_Ns2pm2
    ahead -= (front * cosine**2 + top * sine**2) * v * v
    up += (front - top) * sine * cosine * v * v
    assert abs(ahead) < 1e-4 * mass * LEVEL_G and abs(up) < 1e-4 * mass * LEVEL_G  # N: steady to 1e-6 of the speeds
