"""Satellite navigation receiver: position, velocity and their accuracy."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.sensors.chain import filled, markov_step
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Clock, In, Noise, Out, Param, State
from ironbird.symbolic.earth import radii

NO_FIX, FIX_3D = 0.0, 3.0
FEWEST_SATELLITES = 4.0
NO_FIX_ACCURACY_M = 1e3
NO_FIX_ACCURACY_MPS = 1e2
LEAST_SIGNAL = 0.05  # jamming multiplies errors by up to its reciprocal


class Gnss(Block):
    """A GNSS receiver: measures position and velocity with white and correlated errors, latency, jamming and spoofing.
    [ChipLevel] Eq. 16-17.

    The block runs at an inner rate (`sample_s`); a fix comes every `period_samples` of it and shows where the antenna
    was `delay_samples` earlier. `stamp` is the time at which the fix came out; it is `latency_s` older. Errors: white
    per fix, and a Gauss-Markov process per axis drawn from its steady state at the start; the share `speed_correlated`
    of the velocity's variance is such a process as well (a loop filter of the receiver). Satellites are evenly
    distributed over the sky: those below `mask_elevation` are not received, nor with `masking` those behind a tilted
    antenna, the lune tilt / pi of the sky; accuracy goes with the root of the remaining number. Jamming removes a share
    of the satellites and divides accuracy by the remaining share, down to 0.05; below four satellites there is no fix:
    position and velocity are held, messages continue. A spoofer's velocity is added to the velocity and its integral to
    the position while it is not zero. Truth is the antenna's now, without latency. Latitude and longitude are the
    body's, moved by the error over the radii of curvature: valid for errors that are small compared with the earth's
    radius. Not modelled: single satellites and their geometry, multipath, time to first fix, height of the geoid.
    """

    source = "[ChipLevel] Eq. 16-17; [CopterSim] 10"

    time = Clock(doc="simulation time")
    p_NB_N = In(unit="m", shape=3, frame="N", doc="position of the body")
    v_NB_N = In(unit="m/s", shape=3, frame="N", doc="velocity over ground")
    R_NB = In(unit="1", shape=(3, 3), default=[[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]], doc="attitude, for the arm")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", default=0.0, doc="angular velocity, for the arm")
    latitude_body = In(unit="rad", default=0.0, doc="geodetic latitude of the body")
    longitude_body = In(unit="rad", default=0.0, doc="longitude of the body")
    height_body = In(unit="m", default=0.0, doc="height of the body above the ellipsoid")

    position_truth_N = Out(unit="m", shape=3, frame="N", doc="of the antenna from the take-off point")
    position_N = Out(unit="m", shape=3, frame="N", doc="as measured")
    velocity_truth_N = Out(unit="m/s", shape=3, frame="N", doc="of the antenna over ground")
    velocity_N = Out(unit="m/s", shape=3, frame="N", doc="as measured")
    latitude = Out(unit="rad", doc="geodetic latitude, as measured")
    longitude = Out(unit="rad", doc="as measured")
    height = Out(unit="m", doc="above the ellipsoid, as measured")
    eph = Out(unit="m", doc="horizontal accuracy as the receiver states it: one deviation of an axis")
    epv = Out(unit="m", doc="vertical accuracy as the receiver states it")
    speed_accuracy = Out(unit="m/s", doc="as the receiver states it")
    satellites_used = Out(unit="1", doc="number")
    fix_type = Out(unit="1", doc="0 none, 3 three-dimensional")
    stamp = Out(unit="s", doc="time at which the latest fix came out")

    white = Noise(shape=9, doc="position, velocity, and what drives the correlated error")
    loop = Noise(shape=3, doc="drives the correlated error of the velocity")
    rolling = State(unit="1", shape=3, frame="N", init=0.0, doc="correlated error of the velocity, unit variance")
    count = State(unit="1", init=0.0, doc="inner samples since the last fix")
    started = State(unit="1", init=0.0, doc="0 until the first sample")
    wander = State(unit="m", shape=3, frame="N", init=0.0, doc="correlated error")
    dragged = State(unit="m", shape=3, frame="N", init=0.0, doc="how far a spoofer has drawn the position")

    antenna = Param(unit="m", shape=3, frame="B", default=0.0, doc="of the antenna from the centre of mass")
    noise_horizontal = Param(unit="m", default=0.0, low=0.0, tunable=True, doc="deviation per fix")
    noise_vertical = Param(unit="m", default=0.0, low=0.0, tunable=True, doc="deviation per fix")
    wander_horizontal = Param(unit="m", default=0.0, low=0.0, tunable=True, doc="deviation of the correlated error")
    wander_vertical = Param(unit="m", default=0.0, low=0.0, tunable=True, doc="deviation of the correlated error")
    correlation_time = Param(unit="s", default=100.0, low=1e-2, doc="of the correlated error")
    noise_speed_horizontal = Param(unit="m/s", default=0.0, low=0.0, tunable=True, doc="deviation per fix")
    noise_speed_vertical = Param(unit="m/s", default=0.0, low=0.0, tunable=True, doc="deviation per fix")
    speed_correlated = Param(
        unit="1",
        default=0.0,
        low=0.0,
        high=1.0,
        tunable=True,
        doc="share of the velocity's variance that is correlated",
    )
    speed_correlation_time = Param(unit="s", default=2.0, low=1e-2, doc="of that share")
    mask_elevation = Param(unit="rad", default=0.0, low=0.0, high=1.4, tunable=True, doc="below it nothing is seen")
    masking = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 has an antenna that sees half a sky")
    satellites = Param(unit="1", default=14.0, low=0.0, high=60.0, tunable=True, doc="in view without jamming")
    jamming = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 is no signal left")
    spoof_velocity_N = Param(
        unit="m/s",
        shape=3,
        frame="N",
        default=0.0,
        low=-100.0,
        high=100.0,
        tunable=True,
        doc="at which a spoofer draws the position away; zero is none",
    )

    HELD = (
        "position_truth_N", "position_N", "velocity_truth_N", "velocity_N", "latitude", "longitude", "height", "eph",
        "epv", "speed_accuracy", "satellites_used", "fix_type", "stamp",
    )  # fmt: skip

    def __init__(
        self, *, sample_s: float = 0.1, offset_s: float = 0.0, period_samples: int = 2, delay_samples: int = 1
    ) -> None:
        super().__init__(sample_s=sample_s, offset_s=offset_s)
        self.period_samples = period_samples
        self.delay_samples = delay_samples
        if delay_samples:
            for name, unit in (("position_line", "m"), ("velocity_line", "m/s")):
                line = State(unit=unit, shape=3 * delay_samples, init=0.0, doc="delay line, newest first")
                self.declare(name, line)
        for name in self.HELD:
            signal = self.outputs[name]
            self.declare(f"last_{name}", State(unit=signal.unit, shape=signal.shape, init=0.0, doc="of the last fix"))

    @property
    def period_s(self) -> float:
        """Time between two fixes of the receiver in s."""
        assert self.sample_s is not None
        return self.period_samples * self.sample_s

    @property
    def latency_s(self) -> float:
        """Age in s of a fix when it is output."""
        assert self.sample_s is not None
        return self.delay_samples * self.sample_s

    def _antenna(self, u: View, p: View) -> tuple[ca.SX, ca.SX]:
        return u.p_NB_N + u.R_NB @ p.antenna, u.v_NB_N + u.R_NB @ ca.cross(u.w_NB_B, p.antenna)

    def _lines(self, x: View, u: View, p: View) -> tuple[ca.SX, ca.SX]:
        """Delay lines of position and velocity, the present values on top."""
        position, velocity = self._antenna(u, p)
        if not self.delay_samples:
            return position, velocity
        first = x.started < 0.5
        return (
            ca.vertcat(position, filled(first, x.position_line, position)),
            ca.vertcat(velocity, filled(first, x.velocity_line, velocity)),
        )

    def _wander(self, x: View, u: View, p: View) -> ca.SX:
        deviation = ca.vertcat(p.wander_horizontal, p.wander_horizontal, p.wander_vertical)
        return ca.if_else(x.started > 0.5, x.wander, deviation * u.white[6:9])

    def _spoofed(self, p: View) -> ca.SX:
        return ca.sum1(ca.fabs(p.spoof_velocity_N)) > 0

    def _fix(self, x: View, u: View, p: View) -> dict[str, ca.SX]:
        """The receiver's present output; position and velocity are held without a fix."""
        position, velocity = (line[-3:] for line in self._lines(x, u, p))
        now_position, now_velocity = self._antenna(u, p)
        signal = 1 - p.jamming
        tilt = ca.acos(ca.fmax(ca.fmin(u.R_NB[2, 2], 1), -1))
        seen = (1 - ca.sin(p.mask_elevation)) * (1 - p.masking * tilt / ca.pi)  # share of the sky: a zone, then a lune
        worse = 1 / (ca.fmax(signal, LEAST_SIGNAL) * ca.sqrt(ca.fmax(seen, LEAST_SIGNAL)))
        satellites = ca.floor(p.satellites * signal * seen + 0.5)
        fixed = satellites >= FEWEST_SATELLITES
        noise = ca.vertcat(p.noise_horizontal, p.noise_horizontal, p.noise_vertical)
        noise_speed = ca.vertcat(p.noise_speed_horizontal, p.noise_speed_horizontal, p.noise_speed_vertical)
        dragged = ca.if_else(self._spoofed(p), x.dragged, 0)
        position = position + worse * (noise * u.white[0:3] + self._wander(x, u, p)) + dragged
        error = ca.sqrt(1 - p.speed_correlated) * u.white[3:6] + ca.sqrt(p.speed_correlated) * x.rolling
        velocity = velocity + worse * noise_speed * error + p.spoof_velocity_N
        position = ca.if_else(fixed, position, x.last_position_N)
        velocity = ca.if_else(fixed, velocity, x.last_velocity_N)
        away = position - u.p_NB_N
        meridian, prime = radii(u.latitude_body)

        def stated(deviation: ca.SX, without: float) -> ca.SX:
            return ca.if_else(fixed, worse * deviation, without)

        return {
            "position_truth_N": now_position,
            "position_N": position,
            "velocity_truth_N": now_velocity,
            "velocity_N": velocity,
            "latitude": u.latitude_body + away[0] / (meridian + u.height_body),
            "longitude": u.longitude_body + away[1] / ((prime + u.height_body) * ca.cos(u.latitude_body)),
            "height": u.height_body - away[2],
            "eph": stated(ca.sqrt(p.noise_horizontal**2 + p.wander_horizontal**2), NO_FIX_ACCURACY_M),
            "epv": stated(ca.sqrt(p.noise_vertical**2 + p.wander_vertical**2), NO_FIX_ACCURACY_M),
            "speed_accuracy": stated(
                ca.sqrt(2 * p.noise_speed_horizontal**2 + p.noise_speed_vertical**2), NO_FIX_ACCURACY_MPS
            ),
            "satellites_used": satellites,
            "fix_type": ca.if_else(fixed, FIX_3D, NO_FIX),
            "stamp": u.time,
        }

    def _shown(self, x: View, u: View, p: View) -> dict[str, ca.SX]:
        due = x.count < 0.5
        fix = self._fix(x, u, p)
        return {name: ca.if_else(due, fix[name], x[f"last_{name}"]) for name in self.HELD}

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        deviation = ca.vertcat(p.wander_horizontal, p.wander_horizontal, p.wander_vertical)
        stepped = markov_step(x.wander, deviation, p.correlation_time, self.sample_s, u.white[6:9])
        count = x.count + 1
        values: dict[str, ca.SX] = {
            "count": ca.if_else(count > self.period_samples - 0.5, 0, count),
            "started": ca.SX(1),
            "wander": ca.if_else(x.started > 0.5, stepped, deviation * u.white[6:9]),
            "rolling": ca.if_else(
                x.started > 0.5,
                markov_step(x.rolling, ca.SX(1), p.speed_correlation_time, self.sample_s, u.loop),
                u.loop,
            ),
            "dragged": ca.if_else(self._spoofed(p), x.dragged + self.sample_s * p.spoof_velocity_N, 0),
        }
        if self.delay_samples:
            positions, velocities = self._lines(x, u, p)
            values["position_line"], values["velocity_line"] = positions[:-3], velocities[:-3]
        for name, value in self._shown(x, u, p).items():
            values[f"last_{name}"] = value
        return values

    def output(self, x: View, u: View, p: View) -> Values:
        return self._shown(x, u, p)
