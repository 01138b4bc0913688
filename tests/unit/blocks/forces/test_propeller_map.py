"""Propeller and motor against the printed numbers of mavsim, the torque balance and the limits of the quadratic."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ironbird.blocks.forces.propeller_map import PropellerMap
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.alone import alone, outputs_at

EXAMPLES = settings(deadline=None, max_examples=25, derandomize=True)
DENSITY, D, R, I0, VOLTS = 1.2682, 0.508, 0.042, 1.5, 44.4
CT, CQ = [0.09357, -0.06044, -0.1079], [0.00523, 0.00497, -0.01664]
KV = 145 * 2 * math.pi / 60  # rad/s per volt


@functools.cache
def model() -> CompiledModel:
    return alone(
        PropellerMap(), diameter=D, CT=CT, CQ=CQ, speed_constant=KV, resistance=R, idle_current=I0, voltage=VOLTS
    )


@pytest.mark.parametrize(
    ("airspeed", "throttle", "thrust", "torque"),
    [  # printed in mavsim_python/launch_files/chap04/chap4_check.py of [BeardMcLain]
        (25.0, 0.5, -12.43072534597213, -0.49879620097737787),
        (25.0, 1.0, 37.7794805541605, 1.8098467397878482),
        (27.39323489287441, 1.0, 31.31315544701058, 1.58778287798956),
    ],
)
def test_thrust_and_torque_are_the_published_ones(
    airspeed: float, throttle: float, thrust: float, torque: float
) -> None:
    found = outputs_at(model(), {"airspeed": airspeed, "throttle": throttle, "density": DENSITY})

    assert found["thrust"][0] == pytest.approx(thrust, rel=1e-13)  # all printed digits but the last two
    assert found["torque"][0] == pytest.approx(torque, rel=1e-13)
    np.testing.assert_allclose(found["force_B"][0], [thrust, 0, 0], rtol=1e-13)
    np.testing.assert_allclose(found["moment_B"][0], [-torque, 0, 0], rtol=1e-13)  # the body is turned the other way


@given(airspeed=st.floats(0, 40), throttle=st.floats(0.05, 1), density=st.floats(0.5, 1.3), health=st.floats(0.1, 1))
@EXAMPLES
def test_motor_and_propeller_torque_agree_and_the_coefficients_are_parabolas(
    airspeed: float, throttle: float, density: float, health: float
) -> None:
    found = outputs_at(
        model(), {"airspeed": airspeed, "throttle": throttle, "density": density}, {"blade_health": health}
    )

    speed, current = found["speed"][0], found["current"][0]
    assert speed > 0
    motor = (current - I0) / KV
    assert found["torque"][0] == pytest.approx(motor, abs=1e-10)  # N m: rounding of the root, of 2
    assert VOLTS * throttle == pytest.approx(current * R + speed / KV, rel=1e-12)  # volts
    n, J = speed / (2 * math.pi), 2 * math.pi * airspeed / (speed * D)
    ct, cq = np.polynomial.Polynomial(CT)(J), np.polynomial.Polynomial(CQ)(J)
    most = density * airspeed**2 * D**2  # what cancels in thrust when the propeller brakes
    assert found["thrust"][0] == pytest.approx(health * density * n**2 * D**4 * ct, rel=1e-10, abs=1e-12 * most)
    assert found["torque"][0] == pytest.approx(health * density * n**2 * D**5 * cq, rel=1e-10, abs=1e-12 * most)
    assert found["shaft_power"][0] == pytest.approx(found["torque"][0] * speed, rel=1e-14)


def test_without_blades_the_motor_runs_at_its_no_load_speed() -> None:
    found = outputs_at(model(), {"airspeed": 25.0, "throttle": 1.0}, {"blade_health": 0.0})

    assert found["thrust"][0] == 0 and found["torque"][0] == 0
    assert found["speed"][0] == pytest.approx(KV * (VOLTS - R * I0), rel=1e-13)  # rounding


def test_a_weaker_battery_and_motor_act_like_less_throttle() -> None:
    whole = outputs_at(model(), {"airspeed": 20.0, "throttle": 0.6 * 0.9})
    found = outputs_at(
        model(), {"airspeed": 20.0, "throttle": 0.9, "voltage_ratio": [0.6, 1.0]}, {"health": [1.0, 0.6]}
    )

    np.testing.assert_allclose(found["thrust"], whole["thrust"][0], rtol=1e-12)  # rounding


def test_override_replaces_the_throttle() -> None:
    found = outputs_at(
        model(), {"airspeed": 20.0, "throttle": [0.2, 1.0]}, {"override": [1.0, 0.0], "override_throttle": 1.0}
    )

    assert found["thrust"][0] == found["thrust"][1]


def test_at_rest_without_voltage_nothing_turns() -> None:
    found = outputs_at(model(), {"airspeed": 0.0, "throttle": 0.0})

    assert found["speed"][0] == 0 and found["thrust"][0] == 0


def test_thrust_off_the_centre_line_makes_a_moment() -> None:
    found = outputs_at(model(), {"airspeed": 20.0, "throttle": 0.9}, {"position": [0.3, 0.1, -0.2]})

    thrust, torque = found["thrust"][0], found["torque"][0]
    np.testing.assert_allclose(found["moment_B"][0], [-torque, -0.2 * thrust, -0.1 * thrust], rtol=1e-14)
