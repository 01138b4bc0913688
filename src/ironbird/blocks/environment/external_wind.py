"""Wind that is computed outside the kernel: the wakes of other vehicles, the lee of buildings."""

from __future__ import annotations

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out


class ExternalWind(Block):
    """A part of the wind that comes from outside the compiled model as an input, held until the next value.

    Not modelled: a gradient along the vehicle, so it causes no moment by itself.
    """

    source = "a register of this project; a part of the sum of [Dai] Eq. 6"

    told_N = In(unit="m/s", shape=3, frame="N", default=0.0, doc="velocity of the air")
    wind_N = Out(unit="m/s", shape=3, frame="N", doc="the same")

    def output(self, x: View, u: View, p: View) -> Values:
        return {"wind_N": u.told_N}
