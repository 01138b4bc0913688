"""Magnetometer: the earth's field as a compass chip in the vehicle reports it."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.sensors.chain import rounded, turn_on_draw
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Clock, In, Noise, Out, Param, State
from ironbird.symbolic.smooth import clip

UNITY = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


class Magnetometer(Block):
    """Field in body axes with hard and soft iron, field of the motors' current and noise, [ChipLevel] Eq. 13.

    Chain: soft iron and scale (one matrix), hard iron (a constant and a part drawn at the start), field per ampere
    of the supply current, white noise of a given deviation per sample, resolution, range. With its default
    parameters the chip is ideal. Not modelled: dynamics (the chips are far faster than they are read), temperature,
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

    installation = Param(
        unit="1", shape=(3, 3), default=UNITY, tunable=True, doc="rotation by which the chip is off its place"
    )
    soft_iron = Param(unit="1", shape=(3, 3), default=UNITY, tunable=True, doc="soft iron, scale and misalignment")
    hard_iron = Param(unit="T", shape=3, frame="B", default=0.0, tunable=True, doc="constant field of the vehicle")
    hard_iron_spread = Param(unit="T", default=0.0, low=0.0, doc="deviation of what calibration leaves of it")
    current_field = Param(unit="T/A", shape=3, frame="B", default=0.0, tunable=True, doc="field per ampere")
    noise = Param(unit="T", shape=3, default=0.0, low=0.0, tunable=True, doc="deviation per sample")
    range = Param(unit="T", shape=3, default=1.0, low=0.0, tunable=True, doc="largest value that can be shown")
    resolution = Param(unit="T", default=0.0, low=0.0, doc="smallest step; 0 is none")

    def __init__(self, *, sample_s: float = 0.02, offset_s: float = 0.0) -> None:
        super().__init__(sample_s=sample_s, offset_s=offset_s)

    def _drawn(self, x: View, u: View, p: View) -> ca.SX:
        return turn_on_draw(x.started, x.drawn, p.hard_iron_spread * u.white)

    def update(self, x: View, u: View, p: View) -> Values:
        return {"started": ca.SX(1), "drawn": self._drawn(x, u, p)}

    def output(self, x: View, u: View, p: View) -> Values:
        ideal = u.R_NB.T @ u.field_N
        iron = p.hard_iron + self._drawn(x, u, p) + p.current_field * u.current
        value = (p.soft_iron @ p.installation) @ ideal + iron + p.noise * u.white
        return {
            "field_truth_B": ideal,
            "field_B": clip(rounded(value, p.resolution), -p.range, p.range),
            "stamp": u.time,
        }
