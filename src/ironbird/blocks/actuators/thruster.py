"""Thrusters: command in, force on the hull out."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Rates, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import clip


class ThrusterDrive:
    """Base of all thrusters: position, lag, and the faults of `Motor` under the same names."""

    command = In(unit="1", low=-1.0, high=1.0, doc="share of the full speed or force; negative is reverse")
    force_B = Out(unit="N", shape=3, frame="B", doc="on the hull")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="about the body's origin")
    thrust = Out(unit="N", doc="along the axis")
    position = Param(unit="m", shape=3, frame="B", default=0.0, doc="from the body's origin")
    axis = Param(unit="1", shape=3, frame="B", default=(1.0, 0.0, 0.0), doc="direction of positive thrust")
    time_constant = Param(unit="s", low=1e-3, tunable=True, doc="63 % rise time")
    override = Param(
        unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 drives with override_throttle, not the command"
    )
    override_throttle = Param(unit="1", default=0.0, low=-1.0, high=1.0, tunable=True, doc="1 is a runaway controller")
    stuck = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 keeps speed or force as it is")
    health = Param(
        unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="share of the speed or force left; 0 is dead"
    )

    def asked(self, u: View, p: View) -> ca.SX:
        """The command in force, from -1 to 1, with overriding faults applied."""
        return clip(ca.if_else(p.override > 0.5, p.override_throttle, u.command), -1, 1)

    def gain(self, p: View) -> ca.SX:
        """Gain of the first-order lag in 1/s; zero while stuck."""
        return ca.if_else(p.stuck > 0.5, 0, 1 / p.time_constant)


class Thruster(ThrusterDrive, Block):
    """An underwater propeller on a shaft that follows its command with a first-order lag, [Fossen2021] Ch. 9.
    T = k n |n| with k for each direction.

    Ahead, the water's speed U reduces the thrust by `inflow_loss` n U (linear K_T over the advance number). `health`
    scales the shaft speed. Not modelled: inflow at an angle or astern, interaction with the hull and other thrusters,
    ventilation at the surface, battery.
    """

    source = "[Fossen2021] Ch. 9; [FossenPVS] vehicles/otter.py"

    water_speed = In(unit="m/s", default=0.0, doc="of the hull through the water")
    speed = Out(unit="rad/s", doc="of the shaft; negative is reverse")
    omega = State(unit="rad/s", init="omega_0", doc="shaft speed")
    omega_0 = Param(unit="rad/s", default=0.0, doc="initial shaft speed")
    max_speed = Param(unit="rad/s", low=0.1, tunable=True, doc="ahead, at command 1")
    max_reverse = Param(unit="rad/s", low=0.1, tunable=True, doc="astern, at command -1, as a positive number")
    thrust_coefficient = Param(unit="N*s^2", low=0.0, tunable=True, doc="k ahead")
    reverse_coefficient = Param(unit="N*s^2", low=0.0, tunable=True, doc="k astern")
    inflow_loss = Param(unit="N*s^2/m", default=0.0, low=0.0, tunable=True, doc="thrust lost per n and water speed")
    torque_coefficient = Param(unit="N*m*s^2", default=0.0, doc="moment about the axis per n |n|; sign is of the spin")
    torque_loss = Param(unit="N*s^2", default=0.0, doc="moment lost per n and water speed, ahead; sign of the spin")

    def derivative(self, x: View, u: View, p: View) -> Rates:
        asked = self.asked(u, p)
        steady = p.health * asked * ca.if_else(asked > 0, p.max_speed, p.max_reverse)
        return {"omega": self.gain(p) * (steady - x.omega)}

    def output(self, x: View, u: View, p: View) -> Values:
        n = clip(x.omega, -p.max_reverse, p.max_speed)
        square, inflow = ca.fabs(n) * n, n * u.water_speed
        ahead = n > 0
        thrust = ca.if_else(
            ahead, p.thrust_coefficient * square - p.inflow_loss * inflow, p.reverse_coefficient * square
        )
        torque = p.torque_coefficient * square - ca.if_else(ahead, p.torque_loss * inflow, 0)
        force = thrust * p.axis
        return {
            "force_B": force,
            "moment_B": ca.cross(p.position, force) + torque * p.axis,
            "thrust": thrust,
            "speed": x.omega,
        }


class ForceActuator(ThrusterDrive, Block):
    """Represents a group of propellers and rudders as one force or moment with a limit and a first-order lag.

    For ships of which only the total force is published. `axis` is the force per newton, `turning` the moment. Not
    modelled: the single propellers and rudders, dependence on speed.
    """

    source = "[Skjetne2004]; [Fossen2021] Ch. 11"

    applied = State(unit="N", init=0.0, doc="force (or moment by `turning`) now")
    limit = Param(unit="N", low=0.0, tunable=True, doc="at command 1 and -1")
    turning = Param(unit="m", shape=3, frame="B", default=0.0, doc="moment per newton")

    def derivative(self, x: View, u: View, p: View) -> Rates:
        return {"applied": self.gain(p) * (p.health * p.limit * self.asked(u, p) - x.applied)}

    def output(self, x: View, u: View, p: View) -> Values:
        force = x.applied * p.axis
        return {"force_B": force, "moment_B": ca.cross(p.position, force) + x.applied * p.turning, "thrust": x.applied}
