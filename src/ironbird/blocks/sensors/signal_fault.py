"""Fault tap: one place behind a sensor where any fault of its signal can act."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.sensors.chain import filled, shifted
from ironbird.errors import UnknownNameError
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Noise, Out, Param, State
from ironbird.symbolic.smooth import choose, clip

LIMIT = 1e9  # saturation that never acts
NEVER = -1.0  # stamp before the first sample
PER_SECOND = {  # unit of a drift
    "1": "1/s", "m": "m/s", "m/s": "m/s^2", "m/s^2": "m/s^3", "rad": "rad/s", "rad/s": "rad/s^2", "T": "T/s",
    "Pa": "Pa/s", "V": "V/s", "A": "A/s", "K": "K/s",
}  # fmt: skip


class SignalFault(Block):
    """The faults of [ChipLevel] Eq. 18-27 on one signal, each a tunable parameter that is neutral by default.

    Order: first the element (Eq. 26: scale, offset, noise, then drift; after them spikes, saturation and
    replacement by a constant: an open element reads 0, a shorted one full scale), then the link (Eq. 27 as it
    shows in values: delay, a value that is stuck, samples that are lost). A drift grows from zero while its rate is
    not zero. A stuck value is that of the first stuck sample and comes with fresh stamps; a lost sample leaves value
    and stamp as they were. A delayed value comes with a fresh stamp too: whoever reads it cannot see that it is old.
    With neutral parameters the value is the input bit for bit, and so it is at once when a fault ends. Not modelled:
    faults of single bits and pins (Eq. 23-25), which belong to the chip models.
    """

    source = "[ChipLevel] Eq. 18-27"

    stamp_in = In(unit="s", doc="the sensor's stamp")
    stamp = Out(unit="s", doc="time of the latest sample that came through; -1 before the first")
    spark = Noise(shape=2, kind="uniform", doc="whether a spike comes, and its sign")
    started = State(unit="1", init=0.0, doc="0 until the first sample")
    was_stuck = State(unit="1", init=0.0, doc="whether the last sample was stuck")
    last_stamp = State(unit="s", init=NEVER, doc="stamp last given out")

    spike_rate = Param(unit="1/s", default=0.0, low=0.0, tunable=True, doc="spikes per second, at random times")
    stuck = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 holds the value")
    lost = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 holds value and stamp")
    replace = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 shows the replacement")

    def __init__(
        self, size: int = 1, unit: str = "1", frame: str | None = None, delay_samples: int = 8, *,
        sample_s: float = 0.004, offset_s: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(sample_s=sample_s, offset_s=offset_s)
        if unit not in PER_SECOND:
            raise UnknownNameError("unit", unit, PER_SECOND, "SignalFault")
        self.size = size
        self.delay_samples = delay_samples

        def param(
            name: str, default: float, text: str, *, unit: str = unit, shape: int = size, low: float = -float("inf"),
            high: float = float("inf"),
        ) -> None:  # fmt: skip
            self.declare(
                name, Param(unit=unit, shape=shape, default=default, low=low, high=high, tunable=True, doc=text)
            )

        self.declare("value_in", In(unit=unit, shape=size, frame=frame, doc="the sensor's value"))
        self.declare("healthy", Out(unit=unit, shape=size, frame=frame, doc="the value without faults"))
        self.declare("value", Out(unit=unit, shape=size, frame=frame, doc="the value with faults"))
        self.declare("difference", Out(unit=unit, doc="size of what the faults changed"))
        self.declare(
            "grain", Noise(shape=2 * ((size + 1) // 2), kind="uniform", doc="for the added noise, made normal if needed")
        )
        self.declare("drifted", State(unit=unit, shape=size, init=0.0, doc="drift so far"))
        self.declare("held", State(unit=unit, shape=size, init=0.0, doc="value while stuck"))
        self.declare("last", State(unit=unit, shape=size, init=0.0, doc="value last given out"))
        param("scale", 1.0, "factor, Eq. 18", unit="1")
        param("offset", 0.0, "added, Eq. 19")
        param("drift_rate", 0.0, "grows with time while not zero, Eq. 20", unit=PER_SECOND[unit])
        param("noise", 0.0, "deviation of added white noise, Eq. 21", low=0.0)
        param("spike_size", 0.0, "added for one sample with a random sign, Eq. 22")
        param("replacement", 0.0, "shown while replace is 1: 0 for open, full scale for short, Eq. 24-25")
        param("low", -LIMIT, "saturation below")
        param("high", LIMIT, "saturation above")
        if delay_samples:
            param("delay", 0.0, "samples", unit="1", shape=1, low=0.0, high=float(delay_samples))
            self.declare(
                "line", State(unit=unit, shape=size * delay_samples, init=0.0, doc="delay line, newest first")
            )

    def _touched(self, p: View) -> ca.SX:
        """Whether any parameter is not neutral; depends on parameters alone, so it costs nothing per sample."""
        checks = [
            *(p.scale[i] != 1 for i in range(self.size)),
            *(ca.fabs(p[name][i]) > 0 for name in ("offset", "drift_rate", "noise") for i in range(self.size)),
            *(p.low[i] > -LIMIT for i in range(self.size)),
            *(p.high[i] < LIMIT for i in range(self.size)),
            *(p[name] > 0 for name in ("spike_rate", "stuck", "lost", "replace")),
            *([p.delay > 0] if self.delay_samples else []),
        ]
        touched = checks[0]
        for check in checks[1:]:
            touched = ca.logic_or(touched, check)
        return touched

    def _normals(self, u: View) -> ca.SX:
        """Standard normal numbers by Box and Muller from uniform ones, which are cheap to draw when not used."""
        found = []
        for i in range(0, u.grain.rows(), 2):
            radius, angle = ca.sqrt(-2 * ca.log(u.grain[i])), 2 * ca.pi * u.grain[i + 1]
            found += [radius * ca.cos(angle), radius * ca.sin(angle)]
        return ca.vertcat(*found[: self.size])

    def _element(self, x: View, u: View, p: View) -> ca.SX:
        """[ChipLevel] Eq. 26 and what stands for Eq. 22, 24 and 25."""
        assert self.sample_s is not None
        noisy = ca.sum1(p.noise) > 0
        value = p.scale * u.value_in + p.offset + ca.if_else(noisy, p.noise * self._normals(u), 0)
        value = value + ca.if_else(p.drift_rate != 0, x.drifted, 0)
        comes = u.spark[0] < -ca.expm1(-p.spike_rate * self.sample_s)
        value = value + ca.if_else(comes, ca.if_else(u.spark[1] < 0.5, -p.spike_size, p.spike_size), 0)
        value = clip(value, p.low, p.high)
        return ca.if_else(p.replace > 0.5, p.replacement, value)

    def _link(self, x: View, p: View, element: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Value after delay, and after being stuck; the element's value is the newest."""
        value = element
        if self.delay_samples:
            line = ca.vertcat(element, self._line(x, element))
            steps = ca.floor(p.delay + 0.5)
            taps = [line[self.size * i : self.size * (i + 1)] for i in range(self.delay_samples + 1)]
            value = ca.if_else(p.delay > 0, choose(steps, taps), value)
        held = ca.if_else(x.was_stuck > 0.5, x.held, value)
        return ca.if_else(p.stuck > 0.5, held, value), held

    def _line(self, x: View, element: ca.SX) -> ca.SX:
        return filled(x.started < 0.5, x.line, element)

    def _result(self, x: View, u: View, p: View) -> tuple[ca.SX, ca.SX]:
        linked, _ = self._link(x, p, self._element(x, u, p))
        faulty = ca.if_else(p.lost > 0.5, x.last, linked)
        stamp = ca.if_else(p.lost > 0.5, x.last_stamp, u.stamp_in)
        return ca.if_else(self._touched(p), faulty, u.value_in), stamp

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        touched = self._touched(p)
        element = ca.if_else(touched, self._element(x, u, p), u.value_in)
        _, held = self._link(x, p, element)
        value, stamp = self._result(x, u, p)
        values: dict[str, ca.SX] = {
            "started": ca.SX(1),
            "was_stuck": ca.if_else(p.stuck > 0.5, 1, 0),
            "held": ca.if_else(p.stuck > 0.5, held, 0),
            "drifted": ca.if_else(p.drift_rate != 0, x.drifted + self.sample_s * p.drift_rate, 0),
            "last": value,
            "last_stamp": stamp,
        }
        if self.delay_samples:
            values["line"] = shifted(self._line(x, element), element)
        return values

    def output(self, x: View, u: View, p: View) -> Values:
        value, stamp = self._result(x, u, p)
        away = value - u.value_in
        return {
            "healthy": u.value_in,
            "value": value,
            "stamp": stamp,
            "difference": ca.if_else(self._touched(p), ca.sqrt(ca.dot(away, away)), 0),
        }
