"""Height and slope of the ground under the vehicle."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param


class Terrain(Block):
    """Gives the ground under the vehicle as a tangent plane: a sloping plane with round hills on it.

    Contact parts use the plane at the given place, so that the look-up may run slowly. Not modelled: steps,
    overhangs, obstacles.
    """

    source = "closed form of this project"

    p_NB_N = In(unit="m", shape=3, frame="N", doc="position of the vehicle")
    place = Out(unit="m", shape=2, frame="N", doc="north and east where the plane touches the ground")
    ground_z = Out(unit="m", doc="z (down) of the ground there")
    slope = Out(unit="1", shape=2, doc="change of z per metre north and east")
    height_above_ground = Out(unit="m", doc="of the vehicle")

    base_z = Param(unit="m", default=0.0, tunable=True, doc="z (down) of the plane below the take-off point")
    plane_slope = Param(unit="1", shape=2, default=0.0, low=-2.0, high=2.0, doc="z per metre north and east")

    def __init__(self, hills: int = 0, *, sample_s: float | None = None) -> None:
        super().__init__(sample_s=sample_s)
        self.hills = hills
        for i in range(hills):
            self.declare(f"hill_{i}_top", Param(unit="m", shape=2, frame="N", doc="north and east of the top"))
            self.declare(f"hill_{i}_height", Param(unit="m", doc="height of the top; negative is a hollow"))
            self.declare(f"hill_{i}_radius", Param(unit="m", low=0.1, doc="distance at which 61 % is left"))

    def output(self, x: View, u: View, p: View) -> Values:
        place = u.p_NB_N[:2]
        z = p.base_z + ca.dot(p.plane_slope, place)
        slope = p.plane_slope
        for i in range(self.hills):
            away = place - p[f"hill_{i}_top"]
            radius2 = p[f"hill_{i}_radius"] ** 2
            bump = p[f"hill_{i}_height"] * ca.exp(-0.5 * ca.dot(away, away) / radius2)
            z = z - bump
            slope = slope + bump * away / radius2
        return {"place": place, "ground_z": z, "slope": slope, "height_above_ground": z - u.p_NB_N[2]}
