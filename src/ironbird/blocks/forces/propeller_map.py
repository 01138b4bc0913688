"""Propeller with its electric motor in forward flight: throttle and airspeed in, thrust and torque out."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.forces.drive_fault_ports import DriveFaultPorts
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param


class PropellerMap(DriveFaultPorts, Block):
    """A propeller with its motor for fixed wings: thrust and torque over the advance ratio.
    C_T(J) and C_Q(J) as parabolas, and the speed at which both torques agree, [BeardMcLain] supplement.

    The speed is the positive root of a quadratic: no lag. All terms are written as polynomials in speed
    and airspeed, so that nothing is divided by the speed. As in the published model the advance ratio is made with
    the whole airspeed, whatever its direction. `health` scales the motor's voltage, `blade_health` thrust and torque
    of the blades. Valid for forward flight. Not modelled: spin-up time, gyroscopic moment, current limit, side force
    and moment of a propeller in oblique flow, reverse thrust of a stopped propeller, slipstream on wing and tail.
    """

    source = "[BeardMcLain] supplement on propellers, as in mavsim_python"

    voltage_ratio = In(unit="1", default=1.0, doc="supply voltage over that of a full battery")
    torque = Out(unit="N*m", doc="that the propeller takes from the shaft")
    speed = Out(unit="rad/s", doc="of the shaft")
    shaft_power = Out(unit="W", doc="power that the propeller takes from the motor")
    current = Out(unit="A", doc="of the motor; negative when the wind drives it")

    diameter = Param(unit="m", low=1e-3, doc="D")
    spin = Param(unit="1", default=1.0, low=-1.0, high=1.0, doc="+1 turns right-handed about the axis of thrust")
    CT = Param(unit="1", shape=3, tunable=True, doc="thrust coefficient: constant, factors of J and J^2")
    CQ = Param(unit="1", shape=3, tunable=True, doc="torque coefficient: constant, factors of J and J^2")
    speed_constant = Param(unit="rad/s/V", low=1e-3, doc="of the motor; its inverse is torque per current too")
    resistance = Param(unit="ohm", low=1e-6, tunable=True, doc="of motor, controller and wires")
    idle_current = Param(unit="A", low=0.0, doc="at no load")
    voltage = Param(unit="V", low=0.0, tunable=True, doc="at full throttle")

    def output(self, x: View, u: View, p: View) -> Values:
        volts = p.voltage * self.throttle_in_force(u, p) * u.voltage_ratio * p.health
        per_turn = 2 * ca.pi  # J = 2 pi V / (w D), n = w / 2 pi
        scale = u.density * p.diameter * p.diameter * p.blade_health
        reach = p.diameter / per_turn  # D n = reach * w
        air = u.airspeed
        torque_constant = 1 / p.speed_constant  # N m / A, and V s / rad

        # Torque of the motor = torque of the propeller: a w^2 + b w + c = 0
        drag = scale * p.diameter * p.CQ  # rho D^3 C_Q
        a = drag[0] * reach * reach
        b = drag[1] * reach * air + torque_constant * torque_constant / p.resistance
        c = drag[2] * air * air - torque_constant * (volts / p.resistance - p.idle_current)
        root = ca.sqrt(ca.fmax(b * b - 4 * a * c, 0))
        speed = ca.fmax(-2 * c / (b + root), 0)  # positive root, in the form that holds for a = 0 too

        tip = reach * speed  # D n
        thrust = scale * (p.CT[0] * tip * tip + p.CT[1] * tip * air + p.CT[2] * air * air)
        torque = drag[0] * tip * tip + drag[1] * tip * air + drag[2] * air * air
        return {
            "force_B": p.axis * thrust,
            "moment_B": ca.cross(p.position, p.axis) * thrust - p.axis * (p.spin * torque),
            "thrust": thrust,
            "torque": torque,
            "speed": speed,
            "shaft_power": torque * speed,
            "current": (volts - torque_constant * speed) / p.resistance,
        }
