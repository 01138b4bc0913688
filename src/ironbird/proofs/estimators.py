"""A known flight with simple sensors, on which estimators are compared: the error table of [Dai] Fig. 16.

    for row in attitude_error_table():
        print(row)

The flight is a closed form of time: the vehicle stands, climbs, and flies a circle with its nose along the track and
its floor square to the thrust, as a multicopter or a banked aeroplane does. The sensors add bias and white noise with
stated deviations and nothing else, so that a filter's own statistics can be compared with the truth.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from ironbird.blocks.estimators.complementary import ComplementaryFilter
from ironbird.blocks.estimators.ekf import ErrorStateEkf
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.constants import STANDARD_GRAVITY_MPS2 as GRAVITY
from ironbird.model.block import Block, Values, View
from ironbird.model.diagram import Diagram
from ironbird.model.signal import Clock, In, Noise, Number, Out, Param, State
from ironbird.runtime.log import Log
from ironbird.runtime.state import start
from ironbird.runtime.step import run

IMU_S, MAG_S, BARO_S, GNSS_S = 0.004, 0.02, 0.04, 0.2
FIELD_N = (2.1e-5, 1.5e-6, 4.3e-5)  # a place in Europe; example number

# Sensors of a small autopilot; example numbers. The filter gets the same ones.
GYRO_NOISE, GYRO_BIAS, GYRO_WALK = 0.003, 0.005, 5e-5
ACCEL_NOISE, ACCEL_BIAS, ACCEL_WALK = 0.05, 0.05, 5e-4
MAG_NOISE, MAG_BIAS, FIELD_SPREAD = 3e-7, 5e-7, 2e-7
HEADING_SPREAD = 0.03  # rad: the two magnetometer errors above over a horizontal field of 21 uT, in both axes
BARO_NOISE = 0.3
EPH, EPV, SPEED_ACCURACY = 0.8, 1.2, 0.15
GNSS_DELAY_S = 0.12

MATCHED: dict[str, Number] = {
    "field_0": FIELD_N, "gyro_noise": GYRO_NOISE, "gyro_bias_walk": GYRO_WALK, "std_gyro_bias_0": GYRO_BIAS,
    "accel_noise": ACCEL_NOISE, "accel_bias_walk": ACCEL_WALK, "std_accel_bias_0": ACCEL_BIAS,
    "mag_noise": MAG_NOISE, "heading_spread": HEADING_SPREAD, "baro_noise": BARO_NOISE, "baro_spread": 1e-3,
    "gnss_delay": GNSS_DELAY_S, "min_eph": 0.1, "min_epv": 0.1, "gnss_white": 1.0, "gnss_slow": 1e-3,
    "min_speed_accuracy": 0.01, "align_noise": ACCEL_NOISE / 10, "std_position_0": 0.1, "std_velocity_0": 0.05,
}  # fmt: skip


class KnownFlight(Block):
    """Test trajectory (stand, climb, circle): position and heading in closed form, the rest by exact derivatives.

    The floor is square to the specific force. Not modelled: everything else.
    """

    source = "closed form of this project"

    time = Clock(doc="time")
    p_NB_N = Out(unit="m", shape=3, frame="N", doc="position")
    v_NB_N = Out(unit="m/s", shape=3, frame="N", doc="velocity")
    R_NB = Out(unit="1", shape=(3, 3), doc="attitude")
    w_NB_B = Out(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    specific_force_B = Out(unit="m/s^2", shape=3, frame="B", doc="what an ideal accelerometer feels")
    p_past_N = Out(unit="m", shape=3, frame="N", doc="position a delay ago")
    v_past_N = Out(unit="m/s", shape=3, frame="N", doc="velocity a delay ago")
    standing = Out(unit="1", doc="1 before the climb")

    climb_start = Param(unit="s", default=4.0, doc="leaves the ground")
    climb_time = Param(unit="s", default=6.0, low=0.1, doc="to the height")
    height = Param(unit="m", default=20.0, doc="of the circle")
    circle_start = Param(unit="s", default=10.0, doc="begins to move")
    circle_rise = Param(unit="s", default=6.0, low=0.1, doc="to the full speed")
    speed = Param(unit="m/s", default=10.0, doc="on the circle")
    radius = Param(unit="m", default=20.0, low=1.0, doc="of the circle")
    ripple = Param(unit="m/s", default=1.0, doc="the speed swings by this much")
    ripple_rate = Param(unit="rad/s", default=0.7, low=0.01, doc="of the swing")
    delay = Param(unit="s", default=GNSS_DELAY_S, low=0.0, doc="of the past position and velocity")
    tells = Param(unit="1", default=1.0, doc="0: the estimators do not know that the vehicle stands")

    def output(self, x: View, u: View, p: View) -> Values:
        t = ca.SX.sym("t")
        rise = _since(t - p.circle_start, p.circle_rise)
        angle = p.speed / p.radius * rise
        angle += (
            p.ripple
            / (p.radius * p.ripple_rate)
            * _smooth((t - p.circle_start) / p.circle_rise)
            * (1 - ca.cos(p.ripple_rate * (t - p.circle_start)))
        )
        climb = p.height * _smooth((t - p.climb_start) / p.climb_time)
        position = ca.vertcat(p.radius * ca.sin(angle), p.radius * (1 - ca.cos(angle)), -climb)
        velocity = ca.jacobian(position, t)
        force = ca.jacobian(velocity, t) - ca.vertcat(0, 0, GRAVITY)  # specific force: force per mass without gravity
        z = -force / ca.sqrt(ca.dot(force, force))
        y = ca.cross(z, ca.vertcat(ca.cos(angle), ca.sin(angle), 0))
        y = y / ca.sqrt(ca.dot(y, y))
        R = ca.horzcat(ca.cross(y, z), y, z)
        turn = R.T @ ca.reshape(ca.jacobian(ca.vec(R), t), 3, 3)  # [w] of R' = R [w]
        now = [position, velocity, R, ca.vertcat(turn[2, 1], turn[0, 2], turn[1, 0]), R.T @ force]
        p_NB_N, v_NB_N, R_NB, w_NB_B, f_B = ca.substitute(now, [t], [u.time])
        p_past, v_past = ca.substitute([position, velocity], [t], [u.time - p.delay])
        motion = {"p_NB_N": p_NB_N, "v_NB_N": v_NB_N, "R_NB": R_NB, "w_NB_B": w_NB_B, "specific_force_B": f_B}
        standing = ca.if_else(u.time < p.climb_start, p.tells, 0)
        return {**motion, "p_past_N": p_past, "v_past_N": v_past, "standing": standing}


def _smooth(s: ca.SX) -> ca.SX:
    """0 below 0, 1 above 1, with two continuous derivatives."""
    s = ca.fmin(ca.fmax(s, 0), 1)
    return s**3 * (10 - s * (15 - 6 * s))


def _since(t: ca.SX, rise: ca.SX) -> ca.SX:
    """Integral of `_smooth(t / rise)`."""
    s = ca.fmin(ca.fmax(t / rise, 0), 1)
    return rise * (s**4 * (2.5 - s * (3 - s))) + ca.fmax(t - rise, 0)


class SimpleImu(Block):
    """Bias drawn once, its random walk, and white noise. Not modelled: everything else."""

    source = "closed form of this project"

    specific_force_B = In(unit="m/s^2", shape=3, frame="B", doc="truth")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="truth")
    time = Clock(doc="time")
    accel_B = Out(unit="m/s^2", shape=3, frame="B", doc="measured")
    gyro_B = Out(unit="rad/s", shape=3, frame="B", doc="measured")
    stamp = Out(unit="s", doc="time of the sample")
    accel_bias_B = Out(unit="m/s^2", shape=3, frame="B", doc="truth")
    gyro_bias_B = Out(unit="rad/s", shape=3, frame="B", doc="truth")
    first = Noise(shape=6, doc="the bias at the start")
    white = Noise(shape=6, doc="noise")
    walk = Noise(shape=6, doc="of the bias")
    bias = State(unit="1", shape=6, init=0.0, doc="accelerometer and gyro")
    started = State(unit="1", init=0.0, doc="1 after the first sample")
    noise = Param(unit="1", shape=2, default=(ACCEL_NOISE, GYRO_NOISE), doc="deviations of one sample")
    bias_spread = Param(unit="1", shape=2, default=(ACCEL_BIAS, GYRO_BIAS), doc="deviations of the bias")
    bias_walk = Param(unit="1", shape=2, default=(ACCEL_WALK, GYRO_WALK), doc="after one second")
    offset = Param(unit="1", shape=6, default=0.0, tunable=True, doc="a fault: added to accelerometer and gyro")
    gain = Param(unit="1", default=1.0, tunable=True, doc="a fault: scales truth, bias and noise; 0 sticks")
    rough = Param(unit="1", default=1.0, tunable=True, doc="a fault: scales the noise")
    alive = Param(unit="1", default=1.0, tunable=True, doc="a fault: 0 stops the stamp")

    def _bias(self, x: View, u: View, p: View) -> ca.SX:
        return ca.if_else(x.started > 0.5, x.bias, _spread(p.bias_spread) * u.first)

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        step = _spread(p.bias_walk) * self.sample_s**0.5
        return {"bias": self._bias(x, u, p) + step * u.walk, "started": ca.SX(1)}

    def output(self, x: View, u: View, p: View) -> Values:
        bias = self._bias(x, u, p)
        truth = ca.vertcat(u.specific_force_B, u.w_NB_B)
        measured = p.gain * (truth + bias + p.rough * _spread(p.noise) * u.white) + p.offset
        biases = {"accel_bias_B": bias[:3], "gyro_bias_B": bias[3:]}
        return {
            "accel_B": measured[:3],
            "gyro_B": measured[3:],
            "stamp": ca.if_else(p.alive > 0.5, u.time, 0),
            **biases,
        }


def _spread(pair: ca.SX) -> ca.SX:
    return ca.vertcat(pair[0], pair[0], pair[0], pair[1], pair[1], pair[1])


class SimpleMagnetometer(Block):
    """Earth field and an offset, both a little off their nominal values, and white noise. Not modelled: the rest."""

    source = "closed form of this project"

    R_NB = In(unit="1", shape=(3, 3), doc="truth")
    time = Clock(doc="time")
    mag_B = Out(unit="T", shape=3, frame="B", doc="measured")
    stamp = Out(unit="s", doc="time of the sample")
    mag_bias_B = Out(unit="T", shape=3, frame="B", doc="truth")
    first = Noise(shape=6, doc="field and offset")
    white = Noise(shape=3, doc="noise")
    drawn = State(unit="T", shape=6, init=0.0, doc="field and offset")
    started = State(unit="1", init=0.0, doc="1 after the first sample")
    field_N = Param(unit="T", shape=3, frame="N", default=FIELD_N, doc="nominal")
    spread = Param(unit="T", shape=2, default=(FIELD_SPREAD, MAG_BIAS), doc="deviations of field and offset")
    noise = Param(unit="T", default=MAG_NOISE, doc="deviation of a component")
    offset = Param(unit="T", shape=3, default=0.0, tunable=True, doc="a fault: added")

    def _drawn(self, x: View, u: View, p: View) -> ca.SX:
        return ca.if_else(x.started > 0.5, x.drawn, _spread(p.spread) * u.first)

    def update(self, x: View, u: View, p: View) -> Values:
        return {"drawn": self._drawn(x, u, p), "started": ca.SX(1)}

    def output(self, x: View, u: View, p: View) -> Values:
        drawn = self._drawn(x, u, p)
        field = u.R_NB.T @ (p.field_N + drawn[:3]) + drawn[3:]
        return {"mag_B": field + p.noise * u.white + p.offset, "stamp": u.time, "mag_bias_B": drawn[3:]}


class SimpleBarometer(Block):
    """Height and white noise. Not modelled: everything else."""

    source = "closed form of this project"

    p_NB_N = In(unit="m", shape=3, frame="N", doc="truth")
    time = Clock(doc="time")
    height = Out(unit="m", doc="measured, above take-off")
    stamp = Out(unit="s", doc="time of the sample")
    white = Noise(doc="noise")
    noise = Param(unit="m", default=BARO_NOISE, doc="deviation")
    offset = Param(unit="m", default=0.0, tunable=True, doc="a fault: added")

    def output(self, x: View, u: View, p: View) -> Values:
        return {"height": -u.p_NB_N[2] + p.noise * u.white + p.offset, "stamp": u.time}


class SimpleGnss(Block):
    """Late position and velocity with white noise. Not modelled: satellites, correlated errors."""

    source = "closed form of this project"

    p_past_N = In(unit="m", shape=3, frame="N", doc="truth a delay ago")
    v_past_N = In(unit="m/s", shape=3, frame="N", doc="truth a delay ago")
    time = Clock(doc="time")
    position_N = Out(unit="m", shape=3, frame="N", doc="measured")
    velocity_N = Out(unit="m/s", shape=3, frame="N", doc="measured")
    stamp = Out(unit="s", doc="time at which the sample came")
    fix = Out(unit="1", doc="3 or 0")
    eph = Out(unit="m", doc="deviation of a horizontal component")
    epv = Out(unit="m", doc="deviation of the height")
    speed_accuracy = Out(unit="m/s", doc="deviation of a component")
    white = Noise(shape=6, doc="noise")
    spread = Param(unit="1", shape=3, default=(EPH, EPV, SPEED_ACCURACY), doc="deviations")
    available = Param(unit="1", default=1.0, tunable=True, doc="0 is no fix")
    jump = Param(unit="m", shape=3, default=0.0, tunable=True, doc="a fault: added to the position")
    kick = Param(unit="m/s", shape=3, default=0.0, tunable=True, doc="a fault: added to the velocity")

    def output(self, x: View, u: View, p: View) -> Values:
        spread = ca.vertcat(p.spread[0], p.spread[0], p.spread[1])
        return {
            "position_N": u.p_past_N + spread * u.white[:3] + p.jump,
            "velocity_N": u.v_past_N + p.spread[2] * u.white[3:] + p.kick,
            "stamp": u.time,
            "fix": 3 * p.available,
            "eph": p.spread[0],
            "epv": p.spread[1],
            "speed_accuracy": p.spread[2],
        }


SENSOR_PORTS = {  # estimator's input -> sensor's output
    "accel_B": "imu.accel_B", "gyro_B": "imu.gyro_B", "imu_stamp": "imu.stamp",
    "mag_B": "mag.mag_B", "mag_stamp": "mag.stamp", "baro_height": "baro.height", "baro_stamp": "baro.stamp",
    "gnss_position_N": "gnss.position_N", "gnss_velocity_N": "gnss.velocity_N", "gnss_stamp": "gnss.stamp",
    "gnss_velocity_stamp": "gnss.stamp",
    "gnss_fix": "gnss.fix", "gnss_eph": "gnss.eph", "gnss_epv": "gnss.epv",
    "gnss_speed_accuracy": "gnss.speed_accuracy", "zero_velocity": "flight.standing",
}  # fmt: skip


def estimation_rig(estimators: Mapping[str, tuple[Block, Mapping[str, Number]]]) -> Diagram:
    """The known flight, its sensors, and estimators (with their parameters) that all see the same samples."""
    rig = Diagram("estimation_rig")
    flight = rig.add("flight", KnownFlight(sample_s=IMU_S))
    imu = rig.add("imu", SimpleImu(sample_s=IMU_S))
    rig.connect(flight.specific_force_B, imu.specific_force_B)
    rig.connect(flight.w_NB_B, imu.w_NB_B)
    mag = rig.add("mag", SimpleMagnetometer(sample_s=MAG_S))
    rig.connect(flight.R_NB, mag.R_NB)
    baro = rig.add("baro", SimpleBarometer(sample_s=BARO_S))
    rig.connect(flight.p_NB_N, baro.p_NB_N)
    gnss = rig.add("gnss", SimpleGnss(sample_s=GNSS_S))
    rig.connect(flight.p_past_N, gnss.p_past_N)
    rig.connect(flight.v_past_N, gnss.v_past_N)
    for name, (block, params) in estimators.items():
        handle = rig.add(name, block, **dict(params))
        for target, source in SENSOR_PORTS.items():
            if target in handle:
                rig.connect(rig.port(source), handle[target])
    return rig


def attitude_error_B(estimated: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Rotation from the estimated to the true attitude as a small-angle vector in B; matrices as logged, [..., 9]."""
    shape = (*estimated.shape[:-1], 3, 3)
    estimate, truth = (m.reshape(shape).swapaxes(-1, -2) for m in (estimated, true))  # stored column by column
    e = estimate.swapaxes(-1, -2) @ truth
    return 0.5 * np.stack(
        [e[..., 2, 1] - e[..., 1, 2], e[..., 0, 2] - e[..., 2, 0], e[..., 1, 0] - e[..., 0, 1]], axis=-1
    )


@dataclass(frozen=True)
class AttitudeErrorRow:
    """Errors of one estimator in one part of the flight: root mean square over time and seeds, and the worst."""

    estimator: str
    phase: str
    tilt_rms_rad: float
    heading_rms_rad: float
    tilt_max_rad: float

    def sentence(self) -> str:
        """The errors in degrees as text for a table."""
        tilt, heading, worst = np.degrees([self.tilt_rms_rad, self.heading_rms_rad, self.tilt_max_rad])
        return f"tilt {tilt:.3f}° rms ({worst:.3f}° at most), heading {heading:.3f}° rms"


PHASES = {"hover": (6.0, 10.0), "turn": (20.0, 60.0)}  # s


@functools.cache
def comparison_model() -> CompiledModel:
    """Compiled model of the known flight with both estimators (Kalman and complementary filter)."""
    complementary: dict[str, Number] = {"field_0": FIELD_N}
    return compile_model(
        estimation_rig(
            {
                "ekf": (ErrorStateEkf(sample_s=IMU_S), MATCHED),
                "mahony": (ComplementaryFilter(sample_s=IMU_S), complementary),
            }
        ),
        step_s=IMU_S,
    )


def attitude_error_table(*, lanes: int = 64, seed: int = 1, until_s: float = 60.0) -> list[AttitudeErrorRow]:
    """[Dai] Fig. 16 as numbers: the Kalman filter and the complementary filter in the same turning flight."""
    state = start(comparison_model(), lanes=lanes, seed=seed)
    log = run(state, until_s, log=["flight.R_NB", "ekf.R_NB", "mahony.R_NB"], log_s=0.1)
    return [_row(log, name, phase, window) for phase, window in PHASES.items() for name in ("ekf", "mahony")]


def _row(log: Log, estimator: str, phase: str, window_s: tuple[float, float]) -> AttitudeErrorRow:
    rows = (log.time_s >= window_s[0]) & (log.time_s < window_s[1])
    estimate = log.all_lanes(f"{estimator}.R_NB")[:, rows]
    error_B = attitude_error_B(estimate, log.all_lanes("flight.R_NB")[:, rows])
    R = estimate.reshape(*estimate.shape[:-1], 3, 3).swapaxes(-1, -2)
    error_N = (R @ error_B[..., None])[..., 0]
    tilt = np.hypot(error_N[..., 0], error_N[..., 1])
    tilt_rms, heading_rms = (float(np.sqrt(np.mean(angle**2))) for angle in (tilt, error_N[..., 2]))
    return AttitudeErrorRow(estimator, phase, tilt_rms, heading_rms, float(tilt.max()))
