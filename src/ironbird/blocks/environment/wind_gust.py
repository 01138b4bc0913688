"""Discrete gust: a 1-cosine pulse of wind, at a chosen time or when it is triggered."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Clock, Out, Param, State

NOT_YET_S = 1e11  # s, later than any run, and below the limit of divergence


class WindGust(Block):
    """Generates a (1 - cos) gust that rises, holds and falls in time, [MIL8785C] 3.7.3.3. Sampled.

    The gust part of [Dai] Eq. 6. The document gives the shape over distance; here the rise is a time, so that it also
    acts on a hovering vehicle. One pulse begins at `start_time`. A second one begins at the first sample at which
    `triggered_amplitude_N` is not zero, so that an event or a fault can start it; it ends when that is zero again. They
    add up. Not modelled: spatial extent.
    """

    source = "[MIL8785C] 3.7.3.3; [Dai] Eq. 6"

    time = Clock(doc="simulation time")
    wind_N = Out(unit="m/s", shape=3, frame="N", doc="velocity of the air")
    onset = State(unit="s", init=NOT_YET_S, doc="when the triggered gust began")

    amplitude_N = Param(
        unit="m/s", shape=3, frame="N", default=0.0, low=-60.0, high=60.0, tunable=True, doc="at the top"
    )
    start_time = Param(unit="s", default=0.0, tunable=True, doc="when the rise begins")
    rise_time = Param(unit="s", default=1.0, low=1e-3, tunable=True, doc="from nothing to the top")
    hold_time = Param(unit="s", default=0.0, low=0.0, tunable=True, doc="at the top")
    triggered_amplitude_N = Param(
        unit="m/s",
        shape=3,
        frame="N",
        default=0.0,
        low=-60.0,
        high=60.0,
        tunable=True,
        doc="at the top of the gust that begins when this is set",
    )

    def update(self, x: View, u: View, p: View) -> Values:
        blows = ca.sumsqr(p.triggered_amplitude_N) > 0
        return {"onset": ca.if_else(blows, ca.fmin(x.onset, u.time), NOT_YET_S)}

    def output(self, x: View, u: View, p: View) -> Values:
        timed = _pulse(u.time - p.start_time, p) * p.amplitude_N
        triggered = _pulse(u.time - ca.fmin(x.onset, u.time), p) * p.triggered_amplitude_N
        return {"wind_N": timed + triggered}


def _pulse(since: ca.SX, p: View) -> ca.SX:
    """(1 - cos(pi s)) / 2, up to the top and down again; `since` is the time from the beginning of the rise."""
    up = ca.fmin(ca.fmax(since / p.rise_time, 0), 1)
    down = ca.fmin(ca.fmax((since - p.rise_time - p.hold_time) / p.rise_time, 0), 1)
    return 0.5 * (ca.cos(ca.pi * down) - ca.cos(ca.pi * up))
