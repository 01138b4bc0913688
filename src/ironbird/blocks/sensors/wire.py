"""Wires and chips of a board for faults: what is wrong with them is a parameter, which is also an output."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Out, Param

LINE = {  # parameter of a wire -> its neutral value, highest value, meaning
    "random": (0.0, 1.0, "share of slots in which the level is a coin's, Eq. 23"),
    "noise_V": (0.0, 100.0, "deviation of noise against the logic thresholds, Fig. 5"),
    "flips": (0.0, 1.0, "share of bits that are read wrong"),
    "hold": (0.0, 1.0, "share of edges that come late"),
    "open": (0.0, 1.0, "1: open, Eq. 24"),
    "pull": (1.0, 1.0, "level of an open wire"),
    "short": (0.0, 1.0, "1: shorted, Eq. 25"),
    "level": (1.0, 1.0, "level to which it is shorted"),
}
PLACE = {  # of a device, or of a bus with common wires
    "nack": (0.0, 1.0, "share of requests that are not acknowledged"),
    "lost": (0.0, 1.0, "share of bytes that are lost"),
    "doubled": (0.0, 1.0, "share of bytes that come twice"),
    "baud": (0.0, 1.0, "drift of the chip's serial clock, share of its rate"),
    "swapped": (0.0, 1.0, "1: its chip select is that of the next device"),
    "reset": (0.0, 1.0, "1: it has lost power and restarted"),
    "off": (0.0, 1.0, "1: it has no power"),
    "identity": (0.0, 1.0, "1: it says that it is another part"),
    "overflow": (0.0, 1.0, "1: its FIFO has overflowed"),
    "stretch": (0.0, 1000.0, "slots for which it holds the clock of I2C low after each byte"),
}


class Wire(Block):
    """Holds the fault parameters of one wire of a board, [ChipLevel] Eq. 23-25 and 27.

    Not modelled: the levels themselves, which are in the chip models.
    """

    source = "[ChipLevel] Eq. 23-27"
    table = LINE

    def __init__(self, *, sample_s: float = 0.001) -> None:
        super().__init__(sample_s=sample_s)
        for name, (neutral, high, text) in self.table.items():
            unit = "V" if name.endswith("_V") else "1"
            self.declare(name, Param(unit=unit, default=neutral, low=0.0, high=high, tunable=True, doc=text))
        self.declare("state", Out(unit="1", shape=len(self.table), doc=f"what is wrong: {', '.join(self.table)}"))

    def output(self, x: View, u: View, p: View) -> Values:
        """The present values of the parameters."""
        return {"state": ca.vertcat(*(p[name] for name in self.table))}


class WirePlace(Wire):
    """Holds the fault parameters of one device of a board, or of a bus with common wires.

    Not modelled: the chip itself, which is in the chip models.
    """

    table = PLACE
    first_difference = Out(unit="1", doc="shown by the chip models: the first level that differs from the twin's")

    def output(self, x: View, u: View, p: View) -> Values:
        """The present values of the parameters; levels are compared by the receiver."""
        return {**super().output(x, u, p), "first_difference": ca.SX(0)}
