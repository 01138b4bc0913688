"""Inertial measurement unit: accelerometer and gyroscope of one chip."""

from __future__ import annotations

import math

import casadi as ca

from ironbird.blocks.sensors.chain import filled, markov_step, rounded, second_order_step, shifted
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Clock, In, Noise, Out, Param, State
from ironbird.symbolic.smooth import clip

ZERO_CELSIUS_K = 273.15
AXES = 6  # three of the accelerometer, three of the gyroscope
UNITY = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
KINDS = (("accel", "m/s^2"), ("gyro", "rad/s"))


class Imu(Block):
    """An inertial unit: measures specific force and angular rate with the errors of its accelerometer and gyroscope.
    [ChipLevel] Eq. 6-12 and [Dai] Eq. 11-12.

    Chain: ideal value at the chip (lever arm, Eq. 11), installation and scale (Eq. 6-7), vibration, second-order
    dynamics and delay (Eq. 12), bias (turn-on draw, Gauss-Markov of Eq. 9-10, random walk, cubic temperature drift of
    [MPSoC] 3), white noise (Eq. 8), resolution, range. With its default parameters the chip is ideal.

    Noise densities are one-sided, as data sheets give them: the deviation of a sample is density * sqrt(1 / (2 T)),
    white up to half the sample rate T^-1; the Allan deviation at one second is density / sqrt(2). Dynamics are
    exact for an input held over a sample, which puts the output half a sample later than the continuous filter would.
    Vibration carries the mean rotor's first and second harmonic and a random part, grows with the square of
    the speed, and is sampled without an anti-alias filter: above half the sample rate it folds down, as
    in a chip that is read slowly. Drifts are stepped for one axis per sample in turn, which saves random numbers.
    `accel_truth_B` is the ideal value at the chip, without delay. Not modelled: sensitivity of the gyroscope
    to acceleration, nonlinearity of the scale, rotation of the earth, hysteresis, flicker noise other than by
    the Gauss-Markov process.
    """

    source = "[ChipLevel] Eq. 6-12; [Dai] Eq. 11-12; [MPSoC] 3"

    time = Clock(doc="simulation time")
    specific_force_B = In(unit="m/s^2", shape=3, frame="B", doc="at the centre of mass")
    angular_acceleration_B = In(unit="rad/s^2", shape=3, frame="B", default=0.0, doc="for the lever arm")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    rotor_speed = In(unit="rad/s", default=0.0, doc="mean of all rotors; drives the vibration")
    air_temperature = In(unit="K", default=298.15, doc="around the chip")

    accel_truth_B = Out(unit="m/s^2", shape=3, frame="B", doc="specific force at the chip")
    accel_B = Out(unit="m/s^2", shape=3, frame="B", doc="as measured")
    gyro_truth_B = Out(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    gyro_B = Out(unit="rad/s", shape=3, frame="B", doc="as measured")
    temperature = Out(unit="K", doc="of the chip")
    stamp = Out(unit="s", doc="time of this sample")

    white = Noise(shape=AXES, doc="white noise; the first draw is the turn-on bias")
    drift = Noise(shape=2, doc="drives one axis' Gauss-Markov process and random walk per sample")
    count = State(unit="1", init=0.0, doc="samples so far")
    phase = State(unit="rad", init=0.0, doc="of the mean rotor")
    heating = State(unit="K", init=0.0, doc="chip over air")

    position = Param(unit="m", shape=3, frame="B", default=0.0, doc="of the chip from the centre of mass")
    installation = Param(
        unit="1", shape=(3, 3), default=UNITY, tunable=True, doc="rotation by which the chip is off its place"
    )
    damping_ratio = Param(unit="1", default=0.707, low=0.05, high=0.99, doc="of the dynamics")
    self_heating = Param(unit="K", default=0.0, low=0.0, high=100.0, doc="how much warmer the chip gets than the air")
    warm_up_time = Param(unit="s", default=300.0, low=1.0, doc="63 % of the warming")
    vibration_speed = Param(unit="rad/s", default=600.0, low=1.0, doc="rotor speed at which vibration is given")
    vibration_second = Param(unit="1", default=0.5, low=0.0, doc="second harmonic over first")

    def __init__(
        self, *, sample_s: float = 0.004, offset_s: float = 0.0, dynamics: bool = True, delay_samples: int = 0
    ) -> None:
        super().__init__(sample_s=sample_s, offset_s=offset_s)
        self.dynamics = dynamics
        self.delay_samples = delay_samples
        for kind, unit in KINDS:
            self._declare(kind, unit)

    def _declare(self, kind: str, unit: str) -> None:
        def param(name: str, text: str, *, unit: str = unit, tunable: bool = True, **choices: object) -> None:
            choices = {"shape": 3, "default": 0.0, "low": 0.0, **choices}
            self.declare(f"{kind}_{name}", Param(unit=unit, doc=text, tunable=tunable, **choices))  # type: ignore[arg-type]

        free = -math.inf
        param("scale", "scale and misalignment", unit="1", shape=(3, 3), default=UNITY, low=free)
        param("bias", "constant offset", low=free)
        param("noise", "one-sided density of the white noise", unit=f"{unit}/sqrt(Hz)")
        param("turn_on", "deviation of the offset drawn at the start", tunable=False)
        param("instability", "deviation of the Gauss-Markov bias")
        param("correlation_time", "of the Gauss-Markov bias", unit="s", shape=1, default=100.0, low=1e-3)
        param("walk", "random walk per root of time", unit=f"{unit}/sqrt(s)")
        param(
            "temperature_drift", "polynomial in the chip's degrees Celsius, columns c0 c1 c2 c3", shape=(3, 4), low=free
        )
        param("vibration", "amplitude of the first harmonic at vibration_speed")
        param("vibration_noise", "deviation of the random vibration at vibration_speed")
        param("range", "largest value that can be shown", shape=1, default=1e6)
        param("resolution", "smallest step; 0 is none", shape=1, tunable=False)
        for name, text in (("drawn", "turn-on bias"), ("markov", "Gauss-Markov bias"), ("walked", "random walk")):
            self.declare(f"{kind}_{name}", State(unit=unit, shape=3, init=0.0, doc=text))
        if self.dynamics:
            param("natural_frequency", "of the dynamics", unit="rad/s", shape=1, default=1000.0, low=1.0, tunable=False)
            rate = {"m/s^2": "m/s^3", "rad/s": "rad/s^2"}[unit]
            self.declare(f"{kind}_filtered", State(unit=unit, shape=3, init=0.0, doc="output of the dynamics"))
            self.declare(f"{kind}_slope", State(unit=rate, shape=3, init=0.0, doc="its derivative"))
        if self.delay_samples:
            size = 3 * self.delay_samples
            self.declare(f"{kind}_line", State(unit=unit, shape=size, init=0.0, doc="delay line, newest first"))

    # ------------------------------------------------------------------ ideal values and inputs of the sensing elements

    def _truth(self, u: View, p: View) -> tuple[ca.SX, ca.SX]:
        w = u.w_NB_B
        # [ChipLevel] Eq. 11: v_dot - g is the specific force at the centre of mass
        lever = ca.cross(u.angular_acceleration_B, p.position) + ca.cross(w, ca.cross(w, p.position))
        return u.specific_force_B + lever, w

    def _strength(self, u: View, p: View) -> ca.SX:
        ratio = u.rotor_speed / p.vibration_speed
        return ratio * ratio

    def _felt(self, x: View, u: View, p: View) -> dict[str, ca.SX]:
        """Ideal values after installation, scale and vibration."""
        strength = self._strength(u, p)
        c, s = ca.cos(x.phase), ca.sin(x.phase)
        # Imbalance turns with the rotor: y lags x by a quarter turn. The second harmonic is the passage of the blades.
        shape = ca.vertcat(c, s, c) + p.vibration_second * ca.vertcat(c * c - s * s, 2 * c * s, 2 * c * s)
        felt = {}
        for (kind, _), ideal in zip(KINDS, self._truth(u, p), strict=True):
            shaken = strength * p[f"{kind}_vibration"] * shape
            felt[kind] = (p[f"{kind}_scale"] @ p.installation) @ ideal + shaken
        return felt

    # ------------------------------------------------------------------ dynamics and delay

    def _filtered(self, x: View, felt: ca.SX, kind: str) -> tuple[ca.SX, ca.SX]:
        """Output of the dynamics and its derivative; at the first sample at rest on its input."""
        if not self.dynamics:
            return felt, ca.SX.zeros(3)
        first = x.count < 0.5
        return ca.if_else(first, felt, x[f"{kind}_filtered"]), ca.if_else(first, 0, x[f"{kind}_slope"])

    def _delayed(self, x: View, value: ca.SX, kind: str) -> ca.SX:
        if not self.delay_samples:
            return value
        return filled(x.count < 0.5, x[f"{kind}_line"], value)[-3:]

    # ------------------------------------------------------------------ bias

    def _temperature(self, x: View, u: View) -> ca.SX:
        return u.air_temperature + x.heating

    def _bias(self, x: View, u: View, p: View, kind: str, normal: ca.SX) -> ca.SX:
        drawn = ca.if_else(x.count < 0.5, p[f"{kind}_turn_on"] * normal, x[f"{kind}_drawn"])
        warm = self._temperature(x, u) - ZERO_CELSIUS_K
        c = p[f"{kind}_temperature_drift"]
        cubic = ((c[:, 3] * warm + c[:, 2]) * warm + c[:, 1]) * warm + c[:, 0]  # [MPSoC] 3
        thermal = ca.if_else(ca.sum1(ca.fabs(ca.vec(c))) > 0, cubic, 0)
        return p[f"{kind}_bias"] + drawn + x[f"{kind}_markov"] + x[f"{kind}_walked"] + thermal

    def _drifted(self, x: View, u: View, p: View, kind: str, first_axis: int) -> tuple[ca.SX, ca.SX]:
        """Gauss-Markov bias and random walk; each axis is stepped every sixth sample, over six samples.

        At its first step an axis draws from its steady state.
        """
        assert self.sample_s is not None
        step = AXES * self.sample_s
        turn = x.count - AXES * ca.floor(x.count / AXES)
        deviation, walk = p[f"{kind}_instability"], p[f"{kind}_walk"] * math.sqrt(step)
        markov, walked = [], []
        for i in range(3):
            mine = ca.fabs(turn - (first_axis + i)) < 0.5
            old, n = x[f"{kind}_markov"][i], u.drift
            stepped = markov_step(old, deviation[i], p[f"{kind}_correlation_time"], step, n[0])
            stepped = ca.if_else(x.count < AXES - 0.5, deviation[i] * n[0], stepped)
            markov.append(ca.if_else(mine, stepped, old))
            before = x[f"{kind}_walked"][i]
            walked.append(ca.if_else(mine, before + walk[i] * n[1], before))
        return ca.vertcat(*markov), ca.vertcat(*walked)

    # ------------------------------------------------------------------ block

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        felt = self._felt(x, u, p)
        first = x.count < 0.5
        turned = x.phase + self.sample_s * u.rotor_speed
        fade = ca.exp(-self.sample_s / p.warm_up_time)
        values: dict[str, ca.SX] = {
            "count": x.count + 1,
            "phase": turned - 2 * ca.pi * ca.floor(turned / (2 * ca.pi)),
            "heating": p.self_heating + (x.heating - p.self_heating) * fade,
        }
        for axis, (kind, _) in ((0, KINDS[0]), (3, KINDS[1])):
            normal = u.white[axis : axis + 3]
            values[f"{kind}_drawn"] = ca.if_else(first, p[f"{kind}_turn_on"] * normal, x[f"{kind}_drawn"])
            values[f"{kind}_markov"], values[f"{kind}_walked"] = self._drifted(x, u, p, kind, axis)
            value, slope = self._filtered(x, felt[kind], kind)
            if self.dynamics:
                wn = p[f"{kind}_natural_frequency"]
                values[f"{kind}_filtered"], values[f"{kind}_slope"] = second_order_step(
                    value, slope, felt[kind], wn, p.damping_ratio, self.sample_s
                )
            if self.delay_samples:
                line = filled(first, x[f"{kind}_line"], value)
                values[f"{kind}_line"] = shifted(line, value)
        return values

    def output(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        felt = self._felt(x, u, p)
        accel, gyro = self._truth(u, p)
        strength = self._strength(u, p)
        values: dict[str, ca.SX] = {
            "accel_truth_B": accel,
            "gyro_truth_B": gyro,
            "temperature": self._temperature(x, u),
            "stamp": u.time,
        }
        for axis, (kind, _) in ((0, KINDS[0]), (3, KINDS[1])):
            normal = u.white[axis : axis + 3]
            value, _ = self._filtered(x, felt[kind], kind)
            # [ChipLevel] Eq. 8 with a one-sided density; vibration's deviation adds to it
            deviation = p[f"{kind}_noise"] * math.sqrt(0.5 / self.sample_s) + strength * p[f"{kind}_vibration_noise"]
            value = self._delayed(x, value, kind) + self._bias(x, u, p, kind, normal) + deviation * normal
            top = p[f"{kind}_range"]
            values[f"{kind}_B"] = clip(rounded(value, p[f"{kind}_resolution"]), -top, top)
        return values
