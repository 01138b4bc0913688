"""Packet link for faults: what is wrong with the link is a parameter, which is also an output."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Out, Param

ROUTE = {  # parameter of a link -> its neutral value, highest value, unit, meaning
    "drop": (0.0, 1.0, "1", "share of packets that are lost"),
    "delay": (0.0, 10.0, "s", "by which all packets are late"),
    "jitter": (0.0, 10.0, "s", "by which packets are late at most, at random"),
    "duplicate": (0.0, 1.0, "1", "share of packets that come twice"),
    "reorder": (0.0, 1.0, "1", "share of packets that are overtaken by the next"),
    "corrupt": (0.0, 1.0, "1", "share of packets with a wrong byte"),
    "throttle": (1e5, 1e5, "1/s", "bytes a second that it carries; from 100,000 on all that comes"),
    "cut": (0.0, 1.0, "1", "1: nothing comes through"),
    "heartbeats_only": (0.0, 1.0, "1", "1: only heartbeats come through"),
    "acks_only": (0.0, 1.0, "1", "1: only acknowledgements come through"),
}


class PacketLink(Block):
    """Holds the fault parameters of one direction of a link between the control system and other programs.

    Not modelled: the packets, which are outside the kernel (`ironbird.rig.link_faults`).
    """

    source = "[Dai] Sec. I"
    disturbed = Out(unit="1", doc="shown outside the kernel: packets that were lost, late, changed or doubled")

    def __init__(self, *, sample_s: float = 0.001) -> None:
        super().__init__(sample_s=sample_s)
        for name, (neutral, high, unit, text) in ROUTE.items():
            self.declare(name, Param(unit=unit, default=neutral, low=0.0, high=high, tunable=True, doc=text))
        self.declare("state", Out(unit="1", shape=len(ROUTE), doc=f"what is wrong: {', '.join(ROUTE)}"))

    def output(self, x: View, u: View, p: View) -> Values:
        """The present values of the parameters."""
        return {"state": ca.vertcat(*(p[name] for name in ROUTE)), "disturbed": ca.SX(0)}
