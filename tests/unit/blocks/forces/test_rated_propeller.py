"""The manual's propeller law: static thrust, and what airspeed takes of it."""

from __future__ import annotations

import functools
import math

import numpy as np

from ironbird.blocks.forces.rated_propeller import RatedPropeller
from ironbird.compiler.compiled import CompiledModel
from ironbird.testing.alone import alone, outputs_at
from ironbird.testing.checks import check_block

D_M, C_T, TOP, K = 0.3, 0.09, 900.0, 1.5
PARAMS = {"diameter": D_M, "thrust_number": C_T, "top_speed": TOP, "loss": K}


@functools.cache
def model() -> CompiledModel:
    return alone(RatedPropeller(), **PARAMS)  # type: ignore[arg-type]


def test_passes_the_public_check() -> None:
    check_block(RatedPropeller(), params=PARAMS, inputs={"throttle": 0.6, "airspeed": 12.0})


def test_thrust_is_the_printed_law() -> None:
    throttle = np.linspace(0.2, 1.0, 5)
    found = outputs_at(model(), {"throttle": throttle, "airspeed": 15.0, "density": 1.1})["thrust"]

    at_rest = C_T * 1.1 * (throttle * TOP / (2 * math.pi)) ** 2 * D_M**4
    np.testing.assert_allclose(found, at_rest - K * 15.0 / np.sqrt(at_rest), rtol=1e-12)


def test_a_closed_throttle_brakes_and_stays_finite() -> None:
    found = outputs_at(model(), {"throttle": [0.0, 1e-6], "airspeed": 15.0})["thrust"]

    assert np.isfinite(found).all() and (found < 0).all()


def test_health_scales_the_speed_and_blade_health_the_thrust() -> None:
    whole, slowed, worn = outputs_at(
        model(), {"throttle": 0.8, "airspeed": 15.0}, {"health": [1.0, 0.75, 1.0], "blade_health": [1.0, 1.0, 0.6]}
    )["thrust"].ravel()

    slower = outputs_at(model(), {"throttle": 0.75 * 0.8, "airspeed": 15.0})["thrust"].item()
    assert abs(slowed / slower - 1) < 1e-12 and slowed < 0.6 * whole  # thrust at rest goes with the square of the speed
    assert abs(worn / (0.6 * whole) - 1) < 1e-12


def test_its_force_has_the_three_parts_of_a_force_and_points_ahead() -> None:
    found = outputs_at(model(), {"throttle": 0.8, "airspeed": 15.0})
    np.testing.assert_array_equal(found["force_B"][0], [found["thrust"].item(), 0.0, 0.0])
