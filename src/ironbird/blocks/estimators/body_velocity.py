"""Velocity in body axes from an estimate in N."""

from __future__ import annotations

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out


class BodyVelocity(Block):
    """Turns the velocity of an estimator into body axes, v_B = R_NB^T v_N, for controllers that use them.

    Not modelled: any delay or error.
    """

    source = "closed form of this project"
    role = "estimator"

    v_NB_N = In(unit="m/s", shape=3, frame="N", doc="velocity over ground")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    v_NB_B = Out(unit="m/s", shape=3, frame="B", doc="velocity over ground in body axes")

    def __init__(self, *, sample_s: float | None = None) -> None:
        super().__init__(sample_s=sample_s)

    def output(self, x: View, u: View, p: View) -> Values:
        return {"v_NB_B": u.R_NB.T @ u.v_NB_N}
