"""Ports shared by cascaded controllers of position, velocity and attitude."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block
from ironbird.model.signal import In, State
from ironbird.symbolic.smooth import clip

NOT_TOLD = 1e3  # m/s: value of the sink rate that means "not given"
BLIND_GAIN = 0.8  # 1/s: gain from sink rate to acceleration with a barometer alone, which is late
BLIND_TRIM = 2.0  # m/s^2: largest integral in a blind descent
BLIND_LIFT = (-1.5, 2.5)  # m/s^2: acceleration (down positive) that a blind descent may command


def blind_acceleration(
    wanted: ca.SX, sink_rate: ca.SX, sinking: ca.SX, gain: ca.SX, trim: ca.SX
) -> tuple[ca.SX, ca.SX]:
    """Vertical acceleration (m/s^2) of a blind descent, and the sink-rate error (m/s) that is integrated.

    Bounded to 0.75 to 1.15 of the weight, whatever the estimate is: it can neither climb away nor fall. `sinking` is
    the state's rate; a rate that differs from it comes from a slower source.
    """
    told = sink_rate < NOT_TOLD
    rate = ca.if_else(told, sink_rate, sinking)
    slow = ca.logic_and(told, sink_rate != sinking)
    error = (wanted - rate) * ca.if_else(slow, BLIND_GAIN / gain, 1)
    return clip(gain * error + clip(trim, -BLIND_TRIM, BLIND_TRIM), *BLIND_LIFT), error


class CascadePorts(Block):
    """Ports of the vehicle's state and its set-points; the velocity loop has an integral."""

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
    sink_rate = In(unit="m/s", default=NOT_TOLD, doc="of a blind descent; 1000 is that of the velocity")
    velocity_sum = State(unit="m/s^2", shape=3, frame="N", init=0.0, doc="integral of the velocity error")
