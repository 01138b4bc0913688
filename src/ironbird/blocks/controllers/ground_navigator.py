"""Navigator of ground vehicles: a path of straight legs with rounded corners, and how fast to drive on it."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from ironbird.blocks.controllers.mission_table import DISARMED, HOLD, MISSION, MissionTable
from ironbird.model.block import Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import clip

SHARPEST = 3.7  # tangent of half the sharpest turn that is rounded: 150 degrees
LEG_SHARE = 0.45  # share of a leg that a corner may take
OFF_PATH = 0.2  # distance from the path over the turn radius beyond which the vehicle returns slowly
OFF_COURSE = 0.7  # cosine of the angle between motion and path below which it returns slowly
COMING_BACK = 0.4  # speed of that return over the speed on an arc of full radius
STANDS_MPS = 0.05
CREEP = 0.01  # least speed on the way to a stop over the cruise speed, so that it is reached


@dataclass(frozen=True)
class _Place:
    """Position of the vehicle relative to the path."""

    point: ca.SX
    tangent: ca.SX
    curvature: ca.SX
    top_speed: ca.SX
    remaining: ca.SX  # m to the end of the leg
    passed: ca.SX  # whether the corner at the leg's end has been passed


class GroundNavigator(MissionTable):
    """Guides a car or rover along the legs between waypoints and round corners on arcs. Sampled.
    It stops at items that have a hold time.

    An arc has `turn_radius`, or less where a leg is short; on it the speed keeps the lateral acceleration below
    `lateral_acceleration`, and before arcs and stops the vehicle slows down with `acceleration`. Off the path,
    or on a course across it, it drives slowly. An item with a hold time, the last one and one of kind `land` are
    stops. Heights and yaw angles of the items are not used.
    Closed-form geometry of this project. Not modelled: reversing, obstacles, turning back by more than 150 degrees
    without a stop, failsafes.
    """

    source = "closed form of this project"

    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    v_NB_N = In(unit="m/s", shape=3, frame="N", doc="velocity")
    ready = In(unit="1", default=1.0, doc="0 until the position is known: the vehicle stands")
    position_set = Out(unit="m", shape=3, frame="N", doc="nearest point of the path, at the vehicle's height")
    tangent_set = Out(unit="1", shape=2, frame="N", doc="direction of the path there, unit length")
    curvature_set = Out(unit="1/m", doc="of the path there, positive to the right")
    speed_set = Out(unit="m/s", doc="how fast to drive")
    acceleration_set = Out(unit="m/s^2", doc="how its speed changes")
    yaw_set = Out(unit="rad", doc="heading of the path")
    armed = Out(unit="1", doc="0 after the mission")
    mode = Out(unit="1", doc="number of the mode: mission, hold, disarmed at the end")
    item = Out(unit="1", doc="number of the present mission item, from 0")
    done = Out(unit="1", doc="1 when the last item is completed")
    index = State(unit="1", init=0.0, doc="present item")
    origin = State(unit="m", shape=2, frame="N", init="origin_0", doc="where the present leg begins")
    speed = State(unit="m/s", init=0.0, doc="asked for")
    gain = State(unit="m/s^2", init=0.0, doc="its change")
    timer = State(unit="s", init=0.0, doc="stood so long")
    finished = State(unit="1", init=0.0, doc="1 after the last item")
    origin_0 = Param(unit="m", shape=2, frame="N", default=0.0, doc="where the first leg begins")
    count = Param(unit="1", low=1.0, doc="number of items in use")
    cruise_speed = Param(unit="m/s", low=0.01, tunable=True, doc="on straight legs")
    acceleration = Param(unit="m/s^2", low=0.01, tunable=True, doc="of the speed asked for, up and down")
    lateral_acceleration = Param(unit="m/s^2", low=0.01, tunable=True, doc="most that an arc may need")
    turn_radius = Param(unit="m", low=0.01, tunable=True, doc="of the arcs at corners")
    arrived = Param(unit="m", low=1e-3, doc="a stop this far from its waypoint counts")

    def _stops(self, x: View, p: View) -> ca.SX:
        """Whether the present item is a stop."""
        item = self._item(x, p)
        return ca.logic_or(ca.logic_or(item[4] > 0, item[5] > 0.5), x.index >= p.count - 1.5)

    def _locate(self, x: View, u: View, p: View) -> _Place:
        here = u.p_NB_N[:2]
        corner = self._item(x, p)[:2]
        leg, leg_length = _direction(corner - x.origin, ca.SX([1, 0]))
        onward, onward_length = _direction(self._item_at(x.index + 1, p)[:2] - corner, leg)
        # The arc: tangent length d = R tan(turn / 2)
        cross = leg[0] * onward[1] - leg[1] * onward[0]
        half = clip(ca.fabs(cross) / ca.fmax(1 + ca.dot(leg, onward), 1e-6), 0, SHARPEST)
        room = LEG_SHARE * ca.fmin(leg_length, onward_length)
        bend = ca.if_else(self._stops(x, p), 0, ca.fmin(p.turn_radius * half, room))
        radius = ca.fmax(bend / ca.fmax(half, 1e-6), 1e-3)
        side = ca.if_else(cross < 0, -1, 1)
        along = ca.dot(here - x.origin, leg)
        to_arc = leg_length - bend - along
        # On the arc: the nearest point lies on the line from its centre through the vehicle
        centre = corner - bend * leg + side * radius * ca.vertcat(-leg[1], leg[0])
        spoke, _ = _direction(here - centre, side * ca.vertcat(leg[1], -leg[0]))
        arc_tangent = side * ca.vertcat(-spoke[1], spoke[0])
        on_arc = ca.logic_and(to_arc < 0, bend > 1e-3)
        arc_speed = ca.if_else(bend > 1e-3, ca.sqrt(p.lateral_acceleration * radius), p.cruise_speed)
        arc_speed = ca.fmin(arc_speed, p.cruise_speed)
        slowing = ca.sqrt(arc_speed**2 + 2 * p.acceleration * ca.fmax(to_arc, 0))
        stopping = ca.sqrt(2 * p.acceleration * ca.fmax(leg_length - along, 0)) + CREEP * p.cruise_speed
        halt = along >= leg_length - 0.5 * p.arrived
        top = ca.if_else(self._stops(x, p), ca.if_else(halt, 0, stopping), slowing)
        nearest = x.origin + leg * ca.fmin(ca.fmax(along, 0), leg_length)
        point = ca.if_else(on_arc, centre + radius * spoke, nearest)
        tangent = ca.if_else(on_arc, arc_tangent, leg)
        gap = here - point
        v = u.v_NB_N[:2]
        strayed = ca.dot(gap, gap) > (OFF_PATH * p.turn_radius) ** 2
        astray = ca.dot(v, tangent) < OFF_COURSE * ca.sqrt(ca.dot(v, v)) - STANDS_MPS
        slow = COMING_BACK * ca.sqrt(p.lateral_acceleration * p.turn_radius)
        top = ca.if_else(ca.logic_or(strayed, astray), ca.fmin(top, slow), top)
        return _Place(
            point=point,
            tangent=tangent,
            curvature=ca.if_else(on_arc, side / radius, 0),
            top_speed=ca.fmin(top, p.cruise_speed),
            remaining=leg_length - along,
            passed=ca.logic_and(to_arc <= 0, ca.dot(here - corner, onward) >= bend),
        )

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        dt = self.sample_s
        place = self._locate(x, u, p)
        item = self._item(x, p)
        stops = self._stops(x, p)
        last = x.index >= p.count - 1.5
        top = ca.if_else(ca.logic_or(x.finished > 0.5, u.ready < 0.5), 0, place.top_speed)
        speed = clip(top, x.speed - 2 * p.acceleration * dt, x.speed + p.acceleration * dt)
        standing = ca.dot(u.v_NB_N[:2], u.v_NB_N[:2]) < STANDS_MPS**2
        there = ca.logic_and(ca.logic_and(stops, standing), place.remaining < p.arrived)
        timer = ca.if_else(there, x.timer + dt, 0)
        complete = ca.logic_and(timer > 0, timer >= item[4])
        advance = ca.if_else(stops, ca.logic_and(complete, ca.logic_not(last)), place.passed)
        return {
            "index": x.index + ca.if_else(advance, 1, 0),
            "origin": ca.if_else(advance, item[:2], x.origin),
            "speed": speed,
            "gain": (speed - x.speed) / dt,
            "timer": ca.if_else(advance, 0, clip(timer, 0, 1e6)),
            "finished": ca.if_else(ca.logic_and(complete, last), 1, x.finished),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        place = self._locate(x, u, p)
        driving = ca.if_else(x.timer > 0, HOLD, MISSION)
        return {
            "position_set": ca.vertcat(place.point, u.p_NB_N[2]),
            "tangent_set": place.tangent,
            "curvature_set": place.curvature,
            "speed_set": x.speed,
            "acceleration_set": x.gain,
            "yaw_set": ca.atan2(place.tangent[1], place.tangent[0]),
            "armed": 1 - x.finished,
            "mode": ca.if_else(x.finished > 0.5, DISARMED, driving),
            "item": x.index,
            "done": x.finished,
        }


def _direction(vector: ca.SX, otherwise: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Unit vector and length of a vector; `otherwise` if its length is zero."""
    length = ca.sqrt(ca.dot(vector, vector))
    known = length > 1e-6
    return ca.if_else(known, vector / ca.fmax(length, 1e-6), otherwise), length
