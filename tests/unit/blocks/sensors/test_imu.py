"""Inertial sensors: lever arm and attitude in closed form, noise against Allan deviation and a real record."""

from __future__ import annotations

import csv
import functools
import math
from pathlib import Path

import allantools
import numpy as np
import pytest
from scipy import signal
from scipy.spatial.transform import Rotation
from sensing import event, follow, outputs_at, sample, sensor

from ironbird.blocks.bodies.rigid_body import RigidBody
from ironbird.blocks.sensors.imu import Imu
from ironbird.blocks.sensors.products import IMUS, imu_params
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.model.diagram import Diagram
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run
from ironbird.testing.checks import check_block

RECORD = Path(__file__).parents[3] / "data" / "icm20689_rest" / "rest.csv"
REST = {"specific_force_B": [0.0, 0.0, -9.81], "w_NB_B": [0.0, 0.0, 0.0]}
NOTHING = {"specific_force_B": 0.0, "w_NB_B": 0.0}
T = 0.004


@functools.cache
def static() -> CompiledModel:
    """A chip without dynamics: its output is that of this sample."""
    return sensor(Imu, sample_s=T, dynamics=False)


def axes(log: Log, name: str) -> np.ndarray:
    """[lane and axis, row]."""
    return np.concatenate([log.all_lanes(f"block.{name}")[:, :, i] for i in range(3)])


def allan(series: np.ndarray, taus: list[float], rate: float = 1 / T) -> np.ndarray:
    """Mean Allan deviation of all rows (root of the mean variance)."""
    found = [allantools.oadev(row, rate=rate, data_type="freq", taus=taus)[1] for row in series]
    return np.sqrt(np.mean(np.square(found), axis=0))


def test_passes_the_public_check() -> None:
    check_block(Imu(delay_samples=2), params=imu_params("icm20689"))


# ---------------------------------------------------------------------- ideal value


@functools.cache
def on_a_body() -> CompiledModel:
    """A rigid body under gravity with an ideal chip on it."""
    diagram = Diagram("body_with_imu")
    inertia = [[0.02, 0, 0], [0, 0.02, 0], [0, 0, 0.03]]
    body = diagram.add("body", RigidBody(), mass=2.0, inertia=inertia)
    imu = diagram.add("imu", Imu(sample_s=T, dynamics=False), position=[1.0, 0.0, 0.0])
    for name in ("specific_force_B", "angular_acceleration_B", "w_NB_B"):
        diagram.connect(body[name], imu[name])
    diagram.export(body.force_B)
    diagram.export(body.gravity_N)
    return compile_model(diagram)


ATTITUDES = [(0, 0, 0), (0.3, -0.7, 2.0), (3.0, 0.1, -1.0), (0.0, 1.5, 0.5)]


@pytest.mark.parametrize("euler", ATTITUDES)
def test_at_rest_the_accelerometer_reads_gravity_upwards_whatever_the_attitude(euler: tuple[float, ...]) -> None:
    turn = Rotation.from_euler("ZYX", euler[::-1])
    gravity_N = np.array([0.0, 0.0, 9.81])
    expected = -turn.as_matrix().T @ gravity_N
    state = start(on_a_body(), params={"body.q_0": turn.as_quat(scalar_first=True).tolist()})
    state.set_input("gravity_N", gravity_N)
    state.set_input("force_B", 2.0 * expected)  # what the ground holds 2 kg with

    log = run(state, 0.1, log_s=T)

    np.testing.assert_allclose(log["imu.accel_B"], np.tile(expected, (25, 1)), atol=1e-13)  # rounding of sines
    np.testing.assert_allclose(log["body.v_NB_N"], 0.0, atol=1e-13)


@pytest.mark.parametrize("euler", ATTITUDES)
def test_spinning_body_in_free_fall_reads_only_the_arm_whatever_the_attitude(euler: tuple[float, ...]) -> None:
    quaternion = Rotation.from_euler("ZYX", euler[::-1]).as_quat(scalar_first=True).tolist()
    state = start(on_a_body(), params={"body.q_0": quaternion, "body.w_0": [0.0, 0.0, 1.0]})
    state.set_input("gravity_N", [0.0, 0.0, 9.81])

    log = run(state, 0.1, log_s=T)

    np.testing.assert_allclose(log["imu.accel_B"], np.tile([-1.0, 0.0, 0.0], (25, 1)), atol=1e-14)
    np.testing.assert_allclose(log["imu.gyro_B"], np.tile([0.0, 0.0, 1.0], (25, 1)), atol=1e-14)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_spinning_chip_on_an_arm_reads_the_centripetal_acceleration(axis: int) -> None:
    w, arm = np.zeros(3), np.zeros(3)
    w[axis], arm[(axis + 1) % 3] = 1.0, 1.0
    inputs = {"specific_force_B": 0.0, "w_NB_B": w, "angular_acceleration_B": 0.0}

    found = outputs_at(static(), inputs, {"position": arm})

    np.testing.assert_array_equal(found["accel_B"][0], -arm)  # 1 rad/s on 1 m: 1 m/s^2 towards the axis
    np.testing.assert_array_equal(found["accel_truth_B"][0], -arm)
    np.testing.assert_array_equal(found["gyro_B"][0], w)


def test_lever_arm_is_the_motion_of_a_point_of_a_rigid_body() -> None:
    rng = np.random.default_rng(3)
    f, w, dw, r = (rng.normal(size=(20, 3)) for _ in range(4))

    for i in range(20):
        inputs = {"specific_force_B": f[i], "w_NB_B": w[i], "angular_acceleration_B": dw[i]}
        found = outputs_at(static(), inputs, {"position": r[i]})
        exact = f[i] + np.cross(dw[i], r[i]) + np.cross(w[i], np.cross(w[i], r[i]))
        np.testing.assert_allclose(found["accel_B"][0], exact, rtol=1e-13, atol=1e-14)  # rounding


def test_installation_and_scale_turn_and_stretch_what_is_felt() -> None:
    turn = Rotation.from_euler("z", 90, degrees=True).as_matrix()
    scale = np.diag([1.1, 1.0, 0.9])
    inputs = {"specific_force_B": [1.0, 2.0, 3.0], "w_NB_B": [0.1, 0.2, 0.3]}
    params = {"installation": turn.flatten("F"), "accel_scale": scale.flatten("F")}

    found = outputs_at(static(), inputs, params)

    np.testing.assert_allclose(found["accel_B"][0], [-2.2, 1.0, 2.7], atol=1e-15)
    np.testing.assert_allclose(found["gyro_B"][0], [-0.2, 0.1, 0.3], atol=1e-15)
    np.testing.assert_array_equal(found["accel_truth_B"][0], [1.0, 2.0, 3.0])


# ---------------------------------------------------------------------- dynamics, delay, range, resolution, temperature


def test_dynamics_are_the_step_response_of_the_second_order_system() -> None:
    model = sensor(Imu, sample_s=0.001)
    wn, zeta, samples = 190.0, 0.707, 80
    step = np.zeros((samples, 3))
    step[1:] = [1.0, -2.0, 0.5]  # the first sample is at rest

    found = follow(
        model, {"specific_force_B": step, "w_NB_B": 0.1 * step},
        {"accel_natural_frequency": wn, "gyro_natural_frequency": wn, "damping_ratio": zeta},
    )  # fmt: skip

    system = signal.lti([wn**2], [1, 2 * zeta * wn, wn**2])
    _, exact = signal.step(system, T=np.arange(samples - 1) * 0.001)
    np.testing.assert_allclose(found["accel_B"][1:], np.outer(exact, [1, -2, 0.5]), atol=1e-9)  # scipy's own 1e-10
    np.testing.assert_allclose(found["gyro_B"][1:], np.outer(exact, [0.1, -0.2, 0.05]), atol=1e-9)


@pytest.mark.parametrize("delay", [1, 3])
def test_delay_is_exact(delay: int) -> None:
    model = sensor(Imu, sample_s=T, dynamics=False, delay_samples=delay)
    value = np.random.default_rng(1).normal(size=(20, 3))

    found = follow(model, {"specific_force_B": value, "w_NB_B": -value})

    late = np.vstack([np.repeat(value[:1], delay, axis=0), value[:-delay]])
    np.testing.assert_array_equal(found["accel_B"], late)
    np.testing.assert_array_equal(found["gyro_B"], -late)
    np.testing.assert_array_equal(found["accel_truth_B"], value)


def test_values_are_whole_steps_and_end_at_the_range() -> None:
    params = {"accel_resolution": 0.25, "accel_range": 10.0, "gyro_resolution": 0.5, "gyro_range": 3.0}

    found = outputs_at(static(), {"specific_force_B": [1.1, -0.2, 99.0], "w_NB_B": [0.26, -7.0, 0.24]}, params)

    np.testing.assert_array_equal(found["accel_B"][0], [1.0, -0.25, 10.0])
    np.testing.assert_array_equal(found["gyro_B"][0], [0.5, -3.0, 0.0])


def test_temperature_drift_is_the_cubic_polynomial() -> None:
    drift = np.array(
        [[-3.0e-2, -5.8e-3, 5.0e-5, -4.5e-7], [0.12, 2.2e-3, -1.9e-4, 2.0e-6], [-0.53, 2.5e-2, -6.5e-4, 6e-6]]
    )
    for celsius in (17.0, 25.0, 50.0):
        inputs = {**NOTHING, "air_temperature": celsius + 273.15}
        found = outputs_at(static(), inputs, {"accel_temperature_drift": drift.flatten("F")})
        exact = [np.polynomial.polynomial.polyval(celsius, row) for row in drift]
        np.testing.assert_allclose(found["accel_B"][0], exact, rtol=1e-11)  # 273.15 is taken off again
        np.testing.assert_allclose(found["temperature"][0], celsius + 273.15)


def test_calibrated_preset_has_no_drift_at_the_temperature_of_calibration() -> None:
    drift = imu_params("icm20689")["accel_temperature_drift"]
    for row in drift:  # type: ignore[union-attr]
        assert abs(np.polynomial.polynomial.polyval(25.0, row)) < 1e-15


def test_chip_warms_up_with_its_time_constant() -> None:
    log = sample(static(), 500, NOTHING, {"self_heating": 15.0, "warm_up_time": 1.0})

    exact = 298.15 + 15.0 * (1 - np.exp(-log.time_s))
    np.testing.assert_allclose(log["block.temperature"], exact, rtol=1e-12)


# ---------------------------------------------------------------------- noise


@pytest.mark.parametrize("name", sorted(IMUS))
def test_allan_deviation_of_each_product_recovers_its_noise_density(name: str) -> None:
    params = imu_params(name)
    quiet = {
        "accel_resolution": 0.0,
        "gyro_resolution": 0.0,
        "self_heating": 0.0,
    }  # steps and warming are no white noise

    seed = 100 * sorted(IMUS).index(name)  # own random numbers for each product
    log = sample(sensor(Imu, sample_s=T), 50_000, REST, params | quiet, lanes=8, seed=seed)

    for kind in ("accel", "gyro"):
        density = float(np.ravel(params[f"{kind}_noise"])[0])
        found = allan(axes(log, f"{kind}_B"), [0.02, 0.1, 0.4])
        exact = density / math.sqrt(2) / np.sqrt([0.02, 0.1, 0.4])  # two-sided coefficient over root tau
        np.testing.assert_allclose(found, exact, rtol=0.1)  # bar; bias instability is 3 % of it at 0.4 s


def test_icm20689_at_rest_is_as_noisy_as_a_real_one() -> None:
    with RECORD.open() as handle:
        rows = np.array(list(csv.reader(handle))[1:], float)
    rate = (len(rows) - 1) / (rows[-1, 0] - rows[0, 0])
    sample_s = 0.0035
    assert abs(rate * sample_s - 1) < 0.01  # sampled as fast as the record

    log = sample(sensor(Imu, sample_s=sample_s), 4000, REST, imu_params("icm20689"))

    np.testing.assert_allclose(log["block.gyro_B"].std(axis=0), rows[:, 1:4].std(axis=0), rtol=0.15)  # bar
    np.testing.assert_allclose(log["block.accel_B"].std(axis=0), rows[:, 4:7].std(axis=0), rtol=0.15)


def test_gauss_markov_bias_has_the_allan_deviation_of_the_process() -> None:
    tau_c, deviation = 2.0, 0.05
    params = {"accel_instability": deviation, "accel_correlation_time": tau_c}

    log = sample(static(), 100_000, NOTHING, params, lanes=16)

    taus = [0.4, 2.0, 4.0, 10.0]
    found = allan(axes(log, "accel_B"), taus)
    t = np.array(taus) / tau_c  # Allan variance of a first-order Gauss-Markov process in closed form
    exact = deviation * np.sqrt(2 / t * (1 - (3 - 4 * np.exp(-t) + np.exp(-2 * t)) / (2 * t)))
    np.testing.assert_allclose(found, exact, rtol=0.04)  # 48 series of 400 s: 1 % at 10 s


def test_gauss_markov_bias_keeps_variance_and_correlation_from_the_first_round_on() -> None:
    tau_c, deviation = 0.5, 0.05
    params = {"gyro_instability": deviation, "gyro_correlation_time": tau_c}

    log = sample(static(), 300, NOTHING, params, lanes=1600)

    series = axes(log, "gyro_B")  # 4800 series
    assert not log["block.accel_B"].any()
    np.testing.assert_allclose(series[:, [6, 50, 299]].std(axis=0), deviation, rtol=0.04)  # 1 % one deviation
    for lag in (0.12, 0.48):  # whole rounds of six samples
        product = np.mean(series[:, 30] * series[:, 30 + round(lag / T)]) / deviation**2
        assert abs(product - math.exp(-lag / tau_c)) < 0.06  # four deviations of a mean of 4800


def test_random_walk_has_its_allan_deviation() -> None:
    log = sample(static(), 100_000, NOTHING, {"gyro_walk": 1e-3, "accel_walk": 2e-3}, lanes=16)

    taus = [1.0, 4.0, 10.0]
    for kind, walk in (("gyro", 1e-3), ("accel", 2e-3)):
        found = allan(axes(log, f"{kind}_B"), taus)
        np.testing.assert_allclose(found, walk * np.sqrt(np.array(taus) / 3), rtol=0.06)  # K sqrt(tau / 3)


def test_turn_on_bias_is_drawn_once_per_start() -> None:
    log = sample(static(), 4, NOTHING, {"accel_turn_on": 0.3, "gyro_turn_on": 0.01}, lanes=1600)

    for kind, deviation in (("accel", 0.3), ("gyro", 0.01)):
        series = axes(log, f"{kind}_B")
        np.testing.assert_array_equal(series, np.repeat(series[:, :1], 4, axis=1))
        np.testing.assert_allclose(series[:, 0].std(), deviation, rtol=0.04)  # 4800 draws: 1 %
        assert abs(series[:, 0].mean()) < 0.06 * deviation


# ---------------------------------------------------------------------- vibration


def test_vibration_carries_the_rotor_and_its_second_harmonic() -> None:
    speed, samples = 2 * math.pi * 40.0, 1000
    params = {"accel_vibration": 2.0, "vibration_speed": speed, "vibration_second": 0.5}

    log = sample(static(), samples, {**NOTHING, "rotor_speed": speed}, params)

    spectrum = np.abs(np.fft.rfft(log["block.accel_B"][:, 0])) * 2 / samples
    frequency = np.fft.rfftfreq(samples, T)
    assert sorted(frequency[spectrum > 0.01]) == pytest.approx([40.0, 80.0])
    np.testing.assert_allclose(spectrum[spectrum > 0.01], [2.0, 1.0], rtol=1e-9)


def test_vibration_above_half_the_rate_folds_down_and_grows_with_the_square_of_speed() -> None:
    reference, samples = 2 * math.pi * 50.0, 1000
    params = {"accel_vibration": 1.0, "vibration_speed": reference, "vibration_second": 0.0}

    log = sample(static(), samples, {**NOTHING, "rotor_speed": 3 * reference}, params)

    spectrum = np.abs(np.fft.rfft(log["block.accel_B"][:, 0])) * 2 / samples
    assert np.fft.rfftfreq(samples, T)[spectrum.argmax()] == pytest.approx(100.0)  # 150 Hz seen at 250 Hz
    np.testing.assert_allclose(spectrum.max(), 9.0, rtol=1e-9)


def test_random_vibration_is_zero_with_the_rotors_at_rest() -> None:
    params = {"accel_vibration_noise": 1.0, "gyro_vibration_noise": 0.1, "vibration_speed": 500.0}
    still = sample(static(), 100, NOTHING, params)
    flying = sample(static(), 20_000, {**NOTHING, "rotor_speed": 1000.0}, params)

    assert not still["block.accel_B"].any() and not still["block.gyro_B"].any()
    np.testing.assert_allclose(flying["block.accel_B"].std(axis=0), 4.0, rtol=0.02)  # (1000 / 500)^2
    np.testing.assert_allclose(flying["block.gyro_B"].std(axis=0), 0.4, rtol=0.02)


def test_stamp_is_the_time_of_the_sample_and_faults_act_through_parameters() -> None:
    log = sample(static(), 10, REST, events=[event("accel_bias[2]", 1.0, 5 * T, 7 * T)])

    np.testing.assert_allclose(log["block.stamp"], np.arange(10) * T, atol=1e-15)
    np.testing.assert_allclose(log["block.accel_B"][:, 2], np.where(np.isin(np.arange(10), [5, 6]), -8.81, -9.81))
