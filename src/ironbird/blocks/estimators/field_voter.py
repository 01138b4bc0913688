"""Voter of magnetometers: selects the one closest to the earth's field in the estimated attitude."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.estimators.selector import MAGNETOMETER, Selector, Watch, norm, numbered
from ironbird.model.block import Values, View
from ironbird.model.signal import In, Param, State


class FieldVoter(Selector):
    """Selects among redundant magnetometers the one nearest to the model of the earth's field. Sampled.
    It is a `Selector`.

    Each field is turned into N by the estimator's attitude; its distance from `field_0`, averaged, counts in strength,
    inclination and heading. The magnetometer in use is replaced when another is closer by `margin`. So two are enough
    to detect a bad one, even if it drifts. Not modelled: blending, calibration in flight.
    """

    source = "distance from the field model, closed form of this project"

    R_NB = In(unit="1", shape=(3, 3), doc="estimated attitude")
    field_0 = Param(unit="T", shape=3, frame="N", doc="earth field")
    margin = Param(unit="T", default=2e-6, low=0.0, tunable=True, doc="nearer to the model by this: preferred")
    field_time = Param(unit="s", default=0.5, low=1e-3, tunable=True, doc="over which the distance is averaged")

    def __init__(self, sources: int = 2, *, sample_s: float = 0.02) -> None:
        super().__init__(sources, MAGNETOMETER, sample_s=sample_s)
        self.declare("offs", State(unit="T", shape=sources, init=0.0, doc="mean distances from the model"))

    def _choose(self, seen: Watch, x: View, u: View, p: View) -> ca.SX:
        used = x.used_last
        best = ca.SX(1)  # T: larger than any field
        for i in range(self.sources):
            off = x.offs[i] - ca.if_else(x.used_last == i + 1, p.margin, 0)
            better = ca.logic_and(seen.usable[i], off < best)
            used, best = ca.if_else(better, i + 1, used), ca.if_else(better, off, best)
        return used

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        share = ca.fmin(self.sample_s / p.field_time, 1)
        offs = []
        for i in range(self.sources):
            away = norm(u.R_NB @ u[numbered("mag_B", i)] - p.field_0)
            offs.append(x.offs[i] + share * (ca.fmin(away, 1) - x.offs[i]))
        return {**super().update(x, u, p), "offs": ca.vertcat(*offs)}
