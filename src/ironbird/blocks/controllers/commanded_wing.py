"""Navigator of a fixed wing, commanded from outside: bank, height, course and speed by sticks or set-points."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.controllers.command_ports import (
    BY_ATTITUDE,
    BY_COURSE,
    BY_POSITION_STICKS,
    BY_SETPOINT,
    BY_STABILIZED,
    HEIGHT,
    P_D,
    P_N,
    PITCH,
    ROLL,
    SPEED,
    THROTTLE,
    V_D,
    V_N,
    CommandPorts,
    is_new,
    seen_with,
    stream_lost,
)
from ironbird.blocks.controllers.fixed_wing_control import BANK, LINE, ORBIT
from ironbird.blocks.controllers.mission_table import (
    ALTITUDE,
    ARMED,
    DISARMED,
    HOLD,
    LANDING,
    MISSION,
    OFFBOARD,
    POSITION,
    RETURN,
    STABILIZED,
    TAKE_OFF,
    command_in_force,
)
from ironbird.blocks.controllers.road_navigator import RoadNavigator
from ironbird.blocks.controllers.runway_navigator import RunwayNavigator
from ironbird.blocks.controllers.wing_navigator import ANY_PITCH, WingNavigator
from ironbird.model.block import Values, View
from ironbird.model.signal import In, Param, State
from ironbird.symbolic.smooth import choose, clip

CENTRED = 0.02  # stick deflection that counts as centred
LEVEL_LEASH_M = 15.0  # m by which sticks may lead the height away from the vehicle


class CommandedWingNavigator(CommandPorts, WingNavigator):
    """`WingNavigator` of a fixed wing that also takes commands in flight: modes, sticks and set-points. Sampled.

    Sticks: `stabilized` bank, pitch and throttle; `altitude` bank, climb rate by pitch (the height is held when it is
    centred), speed by throttle; `position` the same, and with a centred roll stick the line over ground is held.
    Set-points: a position is circled at its height; a velocity or a course is flown with height (or climb rate) and
    airspeed; an attitude with a thrust. When the stream is silent for longer than `link_timeout` it circles where it is
    for `link_hold` and then returns. Hold circles; go to circles another place. A command during the climb after the
    launch acts at its end; only disarming by force acts at once. After a landing it cannot be launched again.
    Not modelled: rates, heading apart from the course.
    """

    source = "[RflyModel] 9.2.2; sticks and set-points of this project"

    offboard_kind = In(unit="1", default=0.0, doc="offboard set-point: 0 position or velocity, 2 attitude, 5 course")
    offboard_position = In(unit="m", shape=3, frame="N", default=0.0, doc="offboard: what to circle")
    offboard_velocity = In(unit="m/s", shape=3, frame="N", default=0.0, doc="offboard: how to move")
    offboard_yaw = In(unit="rad", default=0.0, doc="not used")

    steered = State(unit="1", init=0.0, doc="1 while sticks or set-points steer")
    level = State(unit="m", init=0.0, doc="height asked for then")
    line_place = State(unit="m", shape=2, frame="N", init=0.0, doc="a point of the line that is held by sticks")
    line_course = State(unit="rad", init=0.0, doc="its direction")

    stick_bank = Param(unit="rad", default=0.6, low=0.05, high=1.2, tunable=True, doc="at full stick")
    stick_pitch = Param(unit="rad", default=0.3, low=0.05, high=1.0, tunable=True, doc="at full stick")
    stick_climb = Param(unit="m/s", default=3.0, low=0.1, tunable=True, doc="at full stick")
    stick_speed = Param(
        unit="1", default=0.2, low=0.0, high=0.9, tunable=True, doc="share of the cruise speed, at full stick"
    )

    def _around_home(self, x: View, u: View, p: View) -> tuple[View, View, View]:
        """Views of state, inputs and parameters relative to home, to which the navigator returns."""
        flat = ca.vertcat(p.home[:2], 0)
        shift = ca.vertcat(flat, ca.SX.zeros(3))
        return (
            seen_with(x, [*self.states], place=x.place - flat, before=x.before - flat),
            seen_with(u, [*self.inputs, *self.clocks], p_NB_N=u.p_NB_N - flat, link_stamp=ca.SX(-1)),
            seen_with(
                p,
                [*self.params],
                table=p.table - ca.repmat(shift, 1, self.items),
                point_0=p.point_0 - flat,
                landing_place=p.landing_place - p.home[:2],
            ),
        )

    def _top(self, x: View, p: View, task: dict[str, ca.SX]) -> ca.SX:
        """Height (m) at which the take-off ends: the commanded one, unless the mission began it."""
        return ca.if_else(x.asked == TAKE_OFF, p.take_off_height, super()._top(x, p, task))

    def _climb(self, u: View) -> ca.SX:
        """Commanded climb rate by stick (as a share) or set-point."""
        return -clip(u.stick[PITCH], -1, 1)

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        dt = self.sample_s
        command = command_in_force(u, p)
        aloft, by_hand = x.aloft > 0.5, command == OFFBOARD
        climbs = ca.logic_and(ca.logic_not(aloft), x.now == TAKE_OFF)
        new = ca.logic_and(is_new(x, u), ca.logic_not(climbs))  # a command during the climb takes effect after it
        waits = ca.logic_and(climbs, ca.logic_and(command >= HOLD, command != MISSION))
        lost = stream_lost(x, u, p)
        asks = ca.logic_and(ca.logic_and(new, by_hand), aloft)
        steered = ca.if_else(asks, 1, ca.if_else(new, 0, x.steered))
        fails = ca.logic_and(steered > 0.5, lost)
        steered = ca.if_else(fails, 0, steered)
        silent = ca.if_else(fails, dt, ca.if_else(x.silent > 0, x.silent + dt, 0))
        silent = ca.if_else(new, 0, ca.fmin(silent, 1e6))
        comes_home = ca.logic_and(silent > p.link_hold, x.now == HOLD)

        # While it is steered the underlying navigator holds the vehicle's position
        starts = ca.logic_and(new, command == MISSION)
        again = ca.logic_and(starts, u.start_item > -0.5)
        below = ca.if_else(by_hand, ca.if_else(aloft, HOLD, DISARMED), ca.if_else(command == ARMED, DISARMED, command))
        below = ca.if_else(comes_home, RETURN, ca.if_else(waits, TAKE_OFF, below))
        home_x, home_u, home_p = self._around_home(x, u, p)
        returning = ca.logic_and(ca.logic_or(new, fails), ca.logic_and(aloft, x.now > TAKE_OFF))
        home_x = seen_with(
            home_x,
            [*self.states],
            now=ca.if_else(ca.logic_and(returning, x.now == RETURN), HOLD, x.now),
            asked=ca.if_else(ca.logic_or(new, comes_home), -1, x.asked),
            index=ca.if_else(again, u.start_item, x.index),
            finished=ca.if_else(starts, 0, x.finished),
        )
        home_u = seen_with(home_u, [*self.inputs, *self.clocks], command=below)
        values = dict(super().update(home_x, home_u, home_p))
        flat = ca.vertcat(p.home[:2], 0)
        for name in ("place", "before"):
            values[name] = values[name] + flat
        placed = ca.logic_and(ca.logic_and(new, command == HOLD), ca.logic_and(u.goto > 0.5, aloft))
        here = ca.logic_or(steered > 0.5, fails)
        for name in ("place", "before"):
            values[name] = ca.if_else(placed, u.offboard_position, ca.if_else(here, u.p_NB_N, values[name]))
        circling = ca.if_else(ca.logic_or(placed, here), 0, values["circling"])

        # Height and line while it is steered
        sticks = u.direct > BY_SETPOINT + 0.5
        climb = ca.if_else(sticks, p.stick_climb * self._climb(u), -u.offboard_given[V_D] * u.offboard_velocity[2])
        height = -u.p_NB_N[2]
        level = x.level + dt * climb
        level = height + clip(level - height, -LEVEL_LEASH_M, LEVEL_LEASH_M)
        by_place = ca.logic_and(ca.logic_not(sticks), u.offboard_given[P_D] > 0.5)
        by_height = ca.logic_and(ca.logic_not(sticks), u.offboard_given[HEIGHT] > 0.5)
        level = ca.if_else(by_place, -u.offboard_position[2], ca.if_else(by_height, u.offboard_height, level))
        free = ca.logic_or(x.steered < 0.5, ca.logic_and(sticks, u.direct < BY_STABILIZED + 0.5))
        level = ca.if_else(ca.logic_and(free, ca.logic_not(ca.logic_or(by_place, by_height))), height, level)
        turns = ca.logic_or(x.steered < 0.5, ca.fabs(u.stick[ROLL]) > CENTRED)
        course = ca.atan2(u.v_NB_N[1], u.v_NB_N[0])
        on_ground = ca.logic_not(aloft)
        fit = ca.logic_and(u.time >= p.arm_time, u.healthy > 0.5)
        armed = ca.logic_or(command == ARMED, ca.logic_and(by_hand, ca.logic_not(lost)))
        return {
            **values,
            "circling": circling,
            "timer": ca.if_else(ca.logic_or(placed, here), 0, values["timer"]),
            "steered": steered,
            "silent": silent,
            "ordered": ca.if_else(climbs, x.ordered, u.order),
            "idle": ca.if_else(ca.logic_and(ca.logic_and(on_ground, fit), armed), 1, 0),
            "level": level,
            "line_place": ca.if_else(turns, u.p_NB_N[:2], x.line_place),
            "line_course": ca.if_else(turns, course, x.line_course),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        home_x, home_u, home_p = self._around_home(x, u, p)
        values = dict(super().output(home_x, home_u, home_p))
        flat = ca.vertcat(p.home[:2], 0)
        for name in ("path_origin", "position_set"):
            values[name] = values[name] + flat
        # Without position only the bank can still be steered
        blind = ca.logic_or(x.tripped[1] > 0.5, x.tripped[2] > 0.5)
        by_stick = u.direct > BY_SETPOINT + 0.5
        stabilized = u.direct == BY_STABILIZED
        attitude = ca.logic_or(stabilized, ca.logic_and(ca.logic_not(by_stick), u.offboard_kind == BY_ATTITUDE))
        steered = ca.logic_and(x.steered > 0.5, ca.logic_or(attitude, ca.logic_not(blind)))

        circles = ca.logic_and(u.offboard_given[P_N] > 0.5, ca.logic_not(ca.logic_or(by_stick, attitude)))
        by_course = ca.logic_and(ca.logic_not(by_stick), ca.logic_not(ca.logic_or(attitude, circles)))
        held = ca.logic_and(u.direct == BY_POSITION_STICKS, ca.fabs(u.stick[ROLL]) <= CENTRED)
        kind = ca.if_else(circles, ORBIT, ca.if_else(ca.logic_or(by_course, held), LINE, BANK))
        velocity = u.offboard_velocity[:2]
        by_velocity = ca.logic_and(u.offboard_given[V_N] > 0.5, u.offboard_kind != BY_COURSE)
        asked = ca.if_else(by_velocity, ca.atan2(velocity[1], velocity[0]), u.offboard_course)
        origin = ca.if_else(circles, u.offboard_position[:2], ca.if_else(held, x.line_place, u.p_NB_N[:2]))
        bank = ca.if_else(by_stick, p.stick_bank * clip(u.stick[ROLL], -1, 1), u.offboard_attitude[0])
        pitch = ca.if_else(by_stick, -p.stick_pitch * clip(u.stick[PITCH], -1, 1), u.offboard_attitude[1])
        thrust = ca.if_else(by_stick, 0.5 * (1 + clip(u.stick[THROTTLE], -1, 1)), u.offboard_thrust)
        speed = ca.if_else(u.offboard_given[SPEED] > 0.5, u.offboard_speed, p.cruise_speed)
        speed = ca.if_else(by_velocity, ca.sqrt(ca.dot(velocity, velocity)), speed)
        by_throttle = p.cruise_speed * (1 + p.stick_speed * clip(u.stick[THROTTLE], -1, 1))
        climb = ca.if_else(by_stick, p.stick_climb * self._climb(u), -u.offboard_given[V_D] * u.offboard_velocity[2])
        away = u.p_NB_N[:2] - u.offboard_position[:2]
        around = u.offboard_position[:2] + away * (p.loiter_radius / ca.sqrt(ca.dot(away, away) + 1e-12))
        place = ca.if_else(circles, around, ca.if_else(held, x.line_place, u.p_NB_N[:2]))
        fixed_pitch = ca.if_else(attitude, ca.vertcat(pitch, pitch), ca.SX([-ANY_PITCH, ANY_PITCH]))
        fixed_thrust = ca.if_else(attitude, ca.vertcat(thrust, thrust), ca.SX([0, 1]))
        mine = {
            "path_kind": kind,
            "path_origin": ca.vertcat(origin, -x.level),
            "path_course": ca.if_else(held, x.line_course, asked),
            "bank_set": bank,
            "height_set": x.level,
            "climb_ahead": climb,
            "airspeed_set": ca.if_else(by_stick, by_throttle, speed),
            "speed_weight": ca.SX(1),
            "pitch_limits": fixed_pitch,
            "throttle_limits": fixed_thrust,
            "position_set": ca.vertcat(place, -x.level),
        }
        values |= {name: ca.if_else(steered, value, values[name]) for name, value in mine.items()}
        flies = ca.logic_or(x.aloft > 0.5, x.now == TAKE_OFF)
        off = ca.logic_and(command_in_force(u, p) == DISARMED, flies)  # disarmed by force
        values["throttle_limits"] = ca.if_else(off, ca.SX.zeros(2), values["throttle_limits"])
        numbers = (OFFBOARD, STABILIZED, ALTITUDE, POSITION)
        mode = ca.if_else(steered, choose(u.direct, [ca.SX(n) for n in numbers]), values["mode"])
        rests = ca.logic_or(x.down > 0.5, ca.logic_and(x.finished > 0.5, values["mode"] == LANDING))
        mode = ca.if_else(rests, DISARMED, mode)
        idle = ca.logic_and(x.aloft < 0.5, x.idle > 0.5)
        mode = ca.if_else(ca.logic_and(idle, mode < TAKE_OFF), ARMED, mode)
        failsafe = ca.SX(values["failsafe"])
        return {**values, "mode": mode, "failsafe": ca.vertcat(failsafe[:5], ca.if_else(x.silent > 0, 1, 0))}


class CommandedRunwayNavigator(CommandedWingNavigator, RunwayNavigator):
    """`RunwayNavigator` of a fixed wing on wheels that also takes commands in flight, as `CommandedWingNavigator`.
    Sampled.

    After a landing it cannot take off again. Not modelled: taxiing by sticks.
    """

    source = "[RflyModel] 9.2.2; sticks and set-points of this project"


class CommandedRoadNavigator(CommandedWingNavigator, RoadNavigator):
    """`RoadNavigator` of an aircraft that also drives on roads, with commands in flight. Sampled.
    It takes the commands of `CommandedWingNavigator`.

    Its missions drive and fly; commands act only in the air. Not modelled: driving by sticks.
    """

    source = "[RflyModel] 9.2.2; sticks and set-points of this project"
