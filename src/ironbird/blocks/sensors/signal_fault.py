"""Fault tap: a block after a sensor at which all faults of its signal act."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.sensors.chain import shifted
from ironbird.errors import UnknownNameError
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Noise, Out, Param, State
from ironbird.symbolic.smooth import choose, clip

LIMIT = 1e9  # saturation that never has an effect
HALF_BITS = 2.0**26  # a random number has 52 bits
NEVER = -1.0  # stamp before the first sample
PER_SECOND = {  # unit of a drift
    "1": "1/s", "m": "m/s", "m/s": "m/s^2", "m/s^2": "m/s^3", "rad": "rad/s", "rad/s": "rad/s^2", "T": "T/s",
    "Pa": "Pa/s", "V": "V/s", "A": "A/s", "K": "K/s",
}  # fmt: skip


class SignalFault(Block):
    """A fault tap: passes on one sensor signal and can disturb it by scale, offset, noise, drift, delay or loss.
    The faults of [ChipLevel] Eq. 18-27, each a tunable parameter that is neutral by default.

    Order: first the element (Eq. 26: scale, offset, noise, then drift; after them spikes, saturation and replacement by
    a constant: an open element reads 0, a shorted one full scale), then the link (Eq. 27 as it shows in values: delay,
    a value that is stuck, samples that are lost). All but delay, loss and the times of spikes act on each axis by
    itself. A drift grows from zero while its rate is not zero. A stuck value is that of the first stuck sample and
    comes with fresh stamps; a lost sample leaves value and stamp as they were. A delay that begins holds the value of
    that sample until the first delayed one arrives; a delayed value has a fresh stamp too: its reader cannot detect
    that it is old. With neutral parameters the value is the input bit for bit, and so it is at once when a fault ends.
    Not modelled: faults of single bits and pins (Eq. 23-25), which belong to the chip models.
    """

    source = "[ChipLevel] Eq. 18-27"

    stamp_in = In(unit="s", doc="the sensor's stamp")
    stamp = Out(unit="s", doc="time of the latest sample that came through; -1 before the first")
    count = State(unit="1", init=0.0, doc="samples since a fault of it began, up to the longest delay; 0 without")
    last_stamp = State(unit="s", init=NEVER, doc="stamp last given out")

    spike_rate = Param(unit="1/s", default=0.0, low=0.0, tunable=True, doc="spikes per second, at random times")
    lost = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 holds value and stamp")

    def __init__(
        self,
        size: int = 1,
        unit: str = "1",
        frame: str | None = None,
        delay_samples: int = 8,
        *,
        sample_s: float = 0.004,
        offset_s: float = 0.0,
    ) -> None:
        super().__init__(sample_s=sample_s, offset_s=offset_s)
        if unit not in PER_SECOND:
            raise UnknownNameError("unit", unit, PER_SECOND, "SignalFault")
        self.size = size
        self.delay_samples = delay_samples

        def param(
            name: str,
            default: float,
            text: str,
            *,
            unit: str = unit,
            shape: int = size,
            low: float = -float("inf"),
            high: float = float("inf"),
        ) -> None:
            self.declare(
                name, Param(unit=unit, shape=shape, default=default, low=low, high=high, tunable=True, doc=text)
            )

        self.declare("value_in", In(unit=unit, shape=size, frame=frame, doc="the sensor's value"))
        self.declare("healthy", Out(unit=unit, shape=size, frame=frame, doc="the value without faults"))
        self.declare("value", Out(unit=unit, shape=size, frame=frame, doc="the value with faults"))
        self.declare("difference", Out(unit=unit, doc="size of what the faults changed"))
        self.declare(
            "grain", Noise(shape=2 * ((size + 1) // 2), kind="uniform", doc="for noise and spikes; cheap when not used")
        )
        self.declare("drifted", State(unit=unit, shape=size, init=0.0, doc="drift so far"))
        self.declare("was_stuck", State(unit="1", shape=size, init=0.0, doc="whether the last sample was stuck"))
        self.declare("held", State(unit=unit, shape=size, init=0.0, doc="value while stuck"))
        self.declare("last", State(unit=unit, shape=size, init=0.0, doc="value last given out"))
        param("scale", 1.0, "factor, Eq. 18", unit="1")
        param("offset", 0.0, "added, Eq. 19")
        param("drift_rate", 0.0, "grows with time while not zero, Eq. 20", unit=PER_SECOND[unit])
        param("noise", 0.0, "deviation of added white noise, Eq. 21", low=0.0)
        param("spike_size", 0.0, "added for one sample with a random sign, Eq. 22")
        param("stuck", 0.0, "1 holds the value", unit="1", low=0.0, high=1.0)
        param("replace", 0.0, "1 shows the replacement", unit="1", low=0.0, high=1.0)
        param("replacement", 0.0, "shown while replace is 1: 0 for open, full scale for short, Eq. 24-25")
        param("low", -LIMIT, "saturation below")
        param("high", LIMIT, "saturation above")
        if delay_samples:
            param("delay", 0.0, "samples", unit="1", shape=1, low=0.0, high=float(delay_samples))
            self.declare("line", State(unit=unit, shape=size * delay_samples, init=0.0, doc="delay line, newest first"))

    def _touched(self, p: View) -> ca.SX:
        """Whether any parameter is not neutral; depends on parameters alone, so it costs nothing per sample."""
        checks = [
            *(p.scale[i] != 1 for i in range(self.size)),
            *(ca.fabs(p[name][i]) > 0 for name in ("offset", "drift_rate", "noise") for i in range(self.size)),
            *(p[name][i] > 0 for name in ("stuck", "replace") for i in range(self.size)),
            *(p.low[i] > -LIMIT for i in range(self.size)),
            *(p.high[i] < LIMIT for i in range(self.size)),
            *(p[name] > 0 for name in ("spike_rate", "lost")),
            *([p.delay > 0] if self.delay_samples else []),
        ]
        touched = checks[0]
        for check in checks[1:]:
            touched = ca.logic_or(touched, check)
        return touched

    def _normals(self, u: View) -> ca.SX:
        """Standard normal numbers by Box and Muller from uniform ones."""
        found = []
        for i in range(0, u.grain.rows(), 2):
            radius, angle = ca.sqrt(-2 * ca.log(u.grain[i])), 2 * ca.pi * u.grain[i + 1]
            found += [radius * ca.cos(angle), radius * ca.sin(angle)]
        return ca.vertcat(*found[: self.size])

    def _spike(self, u: View, p: View) -> ca.SX:
        """A spike, or zero; decided by the lower halves of two random numbers, which hardly affects the noise."""
        assert self.sample_s is not None
        chance, side = (u.grain[i] * HALF_BITS - ca.floor(u.grain[i] * HALF_BITS) for i in range(2))
        comes = chance < -ca.expm1(-p.spike_rate * self.sample_s)
        return ca.if_else(comes, ca.if_else(side < 0.5, -p.spike_size, p.spike_size), 0)

    def _element(self, x: View, u: View, p: View) -> ca.SX:
        """Value after the faults of the element: [ChipLevel] Eq. 26, and the equivalents of Eq. 22, 24 and 25."""
        value = p.scale * u.value_in + p.offset + p.noise * self._normals(u)
        value = value + ca.if_else(p.drift_rate != 0, self._since(x, x.drifted), 0) + self._spike(u, p)
        value = clip(value, p.low, p.high)
        return ca.if_else(p.replace > 0.5, p.replacement, value)

    def _since(self, x: View, value: ca.SX) -> ca.SX:
        """A state of active faults; values left by a fault that is over are ignored."""
        return ca.if_else(x.count > 0.5, value, 0)

    def _delayed(self, x: View, p: View, element: ca.SX) -> ca.SX:
        """The value some samples ago; not older than the beginning of the fault."""
        if not self.delay_samples:
            return element
        line = ca.vertcat(element, x.line)
        taps = [line[self.size * i : self.size * (i + 1)] for i in range(self.delay_samples + 1)]
        return choose(ca.fmin(ca.floor(p.delay + 0.5), x.count), taps)

    def _chain(self, x: View, u: View, p: View) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """Element's value, value while stuck (both only with a fault), output value, and size of the change.

        All depend on one condition and on nothing selected by it, so that the kernel skips them for a neutral tap.
        """
        element = self._element(x, u, p)
        delayed = self._delayed(x, p, element)
        held = ca.if_else(self._since(x, x.was_stuck) > 0.5, x.held, delayed)
        linked = ca.if_else(p.stuck > 0.5, held, delayed)
        value = ca.if_else(p.lost > 0.5, x.last, linked)
        away = value - u.value_in
        touched = self._touched(p)
        return (
            element,
            held,
            ca.if_else(touched, value, u.value_in),
            ca.if_else(touched, ca.sqrt(ca.dot(away, away)), 0),
        )

    def _stamp(self, x: View, u: View, p: View) -> ca.SX:
        return ca.if_else(p.lost > 0.5, x.last_stamp, u.stamp_in)

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        element, held, value, _ = self._chain(x, u, p)
        touched = self._touched(p)
        values: dict[str, ca.SX] = {
            "count": ca.if_else(touched, ca.fmin(x.count + 1, max(self.delay_samples, 1)), 0),
            "last": value,
            "last_stamp": self._stamp(x, u, p),
        }
        drifted = self._since(x, x.drifted) + self.sample_s * p.drift_rate
        kept = {
            "was_stuck": ca.if_else(p.stuck > 0.5, 1, 0),
            "held": held,
            "drifted": ca.if_else(p.drift_rate != 0, drifted, 0),
        }
        if self.delay_samples:
            kept["line"] = shifted(x.line, element)
        # States that only faults use are kept without them; `_since` ignores them later
        return values | {name: ca.if_else(touched, new, x[name]) for name, new in kept.items()}

    def output(self, x: View, u: View, p: View) -> Values:
        _, _, value, difference = self._chain(x, u, p)
        return {
            "healthy": u.value_in,
            "value": value,
            "stamp": self._stamp(x, u, p),
            "difference": difference,
        }
