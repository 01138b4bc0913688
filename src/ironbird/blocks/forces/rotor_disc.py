"""Equations shared by rotors with collective pitch: blade elements, momentum of the air, torque.

Written with speeds instead of ratios, so that a rotor at rest needs no special case. `U` is the tip speed, `V` the
speed of the air along the disc, `climb` that of the hub through the air in the direction of thrust, `induced` the
speed that the rotor adds to the air, against the thrust.
"""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import View
from ironbird.model.signal import Param
from ironbird.symbolic.rotation import norm
from ironbird.symbolic.smooth import clip

SLOWEST_TIP_MPS = 1.0  # below this tip speed the torque of lift fades out: a rotor at rest


class RotorDisc:
    """Parameters of the blades and the equations of [Gavrilets2015]: uniform inflow, untwisted blades."""

    blades = Param(unit="1", low=1.0, doc="number of blades")
    radius = Param(unit="m", low=1e-2, doc="R")
    chord = Param(unit="m", low=1e-4, doc="of a blade, constant along it")
    lift_slope = Param(unit="1/rad", low=0.1, doc="a: lift of a blade element per angle of attack")
    profile_drag = Param(unit="1", low=0.0, tunable=True, doc="C_D0 of a blade element")
    max_thrust_coefficient = Param(unit="1", low=1e-6, doc="C_Tmax: stall of the blades limits |C_T|")
    wake_factor = Param(
        unit="1", default=1.0, low=0.1, high=1.0, doc="eta_w: share of the ideal momentum; 1 is a uniform wake"
    )
    blade_health = Param(
        unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="share of thrust and torque left; 0 is no blade"
    )

    def disc_area(self, p: View) -> ca.SX:
        """Area of the rotor disc in m^2: A = pi R^2."""
        return ca.pi * p.radius * p.radius

    def lifted(self, pitch: ca.SX, tip: ca.SX, along: ca.SX, through: ca.SX, density: ca.SX, p: View) -> ca.SX:
        """Lift of the blades; `through` is climb plus induced speed.

        [Gavrilets2015]: C_T = a s / 2 (theta (1/3 + mu^2/2) + (mu_z - lambda) / 2), |C_T| < C_Tmax.
        """
        size = 0.5 * density * p.lift_slope * p.blades * p.chord * p.radius
        lift = size * (pitch * (tip * tip / 3 + along * along / 2) - tip * through / 2)
        most = p.max_thrust_coefficient * density * self.disc_area(p) * tip * tip
        return p.blade_health * clip(lift, -most, most)

    def inflow_rate(
        self, thrust: ca.SX, induced: ca.SX, along: ca.SX, through: ca.SX, density: ca.SX, p: View
    ) -> ca.SX:
        """Rate of the induced speed: the air above the disc has mass, [Carpenter1953].

        At rest T = 2 rho A eta_w v sqrt(V^2 + (climb + v)^2), Glauert's formula, [Leishman2006] Ch. 2.
        """
        flow = norm(ca.vertcat(along, through))
        momentum = 2 * density * self.disc_area(p) * p.wake_factor * induced * flow
        mass = 8.0 / 3.0 * density * p.radius * p.radius * p.radius  # [Carpenter1953]: 0.637 of a sphere of air
        return (thrust - momentum) / mass

    def shaft_torque(self, thrust: ca.SX, tip: ca.SX, along: ca.SX, through: ca.SX, density: ca.SX, p: View) -> ca.SX:
        """Torque (N m) that the shaft must provide.

        [Gavrilets2015]: C_Q = C_T (lambda - mu_z) + C_D0 s / 8 (1 + 7/3 mu^2).
        """
        lifting = thrust * through * p.radius / ca.fmax(tip, SLOWEST_TIP_MPS)
        size = p.blade_health * p.profile_drag * p.blades * p.chord / 8 * density * p.radius * p.radius
        profile = size * tip * (tip + 7.0 / 3.0 * along * along / ca.fmax(tip, SLOWEST_TIP_MPS))
        return lifting + profile
