"""Acceleration of gravity: on the WGS-84 ellipsoid with J2, or uniform."""

from __future__ import annotations

import casadi as ca

from ironbird.constants import WGS84_GM_M3PS2, WGS84_ROTATION_RADPS, WGS84_SEMI_MAJOR_M
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param
from ironbird.symbolic import earth


class GravityWgs84(Block):
    """Gives gravity at a position over the WGS 84 earth, [Stevens] 1.6-1.7.
    Gravitation of the oblate earth (point mass and J2) plus the centrifugal part.

    Within 0.12 mm/s^2 of the normal gravity formula, the difference is due to J4 and above. Not modelled: J4 and above,
    anomalies, tides.
    """

    source = "[Stevens] 1.6-1.7; [NIMA8350]"

    latitude = In(unit="rad", doc="geodetic latitude")
    height = In(unit="m", doc="height above the ellipsoid")
    gravity_N = Out(unit="m/s^2", shape=3, frame="N", doc="what a plumb line feels")
    gravitation_N = Out(unit="m/s^2", shape=3, frame="N", doc="without the centrifugal part")

    def output(self, x: View, u: View, p: View) -> Values:
        r = earth.to_ecef(u.latitude, ca.SX(0), u.height)  # in the meridian plane: x, z
        radius2 = r[0] ** 2 + r[2] ** 2
        radius = ca.sqrt(radius2)
        sine2 = r[2] ** 2 / radius2
        k = 1.5 * earth.J2 * WGS84_SEMI_MAJOR_M**2 / radius2
        scale = -WGS84_GM_M3PS2 / (radius2 * radius)
        # [Stevens] Eq. 1.6: J2 pulls towards the equatorial plane
        gx = scale * (1 + k * (1 - 5 * sine2)) * r[0]
        gz = scale * (1 + k * (3 - 5 * sine2)) * r[2]
        sp, cp = ca.sin(u.latitude), ca.cos(u.latitude)
        centrifugal = WGS84_ROTATION_RADPS**2 * r[0]

        def level(x_: ca.SX, z_: ca.SX) -> ca.SX:
            return ca.vertcat(-sp * x_ + cp * z_, 0, -cp * x_ - sp * z_)

        return {"gravity_N": level(gx + centrifugal, gz), "gravitation_N": level(gx, gz)}


class GravityUniform(Block):
    """Gives gravity that is the same everywhere and points straight down."""

    source = "[RflyModel] 6.2, item 1"

    gravity_N = Out(unit="m/s^2", shape=3, frame="N", doc="gravity")
    acceleration = Param(unit="m/s^2", low=0.0, tunable=True, doc="size")

    def output(self, x: View, u: View, p: View) -> Values:
        return {"gravity_N": ca.vertcat(0, 0, p.acceleration)}
