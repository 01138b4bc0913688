"""Discrete gust: a 1-cosine pulse of wind at a chosen time."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Clock, Out, Param


class WindGust(Block):
    """[MIL8785C] 3.7.3.3 in time: rises as (1 - cos)/2, holds, and falls the same way.

    The gust part of [Dai] Eq. 6. The document gives the shape over distance; here the rise is a time,
    so that a hovering vehicle meets it too. Not modelled: spatial extent.
    """

    source = "[MIL8785C] 3.7.3.3; [Dai] Eq. 6"

    time = Clock(doc="simulation time")
    wind_N = Out(unit="m/s", shape=3, frame="N", doc="velocity of the air")
    amplitude_N = Param(
        unit="m/s", shape=3, frame="N", default=0.0, low=-60.0, high=60.0, tunable=True, doc="at the top"
    )
    start_time = Param(unit="s", default=0.0, tunable=True, doc="when the rise begins")
    rise_time = Param(unit="s", default=1.0, low=1e-3, tunable=True, doc="from nothing to the top")
    hold_time = Param(unit="s", default=0.0, low=0.0, tunable=True, doc="at the top")

    def output(self, x: View, u: View, p: View) -> Values:
        since = u.time - p.start_time
        up = ca.fmin(ca.fmax(since / p.rise_time, 0), 1)
        down = ca.fmin(ca.fmax((since - p.rise_time - p.hold_time) / p.rise_time, 0), 1)
        # (1 - cos(pi s)) / 2, up to the top and down again
        return {"wind_N": 0.5 * (ca.cos(ca.pi * down) - ca.cos(ca.pi * up)) * p.amplitude_N}
