"""Magnetometer: rotation, iron, current and noise in closed form."""

from __future__ import annotations

import functools

import numpy as np
from scipy.spatial.transform import Rotation
from sensing import outputs_at, sample, sensor

from ironbird.blocks.sensors.magnetometer import Magnetometer
from ironbird.blocks.sensors.products import magnetometer_params
from ironbird.compiler.compiled import CompiledModel
from ironbird.runtime.state import start
from ironbird.runtime.step import advance, run
from ironbird.testing.alone import alone
from ironbird.testing.checks import check_block

FIELD_N = np.array([2.8e-5, -3e-6, 4.7e-5])
LEVEL = {"field_N": FIELD_N, "R_NB": np.eye(3)[None]}


@functools.cache
def compass() -> CompiledModel:
    return sensor(Magnetometer, sample_s=0.02)


def test_passes_the_public_check() -> None:
    check_block(Magnetometer(), params=magnetometer_params("ist8310"))


def test_ideal_compass_reads_the_field_in_body_axes() -> None:
    turns = Rotation.random(10, random_state=1).as_matrix()

    found = outputs_at(compass(), {"field_N": FIELD_N, "R_NB": turns})

    exact = np.einsum("nji,j->ni", turns, FIELD_N)
    np.testing.assert_allclose(found["field_B"], exact, rtol=0, atol=1e-19)
    np.testing.assert_array_equal(found["field_truth_B"], found["field_B"])


def test_iron_current_and_installation_change_the_field() -> None:
    soft = np.array([[1.1, 0.02, 0.0], [0.02, 0.95, -0.01], [0.0, -0.01, 1.0]])
    turn = Rotation.from_euler("z", 10, degrees=True).as_matrix()
    params = {
        "soft_iron": soft.flatten("F"), "installation": turn.flatten("F"), "hard_iron": [1e-6, 2e-6, -3e-6],
        "current_field": [1e-7, -2e-7, 5e-8],
    }  # fmt: skip

    found = outputs_at(compass(), {**LEVEL, "current": 20.0}, params)

    exact = soft @ turn @ FIELD_N + [1e-6, 2e-6, -3e-6] + 20.0 * np.array([1e-7, -2e-7, 5e-8])
    np.testing.assert_allclose(found["field_B"][0], exact, rtol=1e-14)
    np.testing.assert_allclose(found["field_truth_B"][0], FIELD_N, rtol=1e-15)


def test_range_and_resolution() -> None:
    params = {"range": [2e-5, 1e-3, 1e-3], "resolution": 1e-6}

    found = outputs_at(compass(), {"field_N": [2.8e-5, -3.4e-6, 4.66e-5], "R_NB": np.eye(3)[None]}, params)

    np.testing.assert_allclose(found["field_B"][0], [2e-5, -3e-6, 4.7e-5], rtol=1e-12)


def test_noise_has_its_deviation_and_the_residual_iron_is_drawn_once() -> None:
    inputs = {"field_N": FIELD_N.tolist(), "R_NB": np.eye(3).tolist()}
    noisy = sample(compass(), 10_000, inputs, {"noise": 3e-7})
    spread = sample(compass(), 3, inputs, {"hard_iron_spread": 5e-7}, lanes=1600)

    np.testing.assert_allclose(noisy["block.field_B"].std(axis=0), 3e-7, rtol=0.03)  # 0.7 % one deviation
    iron = spread.all_lanes("block.field_B") - FIELD_N
    np.testing.assert_array_equal(iron[:, 0], iron[:, 2])
    np.testing.assert_allclose(iron[:, 0].std(axis=0), 5e-7, rtol=0.08)


def test_the_zero_wanders_with_the_deviation_and_correlation_of_the_markov_process() -> None:
    log = sample(compass(), 40_000, {"field_N": FIELD_N, "R_NB": np.eye(3)}, {"drift": 2e-7, "correlation_time": 2.0})
    away = log["block.field_B"] - FIELD_N

    np.testing.assert_allclose(away.std(axis=0), 2e-7, rtol=0.15)  # 400 correlation times
    lag = round(2.0 / 0.02)
    for axis in away.T:
        assert abs(np.corrcoef(axis[:-lag], axis[lag:])[0, 1] - np.exp(-1)) < 0.15


def test_dynamics_answer_a_step_as_a_second_order_system() -> None:
    """[ChipLevel] Eq. 12: 1 - exp(-z w t) (cos(d t) + z w / d sin(d t)) with d = w sqrt(1 - z^2)."""
    wn, zeta = 20.0, 0.5
    block = alone(
        Magnetometer(dynamics=True, sample_s=0.01),
        step_s=0.01,
        natural_frequency=wn,
        damping_ratio=zeta,
        range=[10.0] * 3,
    )
    state = start(block)
    state.set_input("R_NB", np.eye(3))
    state.set_input("field_N", [0.0, 0.0, 0.0])
    advance(state, 3)
    state.set_input("field_N", [1.0, 0.0, 0.0])
    log = run(state, 0.5, log=["block.field_B"], log_s=0.01)

    t, d = 0.01 * np.arange(len(log["block.field_B"])), wn * np.sqrt(1 - zeta**2)
    exact = 1 - np.exp(-zeta * wn * t) * (np.cos(d * t) + zeta * wn / d * np.sin(d * t))
    np.testing.assert_allclose(log["block.field_B"][:, 0], exact, atol=1e-12)
