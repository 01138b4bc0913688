"""Command latch: a command of the control system takes effect one control period later."""

from __future__ import annotations

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Clock, In, Out, State


class CommandLatch(Block):
    """Delays actuator commands by one sample: computing and sending a command takes the period in which it is computed.
    Sampled.

    It also keeps sensors from measuring, at the same instant, the effect of the command computed from them. Not
    modelled: jitter.
    """

    source = "closed form of this project"

    time = Clock(doc="simulation time")
    command = In(unit="1", doc="from the control system")
    value = Out(unit="1", doc="of the period before")
    stamp = Out(unit="s", doc="when it was handed out")
    held = State(unit="1", init=0.0, doc="waits for the next sample")

    def update(self, x: View, u: View, p: View) -> Values:
        return {"held": u.command}

    def output(self, x: View, u: View, p: View) -> Values:
        return {"value": x.held, "stamp": u.time}
