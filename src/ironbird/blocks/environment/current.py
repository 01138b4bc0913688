"""Ocean current: water that moves at constant velocity."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Out, Param


class Current(Block):
    """Gives a steady water current of a given speed and direction, [Fossen2021] Ch. 10 in the horizontal plane.

    Not modelled: change with depth, place and time (a change during a run acts at once, without the force of
    accelerating water), tide, waves.
    """

    source = "[Fossen2021] Ch. 10"

    current_N = Out(unit="m/s", shape=3, frame="N", doc="velocity of the water")
    speed = Param(unit="m/s", default=0.0, low=0.0, high=5.0, tunable=True, doc="of the water over ground")
    direction = Param(unit="rad", default=0.0, tunable=True, doc="where the water goes: 0 north, pi/2 east")
    rise = Param(unit="m/s", default=0.0, low=-2.0, high=2.0, tunable=True, doc="upward part")

    def output(self, x: View, u: View, p: View) -> Values:
        return {"current_N": ca.vertcat(p.speed * ca.cos(p.direction), p.speed * ca.sin(p.direction), -p.rise)}
