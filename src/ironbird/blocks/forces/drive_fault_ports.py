"""Ports and fault parameters that all blocks of a propeller with a throttle command have in common."""

from __future__ import annotations

import casadi as ca

from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3
from ironbird.model.block import Values, View
from ironbird.model.signal import In, Out, Param
from ironbird.symbolic.smooth import clip


class DriveFaultPorts:
    """Ports and fault parameters of a propeller with its motor: `health` of the motor, `blade_health` of the blades."""

    throttle = In(unit="1", low=0.0, high=1.0, doc="command")
    airspeed = In(unit="m/s", low=0.0, high=50.0, doc="speed through the air")
    density = In(unit="kg/m^3", default=SEA_LEVEL_DENSITY_KGPM3, doc="air density")
    force_B = Out(unit="N", shape=3, frame="B", doc="thrust")
    moment_B = Out(unit="N*m", shape=3, frame="B", doc="about the centre of mass")
    thrust = Out(unit="N", doc="its size; negative when the propeller brakes")

    position = Param(unit="m", shape=3, frame="B", default=0.0, tunable=True, doc="of the hub from the centre of mass")
    axis = Param(unit="1", shape=3, frame="B", default=(1.0, 0.0, 0.0), doc="direction of thrust, unit length")
    override = Param(
        unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 drives with override_throttle, not the command"
    )
    override_throttle = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 is a runaway controller")
    health = Param(unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="share of speed or voltage left")
    blade_health = Param(
        unit="1", default=1.0, low=0.0, high=1.0, tunable=True, doc="share of thrust and torque left; 0 is no blade"
    )

    def throttle_in_force(self, u: View, p: View) -> ca.SX:
        """The command in force: the input, or the value that a fault of the controller sets."""
        return clip(ca.if_else(p.override > 0.5, p.override_throttle, u.throttle), 0, 1)

    def along_axis(self, p: View, thrust: ca.SX) -> Values:
        """Outputs for a thrust without torque."""
        return {"force_B": p.axis * thrust, "moment_B": ca.cross(p.position, p.axis) * thrust, "thrust": thrust}
