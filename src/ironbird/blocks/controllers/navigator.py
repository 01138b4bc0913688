"""Navigator: modes, missions and failsafes; outputs position and velocity set-points."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.controllers.cascade_ports import NOT_TOLD
from ironbird.blocks.controllers.mission_table import (
    DESCEND,
    DISARMED,
    HOLD,
    LAND,
    LANDING,
    MISSION,
    OFFBOARD,
    RETURN,
    TAKE_OFF,
    TERMINATED,
    MissionTable,
    command_in_force,
    link_silent,
    outside_fence,
    script_param,
)
from ironbird.model.block import Values, View
from ironbird.model.signal import Clock, In, Out, Param, State
from ironbird.symbolic.smooth import clip

# Kinds of control
BY_POSITION, BY_VELOCITY, BY_ATTITUDE, BY_RATE, BLIND = range(5)

ARRIVED_M = 1.0  # distance of the vehicle from a waypoint that counts as reached
ON_GROUND_S = 1.0  # s of standing with the set-point below that end a landing
GROUNDED_S = 0.2  # s after which the motors go to idle
SINK_BELOW_M = 1.0  # m by which the set-point may lead the vehicle down in a landing
PRESSED_M = 0.6  # m of the set-point below a standing vehicle; in a descent it leads by about half of that
PRESS = 4.0  # factor of the landing speed for the set-point if the vehicle does not sink
STANDS_MPS = 0.25  # m/s; a vehicle that sinks more slowly counts as held up
FALLS_MPS = 0.5  # m/s; an idling vehicle that sinks faster was not on the ground
REGAINED_S = 2.0  # s for which a position must be valid again to turn a descent into a landing
BELOW_FENCE_M = 2.0  # m by which a return stays below the height limit


class Navigator(MissionTable):
    """Runs the missions, modes and failsafes of a multicopter: take-off, hold, mission, return, land, offboard.
    Sampled.

    Commands are mode numbers, from the input `command` or from `script` (time, command). Of commands at the same time
    landing has precedence over return, return over take-off, [RflyModel] 9.2.1.2; failsafes have precedence over all:
    terminate, descend, land, return. The response depends on what is still valid: with a position the vehicle returns,
    never above the height limit; with a velocity alone (GNSS lost, dead reckoning good) it brakes and descends on the
    spot; with neither it descends level at a steady rate, drifting with the wind, by `sink_rate`. A descent in which
    the position is valid again becomes a landing. The set-point runs along the legs with limited speed and
    acceleration. Not modelled: fly-by turns, manual flight.
    """

    source = "[RflyModel] 9.2.1"

    time = Clock(doc="simulation time")
    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    v_NB_N = In(unit="m/s", shape=3, frame="N", doc="velocity")
    R_NB = In(unit="1", shape=(3, 3), default=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), doc="attitude")
    healthy = In(unit="1", default=1.0, doc="0 when the estimator has failed")
    gnss_age = In(unit="s", default=0.0, doc="time since the last good fix")
    sink_rate = In(unit="m/s", default=NOT_TOLD, doc="that is used in a blind descent; 1000 is not given")
    rotor_lost = In(unit="1", default=0.0, doc="more than 0: a rotor is lost without which it can only come down")
    battery_remaining = In(unit="1", default=1.0, doc="share of the charge left")
    may_arm = In(unit="1", default=1.0, doc="0 after a restart that leaves the motors off")
    link_stamp = In(
        unit="s", default=-1.0, doc="time of the last message of the control link; negative is no link in use"
    )
    command = In(unit="1", default=float(MISSION), doc="mode asked for, by number")
    offboard_kind = In(unit="1", default=0.0, doc="offboard set-point: 0 position, 1 velocity, 2 attitude, 3 rate")
    offboard_position = In(unit="m", shape=3, frame="N", default=0.0, doc="offboard: where to be")
    offboard_velocity = In(unit="m/s", shape=3, frame="N", default=0.0, doc="offboard: how to move")
    offboard_yaw = In(unit="rad", default=0.0, doc="offboard: heading")

    position_set = Out(unit="m", shape=3, frame="N", doc="where to be")
    velocity_set = Out(unit="m/s", shape=3, frame="N", doc="how it moves")
    yaw_set = Out(unit="rad", doc="heading")
    control_kind = Out(unit="1", doc="0 position, 1 velocity, 2 attitude, 3 rate, 4 level and sink")
    armed = Out(unit="1", doc="0 before the start, after landing and after termination")
    disarmed = Out(unit="1", doc="1 while the motors are off on the ground: the estimator may assume rest")
    grounded = Out(unit="1", doc="1 when a landing vehicle stands")
    mode = Out(unit="1", doc="number of the mode")
    failsafe = Out(unit="1", shape=6, doc="active: battery, GNSS, estimator, geofence, attitude, link")
    item = Out(unit="1", doc="number of the present mission item, from 0")
    done = Out(unit="1", doc="1 when the last item is completed")
    landed = Out(unit="1", doc="1 when the vehicle has landed otherwise: on command or in a failsafe")

    now = State(unit="1", init=float(DISARMED), doc="mode")
    goal = State(unit="1", init=float(HOLD), doc="mode after take-off")
    asked = State(unit="1", init=-1.0, doc="command seen last")
    point = State(unit="m", shape=3, frame="N", init="point_0", doc="the moving set-point")
    stay = State(unit="m", shape=3, frame="N", init="point_0", doc="where to hold")
    speed = State(unit="m/s", init=0.0, doc="of the point")
    motion = State(unit="m/s", shape=3, frame="N", init=0.0, doc="velocity of the point")
    yaw = State(unit="rad", init=0.0, doc="heading asked for")
    index = State(unit="1", init=0.0, doc="present item")
    timer = State(unit="s", init=0.0, doc="held so long")
    steep = State(unit="s", init=0.0, doc="tilt beyond the limit for so long")
    lost = State(unit="s", init=0.0, doc="estimator unhealthy for so long")
    regained = State(unit="s", init=0.0, doc="in a descent, position valid again for so long")
    tripped = State(unit="1", shape=6, init=0.0, doc="failsafes, latched until landed")
    off = State(unit="1", init=0.0, doc="1 after landing or termination")
    finished = State(unit="1", init=0.0, doc="1 after the last item")
    down = State(unit="1", init=0.0, doc="1 after a landing that was not the mission's")

    point_0 = Param(unit="m", shape=3, frame="N", default=0.0, doc="where the point starts")
    count = Param(unit="1", low=1.0, doc="number of items in use")
    cruise_speed = Param(unit="m/s", low=0.1, tunable=True, doc="of the point")
    acceleration = Param(unit="m/s^2", low=0.05, tunable=True, doc="of the point")
    landing_speed = Param(unit="m/s", low=0.05, default=0.7, tunable=True, doc="of the point in a landing")
    descent_speed = Param(unit="m/s", low=0.05, default=1.0, tunable=True, doc="without position")
    take_off_height = Param(unit="m", low=0.5, default=10.0, tunable=True, doc="[RflyModel] 9.2.1.2: 10 m if not set")
    return_height = Param(unit="m", low=0.5, default=15.0, tunable=True, doc="at least, when returning")
    arm_time = Param(unit="s", default=0.0, low=0.0, tunable=True, doc="no arming before: the estimator settles")
    script = script_param()
    battery_low = Param(unit="1", default=0.2, low=0.0, high=1.0, tunable=True, doc="return below this share")
    battery_critical = Param(unit="1", default=0.1, low=0.0, high=1.0, tunable=True, doc="land below this share")
    gnss_timeout = Param(unit="s", default=3.0, low=0.0, tunable=True, doc="descend when the fix is older")
    estimator_timeout = Param(unit="s", default=0.5, low=0.0, tunable=True, doc="descend when unhealthy for longer")
    fence_radius = Param(unit="m", default=1e6, low=1.0, tunable=True, doc="return beyond this distance")
    fence_height = Param(unit="m", default=1e6, low=1.0, tunable=True, doc="return above this height")
    tilt_limit = Param(unit="rad", default=1.2, low=0.1, tunable=True, doc="terminate beyond this tilt")
    tilt_time = Param(unit="s", default=1e6, low=0.0, tunable=True, doc="for so long; by default never")
    link_timeout = Param(unit="s", default=2.0, low=0.0, tunable=True, doc="return when the link is silent for longer")

    def _trips(self, x: View, u: View, p: View) -> ca.SX:
        """Failsafe conditions at this sample, in the order of FAILSAFES."""
        conditions = (
            u.battery_remaining < p.battery_low, u.gnss_age > p.gnss_timeout, x.lost > p.estimator_timeout,
            outside_fence(u, p), x.steep > p.tilt_time, link_silent(u, p),
        )  # fmt: skip
        return ca.vertcat(*[ca.if_else(c, 1, 0) for c in conditions])

    def _next_mode(
        self, x: View, u: View, p: View, tripped: ca.SX, climbed: ca.SX, at_home: ca.SX
    ) -> tuple[ca.SX, ca.SX]:
        """Mode and goal after this sample."""
        command = command_in_force(u, p)
        new = ca.fabs(command - x.asked) > 0.5
        grounded = x.now < TAKE_OFF
        ready = ca.logic_and(u.time >= p.arm_time, ca.logic_and(u.healthy > 0.5, x.off < 0.5))
        ready = ca.logic_and(ready, u.may_arm > 0.5)
        flies_off = ca.logic_or(ca.logic_or(command == TAKE_OFF, command == MISSION), command == OFFBOARD)
        begin = ca.logic_and(grounded, ca.logic_and(ready, flies_off))
        goal = ca.if_else(begin, ca.if_else(command == TAKE_OFF, HOLD, command), x.goal)
        # Commands in the air; during take-off only return and land are accepted
        low = ca.logic_and(x.now == TAKE_OFF, command < RETURN)
        heard = ca.logic_and(ca.logic_and(new, ca.logic_not(grounded)), ca.logic_not(low))
        order = ca.if_else(ca.logic_and(command == TAKE_OFF, x.now > TAKE_OFF), HOLD, command)
        mode = ca.if_else(heard, order, x.now)
        mode = ca.if_else(ca.logic_and(mode == TAKE_OFF, climbed), goal, mode)
        mode = ca.if_else(ca.logic_and(mode == RETURN, at_home), LANDING, mode)
        mode = ca.if_else(ca.logic_and(mode == DESCEND, x.regained > REGAINED_S), LANDING, mode)
        mode = ca.if_else(begin, TAKE_OFF, mode)
        # Failsafes, the gentlest first; a stronger one overrides
        flying = mode >= TAKE_OFF
        going_home = ca.logic_or(tripped[0] > 0.5, ca.logic_or(tripped[3] > 0.5, tripped[5] > 0.5))
        mode = ca.if_else(ca.logic_and(ca.logic_and(flying, going_home), mode < RETURN), RETURN, mode)
        mode = ca.if_else(ca.logic_and(ca.logic_and(flying, going_home), mode == OFFBOARD), RETURN, mode)
        empty = ca.logic_and(flying, u.battery_remaining < p.battery_critical)
        mode = ca.if_else(ca.logic_and(empty, mode < LANDING), LANDING, mode)
        crippled = ca.logic_and(flying, u.rotor_lost > 0.5)
        mode = ca.if_else(ca.logic_and(crippled, mode < DESCEND), LANDING, mode)
        blind = ca.logic_and(flying, ca.logic_or(tripped[1] > 0.5, tripped[2] > 0.5))
        mode = ca.if_else(ca.logic_and(blind, mode < DESCEND), DESCEND, mode)
        mode = ca.if_else(ca.logic_and(flying, tripped[4] > 0.5), TERMINATED, mode)
        return mode, goal

    def _target(self, x: View, u: View, p: View, item: ca.SX, mode: ca.SX, stay: ca.SX) -> ca.SX:
        """Target position of the present mode: take-off height, item of the mission, home, or a commanded position."""
        lowest = ca.fmin(p.return_height, p.fence_height - BELOW_FENCE_M)
        home_height = ca.fmin(ca.fmax(lowest, -x.point[2]), p.fence_height - BELOW_FENCE_M)
        far = ca.dot(x.point[:2], x.point[:2]) > 4.0
        climb_first = ca.logic_and(far, -x.point[2] < lowest - 0.5)
        home = ca.vertcat(ca.if_else(climb_first, x.point[0], 0), ca.if_else(climb_first, x.point[1], 0), -home_height)
        target = ca.if_else(mode == TAKE_OFF, ca.vertcat(p.point_0[:2], -p.take_off_height), stay)
        target = ca.if_else(mode == MISSION, item[:3], target)
        target = ca.if_else(mode == RETURN, home, target)
        return ca.if_else(mode == OFFBOARD, u.offboard_position, target)

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        dt = self.sample_s
        item = self._item(x, p)
        trips = self._trips(x, u, p)
        # GNSS and link failsafes clear when the cause is gone; the others stay until landing
        keep = ca.vertcat(1, 0, 0, 1, 1, 0)
        tripped = ca.fmax(trips, keep * x.tripped)
        high = -x.point[2] > p.take_off_height - 0.05
        climbed = ca.logic_and(high, -u.p_NB_N[2] > p.take_off_height - ARRIVED_M)
        home2 = ca.dot(u.p_NB_N[:2], u.p_NB_N[:2])
        at_home = ca.logic_and(home2 < ARRIVED_M**2, ca.dot(x.point[:2], x.point[:2]) < 0.01)
        mode, goal = self._next_mode(x, u, p, tripped, climbed, at_home)
        entered = ca.fabs(mode - x.now) > 0.5
        stay = ca.if_else(ca.logic_and(entered, mode == HOLD), x.point, x.stay)

        item_lands = ca.logic_and(mode == MISSION, item[5] > 0.5 * LAND)
        landing = ca.logic_or(mode == LANDING, item_lands)
        target = self._target(x, u, p, item, mode, stay)

        # Towards the target, slowing down so as to stop there
        away = target - x.point
        distance = ca.sqrt(ca.dot(away, away))
        top = ca.fmin(p.cruise_speed, ca.sqrt(2 * p.acceleration * distance))
        speed = ca.fmin(x.speed + p.acceleration * dt, top)
        fly = x.point + away * (ca.fmin(speed * dt, distance) / ca.fmax(distance, 1e-9))
        # Landing: straight down, never far below the vehicle; faster when something holds the vehicle up, so that
        # ground is soon distinguished from a gust. It may still slide or lean into the wind.
        # an error of the velocity must not restart the motors
        rests = ca.if_else(x.timer > GROUNDED_S, FALLS_MPS, STANDS_MPS)
        held_up = u.v_NB_N[2] < ca.if_else(landing, rests, STANDS_MPS)
        drop = p.landing_speed * ca.if_else(held_up, PRESS, 1)
        low = ca.fmin(x.point[2] + drop * dt, u.p_NB_N[2] + SINK_BELOW_M)
        point = ca.if_else(landing, ca.vertcat(x.point[:2], low), fly)
        # On the ground, without position or under velocity control the set-point stays with the vehicle
        loose = ca.logic_or(mode < TAKE_OFF, mode >= DESCEND)
        loose = ca.logic_or(loose, ca.logic_and(mode == OFFBOARD, u.offboard_kind > 0.5))
        point = ca.if_else(loose, u.p_NB_N, point)

        gap = item[:3] - u.p_NB_N
        there = ca.logic_and(distance < 0.05, ca.dot(gap, gap) < ARRIVED_M**2)
        there = ca.logic_and(mode == MISSION, there)
        pressed = ca.logic_and(held_up, x.point[2] - u.p_NB_N[2] > PRESSED_M)
        sinks = ca.if_else(u.sink_rate < NOT_TOLD, u.sink_rate, u.v_NB_N[2])
        stands = ca.if_else(mode == DESCEND, ca.fabs(sinks) < rests, pressed)
        settling = ca.logic_or(landing, mode == DESCEND)
        counts = ca.if_else(settling, stands, there)
        timer = ca.if_else(ca.logic_or(counts < 0.5, entered), 0, x.timer + dt)
        needed = ca.if_else(mode == DESCEND, 2 * ON_GROUND_S, ca.if_else(landing, ON_GROUND_S, item[4]))
        complete = ca.logic_and(timer >= needed, timer > 0)
        last = x.index >= p.count - 1.5
        advance = ca.logic_and(ca.logic_and(complete, mode == MISSION), ca.logic_not(last))
        landed = ca.logic_and(complete, settling)
        over = ca.logic_and(complete, ca.logic_and(mode == MISSION, last))

        blind = ca.logic_or(tripped[1] > 0.5, tripped[2] > 0.5)
        believed = ca.logic_and(ca.logic_not(blind), u.healthy > 0.5)
        steep = u.R_NB[2, 2] < ca.cos(p.tilt_limit)
        yaw = ca.if_else(mode == MISSION, item[3], ca.if_else(mode == OFFBOARD, u.offboard_yaw, x.yaw))
        return {
            "now": ca.if_else(landed, DISARMED, mode),
            "goal": goal,
            "asked": command_in_force(u, p),
            "point": point,
            "stay": stay,
            "speed": ca.if_else(ca.logic_or(landing, loose), 0, speed),
            "motion": ca.if_else(loose, ca.SX.zeros(3), (point - x.point) / dt),
            "yaw": yaw,
            "index": x.index + ca.if_else(advance, 1, 0),
            "timer": ca.if_else(advance, 0, clip(timer, 0, 1e6)),
            "steep": ca.if_else(steep, x.steep + dt, 0),
            "lost": ca.if_else(ca.logic_and(u.healthy < 0.5, x.now > DISARMED), x.lost + dt, 0),
            "regained": ca.if_else(ca.logic_and(mode == DESCEND, believed), x.regained + dt, 0),
            "tripped": ca.if_else(mode < TAKE_OFF, ca.SX.zeros(6), tripped),
            "off": ca.if_else(ca.logic_or(landed, mode == TERMINATED), 1, x.off),
            "finished": ca.if_else(over, 1, x.finished),
            "down": ca.if_else(ca.logic_and(landed, ca.logic_not(over)), 1, x.down),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        offboard = x.now == OFFBOARD
        kind = ca.if_else(offboard, u.offboard_kind, BY_POSITION)
        velocity = ca.if_else(offboard, u.offboard_velocity, x.motion)
        sinking = x.now == DESCEND
        landing = ca.logic_or(x.now == LANDING, ca.logic_and(x.now == MISSION, self._item(x, p)[5] > 0.5 * LAND))
        settling = ca.logic_or(landing, sinking)
        return {
            "position_set": x.point,
            "velocity_set": ca.if_else(sinking, ca.vertcat(0, 0, p.descent_speed), velocity),
            "yaw_set": x.yaw,
            # While dead reckoning is good, brake; then only level and sink
            "control_kind": ca.if_else(sinking, ca.if_else(u.healthy > 0.5, BY_VELOCITY, BLIND), kind),
            "armed": ca.if_else(ca.logic_and(x.now >= TAKE_OFF, x.off < 0.5), 1, 0),
            "disarmed": ca.if_else(x.now < TAKE_OFF, 1, 0),
            "grounded": ca.if_else(ca.logic_and(settling, x.timer > GROUNDED_S), 1, 0),
            "mode": x.now,
            "failsafe": x.tripped,
            "item": x.index,
            "done": x.finished,
            "landed": x.down,
        }
