"""Forces of waves on a floating hull: first-order forces and mean drift."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param

SEA_WATER = 1026.0  # kg/m^3
SMALL = 1e-3


class WaveLoads(Block):
    """Computes the forces of waves on a floating hull.
    Froude-Krylov forces of a surface that is a plane under the hull, and the mean drift force.

    The hull's hydrostatic springs pull it towards the surface (heave, roll, pitch), and its weight slides down the
    slope (surge, sway), [Fossen2021] Ch. 10 with the undisturbed pressure; both are reduced by sin(a)/a with a = k L /
    2 where the hull is long against the wave. Drift: rho g b R^2 Hs^2 / 16 along the waves, b the projected length,
    after Maruo; for a hull of draught T, R^2 is multiplied by 1 - exp(-2 k T), the share of a deep-water wave's power
    above T. Valid for waves that are long against the hull. Not modelled: diffraction, added-mass memory, slow drift,
    slamming, yaw moment.
    """

    source = "[Fossen2021] Ch. 10; drift: [Faltinsen1990] Ch. 5, from memory"

    elevation = In(unit="m", doc="of the surface, up positive")
    slope_N = In(unit="1", shape=2, frame="N", doc="rise of the surface per metre north and east")
    deviation = In(unit="m", doc="of the elevation")
    frequency = In(unit="rad/s", doc="of the waves")
    travel_N = In(unit="1", shape=2, frame="N", doc="unit vector to which the waves run")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    gravity_N = In(unit="m/s^2", shape=3, frame="N", doc="acceleration of gravity")
    force_B = Out(unit="N", shape=3, frame="B", doc="of the waves")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="of the waves")
    drift_B = Out(unit="N", shape=3, frame="B", doc="the part of the force that is mean drift")
    mass = Param(unit="kg", low=0.0, doc="that the water carries")
    heave_stiffness = Param(unit="N/m", default=0.0, low=0.0, doc="as in Hydrostatics")
    roll_stiffness = Param(unit="N*m/rad", default=0.0, low=0.0, doc="as in Hydrostatics")
    pitch_stiffness = Param(unit="N*m/rad", default=0.0, low=0.0, doc="as in Hydrostatics")
    flotation_x = Param(unit="m", default=0.0, doc="as in Hydrostatics")
    length = Param(unit="m", low=0.01, doc="of the hull in the waterline")
    beam = Param(unit="m", low=0.01, doc="of the hull in the waterline")
    draught = Param(unit="m", default=0.1, low=0.001, doc="of the hull")
    drift_share = Param(
        unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="reflected share of the power that meets the hull"
    )
    density = Param(unit="kg/m^3", default=SEA_WATER, low=900.0, high=1100.0, doc="of the water")

    def output(self, x: View, u: View, p: View) -> Values:
        gravity = u.gravity_N[2]
        slope_B = u.R_NB[:2, :2].T @ u.slope_N
        travel_B = u.R_NB[:2, :2].T @ u.travel_N
        number = u.frequency * u.frequency / gravity  # deep water
        share = _shortened(number * p.length * travel_B[0] / 2) * _shortened(number * p.beam * travel_B[1] / 2)
        across = p.length * ca.fabs(travel_B[1]) + p.beam * ca.fabs(travel_B[0])
        reflected = p.drift_share * -ca.expm1(-2 * number * p.draught)
        drift = p.density * gravity * across * reflected * u.deviation * u.deviation  # [Faltinsen1990] Ch. 5
        drift_B = ca.vertcat(drift * travel_B, 0)
        slide = -p.mass * gravity * slope_B
        # The springs of Hydrostatics with the surface for the level: lift acts at the centre of flotation
        spring = -p.heave_stiffness * (u.elevation + p.flotation_x * slope_B[0])
        pitch = p.pitch_stiffness * slope_B[0] - p.flotation_x * spring
        return {
            "force_B": share * ca.vertcat(slide, spring) + drift_B,
            "moment_B": share * ca.vertcat(-p.roll_stiffness * slope_B[1], pitch, 0),
            "drift_B": drift_B,
        }


def _shortened(half_phase: ca.SX) -> ca.SX:
    """sin(a) / a: mean of a wave over a length."""
    small = ca.fabs(half_phase) < SMALL
    safe = ca.if_else(small, SMALL, half_phase)
    return ca.if_else(small, 1 - half_phase * half_phase / 6, ca.sin(safe) / safe)
