"""Navigators of vehicles on the ground and in water, commanded from outside: hold, go to a place, course and speed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

from ironbird.blocks.controllers.command_ports import (
    BY_COURSE,
    BY_MANUAL,
    BY_POSITION_STICKS,
    BY_SETPOINT,
    HEIGHT,
    P_D,
    P_N,
    PITCH,
    ROLL,
    SPEED,
    THROTTLE,
    TURN,
    V_D,
    V_N,
    YAW,
    YAW_RATE,
    DrivePorts,
    heading_of,
    is_new,
    seen_with,
    turned,
)
from ironbird.blocks.controllers.ground_navigator import GroundNavigator
from ironbird.blocks.controllers.marine_navigator import MarineNavigator, PathNavigator
from ironbird.blocks.controllers.mission_table import (
    ALTITUDE,
    ARMED,
    DISARMED,
    HOLD,
    LANDING,
    MANUAL,
    MISSION,
    OFFBOARD,
    POSITION,
    RETURN,
    MissionTable,
)
from ironbird.model.block import Values, View
from ironbird.model.signal import Out, Param, State
from ironbird.symbolic.smooth import choose, clip, limit_length, wrap_angle

COURSE_LEASH_RAD = 0.8  # rad by which sticks may lead the course away from the heading
AIM_MOVED_M = 0.5  # m; a commanded position that moved farther is a new one: the path begins at the vehicle
CREEP = 0.02  # share of the cruise speed: least speed on the way to a position, so that it is reached
LEASH_M = 1.0  # m by which sticks may lead the set-point away from a vehicle that holds its position

if TYPE_CHECKING:
    _Base = MissionTable
else:
    _Base = object


class DriveCommands(DrivePorts, _Base):
    """Extension of a path navigator by external commands. Sampled.

    Disarmed, armed and on hold the vehicle stands (a boat drifts). To a position (return, go to, offboard position) it
    drives along the line from its position at the command, and stops there. Sticks: `manual` commands turn and drive
    directly; `position` (speed and course): pitch or throttle ahead is the speed, roll or yaw turns the course.
    Set-points: a position; a velocity; a course with a speed; under water a depth with each. When the stream is silent
    for longer than `link_timeout` it stops. Not modelled: driving backwards but by hand, obstacles.
    """

    manual = Out(unit="1", doc="1: sticks drive directly")
    manual_push = Out(unit="1", doc="ahead, -1 to 1")
    manual_turn = Out(unit="1", doc="to the right, -1 to 1")

    going = State(unit="1", init=0.0, doc="1 on the way to a place")
    start = State(unit="m", shape=2, frame="N", init=0.0, doc="where the way began")
    aim = State(unit="m", shape=2, frame="N", init=0.0, doc="where it ends")
    course = State(unit="rad", init=0.0, doc="asked for")
    pace = State(unit="m/s", init=0.0, doc="speed asked for, without a mission")
    level = State(unit="m", init=0.0, doc="depth asked for, without a mission")

    slewing = Param(unit="m/s^2", default=0.5, low=0.001, tunable=True, doc="of the speed asked for")
    stick_turn = Param(unit="rad/s", default=0.5, low=0.001, tunable=True, doc="of the course at full stick")
    stick_climb = Param(unit="m/s", default=0.2, low=0.001, tunable=True, doc="change of depth at full stick")

    def _line(self, x: View, u: View) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Direction of the path to the commanded position, the remaining distance (m), and the nearest point on it."""
        leg = x.aim - x.start
        length = ca.sqrt(ca.dot(leg, leg) + 1e-12)
        ahead = leg / length
        along = ca.dot(u.p_NB_N[:2] - x.start, ahead)
        return ahead, length - along, x.start + ahead * clip(along, 0, length)

    def _drive(self, x: View, u: View, p: View) -> dict[str, ca.SX]:
        """Next values of the states that this class adds."""
        assert self.sample_s is not None
        dt = self.sample_s
        mode, begins, silent = self._mode(x, u, p)
        by_hand = mode == OFFBOARD
        here, heading = u.p_NB_N[:2], heading_of(u)
        by_place = ca.logic_and(u.direct == BY_SETPOINT, u.offboard_given[P_N] > 0.5)
        by_place = ca.logic_and(by_hand, by_place)
        by_velocity = ca.logic_and(u.offboard_given[V_N] > 0.5, u.offboard_kind < BY_COURSE - 0.5)
        goes = ca.logic_and(begins, ca.logic_or(mode == RETURN, ca.logic_and(mode == HOLD, u.goto > 0.5)))
        aim = ca.if_else(goes, ca.if_else(mode == RETURN, p.home[:2], u.offboard_position[:2]), x.aim)
        aim = ca.if_else(by_place, u.offboard_position[:2], aim)
        moved = aim - x.aim
        other = ca.logic_or(goes, ca.logic_and(by_place, ca.dot(moved, moved) > AIM_MOVED_M**2))
        away = aim - here
        left = ca.logic_and(x.going < 0.5, ca.dot(away, away) > (3 * p.arrived + 1) ** 2)
        other = ca.logic_or(other, ca.logic_and(by_place, ca.logic_or(left, ca.logic_or(begins, x.now != OFFBOARD))))
        _, remaining, _ = self._line(x, u)
        arrived = remaining < 0.5 * p.arrived
        going = ca.if_else(begins, 0, ca.if_else(arrived, 0, x.going))
        going = ca.if_else(other, 1, going)
        # Without a commanded position there is no path: the next position is a new one
        free = ca.logic_and(by_hand, ca.logic_not(by_place))
        going = ca.if_else(free, 0, going)
        aim = ca.if_else(free, here, aim)

        # Course and speed
        velocity = u.offboard_velocity[:2]
        stick = clip(u.stick[ROLL] + u.stick[TURN], -1, 1)
        turning = ca.if_else(u.direct == BY_POSITION_STICKS, p.stick_turn * stick, 0)
        turning = ca.if_else(
            ca.logic_and(u.direct == BY_SETPOINT, u.offboard_given[YAW_RATE] > 0.5), u.offboard_yaw_rate, turning
        )
        leading = wrap_angle(x.course + dt * turning - heading)
        course = heading + clip(leading, -COURSE_LEASH_RAD, COURSE_LEASH_RAD)
        asked = ca.if_else(by_velocity, ca.atan2(velocity[1], velocity[0]), u.offboard_course)
        given = ca.logic_or(by_velocity, u.offboard_kind == BY_COURSE)
        course = ca.if_else(ca.logic_and(u.direct == BY_SETPOINT, given), asked, course)
        course = ca.if_else(by_hand, course, heading)
        push = clip(u.stick[PITCH] + u.stick[THROTTLE], 0, 1) * p.cruise_speed
        speed = ca.if_else(u.offboard_given[SPEED] > 0.5, u.offboard_speed, p.cruise_speed)
        speed = ca.if_else(by_velocity, ca.sqrt(ca.dot(velocity, velocity)), speed)
        speed = ca.if_else(u.direct == BY_SETPOINT, ca.if_else(given, speed, 0), push)
        limit = ca.if_else(ca.logic_and(by_place, u.offboard_given[SPEED] > 0.5), u.offboard_speed, p.cruise_speed)
        slow = ca.sqrt(2 * p.slewing * ca.fmax(remaining, 0)) + CREEP * p.cruise_speed
        way = ca.if_else(going > 0.5, ca.fmin(limit, slow), 0)
        top = ca.if_else(by_hand, ca.if_else(by_place, way, speed), way)
        top = ca.if_else(mode == DISARMED, 0, top)
        pace = clip(top, x.pace - 2 * p.slewing * dt, x.pace + p.slewing * dt)

        # Depth
        deeper = ca.if_else(u.direct == BY_POSITION_STICKS, -p.stick_climb * clip(u.stick[THROTTLE], -1, 1), 0)
        by_rate = ca.logic_and(u.direct == BY_SETPOINT, u.offboard_given[V_D] > 0.5)
        deeper = ca.if_else(by_rate, u.offboard_velocity[2], deeper)
        level = ca.if_else(by_hand, ca.fmax(x.level + dt * deeper, 0), x.level)
        setpoint = ca.logic_and(by_hand, u.direct == BY_SETPOINT)
        level = ca.if_else(ca.logic_and(setpoint, u.offboard_given[P_D] > 0.5), u.offboard_position[2], level)
        level = ca.if_else(ca.logic_and(setpoint, u.offboard_given[HEIGHT] > 0.5), -u.offboard_height, level)
        fresh = ca.logic_or(x.now == MISSION, x.now == DISARMED)
        level = ca.if_else(
            ca.logic_and(fresh, ca.logic_not(ca.logic_and(setpoint, u.offboard_given[P_D] > 0.5))), u.p_NB_N[2], level
        )
        level = ca.if_else(ca.logic_and(goes, mode == HOLD), u.offboard_position[2], level)
        return {
            "now": mode,
            "ordered": u.order,
            "idle": ca.if_else(mode == ARMED, 1, 0),
            "silent": silent,
            "going": going,
            "start": ca.if_else(other, here, x.start),
            "aim": aim,
            "course": course,
            "pace": ca.if_else(mode == MISSION, x.pace, pace),
            "level": level,
        }

    def _command_values(self, x: View, u: View) -> dict[str, ca.SX]:
        """Values of the outputs that this class adds."""
        by_hand = x.now == OFFBOARD
        shown = choose(u.direct, [ca.SX(n) for n in (OFFBOARD, OFFBOARD, OFFBOARD, POSITION, MANUAL)])
        return {
            "manual": ca.if_else(ca.logic_and(by_hand, u.direct == BY_MANUAL), 1, 0),
            "manual_push": clip(u.stick[PITCH] + u.stick[THROTTLE], -1, 1),
            "manual_turn": clip(u.stick[ROLL] + u.stick[TURN], -1, 1),
            "armed": ca.if_else(x.now == DISARMED, 0, 1),
            "mode": ca.if_else(by_hand, shown, x.now),
            "failsafe": ca.vertcat(0, 0, 0, 0, 0, ca.if_else(x.silent > 0, 1, 0)),
        }

    def _mission_views(self, x: View, u: View) -> tuple[View, View]:
        """Views for the mission's navigator: it waits unless the mode is mission."""
        starts = ca.logic_and(is_new(x, u), u.command == MISSION)
        again = ca.logic_and(starts, u.start_item > -0.5)
        runs = ca.logic_and(x.now == MISSION, u.ready > 0.5)
        seen = {
            "index": ca.if_else(again, u.start_item, x.index),
            "finished": ca.if_else(starts, 0, x.finished),
        }
        return (
            seen_with(x, [*self.states], **seen),
            seen_with(u, [*self.inputs, *self.clocks], ready=ca.if_else(runs, 1, 0)),
        )


class CommandedGroundNavigator(DriveCommands, GroundNavigator):
    """`GroundNavigator` that also takes commands on the way (modes, sticks, set-points), for cars and rovers. Sampled.

    In a mission it behaves as `GroundNavigator`. Else it follows the straight line to the commanded position, or,
    without one, the commanded course from where it is. Speed rises by at most `slewing` and falls by at most twice
    that; near the commanded position it brakes evenly. Not modelled: reverse driving (except by sticks), curved
    approach, obstacles.
    """

    source = "closed form of this project"

    def update(self, x: View, u: View, p: View) -> Values:
        seen_x, seen_u = self._mission_views(x, u)
        values = dict(super().update(seen_x, seen_u, p))
        added = self._drive(x, u, p)
        runs = x.now == MISSION
        begins = ca.logic_and(added["now"] == MISSION, x.now != MISSION)
        for name in ("index", "finished", "origin", "timer"):
            values[name] = ca.if_else(runs, values[name], seen_x[name])
        values["origin"] = ca.if_else(begins, u.p_NB_N[:2], values["origin"])
        assert self.sample_s is not None
        values["speed"] = ca.if_else(runs, values["speed"], added["pace"])
        values["gain"] = ca.if_else(runs, values["gain"], (added["pace"] - x.pace) / self.sample_s)
        added["pace"] = ca.if_else(runs, values["speed"], added["pace"])
        return {**values, **added}

    def output(self, x: View, u: View, p: View) -> Values:
        values = dict(super().output(x, u, p))
        ahead, _, nearest = self._line(x, u)
        along_line = ca.logic_or(
            x.going > 0.5, ca.logic_and(x.now == OFFBOARD, u.offboard_given[P_N] * (u.direct == BY_SETPOINT))
        )
        runs = x.now == MISSION
        tangent = ca.if_else(along_line, ahead, ca.vertcat(ca.cos(x.course), ca.sin(x.course)))
        place = ca.if_else(along_line, nearest, u.p_NB_N[:2])
        added = self._command_values(x, u)
        standing = ca.logic_and(runs, values["mode"] == HOLD)
        added["mode"] = ca.if_else(ca.logic_or(standing, ca.logic_and(runs, x.finished > 0.5)), HOLD, added["mode"])
        return {
            **values,
            "position_set": ca.if_else(runs, values["position_set"], ca.vertcat(place, u.p_NB_N[2])),
            "tangent_set": ca.if_else(runs, values["tangent_set"], tangent),
            "curvature_set": ca.if_else(runs, values["curvature_set"], 0),
            "yaw_set": ca.if_else(runs, values["yaw_set"], ca.atan2(tangent[1], tangent[0])),
            **added,
        }


class CommandedPathNavigator(DriveCommands, PathNavigator):
    """`PathNavigator` of a boat or diving vehicle that also takes commands: modes, sticks, set-points. Sampled.

    The mission is that of `PathNavigator`, and so is the line of sight to a commanded position: the course points at
    the line `lookahead` ahead. Without a position the course and the speed are those commanded; the depth is held or
    set. At a position, on hold and disarmed there is no thrust: it drifts. Not modelled: holding a place against wind
    or current, driving backwards but by hand, obstacles.
    """

    source = "[Fossen2021] Ch. 12; sticks and set-points of this project"

    def update(self, x: View, u: View, p: View) -> Values:
        seen_x, seen_u = self._mission_views(x, u)
        values = dict(super().update(seen_x, seen_u, p))
        added = self._drive(x, u, p)
        runs = x.now == MISSION
        begins = ca.logic_and(added["now"] == MISSION, x.now != MISSION)
        for name in ("index", "finished", "origin"):
            values[name] = ca.if_else(runs, values[name], seen_x[name])
        values["origin"] = ca.if_else(begins, u.p_NB_N, values["origin"])
        added["pace"] = ca.if_else(runs, p.cruise_speed, added["pace"])
        return {**values, **added}

    def output(self, x: View, u: View, p: View) -> Values:
        runs = x.now == MISSION
        values = dict(super().output(x, u, p))
        ahead, _, nearest = self._line(x, u)
        along_line = ca.logic_or(
            x.going > 0.5, ca.logic_and(x.now == OFFBOARD, u.offboard_given[P_N] * (u.direct == BY_SETPOINT))
        )
        gap = u.p_NB_N[:2] - nearest
        side = ahead[0] * gap[1] - ahead[1] * gap[0]
        to_line = ca.atan2(ahead[1], ahead[0]) + ca.atan2(-side, p.lookahead)
        course = ca.if_else(along_line, to_line, x.course)
        place = ca.if_else(along_line, nearest, u.p_NB_N[:2])
        over = ca.logic_and(runs, x.finished > 0.5)
        added = self._command_values(x, u)
        added["mode"] = ca.if_else(over, HOLD, added["mode"])
        speed = ca.if_else(runs, ca.if_else(over, 0, p.cruise_speed), x.pace)
        return {
            **values,
            "position_set": ca.if_else(runs, values["position_set"], ca.vertcat(place, x.level)),
            "velocity_set": speed * ca.vertcat(ca.cos(course), ca.sin(course), 0),
            "yaw_set": ca.if_else(runs, values["yaw_set"], course),
            "course_set": ca.if_else(runs, values["course_set"], course),
            "cross_track": ca.if_else(runs, values["cross_track"], side),
            "speed_set": speed,
            **added,
        }


class CommandedMarineNavigator(DrivePorts, MarineNavigator):
    """`MarineNavigator` that also takes commands (modes, sticks, set-points), for craft that hold a position. Sampled.

    Hold keeps the position; land surfaces there; return goes home at the present depth. Sticks: `position` speeds along
    and across the heading, depth by throttle; the place is held when they are centred. `altitude` is the same, and
    holds the depth alone. Set-points: position, or velocity, with heading or its rate. When the stream stops it holds.
    Not modelled: attitudes.
    """

    source = "[Fossen2021] Ch. 12; [RflyModel] 9.2.1"

    stay = State(unit="m", shape=3, frame="N", init="point_0", doc="where to hold")
    stick_speed = Param(unit="m/s", default=0.5, low=0.01, tunable=True, doc="over ground at full stick")
    stick_climb = Param(unit="m/s", default=0.3, low=0.01, tunable=True, doc="of the depth at full stick")
    stick_turn = Param(unit="rad/s", default=0.5, low=0.01, tunable=True, doc="of the heading at full stick")

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        dt = self.sample_s
        mode, begins, silent = self._mode(x, u, p)
        starts = ca.logic_and(is_new(x, u), u.command == MISSION)
        again = ca.logic_and(starts, u.start_item > -0.5)
        runs = ca.logic_and(mode == MISSION, u.ready > 0.5)
        index = ca.if_else(again, u.start_item, x.index)
        finished = ca.if_else(starts, 0, x.finished)
        held = seen_with(x, [*self.states], index=index, finished=finished)
        # Positions: a table of one item leads the mission's moving set-point to the commanded position
        stay = ca.if_else(ca.logic_and(begins, mode != MISSION), x.point, x.stay)
        stay = ca.if_else(ca.logic_and(begins, ca.logic_and(mode == HOLD, u.goto > 0.5)), u.offboard_position, stay)
        stay = ca.if_else(mode == RETURN, ca.vertcat(p.home[:2], stay[2]), stay)
        stay = ca.if_else(mode == LANDING, ca.vertcat(stay[:2], 0), stay)
        by_hand = mode == OFFBOARD
        by_place = ca.logic_and(u.direct == BY_SETPOINT, ca.sum1(u.offboard_given[P_N:V_N]) > 2.5)
        stay = ca.if_else(ca.logic_and(by_hand, by_place), u.offboard_position, stay)
        item = self._item(held, p)
        place = ca.if_else(runs, item, ca.vertcat(stay, x.yaw, 1e9, 0))
        only = ca.repmat(place, 1, self.items)
        values = dict(
            super().update(
                held,
                seen_with(u, [*self.inputs, *self.clocks], ready=ca.if_else(u.ready > 0.5, 1, 0)),
                seen_with(p, [*self.params], table=only),
            )
        )
        # With sticks or velocities the set-point follows the command
        heading = heading_of(u)
        level = turned(heading, ca.vertcat(u.stick[PITCH], u.stick[ROLL]))
        stick = ca.vertcat(limit_length(level, 1) * p.stick_speed, -p.stick_climb * clip(u.stick[THROTTLE], -1, 1))
        velocity = ca.if_else(u.direct == BY_SETPOINT, u.offboard_given[V_N:YAW] * u.offboard_velocity, stick)
        change = velocity - x.motion
        motion = x.motion + limit_length(change, p.acceleration * dt)
        point = x.point + motion * dt
        gap = point - u.p_NB_N
        loose = ca.logic_and(by_hand, u.direct == 2)
        gap = ca.vertcat(ca.if_else(loose, ca.SX.zeros(2), gap[:2]), gap[2])
        point = u.p_NB_N + limit_length(gap, LEASH_M)
        point = ca.if_else(
            u.offboard_given[P_D] * (u.direct == BY_SETPOINT) > 0.5,
            ca.vertcat(point[:2], u.offboard_position[2]),
            point,
        )
        running = ca.logic_and(by_hand, ca.logic_not(by_place))
        off = mode == DISARMED
        turn = ca.if_else(
            u.direct == BY_SETPOINT,
            u.offboard_given[YAW_RATE] * u.offboard_yaw_rate,
            p.stick_turn * clip(u.stick[TURN], -1, 1),
        )
        yaw = x.yaw + dt * turn
        to_yaw = x.yaw + clip(wrap_angle(u.offboard_yaw - x.yaw), -p.yaw_rate * dt, p.yaw_rate * dt)
        yaw = ca.if_else(ca.logic_and(u.direct == BY_SETPOINT, u.offboard_given[YAW] > 0.5), to_yaw, yaw)
        kept = ca.if_else(ca.logic_and(mode == HOLD, u.goto * u.offboard_given[YAW] > 0.5), to_yaw, x.yaw)
        return {
            **values,
            "point": ca.if_else(off, u.p_NB_N, ca.if_else(running, point, values["point"])),
            "speed": ca.if_else(ca.logic_or(off, running), 0, values["speed"]),
            "motion": ca.if_else(off, ca.SX.zeros(3), ca.if_else(running, motion, values["motion"])),
            "yaw": ca.if_else(off, heading, ca.if_else(by_hand, yaw, ca.if_else(runs, values["yaw"], kept))),
            "index": ca.if_else(runs, values["index"], index),
            "finished": ca.if_else(runs, values["finished"], finished),
            "stay": ca.if_else(off, u.p_NB_N, stay),
            "now": mode,
            "ordered": u.order,
            "idle": ca.if_else(mode == ARMED, 1, 0),
            "silent": silent,
        }

    def output(self, x: View, u: View, p: View) -> Values:
        shown = choose(u.direct, [ca.SX(n) for n in (OFFBOARD, OFFBOARD, ALTITUDE, POSITION, OFFBOARD)])
        mode = ca.if_else(x.now == OFFBOARD, shown, x.now)
        over = ca.logic_and(x.now == MISSION, x.finished > 0.5)
        return {
            **super().output(x, u, p),
            "mode": ca.if_else(over, HOLD, mode),
            "armed": ca.if_else(x.now == DISARMED, 0, 1),
            "failsafe": ca.vertcat(0, 0, 0, 0, 0, ca.if_else(x.silent > 0, 1, 0)),
        }
