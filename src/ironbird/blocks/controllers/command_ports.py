"""Commands of an external program: ports shared by all navigators with commands, and their interpretation."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.controllers.mission_table import DISARMED, HOLD, OFFBOARD
from ironbird.model.block import Block, View
from ironbird.model.signal import Clock, In, Out, Param, State

# Kinds of an offboard set-point
BY_PLACE, BY_ATTITUDE, BY_RATES, BY_COURSE = 0.0, 2.0, 3.0, 5.0
# Source of commands in the mode `offboard`: set-points, or sticks in one of their modes
BY_SETPOINT, BY_STABILIZED, BY_ALTITUDE, BY_POSITION_STICKS, BY_MANUAL = range(5)
# Indices in `offboard_given`
P_N, P_E, P_D, V_N, V_E, V_D, YAW, YAW_RATE, COURSE, HEIGHT, SPEED = range(11)
ROLL, PITCH, THROTTLE, TURN = range(4)  # indices in `stick`
LINK_HOLD_S = 5.0  # s to hold without a link before the return home


class CommandPorts:
    """Inputs that only a vehicle with `control="commanded"` has. Numbers of modes are those of `mission_table`.

    A command is accepted when `order`, a counter, changes. Quantities that are not given (`offboard_given` 0) are free.
    Sticks are -1 to 1 in the order roll, pitch (positive is nose down: forward), throttle (0 is the middle), yaw.
    """

    order = In(unit="1", default=0.0, doc="counts the commands: a new number makes `command` act again")
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


class DrivePorts(CommandPorts):
    """The ports of `CommandPorts` for navigators that otherwise only have a mission: on the ground and in water."""

    time = Clock(doc="simulation time")
    R_NB = In(unit="1", shape=(3, 3), default=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), doc="attitude")
    command = In(unit="1", default=0.0, doc="mode asked for, by number")
    link_stamp = In(unit="s", default=-1.0, doc="time of the last set-point or stick; negative: none is needed")
    offboard_kind = In(unit="1", default=0.0, doc="offboard set-point: 0 position or velocity, 5 course")
    offboard_position = In(unit="m", shape=3, frame="N", default=0.0, doc="offboard: where to go")
    offboard_velocity = In(unit="m/s", shape=3, frame="N", default=0.0, doc="offboard: how to move")
    offboard_yaw = In(unit="rad", default=0.0, doc="offboard: heading")
    failsafe = Out(unit="1", shape=6, doc="active: only the last, link, is ever 1")
    armed = Out(unit="1", doc="0 while disarmed")
    now = State(unit="1", init=0.0, doc="mode")
    link_timeout = Param(
        unit="s", default=2.0, low=0.0, tunable=True, doc="it stops when the stream is silent for longer"
    )
    arm_time = Param(unit="s", default=0.0, low=0.0, tunable=True, doc="no arming before: the estimator settles")

    def _mode(self, x: View, u: View, p: View) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Mode after this sample, whether it began again, and the time since the stream was lost (then it holds)."""
        assert isinstance(self, Block) and self.sample_s is not None
        new = is_new(x, u)
        fit = ca.logic_and(u.ready > 0.5, u.time >= p.arm_time)
        heard = ca.logic_and(new, ca.logic_or(fit, u.command == DISARMED))
        mode = ca.if_else(heard, u.command, x.now)
        fails = ca.logic_and(mode == OFFBOARD, stream_lost(x, u, p))
        silent = ca.if_else(fails, self.sample_s, ca.if_else(x.silent > 0, x.silent + self.sample_s, 0))
        silent = ca.if_else(new, 0, ca.fmin(silent, 1e6))
        mode = ca.if_else(fails, HOLD, mode)
        return mode, ca.logic_or(heard, fails), silent


class ManualPorts:
    """Inputs of a controller that sticks may drive directly; inactive while unconnected."""

    armed = In(unit="1", default=1.0, doc="0 stops what drives")
    manual = In(unit="1", default=0.0, doc="1: the next two are what is done")
    manual_push = In(unit="1", default=0.0, doc="ahead, -1 to 1")
    manual_turn = In(unit="1", default=0.0, doc="to the right, -1 to 1")


COMMANDS = tuple(name for name, signal in vars(CommandPorts).items() if isinstance(signal, In))


def is_new(x: View, u: View) -> ca.SX:
    """Whether a command has arrived since the last sample."""
    return ca.fabs(u.order - x.ordered) > 0.5


def stream_lost(x: View, u: View, p: View) -> ca.SX:
    """Whether the stream of set-points or sticks is older than `link_timeout`."""
    return ca.logic_and(u.link_stamp >= 0, u.time - u.link_stamp > p.link_timeout)


def heading_of(u: View) -> ca.SX:
    """Heading of the nose in rad, from north to east."""
    return ca.atan2(u.R_NB[1, 0], u.R_NB[0, 0])


def turned(yaw: ca.SX, level: ca.SX) -> ca.SX:
    """A horizontal vector given ahead and to the right, converted to N."""
    c, s = ca.cos(yaw), ca.sin(yaw)
    return ca.vertcat(c * level[0] - s * level[1], s * level[0] + c * level[1])


def seen_with(view: View, names: list[str], **other: ca.SX) -> View:
    """A view with some values replaced."""
    return View({**{name: view[name] for name in names}, **other}, "inputs")
