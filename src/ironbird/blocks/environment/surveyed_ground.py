"""Height and slope of the ground from outside the kernel: an elevation grid of any size."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out


class SurveyedGround(Block):
    """Gives the ground under the vehicle as a tangent plane that comes from outside the model.
    For example from a height map or a world, in place of `Terrain`.

    It is looked up every few milliseconds at the vehicle's place (the `TerrainZ` of [RflyModel] 5.3): exact on each
    triangle of a grid; where the vehicle comes to the next one, the plane changes at the next look-up.
    Not modelled: ground whose slope changes below the vehicle's own size.
    """

    source = "[RflyModel] 5.3: TerrainZ"

    p_NB_N = In(unit="m", shape=3, frame="N", doc="position of the vehicle")
    surveyed_place = In(unit="m", shape=2, frame="N", default=0.0, doc="north and east of the look-up")
    surveyed_z = In(unit="m", default=0.0, doc="z (down) of the ground there")
    surveyed_slope = In(unit="1", shape=2, default=0.0, doc="change of z per metre north and east")
    place = Out(unit="m", shape=2, frame="N", doc="north and east where the plane touches the ground")
    ground_z = Out(unit="m", doc="z (down) of the ground there")
    slope = Out(unit="1", shape=2, doc="change of z per metre north and east")
    height_above_ground = Out(unit="m", doc="of the vehicle")

    def output(self, x: View, u: View, p: View) -> Values:
        below = u.surveyed_z + ca.dot(u.surveyed_slope, u.p_NB_N[:2] - u.surveyed_place)
        return {
            "place": u.surveyed_place,
            "ground_z": u.surveyed_z,
            "slope": u.surveyed_slope,
            "height_above_ground": below - u.p_NB_N[2],
        }
