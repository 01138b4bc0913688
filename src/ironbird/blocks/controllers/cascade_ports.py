"""The ports that controllers of position, velocity and attitude in cascade share."""

from __future__ import annotations

from ironbird.model.block import Block
from ironbird.model.signal import In, State


class CascadePorts(Block):
    """The state of the vehicle and where it is to be; the velocity loop has an integral."""

    role = "controller"

    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    v_NB_N = In(unit="m/s", shape=3, frame="N", doc="velocity")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    w_NB_B = In(unit="rad/s", shape=3, frame="B", doc="angular velocity")
    position_set = In(unit="m", shape=3, frame="N", doc="where to be")
    velocity_set = In(unit="m/s", shape=3, frame="N", default=0.0, doc="how the set-point moves")
    yaw_set = In(unit="rad", default=0.0, doc="heading")
    position_weight = In(unit="1", shape=3, default=1.0, doc="0 where no position is asked for")
    velocity_weight = In(unit="1", shape=3, default=1.0, doc="0 where no velocity is asked for either")
    acceleration_set = In(unit="m/s^2", shape=3, frame="N", default=0.0, doc="added to what position and velocity need")
    velocity_sum = State(unit="m/s^2", shape=3, frame="N", init=0.0, doc="integral of the velocity error")
