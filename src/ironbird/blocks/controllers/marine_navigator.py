"""Navigators of vessels: a position to hold, or a path to follow; no take-off, no landing gear."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.controllers.mission_table import LAND, MISSION, MissionTable
from ironbird.model.block import Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.rotation import norm
from ironbird.symbolic.smooth import clip, wrap_angle


class MissionPorts(MissionTable):
    """Ports and parameters that both navigators share: position, set-points, item and speeds."""

    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    ready = In(unit="1", default=1.0, doc="0 until the position is known: the mission waits")
    position_set = Out(unit="m", shape=3, frame="N", doc="where to be")
    velocity_set = Out(unit="m/s", shape=3, frame="N", doc="how it moves")
    yaw_set = Out(unit="rad", doc="heading")
    mode = Out(unit="1", doc="number of the mode; always that of a mission")
    item = Out(unit="1", doc="number of the present mission item, from 0")
    done = Out(unit="1", doc="1 when the last item is completed")
    index = State(unit="1", init=0.0, doc="present item")
    finished = State(unit="1", init=0.0, doc="1 after the last item")
    point_0 = Param(unit="m", shape=3, frame="N", default=0.0, doc="where the mission starts")
    count = Param(unit="1", low=1.0, doc="number of items in use")
    cruise_speed = Param(unit="m/s", low=0.01, tunable=True, doc="on the way")
    arrived = Param(unit="m", low=0.01, tunable=True, doc="distance from a waypoint that counts as reached")


class MarineNavigator(MissionPorts):
    """Moves the set-point along the legs of a mission with limited speed and acceleration. Sampled.
    For craft that can hold a position.

    A waypoint is done when the point and the vehicle have been there for its hold time; `land` means to surface at
    the present place. The heading turns to that of the item at `yaw_rate`. Not modelled: modes other than the
    mission, failsafes, obstacles.
    """

    source = "[Fossen2021] Ch. 12; [RflyModel] 9.2.1"

    point = State(unit="m", shape=3, frame="N", init="point_0", doc="the moving set-point")
    speed = State(unit="m/s", init=0.0, doc="of the point")
    motion = State(unit="m/s", shape=3, frame="N", init=0.0, doc="velocity of the point")
    yaw = State(unit="rad", init=0.0, doc="heading asked for")
    timer = State(unit="s", init=0.0, doc="held so long")
    acceleration = Param(unit="m/s^2", low=0.001, tunable=True, doc="of the point")
    yaw_rate = Param(unit="rad/s", default=0.3, low=0.001, tunable=True, doc="of the heading asked for")

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        dt = self.sample_s
        item = self._item(x, p)
        surface = ca.vertcat(x.point[:2], 0)
        target = ca.if_else(item[5] > 0.5 * LAND, surface, item[:3])
        # Towards the target, slowing down so as to stop there
        away = target - x.point
        distance = norm(away)
        top = ca.fmin(p.cruise_speed, ca.sqrt(2 * p.acceleration * distance)) * ca.if_else(u.ready > 0.5, 1, 0)
        speed = ca.fmin(x.speed + p.acceleration * dt, top)
        point = x.point + away * (ca.fmin(speed * dt, distance) / ca.fmax(distance, 1e-9))
        gap = target - u.p_NB_N
        near = ca.dot(gap, gap) < p.arrived**2
        there = ca.logic_and(distance < 0.05, near)
        timer = ca.if_else(there, x.timer + dt, 0)
        complete = ca.logic_and(timer >= item[4], timer > 0)
        last = x.index >= p.count - 1.5
        advance = ca.logic_and(complete, ca.logic_not(last))
        turn = wrap_angle(item[3] - x.yaw)
        return {
            "point": point,
            "speed": speed,
            "motion": (point - x.point) / dt,
            "yaw": x.yaw + clip(turn, -p.yaw_rate * dt, p.yaw_rate * dt),
            "timer": ca.if_else(advance, 0, clip(timer, 0, 1e6)),
            "index": x.index + ca.if_else(advance, 1, 0),
            "finished": ca.if_else(ca.logic_and(complete, last), 1, x.finished),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        return {
            "position_set": x.point,
            "velocity_set": x.motion,
            "yaw_set": x.yaw,
            "mode": MISSION,
            "item": x.index,
            "done": x.finished,
        }


class PathNavigator(MissionPorts):
    """Guides a boat or diving vehicle along straight legs by line of sight, [Fossen2021] Ch. 12.
    For craft that cannot stop or go sideways.

    The course points at the leg `lookahead` ahead of the nearest place on it; that place is `position_set`, so that
    its distance from the vehicle is the error across the path. A leg is done when less than `arrived` of it is left.
    Depth changes linearly along a leg. Sampled. Not modelled: hold times, headings of items, turning circles, modes
    other than the mission, failsafes.
    """

    source = "[Fossen2021] Ch. 12"

    course_set = Out(unit="rad", doc="direction of travel over ground")
    speed_set = Out(unit="m/s", doc="through the water")
    cross_track = Out(unit="m", doc="distance to the right of the leg")
    origin = State(unit="m", shape=3, frame="N", init="point_0", doc="start of the leg")
    lookahead = Param(unit="m", low=0.01, tunable=True, doc="smaller is tighter")

    def _leg(self, x: View, u: View, p: View) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """Direction of the leg, distance along it, distance to the right of it, length (m); in the horizontal plane."""
        leg = self._item(x, p)[:2] - x.origin[:2]
        length = norm(leg)
        along = leg / ca.fmax(length, 1e-6)
        gone = u.p_NB_N[:2] - x.origin[:2]
        return ca.atan2(leg[1], leg[0]), ca.dot(along, gone), along[0] * gone[1] - along[1] * gone[0], length

    def update(self, x: View, u: View, p: View) -> Values:
        _, run, _, length = self._leg(x, u, p)
        complete = ca.logic_and(length - run < p.arrived, u.ready > 0.5)
        last = x.index >= p.count - 1.5
        advance = ca.logic_and(complete, ca.logic_not(last))
        return {
            "index": x.index + ca.if_else(advance, 1, 0),
            "origin": ca.if_else(advance, self._item(x, p)[:3], x.origin),
            "finished": ca.if_else(ca.logic_and(complete, last), 1, x.finished),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        angle, run, side, length = self._leg(x, u, p)
        share = clip(run / ca.fmax(length, 1e-6), 0, 1)
        return {
            "position_set": x.origin + share * (self._item(x, p)[:3] - x.origin),
            "velocity_set": p.cruise_speed * ca.vertcat(ca.cos(angle), ca.sin(angle), 0),
            "yaw_set": angle,
            "course_set": angle + ca.atan2(-side, p.lookahead),
            "speed_set": ca.if_else(u.ready > 0.5, p.cruise_speed, 0),
            "cross_track": side,
            "mode": MISSION,
            "item": x.index,
            "done": x.finished,
        }
