"""Error-state Kalman filter: its own statistics against the truth over many seeds, delay, gates, loss of GNSS."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

from ironbird.blocks.estimators.ekf import BA, BG, FUSE_S, TH, ErrorStateEkf, P, V
from ironbird.compiler.compiled import CompiledModel
from ironbird.constants import STANDARD_GRAVITY_MPS2 as GRAVITY
from ironbird.proofs.estimators import (
    BARO_S,
    FIELD_N,
    GNSS_S,
    IMU_S,
    MAG_S,
    attitude_error_B,
    comparison_model,
)
from ironbird.runtime.events import ParamEvent
from ironbird.runtime.log import Log
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import run
from ironbird.testing import check_block
from ironbird.testing.alone import alone as alone_in_a_model

SEEDS = 200
CHECK_S = (6.0, 12.0, 18.0, 24.0, 30.0, 36.0, 42.0, 48.0, 54.0, 60.0)


def flight(lanes: int, *, seed: int = 1, **params: float) -> RunState:
    """The known flight; parameters of the filter may be changed."""
    state = start(comparison_model(), lanes=lanes, seed=seed)
    for name, value in params.items():
        state.set_param(f"ekf.{name}", value)
    return state


def value(state: RunState, path: str) -> np.ndarray:
    """A sampled block's state or output at the latest sample: [lane, size]."""
    flat = state.model.flat
    column, array = (flat.xd, state.xd) if path in flat.xd.start else (flat.held, state.held)
    part = array[:, column.rows(path), :]
    return np.asarray(part.transpose(0, 2, 1).reshape(-1, part.shape[1])[: state.lanes])


def covariance(state: RunState) -> np.ndarray:
    """The filter's covariance: [lane, errors, errors]."""
    packed = value(state, "ekf.covariance")
    errors = round(np.sqrt(2 * packed.shape[1] + 0.25) - 0.5)
    full = np.zeros((state.lanes, errors, errors))
    columns, rows = np.tril_indices(errors)  # the upper triangle, column by column
    full[:, rows, columns] = packed
    full[:, columns, rows] = packed
    return full


def rotation(q: np.ndarray) -> np.ndarray:
    """Quaternions to matrices, stored column by column as in a log."""
    w, x, y, z = q.T
    rows = [
        1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y),
        2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x),
        2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y),
    ]  # fmt: skip
    return np.stack(rows, axis=-1)


def errors(state: RunState) -> np.ndarray:
    """True error of attitude, velocity, position, gyro and accelerometer bias after the latest update: [lane, 15]."""
    parts = [attitude_error_B(rotation(value(state, "ekf.q")), value(state, "flight.R_NB"))]
    for own, true in (
        ("v", "flight.v_NB_N"), ("p", "flight.p_NB_N"), ("gyro_bias", "imu.gyro_bias_B"),
        ("accel_bias", "imu.accel_bias_B"),
    ):  # fmt: skip
        parts.append(value(state, true) - value(state, f"ekf.{own}"))
    return np.concatenate(parts, axis=1)


class Consistency:
    """200 flights with matched noise: errors and covariances at some times, innovations at all.

    The field is level, as at the magnetic equator: elsewhere a tilt error turns the compass a little, which the filter
    leaves to its noise. The compass has white noise alone.
    """

    def __init__(self) -> None:
        state = flight(SEEDS, std_velocity_0=1e-3, heading_spread=1e-4)  # it stands still at the start
        state.set_param("mag.spread", [0.0, 0.0])
        for path in ("mag.field_N", "ekf.field_0"):
            state.set_param(path, [*FIELD_N[:2], 0.0])
        state.set_param("flight.tells", 0.0)
        draws = np.random.default_rng(7).normal(scale=0.1, size=(SEEDS, 3))
        for lane in range(SEEDS):
            state.set_param("ekf.position_0", draws[lane], lane)
        self.error, self.covariance = [], []
        pieces = []
        for until_s in CHECK_S:
            pieces.append(run(state, until_s, log=["ekf"], log_s=0.02))
            self.error.append(errors(state))
            self.covariance.append(covariance(state))
        self.time_s = np.concatenate([piece.time_s for piece in pieces])
        self.signals = {
            path: np.concatenate([piece.all_lanes(path) for piece in pieces], axis=1) for path in pieces[0].signals
        }

    def nees(self, rows: list[int]) -> np.ndarray:
        """Normalised estimation error squared, mean over the seeds, at each time."""
        found = []
        for error, full in zip(self.error, self.covariance, strict=True):
            e, part = error[:, rows], full[:, rows][:, :, rows]
            found.append(np.mean(np.einsum("li,li->l", e, np.linalg.solve(part, e[..., None])[..., 0])))
        return np.array(found)


@functools.cache
def consistency() -> Consistency:
    return Consistency()


# ---------------------------------------------------------------------- statistics


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("attitude", [*range(TH, TH + 3)]), ("velocity", [*range(V, V + 3)]), ("position", [*range(P, P + 3)]),
        ("biases", [*range(BG, BA + 3)]), ("all", [*range(BA + 3)]),
    ],
)  # fmt: skip
def test_errors_are_as_large_as_the_covariance_says(name: str, rows: list[int]) -> None:
    nees = consistency().nees(rows)

    freedom = SEEDS * len(rows)
    low, high = chi2.ppf([0.025, 0.975], freedom) / SEEDS
    inside = (nees > low) & (nees < high)
    assert inside.sum() >= 8  # of ten looks at a 95 % band; two outside have a chance of 9 %, three of 1 %
    low, high = chi2.ppf([5e-5, 1 - 5e-5], freedom) / SEEDS  # and none far outside
    assert nees.min() > low and nees.max() < high


@pytest.mark.parametrize(
    ("name", "sample_s", "size"),
    [
        ("nis_gnss_position", GNSS_S, 3),
        ("nis_gnss_velocity", GNSS_S, 3),
        ("nis_mag", MAG_S, 1),
        ("nis_baro", BARO_S, 1),
    ],
)
def test_innovations_are_as_large_as_the_filter_expects(name: str, sample_s: float, size: int) -> None:
    # The output at a sample shows the fusion of the sample before: the last row before each new one is taken.
    every = round(sample_s / 0.02)
    settled = consistency().signals[f"ekf.{name}"][:, round(1.0 / 0.02) + every - 1 :: every]

    freedom = settled.size * size
    low, high = chi2.ppf([0.025, 0.975], freedom) / freedom  # 95 %: within 0.3 to 0.9 % of one
    assert low < settled.mean() < high
    per_time = settled.mean(axis=0)  # and over the seeds alone, at every time
    low, high = chi2.ppf([0.025, 0.975], SEEDS * size) / (SEEDS * size)
    assert np.mean((per_time > low) & (per_time < high)) > 0.92  # 95 % of at least 295 times, less 2.4 deviations


def test_covariance_stays_positive_definite_for_a_minute() -> None:
    for full in consistency().covariance:
        scale = 1 / np.sqrt(np.einsum("lii->li", full))
        correlation = full * scale[:, :, None] * scale[:, None, :]
        assert np.linalg.eigvalsh(correlation).min() > 1e-9  # rounding of a double is 1e-16


def test_biases_converge() -> None:
    start_spread = np.sqrt(np.mean(consistency().error[0][:, BG:] ** 2, axis=0))
    end_spread = np.sqrt(np.mean(consistency().error[-1][:, BG:] ** 2, axis=0))

    assert np.all(end_spread[:3] < 5e-4)  # from 5e-3 rad/s; the walk alone gives 4e-4 in a minute
    assert np.all(end_spread[3:] < 1e-2)  # from 5e-2 m/s^2
    assert np.all(end_spread < start_spread)


def test_no_good_measurement_is_rejected_and_the_filter_calls_itself_healthy() -> None:
    healthy = consistency().signals["ekf.healthy"]

    assert consistency().signals["ekf.rejected"].max() == 0.0
    assert healthy[:, consistency().time_s > 1.0].min() == 1.0
    assert healthy[:, 0].max() == 0.0  # not yet aligned


# ---------------------------------------------------------------------- lever arm


def test_spin_of_an_inertial_unit_off_the_centre_is_no_motion_of_the_vehicle() -> None:
    """It stays in place, spun up about z to 25 rad/s. The first filter knows where the unit is, the second does not."""
    place, most, rise_s, begin_s = np.array([0.071, 0.02, -0.1365]), 25.0, 1.0, 0.6
    state = start(alone(), lanes=2)
    state.set_param("block.imu_position", place, 0)
    state.set_input("accel_B", [0.0, 0.0, -GRAVITY])
    state.set_input("mag_B", FIELD_N)
    log = stamped(state, begin_s)
    while state.time_s < 2.6:
        time_s = state.time_s - begin_s
        w = np.array([0.0, 0.0, min(time_s / rise_s, 1.0) * most])
        turning = np.array([0.0, 0.0, most / rise_s if time_s < rise_s else 0.0])
        felt = np.cross(turning, place) + np.cross(w, np.cross(w, place))  # [ChipLevel] Eq. 11
        state.set_input("accel_B", felt - [0.0, 0.0, GRAVITY])
        state.set_input("gyro_B", w)
        state.set_input("imu_stamp", state.time_s + IMU_S)
        log = run(state, state.time_s + IMU_S, log_s=IMU_S)
    speed = np.linalg.norm(log.all_lanes("block.v_NB_N")[:, -1], axis=-1)

    # w r is 1.8 m/s; left are the trapezoid's (25 rad/s * 4 ms)^2 / 12 of it and what a level makes of the same share
    assert speed[0] < 0.05
    assert speed[1] > 1.0


# ---------------------------------------------------------------------- optical flow


def test_flow_and_distance_give_the_velocity_while_gnss_has_none() -> None:
    """Two filters of a vehicle that moves and turns a little, 5 m above ground; the second sees no texture."""
    velocity, turn, distance = np.array([1.0, 0.5, 0.0]), np.array([0.1, -0.05, 0.0]), 5.0
    state = start(alone(), lanes=2)
    state.set_input("accel_B", [0.0, 0.0, -GRAVITY])
    state.set_input("mag_B", FIELD_N)
    stamped(state, 0.6)
    state.set_input("flow", turn[:2] + np.array([-velocity[1], velocity[0]]) / distance)  # of `OpticalFlow`
    state.set_input("ground_distance", distance)
    state.set_input("ground_valid", 1.0)
    state.set_input("flow_quality", 1.0, 0)
    state.set_input("gyro_B", turn)
    log = stamped(state, 1.0, ("imu_stamp", "flow_stamp", "ground_stamp"))

    found = log.all_lanes("block.v_NB_N")[:, -1]
    np.testing.assert_allclose(found[0, :2], velocity[:2], atol=0.2)  # it leans by 2 degrees without accelerating
    np.testing.assert_allclose(found[1, :2], 0.0, atol=0.2)
    np.testing.assert_array_equal(log.all_lanes("block.healthy")[:, -1].ravel(), [1.0, 0.0])


# ---------------------------------------------------------------------- slow errors


def test_slow_errors_age_while_their_sensor_speaks_but_is_not_used() -> None:
    """A barometer that others contradict, a receiver without a fix: unused for two correlation times, then used."""
    state = start(alone(), lanes=2)
    # So noisy that the sample which is used at the end moves nothing by itself
    for name, number in (
        ("baro_time", 0.5),
        ("gnss_time", 0.5),
        ("baro_noise", 1e6),
        ("min_eph", 1e6),
        ("min_epv", 1e6),
    ):
        state.set_param(f"block.{name}", number)
    state.set_input("accel_B", [0.0, 0.0, -GRAVITY])
    state.set_input("mag_B", FIELD_N)
    state.set_input("gnss_fix", 3.0)
    speaking = ("imu_stamp", "mag_stamp", "baro_stamp", "gnss_stamp")
    stamped(state, 0.8, speaking)
    for name, unused in (("baro_sound", 0.0), ("gnss_fix", 0.0)):
        state.set_input(name, unused)
    state.set_state("block.height_bias", 4.0)
    state.set_state("block.wander", [3.0, -2.0, 1.0])
    stamped(state, 1.8, speaking)
    np.testing.assert_array_equal(value(state, "block.height_bias"), 4.0)
    for name, used in (("baro_sound", 1.0), ("gnss_fix", 3.0)):
        state.set_input(name, used)
    stamped(state, 1.8 + FUSE_S, speaking)

    faded = math.exp(-(1.0 + FUSE_S) / 0.5)
    np.testing.assert_allclose(value(state, "block.height_bias")[0], 4.0 * faded, rtol=0.02)
    np.testing.assert_allclose(value(state, "block.wander")[0], faded * np.array([3.0, -2.0, 1.0]), rtol=0.02)


# ---------------------------------------------------------------------- alignment


@pytest.mark.parametrize("attitude", [(0.0, 0.0, 0.5), (0.1, -0.2, 2.8), (-0.3, 0.15, -1.6)])
def test_alignment_finds_the_attitude_of_a_standing_vehicle(attitude: tuple[float, float, float]) -> None:
    roll, pitch, yaw = attitude
    cr, sr, cp, sp, cy, sy = (f(a) for a in attitude for f in (math.cos, math.sin))
    R = np.array(
        [
            [cp * cy, sr * sp * cy - cr * sy, cr * sp * cy + sr * sy],
            [cp * sy, sr * sp * sy + cr * cy, cr * sp * sy - sr * cy],
            [-sp, sr * cp, cr * cp],
        ]
    )
    state = start(alone(), lanes=2)
    state.set_input("accel_B", R.T @ [0.0, 0.0, -GRAVITY])
    state.set_input("mag_B", R.T @ FIELD_N)
    log = stamped(state, 0.8)

    np.testing.assert_allclose(log["block.euler"][-1], [roll, pitch, yaw], atol=1e-9)  # exact but for rounding
    assert log["block.aligned"][-1] == 1.0


DELAY_S = 0.1  # of the receiver


@functools.cache
def in_motion() -> CompiledModel:
    return alone_in_a_model(ErrorStateEkf(in_motion=True), step_s=IMU_S, field_0=FIELD_N)


@pytest.mark.parametrize(
    ("fall_mps2", "spin_radps", "aligns"),
    [((1.0, -2.0, 6.0), 0.0, True), ((0.5, 1.0, 5.0), 0.8, True), ((0, 0, 9.0), 0, False)],
)
def test_alignment_in_motion_finds_the_attitude_of_a_vehicle_that_falls(
    fall_mps2: tuple[float, float, float], spin_radps: float, aligns: bool
) -> None:
    """A steady turn and an acceleration that grows, exact sensors but for the receiver's delay.

    Specific force by GNSS and accelerometer, over the same time, and the field give the attitude; velocity and
    position are those of the present, not those of the fix, from the first sample on.
    """
    fall, w = np.array(fall_mps2), spin_radps * np.array([0.2, -0.3, 0.93])
    jerk = np.array([-2.0, 1.0, 0.5]) if aligns else np.zeros(3)
    state = start(in_motion(), lanes=2)
    state.set_param("block.gnss_delay", DELAY_S)
    state.set_input("gnss_fix", 3.0)
    for name in ("gnss_eph", "gnss_epv", "gnss_speed_accuracy"):
        state.set_input(name, 2.0)  # what the alignment gets wrong stays: a fix is hardly believed
    state.set_input("zero_velocity", 1.0)  # the navigator says that it stands: a receiver knows better
    begin = Rotation.from_euler("ZYX", [0.7, -0.4, 2.0])

    def velocity(at_s: float) -> np.ndarray:
        return fall * (at_s + 1.0) + 0.5 * jerk * at_s**2

    def position(at_s: float) -> np.ndarray:
        return 0.5 * fall * (at_s + 1.0) ** 2 + jerk * at_s**3 / 6

    while state.time_s < 1.6:
        time_s = state.time_s
        attitude = begin * Rotation.from_rotvec(w * time_s)
        state.set_input("accel_B", attitude.inv().apply(fall + jerk * time_s - [0.0, 0.0, GRAVITY]))
        state.set_input("mag_B", attitude.inv().apply(FIELD_N))
        state.set_input("gyro_B", w)
        for name in ("imu_stamp", "mag_stamp"):
            state.set_input(name, time_s)
        if round(time_s / IMU_S) % round(GNSS_S / IMU_S) == 0:
            state.set_input("gnss_velocity_N", velocity(time_s - DELAY_S))
            state.set_input("gnss_position_N", position(time_s - DELAY_S))
            for name in ("gnss_stamp", "gnss_velocity_stamp"):
                state.set_input(name, time_s)
        log = run(state, time_s + IMU_S, log_s=IMU_S)
        if log["block.aligned"][-1]:
            found = Rotation.from_quat(log["block.q_NB"][-1][[1, 2, 3, 0]])
            assert (attitude.inv() * found).magnitude() < math.radians(0.2)
            np.testing.assert_allclose(log["block.v_NB_N"][-1], velocity(time_s), atol=0.02)
            np.testing.assert_allclose(log["block.p_NB_N"][-1], position(time_s), atol=0.05)

    assert bool(log["block.aligned"][-1]) == aligns


@pytest.mark.parametrize("lean_deg", [15.0, -15.0])
def test_a_compass_whose_field_dips_does_not_turn_a_filter_that_leans_unknowingly(lean_deg: float) -> None:
    """The estimate leans about the horizontal direction of the field, its heading is right, and neither is known well.

    The field dips by 64 degrees, so that the lean looks like a heading that is 29 degrees off. The filter cannot tell
    one from the other: its error about the vertical must stay within what it says of it.
    """
    std_rad = math.radians(20.0)
    state = start(alone(), lanes=2)
    state.set_input("accel_B", [0.0, 0.0, -GRAVITY])
    state.set_input("mag_B", FIELD_N)
    stamped(state, 0.6)
    along = np.array([*FIELD_N[:2], 0.0]) / math.hypot(*FIELD_N[:2])
    x, y, z, w = Rotation.from_rotvec(math.radians(lean_deg) * along).as_quat()
    state.set_state("block.q", [w, x, y, z])
    packed = value(state, "block.covariance")[0].copy()
    diagonal = [i * (i + 3) // 2 for i in range(3)]
    packed[:6] = 0.0
    packed[diagonal] = std_rad**2
    state.set_state("block.covariance", packed)
    log = stamped(state, 0.6 + FUSE_S + IMU_S)

    error_N = Rotation.from_quat(value(state, "block.q")[0][[1, 2, 3, 0]]).as_rotvec()
    std = log["block.std_attitude"][-1]
    assert std[2] < std_rad  # it was told something
    assert abs(error_N[2]) < 1.5 * std[2]


def test_outputs_are_carried_on_over_the_age_of_the_inertial_samples() -> None:
    """A turn at 0.5 rad/s and 3 m/s^2 ahead: attitude, velocity and position of the present, `imu_delay` later."""
    delay_s, w, ahead = 0.01, np.array([0.0, 0.0, 0.5]), 3.0
    outputs = {}
    for given_s in (0.0, delay_s):
        state = start(alone(), lanes=2)
        state.set_param("block.imu_delay", given_s)
        state.set_input("accel_B", [0.0, 0.0, -GRAVITY])
        state.set_input("mag_B", FIELD_N)
        stamped(state, 0.6)
        state.set_state("block.v", [4.0, 0.0, 0.0])
        state.set_input("gyro_B", w)
        state.set_input("accel_B", [ahead, 0.0, -GRAVITY])
        log = run(state, state.time_s + IMU_S, log_s=IMU_S)
        outputs[given_s] = {name: log[f"block.{name}"][0] for name in ("p_NB_N", "v_NB_N", "R_NB", "aligned")}

    then, now = outputs[0.0], outputs[delay_s]
    R_then, R_now = (out["R_NB"].reshape(3, 3, order="F") for out in (then, now))
    assert then["aligned"] == 1.0
    np.testing.assert_allclose(Rotation.from_matrix(R_then.T @ R_now).as_rotvec(), w * delay_s, atol=1e-9)
    np.testing.assert_allclose(now["v_NB_N"] - then["v_NB_N"], R_then @ [ahead * delay_s, 0, 0], atol=1e-4)
    np.testing.assert_allclose(now["p_NB_N"] - then["p_NB_N"], delay_s * then["v_NB_N"], atol=3e-4)


def test_the_rates_that_are_put_out_have_their_bias_taken_off() -> None:
    state = start(alone(), lanes=2)
    state.set_input("gyro_B", [0.11, -0.22, 0.33])
    state.set_state("block.gyro_bias", [0.01, -0.02, 0.03])

    log = run(state, IMU_S, log_s=IMU_S)

    np.testing.assert_allclose(log["block.w_NB_B"][0], [0.10, -0.20, 0.30], rtol=1e-14)


@functools.cache
def alone() -> CompiledModel:
    return alone_in_a_model(ErrorStateEkf(lever_arm=True, optical_flow=True), step_s=IMU_S, field_0=FIELD_N)


def stamped(state: RunState, until_s: float, stamps: Sequence[str] = ("imu_stamp", "mag_stamp")) -> Log:
    """Run a filter on its own with inputs that stand still but for the stamps; the log of the last sample."""
    while state.time_s < until_s - 1e-9:
        time_s = state.time_s + IMU_S
        for name in stamps:
            state.set_input(name, time_s)
        log = run(state, time_s, log_s=IMU_S)
    return log


def test_airspeed_and_turns_tell_the_wind() -> None:
    # Four headings at 15 m/s through the air; ground velocity and airspeed are exact.
    wind = np.array([4.0, -3.0])
    state = start(alone(), lanes=2)
    state.set_input("accel_B", [0.0, 0.0, -GRAVITY])
    state.set_input("mag_B", FIELD_N)
    stamped(state, 0.6)
    for i in range(200):
        heading = 2 * math.pi * i / 40
        air = 15.0 * np.array([math.cos(heading), math.sin(heading)])
        state.set_state("block.v", [*(air + wind), 0.0])  # as if known; only the wind is asked for
        state.set_input("airspeed", 15.0)
        state.set_input("airspeed_stamp", state.time_s)
        run(state, state.time_s + IMU_S, log=["block.wind_N"], log_s=IMU_S)

    np.testing.assert_allclose(state.get("block.wind"), wind, atol=0.3)  # 200 looks at 1 m/s noise: 0.1 m/s


# ---------------------------------------------------------------------- delay, gates, loss


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.sum(values**2, axis=-1))))


def tail(log: Log, own: str, true: str, from_s: float, to_s: float = math.inf) -> np.ndarray:
    rows = (log.time_s >= from_s) & (log.time_s < to_s)
    return np.asarray((log.all_lanes(own) - log.all_lanes(true))[:, rows])


def test_gnss_delay_is_made_good_in_a_turn() -> None:
    signals = ["ekf.p_NB_N", "ekf.v_NB_N", "flight.p_NB_N", "flight.v_NB_N"]
    right = run(flight(32), 60.0, log=signals, log_s=0.1)
    wrong = run(flight(32, gnss_delay=0.0), 60.0, log=signals, log_s=0.1)

    position = [rms(tail(log, "ekf.p_NB_N", "flight.p_NB_N", 25.0)) for log in (right, wrong)]
    velocity = [rms(tail(log, "ekf.v_NB_N", "flight.v_NB_N", 25.0)) for log in (right, wrong)]
    assert position[0] < 0.3 and velocity[0] < 0.08  # m, m/s; noise of one sample is 1.1 m, 0.26 m/s
    assert position[1] > 4 * position[0] and velocity[1] > 5 * velocity[0]  # 10 m/s times 0.12 s is 1.2 m


def test_gate_rejects_an_outlier() -> None:
    state = flight(32)
    for axis, jump in ((0, 40.0), (1, -25.0)):
        state.add_event(ParamEvent(f"gnss.jump[{axis}]", jump, start_s=30.0, end_s=31.0))
    log = run(state, 34.0, log=["ekf", "flight"], log_s=0.02)

    outlier = (log.time_s > 30.02) & (log.time_s < 31.0)
    rejected = log.all_lanes("ekf.rejected")
    assert rejected[:, outlier, 0].min() == 1.0 and rejected[:, outlier, 1:].max() == 0.0
    assert rejected[:, log.time_s > 31.1].max() == 0.0
    assert np.abs(tail(log, "ekf.p_NB_N", "flight.p_NB_N", 29.0)).max() < 1.2  # no trace of the 40 m


def test_lasting_jump_of_gnss_is_believed_after_the_time_out() -> None:
    """Two receivers agree here: two fifths of the five seconds."""
    state = flight(32)
    state.add_event(ParamEvent("gnss.jump[0]", 40.0, start_s=30.0))
    log = run(state, 45.0, log=["ekf", "flight"], log_s=0.02)

    error = tail(log, "ekf.p_NB_N", "flight.p_NB_N", 0.0)
    waiting, after = (log.time_s > 30.1) & (log.time_s < 31.9), log.time_s > 38.0
    assert np.abs(error[:, waiting, 0]).max() < 1.2  # dead reckoning
    np.testing.assert_allclose(error[:, after, 0].mean(), 40.0, atol=0.2)  # GNSS is all there is; noise of the mean
    assert log.all_lanes("ekf.rejected")[:, after].max() == 0.0


def test_barometer_that_is_off_for_long_is_re_zeroed() -> None:
    state = flight(32)
    state.add_event(ParamEvent("baro.offset", 15.0, start_s=30.0))
    log = run(state, 45.0, log=["ekf", "flight"], log_s=0.02)

    error = tail(log, "ekf.p_NB_N", "flight.p_NB_N", 0.0)
    waiting, after = (log.time_s > 30.1) & (log.time_s < 34.9), log.time_s > 38.0
    assert log.all_lanes("ekf.rejected")[:, waiting, 3].min() == 1.0
    assert log.all_lanes("ekf.rejected")[:, after].max() == 0.0
    fades = math.exp(-10.0 / 300.0)  # since it was learnt, with its correlation time
    np.testing.assert_allclose(value(state, "ekf.baro_bias").mean(), 15.0 * fades, atol=0.3)
    assert np.abs(error[:, log.time_s > 30.0, 2]).max() < 1.4  # 4 deviations of the sample that re-zeroed, 0.3 m


def test_magnetic_disturbance_does_not_turn_the_heading() -> None:
    state = flight(32)
    state.add_event(ParamEvent("mag.offset[1]", 1.5e-5, start_s=30.0))
    log = run(state, 60.0, log=["ekf", "flight.R_NB"], log_s=0.02)

    turn = attitude_error_B(log.all_lanes("ekf.R_NB"), log.all_lanes("flight.R_NB"))
    assert log.all_lanes("ekf.rejected")[:, log.time_s > 30.1, 2].mean() > 0.9  # also as it turns in the circle
    assert np.abs(turn[:, log.time_s > 30.0]).max() < math.radians(2.0)


def test_compass_that_is_bent_little_by_little_tilts_nothing() -> None:
    # 0.5 uT a second and axis: with a correction of all axes it once tilted a vehicle by 28 degrees
    state = flight(32)
    for second in range(30):
        for axis in range(3):
            state.add_event(ParamEvent(f"mag.offset[{axis}]", 5e-7 * (second + 1), 30.0 + second, 31.0 + second))
    log = run(state, 60.0, log=["ekf.R_NB", "flight.R_NB"], log_s=0.1)

    turn = attitude_error_B(log.all_lanes("ekf.R_NB"), log.all_lanes("flight.R_NB"))
    bent = log.time_s > 30.0
    assert np.abs(turn[:, bent, :2]).max() < math.radians(1.0)
    assert np.abs(turn[:, bent, 2]).max() < math.radians(12.0)  # the heading follows for a while, then no longer


def test_loss_of_gnss_is_flagged_and_attitude_stays_bounded() -> None:
    state = flight(32)
    for axis, speed in (("speed", 0.0), ("ripple", 0.0)):
        state.set_param(f"flight.{axis}", speed)  # hover: the accelerometer is a level
    state.add_event(ParamEvent("gnss.available", 0.0, start_s=30.0, end_s=110.0))
    log = run(state, 120.0, log=["ekf", "flight"], log_s=0.1)

    healthy, age = log.all_lanes("ekf.healthy"), log.all_lanes("ekf.gnss_age")
    assert healthy[:, (log.time_s > 2) & (log.time_s < 34.0)].min() == 1.0
    assert healthy[:, (log.time_s > 35.3) & (log.time_s < 110.0)].max() == 0.0
    np.testing.assert_allclose(age[:, log.time_s == 60.0], 30.2, atol=0.25)
    turn = attitude_error_B(log.all_lanes("ekf.R_NB"), log.all_lanes("flight.R_NB"))
    assert np.abs(turn[:, (log.time_s > 30) & (log.time_s < 110.0), :2]).max() < math.radians(2.0)
    # 80 s of dead reckoning are corrected within seconds of the next fix
    assert healthy[:, log.time_s > 112.0].min() == 1.0
    assert np.abs(tail(log, "ekf.p_NB_N", "flight.p_NB_N", 114.0)).max() < 2.5


def test_attitude_survives_the_loss_of_gnss_in_a_turn() -> None:
    state = flight(32)
    state.add_event(ParamEvent("gnss.available", 0.0, start_s=30.0))
    log = run(state, 60.0, log=["ekf", "flight"], log_s=0.1)

    turn = attitude_error_B(log.all_lanes("ekf.R_NB"), log.all_lanes("flight.R_NB"))
    assert np.abs(turn[:, log.time_s > 30]).max() < math.radians(2.5)  # the gyros carry it; the level is 12 % off g


def test_lost_inertial_data_is_flagged() -> None:
    state = flight(8)
    state.add_event(ParamEvent("imu.alive", 0.0, start_s=5.0))
    log = run(state, 6.0, log=["ekf.healthy"], log_s=0.1)

    assert log.all_lanes("ekf.healthy")[:, (log.time_s > 2) & (log.time_s < 5)].min() == 1.0
    assert log.all_lanes("ekf.healthy")[:, log.time_s > 5.15].max() == 0.0


def test_block_passes_the_public_check_in_flight() -> None:
    check_block(
        ErrorStateEkf(lever_arm=True, optical_flow=True), step_s=IMU_S, until_s=0.4,
        params={"field_0": FIELD_N, "align_time": 0.004},
        inputs={"accel_B": [0.1, 0.2, -9.8], "mag_B": FIELD_N, "gyro_B": 0.01, "gnss_fix": 3.0, "airspeed_stamp": 0.1},
    )  # fmt: skip
