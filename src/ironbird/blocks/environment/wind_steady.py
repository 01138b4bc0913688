"""Prevailing wind: the same at all places and times."""

from __future__ import annotations

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Out, Param


class WindSteady(Block):
    """Gives a constant wind velocity, the prevailing part of [Dai] Eq. 6."""

    source = "[Dai] Eq. 6"

    wind_N = Out(unit="m/s", shape=3, frame="N", doc="velocity of the air")
    velocity_N = Param(
        unit="m/s",
        shape=3,
        frame="N",
        default=0.0,
        low=-100.0,
        high=100.0,
        tunable=True,
        doc="where the air goes: a wind from the north is negative in the first entry",
    )

    def output(self, x: View, u: View, p: View) -> Values:
        return {"wind_N": p.velocity_N}
