"""A body whose motion comes from outside the kernel: an external plant with Ironbird's sensors and autopilot."""

from __future__ import annotations

from types import SimpleNamespace

from ironbird.blocks.bodies.rigid_body import RigidBodyPorts
from ironbird.model.block import Values, View
from ironbird.model.signal import In, Param
from ironbird.symbolic import quaternion


class ExternalBody(RigidBodyPorts):
    """A body whose position, velocity, attitude and rates are inputs; forces and moments on it have no effect.

    Values hold until the next exchange, so sensors see steps of the length of an exchange. Flat earth. Mass and inertia
    are the vehicle's and have no effect here. Not modelled: any dynamics.
    """

    source = "of this project"

    told_p = In(unit="m", shape=3, frame="N", default=0.0, doc="position from the take-off point")
    told_v = In(unit="m/s", shape=3, frame="N", default=0.0, doc="velocity over ground")
    told_q = In(unit="1", shape=4, default=(1.0, 0.0, 0.0, 0.0), doc="attitude, w x y z")
    told_w = In(unit="rad/s", shape=3, frame="B", default=0.0, doc="angular velocity")
    told_specific_force = In(
        unit="m/s^2", shape=3, frame="B", default=(0.0, 0.0, -9.80665), doc="what an ideal accelerometer feels"
    )
    told_angular_acceleration = In(unit="rad/s^2", shape=3, frame="B", default=0.0, doc="derivative of the rates")

    p_0 = Param(unit="m", shape=3, frame="N", default=0.0, doc="position before the first exchange")
    v_0 = Param(unit="m/s", shape=3, frame="B", default=0.0, doc="unused: it begins at rest")
    q_0 = Param(unit="1", shape=4, default=(1.0, 0.0, 0.0, 0.0), doc="attitude before the first exchange")
    w_0 = Param(unit="rad/s", shape=3, frame="B", default=0.0, doc="unused: it begins at rest")

    def output(self, x: View, u: View, p: View) -> Values:
        attitude = quaternion.normalized(u.told_q)
        velocity_B = quaternion.rotation_matrix(attitude).T @ u.told_v
        told = SimpleNamespace(p=u.told_p, v=velocity_B, q=attitude, w=u.told_w)
        return self._flat_earth_outputs(told, p, u.told_specific_force, u.told_angular_acceleration)  # type: ignore[arg-type]
