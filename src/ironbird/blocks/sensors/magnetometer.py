"""Magnetometer: the earth's field as a compass chip in the vehicle reports it."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.sensors.chain import markov_step, rounded, second_order_step, turn_on_draw
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Clock, In, Noise, Out, Param, State
from ironbird.symbolic.smooth import clip

UNITY = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


class Magnetometer(Block):
    """A magnetometer: measures the magnetic field in body axes with its errors, [ChipLevel] Eq. 13.
    Hard and soft iron, the field of the motors' current, and noise.

    Chain: soft iron and scale (one matrix), second-order dynamics (Eq. 12, with `dynamics`), hard iron (a constant, a
    part drawn at the start and a drift by Eq. 9 and 10), field per ampere of the supply current, white noise of a given
    deviation per sample, resolution, range. With its default parameters the chip is ideal. Not modelled: temperature,
    set and reset of the element, fields of single motors.
    """

    source = "[ChipLevel] Eq. 13; [Dai] Eq. 11-12"

    time = Clock(doc="simulation time")
    field_N = In(unit="T", shape=3, frame="N", doc="earth's field")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    current = In(unit="A", default=0.0, doc="supply current")

    field_truth_B = Out(unit="T", shape=3, frame="B", doc="earth's field")
    field_B = Out(unit="T", shape=3, frame="B", doc="as measured")
    stamp = Out(unit="s", doc="time of this sample")

    white = Noise(shape=3, doc="white noise; the first draw is the residual hard iron")
    started = State(unit="1", init=0.0, doc="0 until the first sample")
    drawn = State(unit="T", shape=3, init=0.0, doc="residual hard iron")
    wander = Noise(shape=3, doc="drives the drift; the first draw is its steady state")
    drifted = State(unit="T", shape=3, init=0.0, doc="drift of the zero")

    installation = Param(
        unit="1", shape=(3, 3), default=UNITY, tunable=True, doc="rotation by which the chip is off its place"
    )
    soft_iron = Param(unit="1", shape=(3, 3), default=UNITY, tunable=True, doc="soft iron, scale and misalignment")
    hard_iron = Param(unit="T", shape=3, frame="B", default=0.0, tunable=True, doc="constant field of the vehicle")
    hard_iron_spread = Param(unit="T", default=0.0, low=0.0, doc="deviation of what calibration leaves of it")
    current_field = Param(unit="T/A", shape=3, frame="B", default=0.0, tunable=True, doc="field per ampere")
    drift = Param(unit="T", default=0.0, low=0.0, tunable=True, doc="deviation of the wandering zero, Eq. 9-10")
    correlation_time = Param(unit="s", default=600.0, low=0.1, doc="of the drift")
    natural_frequency = Param(unit="rad/s", default=1000.0, low=1.0, doc="of the dynamics")
    damping_ratio = Param(unit="1", default=0.707, low=0.05, high=0.99, doc="of the dynamics")
    noise = Param(unit="T", shape=3, default=0.0, low=0.0, tunable=True, doc="deviation per sample")
    range = Param(unit="T", shape=3, default=1.0, low=0.0, tunable=True, doc="largest value that can be shown")
    resolution = Param(unit="T", default=0.0, low=0.0, doc="smallest step; 0 is none")

    def __init__(self, *, dynamics: bool = False, sample_s: float = 0.02, offset_s: float = 0.0) -> None:
        super().__init__(sample_s=sample_s, offset_s=offset_s)
        self.dynamics = dynamics
        if dynamics:
            self.declare("filtered", State(unit="T", shape=3, init=0.0, doc="output of the dynamics"))
            self.declare("slope", State(unit="T/s", shape=3, init=0.0, doc="its derivative"))

    def _drawn(self, x: View, u: View, p: View) -> ca.SX:
        return turn_on_draw(x.started, x.drawn, p.hard_iron_spread * u.white)

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        stepped = markov_step(x.drifted, p.drift, p.correlation_time, self.sample_s, u.wander)
        values = {
            "started": ca.SX(1),
            "drawn": self._drawn(x, u, p),
            "drifted": turn_on_draw(x.started, stepped, p.drift * u.wander),
        }
        if self.dynamics:
            value, slope = self._filtered(x, u, p)
            wn, zeta = p.natural_frequency, p.damping_ratio
            values["filtered"], values["slope"] = second_order_step(
                value, slope, self._felt(u, p), wn, zeta, self.sample_s
            )
        return values

    def _felt(self, u: View, p: View) -> ca.SX:
        return (p.soft_iron @ p.installation) @ (u.R_NB.T @ u.field_N)

    def _filtered(self, x: View, u: View, p: View) -> tuple[ca.SX, ca.SX]:
        """Output of the dynamics and its derivative; at the first sample at rest on its input."""
        felt = self._felt(u, p)
        if not self.dynamics:
            return felt, ca.SX.zeros(3)
        return turn_on_draw(x.started, x.filtered, felt), turn_on_draw(x.started, x.slope, ca.SX.zeros(3))

    def output(self, x: View, u: View, p: View) -> Values:
        ideal = u.R_NB.T @ u.field_N
        iron = p.hard_iron + self._drawn(x, u, p) + x.drifted + p.current_field * u.current
        value = self._filtered(x, u, p)[0] + iron + p.noise * u.white
        return {
            "field_truth_B": ideal,
            "field_B": clip(rounded(value, p.resolution), -p.range, p.range),
            "stamp": u.time,
        }
