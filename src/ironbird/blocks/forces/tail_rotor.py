"""Tail rotor of a helicopter, geared to the main rotor: pitch of its blades in, force and moment out."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.forces.rotor_disc import RotorDisc
from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3
from ironbird.model.block import Block, Rates, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.rotation import norm


class TailRotor(RotorDisc, Block):
    """The tail rotor of a helicopter: thrust and torque.
    Blade elements and momentum theory as for the main rotor, without flapping.

    An adjacent fin takes the share `blockage` of its thrust, 3/4 S_fin / (pi R^2). The induced speed is a state (mass
    of the air at the disc). Not modelled: vortex-ring state, wake of the main rotor, flapping, gyroscopic moment.
    """

    source = "[Gavrilets2015]; [Carpenter1953]; [Padfield2007] Ch. 3"

    pitch = In(unit="rad", doc="of the blades above pitch_0; more turns the nose to the right with the default axis")
    speed = In(unit="rad/s", doc="of the main rotor")
    v_air_B = In(unit="m/s", shape=3, frame="B", doc="velocity through the air")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    density = In(unit="kg/m^3", default=SEA_LEVEL_DENSITY_KGPM3, doc="air density")
    force_B = Out(unit="N", shape=3, frame="B", doc="thrust behind the fin's blockage")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="about the centre of mass")
    thrust = Out(unit="N", doc="on the body, along the axis")
    torque = Out(unit="N*m", doc="that it takes, at the shaft of the main rotor")
    shaft_power = Out(unit="W", doc="torque times speed")
    induced_speed = Out(unit="m/s", doc="of the air at the disc, against the thrust")

    inflow = State(unit="m/s", init="inflow_0", doc="induced speed")

    position = Param(unit="m", shape=3, frame="B", tunable=True, doc="of the hub from the centre of mass")
    axis = Param(unit="1", shape=3, frame="B", default=(0.0, -1.0, 0.0), doc="direction of thrust, unit length")
    spin = Param(unit="1", low=-1.0, high=1.0, doc="+1 counter-clockwise seen against the thrust")
    gear_ratio = Param(unit="1", low=0.1, doc="turns per turn of the main rotor")
    blockage = Param(unit="1", default=0.0, low=0.0, high=1.0, doc="share of thrust lost to the fin")
    pitch_0 = Param(unit="rad", default=0.0, doc="pitch with the servo at neutral")
    inflow_0 = Param(unit="m/s", default=0.0, doc="initial induced speed")

    def _flow(self, x: View, u: View, p: View) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Tip speed, speed of the air along the disc, flow through the disc."""
        hub = u.v_air_B + ca.cross(u.w_NB_B, p.position)
        climb = ca.dot(hub, p.axis)
        return p.gear_ratio * u.speed * p.radius, norm(hub - climb * p.axis), x.inflow + climb

    def derivative(self, x: View, u: View, p: View) -> Rates:
        tip, along, through = self._flow(x, u, p)
        thrust = self.lifted(p.pitch_0 + u.pitch, tip, along, through, u.density, p)
        return {"inflow": self.inflow_rate(thrust, x.inflow, along, through, u.density, p)}

    def output(self, x: View, u: View, p: View) -> Values:
        tip, along, through = self._flow(x, u, p)
        thrust = self.lifted(p.pitch_0 + u.pitch, tip, along, through, u.density, p)
        torque = self.shaft_torque(thrust, tip, along, through, u.density, p)
        felt = (1 - p.blockage) * thrust  # [Padfield2007] Ch. 3
        force = felt * p.axis
        return {
            "force_B": force,
            "moment_B": ca.cross(p.position, force) - (p.spin * torque) * p.axis,
            "thrust": felt,
            "torque": p.gear_ratio * torque,
            "shaft_power": torque * p.gear_ratio * u.speed,
            "induced_speed": x.inflow,
        }
