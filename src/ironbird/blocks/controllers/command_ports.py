"""What a program outside commands: the ports that all navigators with commands share, and what they make of them."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import View
from ironbird.model.signal import In, Param, State

# Kinds of an offboard set-point
BY_PLACE, BY_ATTITUDE, BY_RATES, BY_COURSE = 0.0, 2.0, 3.0, 5.0
# Who steers in the mode `offboard`: set-points, or sticks in one of their modes
BY_SETPOINT, BY_STABILIZED, BY_ALTITUDE, BY_POSITION_STICKS, BY_MANUAL = range(5)
# Places in `offboard_given`
P_N, P_E, P_D, V_N, V_E, V_D, YAW, YAW_RATE, COURSE, HEIGHT, SPEED = range(11)
ROLL, PITCH, THROTTLE, TURN = range(4)  # places in `stick`
LINK_HOLD_S = 5.0  # without link: hold for so long, then come home


class CommandPorts:
    """Inputs that only a vehicle with `control="commanded"` has. Numbers of modes are those of `mission_table`.

    A command is heard when `order`, a counter, changes. What is not given (`offboard_given` 0) is not asked for. Sticks
    are -1 to 1 in the order roll, pitch (positive is nose down: forward), throttle (0 is the middle), yaw.
    """

    order = In(unit="1", default=0.0, doc="counts the commands: a new number makes `command` heard again")
    goto = In(unit="1", default=0.0, doc="1: with the command hold, stay at `offboard_position`")
    start_item = In(unit="1", default=-1.0, doc="with the command mission: item to begin with; -1 goes on")
    direct = In(
        unit="1", default=0.0, doc="in offboard: 0 set-points; sticks: 1 stabilized 2 altitude 3 position 4 manual"
    )
    stick = In(unit="1", shape=4, default=0.0, doc="roll, pitch (forward), throttle, yaw, -1 to 1")
    offboard_given = In(
        unit="1", shape=11, default=0.0, doc="1 where given: position, velocity, yaw, yaw rate, course, height, speed"
    )
    offboard_acceleration = In(
        unit="m/s^2", shape=3, frame="N", default=0.0, doc="offboard: added to what else is asked"
    )
    offboard_yaw_rate = In(unit="rad/s", default=0.0, doc="offboard: of the heading")
    offboard_attitude = In(unit="rad", shape=3, default=0.0, doc="offboard: roll, pitch, yaw")
    offboard_rates = In(unit="rad/s", shape=3, frame="B", default=0.0, doc="offboard: angular velocity")
    offboard_thrust = In(unit="1", default=0.0, doc="offboard: share of the full thrust, with attitude or rates")
    offboard_course = In(unit="rad", default=0.0, doc="offboard: direction over ground")
    offboard_height = In(unit="m", default=0.0, doc="offboard: above home")
    offboard_speed = In(unit="m/s", default=0.0, doc="offboard: through the air or the water, or on the ground")

    ordered = State(unit="1", init=0.0, doc="`order` seen last")
    idle = State(unit="1", init=0.0, doc="1 armed and at rest on the ground")
    silent = State(unit="s", init=0.0, doc="the stream of commands was lost so long ago; 0 is not lost")

    home = Param(unit="m", shape=3, frame="N", default=0.0, tunable=True, doc="where it returns to")
    link_hold = Param(unit="s", default=LINK_HOLD_S, low=0.0, tunable=True, doc="hold for so long before it returns")


COMMANDS = tuple(name for name, signal in vars(CommandPorts).items() if isinstance(signal, In))


def is_new(x: View, u: View) -> ca.SX:
    """Whether a command has come since the last sample."""
    return ca.fabs(u.order - x.ordered) > 0.5


def stream_lost(x: View, u: View, p: View) -> ca.SX:
    """Whether the stream of set-points or sticks is older than `link_timeout`."""
    return ca.logic_and(u.link_stamp >= 0, u.time - u.link_stamp > p.link_timeout)


def seen_with(view: View, names: list[str], **other: ca.SX) -> View:
    """A view in which some values are others."""
    return View({**{name: view[name] for name in names}, **other}, "inputs")
