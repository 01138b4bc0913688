"""Wind shear: wind that grows with height above the ground."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param
from ironbird.units import FOOT_M

REFERENCE_HEIGHT_M = 20 * FOOT_M  # height at which the strength is given [MIL8785C] 3.7.3.4
ROUGHNESS_M = 0.15 * FOOT_M  # terminal flight phases (category C) [MIL8785C]
LOWEST_M = 3 * FOOT_M  # the logarithm is used from 3 to 1000 ft
HIGHEST_M = 1000 * FOOT_M


class WindShear(Block):
    """Gives the wind's increase with height as a logarithmic profile, [MIL8785C] 3.7.3.4.
    W20 ln(h / z0) / ln(20 ft / z0), constant above 1000 ft.

    The shear part of [Dai] Eq. 6. Not modelled: turning of the wind with height.
    """

    source = "[MIL8785C] 3.7.3.4; [Dai] Eq. 6"

    height_above_ground = In(unit="m", doc="height above the terrain")
    wind_N = Out(unit="m/s", shape=3, frame="N", doc="velocity of the air")
    velocity_20ft_N = Param(
        unit="m/s",
        shape=3,
        frame="N",
        default=0.0,
        low=-60.0,
        high=60.0,
        tunable=True,
        doc="wind at 20 ft above the ground, where the air goes",
    )

    def output(self, x: View, u: View, p: View) -> Values:
        h = ca.fmin(ca.fmax(u.height_above_ground, LOWEST_M), HIGHEST_M)
        profile = ca.log(h / ROUGHNESS_M) / float(ca.log(REFERENCE_HEIGHT_M / ROUGHNESS_M))
        return {"wind_N": profile * p.velocity_20ft_N}
