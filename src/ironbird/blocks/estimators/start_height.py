"""Height above the start from pressure altitude."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param, State


class StartHeight(Block):
    """Computes the height above the start from pressure altitude, zeroed by its mean over the first samples. Sampled.
    The height at which the vehicle started is added.

    Not modelled: weather that changes the pressure during the flight.
    """

    source = "closed form of this project"
    role = "estimator"

    altitude = In(unit="m", doc="pressure altitude")
    stamp_in = In(unit="s", doc="of the altitude")
    baro_height = Out(unit="m", doc="above the take-off point")
    stamp = Out(unit="s", doc="of the altitude")
    total = State(unit="m", init=0.0, doc="sum of the first altitudes")
    count = State(unit="1", init=0.0, doc="how many")
    samples = Param(unit="1", default=20.0, low=1.0, doc="that make the mean")
    height_0 = Param(unit="m", default=0.0, doc="height at the start")

    def update(self, x: View, u: View, p: View) -> Values:
        counts = ca.logic_and(x.count < p.samples, u.stamp_in >= 0)
        return {
            "total": x.total + ca.if_else(counts, u.altitude, 0),
            "count": x.count + ca.if_else(counts, 1, 0),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        start = x.total / ca.fmax(x.count, 1)
        return {
            "baro_height": ca.if_else(x.count > 0, u.altitude - start, 0) + p.height_0,
            "stamp": u.stamp_in,
        }
