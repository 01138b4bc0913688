"""A quadcopter without one rotor: the relaxed hover of [Mueller2014], gains around it, and the law that uses them."""

from __future__ import annotations

import functools
import math
from pathlib import Path

import numpy as np
import pytest

from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.errors import VehicleError
from ironbird.model.diagram import Diagram
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.vehicles import places as at
from ironbird.vehicles.load import load_spec, load_vehicle, vehicle_path
from ironbird.vehicles.riccati import zero_order_hold
from ironbird.vehicles.templates.multicopter import (
    DESIGN_GRAVITY_MPS2,
    MulticopterSpec,
    Spin,
    add_cascade,
    spin_without,
)
from ironbird.vehicles.templates.rotorcraft import CONTROL_SAMPLE_S

NAMES = ("quad_h250", "quad_f450")
MOTOR_LAG_S = {"quad_h250": 0.025, "quad_f450": 0.0119}


@functools.cache
def spinning(name: str) -> MulticopterSpec:
    spec = load_spec(name)
    assert isinstance(spec, MulticopterSpec)
    control = spec.control.model_copy(update={"lands_spinning": True})
    return spec.model_copy(update={"control": control})


def thrusts(spec: MulticopterSpec, spin: Spin, lost: int) -> np.ndarray:
    """Of the four rotors in the steady spin: the weight less the opposite rotor's, halved."""
    places = np.array([rotor.position_B_m for rotor in spec.rotor])
    opposite = int(np.argmin(places @ places[lost]))
    found = np.full(4, (spec.body.mass_kg * DESIGN_GRAVITY_MPS2 - spin.opposite_N) / 2)
    found[lost], found[opposite] = 0.0, spin.opposite_N
    return found


def signs(spec: MulticopterSpec) -> np.ndarray:
    return np.array([1.0 if rotor.spin == "ccw" else -1.0 for rotor in spec.rotor])


def gyroscopic(spec: MulticopterSpec, rates: np.ndarray, speeds: np.ndarray) -> np.ndarray:
    momentum = spec.body.inertia().diagonal() * rates
    momentum[2] -= spec.propeller["standard"].inertia_kgm2 * float(signs(spec) @ speeds)
    return np.cross(rates, momentum)


@pytest.mark.parametrize("lost", range(4))
@pytest.mark.parametrize("name", NAMES)
def test_steady_spin_balances_all_three_moments(name: str, lost: int) -> None:
    spec, spin = spinning(name), spin_without(spinning(name), lost)
    q = spec.propeller["standard"]
    lift = thrusts(spec, spin, lost)
    speeds = np.sqrt(lift / q.thrust_coefficient_Ns2)
    rates = spin.axis_B * (spin.rate_radps / spin.axis_B[2])
    places = np.array([rotor.position_B_m for rotor in spec.rotor])
    tilting = np.cross(places, np.array([0.0, 0.0, -1.0])).T @ lift
    torque = q.torque_coefficient_Nms2 * float(signs(spec) @ speeds**2)
    arm2 = float(places[0] @ places[0])
    held = q.rotor_drag_Ns2pm * speeds.sum() * arm2 * spin.rate_radps
    held += spec.airframe.damping_Nms2prad2[2] * abs(spin.rate_radps) * spin.rate_radps

    np.testing.assert_allclose(gyroscopic(spec, rates, speeds)[:2], tilting[:2], atol=2e-3 * abs(tilting).max())
    assert abs(torque / held - 1) < 1e-3
    assert spin.opposite_N > 0 and abs(np.linalg.norm(spin.axis_B) - 1) < 1e-12


def test_spin_of_the_h250_is_that_of_its_flights_to_the_side_of_the_lost_rotor() -> None:
    rates = [spin_without(spinning("quad_h250"), lost).rate_radps for lost in range(4)]

    np.testing.assert_allclose(np.abs(rates), 25.0, rtol=0.1)  # mean of 16 flights, 1.7 rad/s deviation
    np.testing.assert_array_equal(np.sign(rates), [-1, -1, 1, 1])


@pytest.mark.parametrize("lost", [0, 2])
@pytest.mark.parametrize("name", NAMES)
def test_gains_hold_the_axis_at_every_rate_of_spin_behind_the_motors_lag(name: str, lost: int) -> None:
    """Without them it is neutrally stable; the loop is closed around motors half as slow, as the lead makes them."""
    spec, spin = spinning(name), spin_without(spinning(name), lost)
    inertia = spec.body.inertia().diagonal()
    speeds = np.sqrt(thrusts(spec, spin, lost) / spec.propeller["standard"].thrust_coefficient_Ns2)
    wheel = -spec.propeller["standard"].inertia_kgm2 * float(signs(spec) @ speeds)
    for k, gains in enumerate(spin.gains.T):
        r = 0.3 * spin.rate_radps * k
        turn = (inertia[2] - inertia[0]) * r + wheel
        A = np.zeros((6, 6))  # p, q, h1, h2, and the moments that the motors give
        A[0, 1], A[1, 0] = -turn / inertia[0], turn / inertia[1]
        A[2, 3], A[3, 2], A[2, 1], A[3, 0] = r, -r, -spin.axis_B[2], spin.axis_B[2]
        A[0, 4], A[1, 5] = 1 / inertia[0], 1 / inertia[1]
        A[4:, 4:] = -np.eye(2) * 2 / MOTOR_LAG_S[name]
        B = np.vstack([np.zeros((4, 2)), np.eye(2) * 2 / MOTOR_LAG_S[name]])
        Ad, Bd = zero_order_hold(A, B, CONTROL_SAMPLE_S)
        K = np.hstack([gains.reshape(2, 4), np.zeros((2, 2))])

        assert np.abs(np.linalg.eigvals(Ad)).max() > 1 - 1e-9
        assert np.abs(np.linalg.eigvals(Ad - Bd @ K)).max() < 0.995, k  # settles with 0.8 s or faster


@functools.cache
def law() -> CompiledModel:
    """The block alone, with the H250's numbers."""
    diagram = Diagram("law")
    handle = add_cascade(diagram, spinning("quad_h250"))
    for name in diagram.block("control").inputs:
        diagram.export(handle[name])
    return compile_model(diagram, step_s=CONTROL_SAMPLE_S)


def test_lost_rotor_is_noticed_and_in_the_steady_spin_the_others_give_what_it_needs() -> None:
    spec, spin = spinning("quad_h250"), spin_without(spinning("quad_h250"), 0)
    q, motor = spec.propeller["standard"], spec.motor["standard"]
    lift = thrusts(spec, spin, 0) * (9.80665 / DESIGN_GRAVITY_MPS2) / -spin.axis_B[2]  # the axis leans
    speeds = np.sqrt(lift / q.thrust_coefficient_Ns2)
    rates = spin.axis_B * (spin.rate_radps / spin.axis_B[2])
    # Attitude in which the axis is upright
    angle = math.acos(-spin.axis_B[2])
    turn = np.cross(spin.axis_B, [0.0, 0.0, -1.0])
    turn /= np.linalg.norm(turn)
    K = np.array([[0, -turn[2], turn[1]], [turn[2], 0, -turn[0]], [-turn[1], turn[0], 0]])
    R = np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * K @ K
    np.testing.assert_allclose(R @ spin.axis_B, [0.0, 0.0, -1.0], atol=1e-12)
    state = start(law(), lanes=2)
    state.set_input("R_NB", R.flatten(order="F"))
    state.set_input("w_NB_B", rates)
    for number, speed in enumerate(speeds, start=1):
        state.set_input(f"rotor_speed_{number}", speed)
    log = run(state, 0.4, log_s=CONTROL_SAMPLE_S)

    assert log["control.lost_rotor"][0] == 0 and log["control.lost_rotor"][-1] == 1
    assert 0.1 <= CONTROL_SAMPLE_S * int(np.argmax(log["control.lost_rotor"] == 1)) < 0.25
    throttle = np.array([log[f"control.throttle_{i}"][-1] for i in range(1, 5)])
    given = motor.quadratic_radps * throttle**2 + motor.slope_radps * throttle + motor.idle_speed_radps
    np.testing.assert_allclose(given[1:], speeds[1:], rtol=0.02)


def test_spin_is_refused_where_there_are_not_four_rotors(tmp_path: Path) -> None:
    text = vehicle_path("hexa_x").read_text().replace("[control]\n", "[control]\nlands_spinning = true\n")
    copy = tmp_path / "hexa_x.toml"
    copy.write_text(text)

    with pytest.raises(VehicleError, match="lands_spinning is for four rotors"):
        load_vehicle(copy, control="reference")


def test_vehicle_without_the_key_watches_no_rotor() -> None:
    diagram = load_vehicle("quad_h250", control="reference").diagram

    assert "lost_rotor" not in diagram.block("control").outputs


def test_filter_of_the_h250_knows_where_its_inertial_units_are_and_others_have_none_to_know() -> None:
    h250, f450 = (load_vehicle(name, control="reference").diagram for name in NAMES)

    np.testing.assert_array_equal(h250.value(at.ESTIMATOR("imu_position")), [0.071, 0.0, -0.1365])
    assert "imu_position" not in f450.block(at.ESTIMATOR.path).params
