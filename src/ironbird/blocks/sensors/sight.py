"""Last sample and faults of a sensor that sees the world, as signals in the kernel."""

from __future__ import annotations

import math

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param

SIGHT = {  # parameter of a sensor -> its highest value, unit, meaning; all are 0 without a fault
    "occluded": (1.0, "1", "share of the view that something hides"),
    "frozen": (1.0, "1", "1: the last sample again and again"),
    "black": (1.0, "1", "1: it sees nothing"),
    "shifted": (math.pi, "rad", "by which the mount has turned to the right"),
    "delayed": (60.0, "s", "by which samples are older than they say"),
    "latency": (60.0, "s", "by which samples come later than they should"),
    "dropout": (1.0, "1", "share of samples that do not arrive"),
}


class WorldSensor(Block):
    """Holds the last sample of a camera, lidar or rangefinder that sees the world, as signals for conditions and logs.
    Sampled.

    Not modelled: the sensor itself, which is computed outside the kernel (`ironbird.world.sensors`); its measurements
    arrive here at most a few hundred times a second.
    """

    source = "[Dai] Eq. 3: the 3D environment as a subsystem with outputs of its own"

    told_range = In(unit="m", doc="nearest range of the newest sample")
    told_valid = In(unit="1", doc="1: that sample has a range")
    told_stamp = In(unit="s", doc="time for which it was taken")
    told_samples = In(unit="1", doc="samples that have arrived")
    range = Out(unit="m", doc="nearest range of the newest sample; without an echo the largest that it measures")
    valid = Out(unit="1", doc="1: the newest sample has a range")
    stamp = Out(unit="s", doc="time for which the newest sample was taken")
    samples = Out(unit="1", doc="samples that have arrived")
    differing = Out(unit="1", doc="shown outside the kernel: samples that a fault has changed")

    def __init__(self, *, sample_s: float = 0.001) -> None:
        super().__init__(sample_s=sample_s)
        for name, (high, unit, text) in SIGHT.items():
            self.declare(name, Param(unit=unit, default=0.0, low=0.0, high=high, tunable=True, doc=text))
        self.declare("state", Out(unit="1", shape=len(SIGHT), doc=f"what is wrong: {', '.join(SIGHT)}"))

    def output(self, x: View, u: View, p: View) -> Values:
        """The last sample, and the present values of the parameters."""
        return {
            "range": u.told_range,
            "valid": u.told_valid,
            "stamp": u.told_stamp,
            "samples": u.told_samples,
            "differing": ca.SX(0),
            "state": ca.vertcat(*(p[name] for name in SIGHT)),
        }
