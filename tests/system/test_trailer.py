"""A car with a trailer: kinematics of the closed form at walking speed, stability both ways, missions."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.flight.mission import load_mission
from ironbird.flight.words import COMPLETED
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.checks import check_vehicle
from ironbird.vehicles.load import load_spec, load_vehicle
from ironbird.vehicles.templates.car import CarSpec, TrailerTable

WHEELS = (1, 2, 3, 4, 5, 6)
LANES = 20


@functools.cache
def spec() -> CarSpec:
    found = load_spec("car_escort_trailer")
    assert isinstance(found, CarSpec)
    return found


def trailer() -> TrailerTable:
    table = spec().trailer
    assert table is not None
    return table


@functools.cache
def model() -> CompiledModel:
    return compile_model(load_vehicle("car_escort_trailer", control="truth").diagram)


def rolling(speed_mps: float, angle_rad: float, until_s: float, *, steer_rad: float = 0.0, drives: bool = True) -> Log:
    """A car that rolls with a trailer at an angle behind it; it keeps its speed, or coasts without losses."""
    far = np.zeros((6, 16))
    far[0, 0] = 1e5
    state = start(model(), seed=1)
    params: dict[str, object] = {
        "navigator.table": far, "navigator.count": 1.0, "navigator.cruise_speed": abs(speed_mps),
        "navigator.lateral_acceleration": 1e6, "crash.max_distance": 1e6, "airframe.drag": 0.0,
        "steering/servo.override": 1.0, "steering/servo.override_command": steer_rad / spec().steering.max_angle_rad,
    }  # fmt: skip
    for wheel in WHEELS:
        params[f"wheel/{wheel}/drive.rolling_resistance"] = 0.0
        if not drives:
            params |= {f"wheel/{wheel}/drive.{name}": 0.0 for name in ("health", "brake_health")}
    for path, value in params.items():
        state.set_param(path, value)  # type: ignore[arg-type]
    ahead = trailer().drawbar_m - trailer().axle_behind_m
    ball = -spec().body.rear_m - trailer().overhang_m
    # Heading of the trailer is -angle; the ball moves north at the car's speed, the trailer turns about its axle
    c, s = math.cos(angle_rad), math.sin(angle_rad)
    turn = speed_mps * s / trailer().drawbar_m
    state.set_state("trailer/body.p", [ball - ahead * c, ahead * s, -trailer().cg_height_m])
    state.set_state("trailer/body.yaw", -angle_rad)
    state.set_state("trailer/body.v", [speed_mps * c, turn * trailer().axle_behind_m])
    state.set_state("trailer/body.r", turn)
    state.set_state("body.v", [speed_mps, 0.0])
    state.set_state("navigator.speed", abs(speed_mps))
    for wheel in WHEELS:
        radius = trailer().wheel_radius_m if wheel > 4 else spec().wheels.radius_m
        state.set_state(f"wheel/{wheel}/drive.omega", speed_mps / radius)
    return run(state, until_s, log=["body.*", "trailer/*"], log_s=0.05)


def test_the_file_is_whole() -> None:
    check_vehicle("car_escort_trailer")


@pytest.mark.parametrize("steer_rad", [0.15, -0.3])
def test_articulation_in_a_slow_circle_is_that_of_pure_rolling(steer_rad: float) -> None:
    log = rolling(1.5, 0.0, 40.0, steer_rad=steer_rad)

    # Rear axle on the radius R: the ball runs on sqrt(R^2 + d^2), the trailer's axle on sqrt(R^2 + d^2 - l^2)
    radius = float(np.mean(log["body.v_NB_B"][-100:, 0] / log["body.w_NB_B"][-100:, 2]))
    d, length = trailer().overhang_m, trailer().drawbar_m
    behind = math.sqrt(radius**2 + d**2 - length**2)
    expected = math.copysign(math.atan(d / abs(radius)) + math.atan(length / behind), radius)
    found = log["trailer/hitch.articulation"]
    assert abs(found[-1] / expected - 1) < 0.01  # slip angles at 1.5 m/s: tyres that pull at zero slip
    assert np.ptp(found[-100:]) < 1e-3
    base = spec().body.front_m + spec().body.rear_m
    assert abs(radius / (base / math.tan(steer_rad)) - 1) < 0.03  # both front wheels at the same angle


def test_forward_the_trailer_comes_in_line_with_the_rate_of_pure_rolling() -> None:
    """d angle / dt = -(v / l) sin angle for a car that goes straight: tan(angle / 2) falls exponentially."""
    speed, angle = 2.0, 0.2
    log = rolling(speed, angle, 3.0)

    time, found = log.time(), log["trailer/hitch.articulation"]
    exact = 2 * np.arctan(math.tan(angle / 2) * np.exp(-speed / trailer().drawbar_m * time))
    np.testing.assert_allclose(found, exact, atol=0.01)
    assert abs(found[-1]) < 0.1 * angle


@pytest.mark.parametrize("angle", [0.1, -0.1])
def test_backward_the_trailer_folds_to_the_side_on_which_it_is(angle: float) -> None:
    speed = -1.0
    log = rolling(speed, angle, 8.0, drives=False)

    time, found = log.time(), log["trailer/hitch.articulation"]
    early = time < 2.5
    exact = 2 * np.arctan(math.tan(angle / 2) * np.exp(-speed / trailer().drawbar_m * time))
    np.testing.assert_allclose(found[early], exact[early], atol=0.015)  # the car itself is pushed aside a little
    assert log.stops[0] is not None and log.stops[0].reason == "jackknife"
    assert np.sign(found[-1]) == np.sign(angle)


def test_a_disturbed_trailer_swings_out_at_speed() -> None:
    log = rolling(20.0, 0.05, 6.0)

    found = np.abs(log["trailer/hitch.articulation"])
    assert log.stops[0] is None
    assert found[-20:].max() < 0.002 < 0.05 == pytest.approx(found[0])
    assert log["trailer/hitch.gap"].max() < 2e-3  # m


def test_twenty_cars_with_trailers_drive_the_parcours() -> None:
    mission = load_mission("parcours")
    state = start(model(), lanes=LANES, seed=1)
    for path, value in mission.params(16).items():
        state.set_param(path, value)
    spread = np.random.default_rng(9)
    for lane in range(LANES):
        state.set_param("trailer/body.mass", trailer().mass_kg * spread.uniform(0.5, 1.3), lane)
        for wheel in WHEELS:
            state.set_param(f"wheel/{wheel}/tyre.friction", float(np.linspace(0.5, 1.1, LANES)[lane]), lane)
    signals = ["body.p_NB_N", "navigator.position_set", "trailer/hitch.*"]
    log = run(state, mission.longest_s(10.0), log=signals, log_s=0.05)

    for lane in range(LANES):
        stop = log.stops[lane]
        assert stop is not None and stop.reason == COMPLETED, f"lane {lane}: {stop}"
        error = np.linalg.norm(log.lane("body.p_NB_N", lane) - log.lane("navigator.position_set", lane), axis=1)
        assert np.nanmax(error) < 0.6  # m, as without the trailer
        assert np.nanmax(np.abs(log.lane("trailer/hitch.articulation", lane))) < math.radians(30.0)
