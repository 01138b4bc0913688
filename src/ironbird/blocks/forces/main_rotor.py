"""Main rotor of a helicopter: pitch of the blades and motion in, force and moment on the hub out."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.forces.rotor_disc import SLOWEST_TIP_MPS, RotorDisc
from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3
from ironbird.model.block import Block, Rates, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.rotation import norm

FLAP_LAG = 16.0  # [Gavrilets2015]: tau_e = 16 / (gamma_fb Omega)


class MainRotor(RotorDisc, Block):
    """The main rotor of a helicopter: thrust, torque, and the tilt of its tip-path plane.
    Thrust is that in the flow which the rotor induces; the tilt has a lag.

    Tilt back `a1` and to the right `b1` follow the cyclic pitch through the fly-bar, lag behind a turning body and are
    tilted back by flight through the air. Thrust is normal to the tip-path plane (small angles), the hub's spring turns
    the body towards it. The blades hinge: a gyroscopic moment acts on the body only through the tilt. The shaft is the
    body's z axis. The induced speed is a state (mass of air above the disc), so that there is nothing to iterate; at
    rest it obeys momentum theory. Blow-back to the side has the sign that opposes the motion. Valid for an advance
    ratio below 0.3. Not modelled: vortex-ring state and autorotation, stall other than the limit of C_T, ground effect,
    coning, lead and lag, cross coupling of the tilts, tilt by vertical speed.
    """

    source = "[Gavrilets2015]; [Gavrilets2001]; [Carpenter1953]; [Leishman2006] Ch. 2"

    collective = In(unit="rad", doc="pitch of all blades")
    longitudinal = In(unit="rad", default=0.0, doc="cyclic pitch that tilts the disc back")
    lateral = In(unit="rad", default=0.0, doc="cyclic pitch that tilts the disc to the right")
    speed = In(unit="rad/s", doc="of the shaft")
    acceleration = In(unit="rad/s^2", default=0.0, doc="its derivative")
    v_air_B = In(unit="m/s", shape=3, frame="B", doc="velocity through the air")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    density = In(unit="kg/m^3", default=SEA_LEVEL_DENSITY_KGPM3, doc="air density")
    force_B = Out(unit="N", shape=3, frame="B", doc="thrust, tilted")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="about the centre of mass")
    thrust = Out(unit="N", doc="its size")
    torque = Out(unit="N*m", doc="that the rotor takes from the shaft")
    shaft_power = Out(unit="W", doc="torque times speed")
    induced_speed = Out(unit="m/s", doc="of the air at the disc, against the thrust")
    tilt = Out(unit="rad", shape=2, doc="of the tip-path plane: a1 back, b1 to the right")

    inflow = State(unit="m/s", init="inflow_0", doc="induced speed")
    a1 = State(unit="rad", init=0.0, doc="tilt back")
    b1 = State(unit="rad", init=0.0, doc="tilt to the right")

    position = Param(unit="m", shape=3, frame="B", tunable=True, doc="of the hub from the centre of mass")
    spin = Param(unit="1", low=-1.0, high=1.0, doc="+1 counter-clockwise seen from above")
    inertia = Param(unit="kg*m^2", low=0.0, doc="of all that turns with the shaft")
    hub_stiffness = Param(unit="N*m/rad", low=0.0, tunable=True, doc="K_beta: moment per tilt")
    bar_lock_number = Param(unit="1", low=1e-3, doc="gamma_fb of the fly-bar; that of the blades if there is none")
    cyclic_gain = Param(unit="1", low=0.0, tunable=True, doc="A_lon = B_lat: tilt per cyclic pitch at nominal speed")
    nominal_speed = Param(unit="rad/s", low=1.0, doc="at which cyclic_gain holds")
    speed_gain = Param(unit="1", default=0.0, low=0.0, tunable=True, doc="K_mu: share of the blow-back that is left")
    inflow_0 = Param(unit="m/s", default=0.0, doc="initial induced speed")

    def _flow(self, x: View, u: View, p: View) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """Tip speed, velocity of the hub through the air, its size along the disc, flow through the disc."""
        hub = u.v_air_B + ca.cross(u.w_NB_B, p.position)
        return u.speed * p.radius, hub, norm(hub[:2]), x.inflow - hub[2]

    def derivative(self, x: View, u: View, p: View) -> Rates:
        tip, hub, along, through = self._flow(x, u, p)
        thrust = self.lifted(u.collective, tip, along, through, u.density, p)
        # [Gavrilets2015]: da1/dt = -q - a1/tau + (2 K_mu (4/3 theta - lambda) mu + A d_lon) / tau, b1 likewise
        quick = p.bar_lock_number * u.speed / FLAP_LAG  # 1 / tau
        ratio = u.speed / p.nominal_speed
        gain = quick * p.cyclic_gain * ratio * ratio
        tips = ca.fmax(tip, SLOWEST_TIP_MPS)
        blown = quick * 2 * p.speed_gain * (4.0 / 3.0 * u.collective - x.inflow / tips) / tips
        return {
            "inflow": self.inflow_rate(thrust, x.inflow, along, through, u.density, p),
            "a1": gain * u.longitudinal + blown * hub[0] - quick * x.a1 - u.w_NB_B[1],
            "b1": gain * u.lateral - blown * hub[1] - quick * x.b1 - u.w_NB_B[0],
        }

    def output(self, x: View, u: View, p: View) -> Values:
        tip, _, along, through = self._flow(x, u, p)
        thrust = self.lifted(u.collective, tip, along, through, u.density, p)
        torque = self.shaft_torque(thrust, tip, along, through, u.density, p)
        force = thrust * ca.vertcat(-x.a1, x.b1, -1)
        reaction = p.spin * (torque + p.inertia * u.acceleration)
        hub = ca.vertcat(p.hub_stiffness * x.b1, p.hub_stiffness * x.a1, reaction)
        return {
            "force_B": force,
            "moment_B": ca.cross(p.position, force) + hub,
            "thrust": thrust,
            "torque": torque,
            "shaft_power": torque * u.speed,
            "induced_speed": x.inflow,
            "tilt": ca.vertcat(x.a1, x.b1),
        }
