"""Navigator: follows a list of waypoints with a moving set-point, and lands."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import choose, clip

FLY, LAND = 0.0, 1.0  # kinds of an item
ROWS = 6  # north, east, down, yaw, hold time, kind
ARRIVED_M = 1.0  # distance of the vehicle from a waypoint that counts as reached
ON_GROUND_S = 1.0  # standing this long with the set-point below ends a landing
GROUNDED_S = 0.1  # after this the motors go to idle
SINK_BELOW_M = 1.0  # how far the set-point may lead the vehicle down in a landing


class WaypointNavigator(Block):
    """A point runs along the legs with limited speed and acceleration; the vehicle follows it.

    Sampled. An item is reached when the point and the vehicle are there; after its hold time the next begins. `land`
    lowers the point until the vehicle stands, then disarms. Not modelled: fly-by turns, return, failsafes.
    """

    source = "closed form of this project"

    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    v_NB_N = In(unit="m/s", shape=3, frame="N", doc="velocity")
    position_set = Out(unit="m", shape=3, frame="N", doc="where to be")
    velocity_set = Out(unit="m/s", shape=3, frame="N", doc="how it moves")
    yaw_set = Out(unit="rad", doc="heading")
    armed = Out(unit="1", doc="0 once landed")
    grounded = Out(unit="1", doc="1 when a landing vehicle stands")
    item = Out(unit="1", doc="number of the present item, from 0")
    done = Out(unit="1", doc="1 when the last item is completed")

    point = State(unit="m", shape=3, frame="N", init="point_0", doc="the moving set-point")
    speed = State(unit="m/s", init=0.0, doc="of the point")
    motion = State(unit="m/s", shape=3, frame="N", init=0.0, doc="velocity of the point")
    index = State(unit="1", init=0.0, doc="present item")
    timer = State(unit="s", init=0.0, doc="held so long")
    off = State(unit="1", init=0.0, doc="1 after landing")
    finished = State(unit="1", init=0.0, doc="1 after the last item")

    point_0 = Param(unit="m", shape=3, frame="N", default=0.0, doc="where the point starts")
    count = Param(unit="1", low=1.0, doc="number of items in use")
    cruise_speed = Param(unit="m/s", low=0.1, tunable=True, doc="of the point")
    acceleration = Param(unit="m/s^2", low=0.05, tunable=True, doc="of the point")
    landing_speed = Param(unit="m/s", low=0.05, default=0.7, tunable=True, doc="of the point in a landing")

    def __init__(self, items: int, *, sample_s: float) -> None:
        super().__init__(sample_s=sample_s)
        self.items = items
        self.declare(
            "table",
            Param(
                unit="1",
                shape=(ROWS, items),
                default=0.0,
                doc="items: north, east, down (m), yaw (rad), hold (s), kind",
            ),
        )

    def _item(self, x: View, p: View) -> ca.SX:
        return choose(x.index, [p.table[:, i] for i in range(self.items)])

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        dt = self.sample_s
        item = self._item(x, p)
        landing = item[5] > 0.5 * LAND

        # Flying: towards the waypoint, slowing down so as to stop there
        away = item[:3] - x.point
        distance = ca.sqrt(ca.dot(away, away))
        top = ca.fmin(p.cruise_speed, ca.sqrt(2 * p.acceleration * distance))
        speed = ca.fmin(x.speed + p.acceleration * dt, top)
        step = ca.fmin(speed * dt, distance)
        fly = x.point + away * (step / ca.fmax(distance, 1e-9))
        # Landing: straight down, never far below the vehicle
        low = ca.fmin(x.point[2] + p.landing_speed * dt, u.p_NB_N[2] + SINK_BELOW_M)
        land = ca.vertcat(x.point[:2], low)
        point = ca.if_else(landing, land, fly)

        gap = item[:3] - u.p_NB_N
        there = ca.logic_and(distance < 0.05, ca.dot(gap, gap) < ARRIVED_M**2)
        still = ca.logic_and(ca.dot(u.v_NB_N, u.v_NB_N) < 0.15**2, x.point[2] - u.p_NB_N[2] > 0.9 * SINK_BELOW_M)
        timer = ca.if_else(ca.if_else(landing, still, there), x.timer + dt, 0)
        complete = timer >= ca.if_else(landing, ON_GROUND_S, item[4])
        complete = ca.logic_and(complete, timer > 0)
        last = x.index >= p.count - 1.5
        advance = ca.logic_and(complete, ca.logic_not(last))
        return {
            "point": point,
            "speed": ca.if_else(landing, 0, speed),
            "motion": (point - x.point) / dt,
            "index": x.index + ca.if_else(advance, 1, 0),
            "timer": ca.if_else(advance, 0, clip(timer, 0, 1e6)),
            "off": ca.if_else(ca.logic_and(landing, complete), 1, x.off),
            "finished": ca.if_else(ca.logic_and(complete, last), 1, x.finished),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        return {
            "position_set": x.point,
            "velocity_set": x.motion,
            "yaw_set": self._item(x, p)[3],
            "armed": 1 - x.off,
            "grounded": ca.if_else(ca.logic_and(self._item(x, p)[5] > 0.5 * LAND, x.timer > GROUNDED_S), 1, 0),
            "item": x.index,
            "done": x.finished,
        }
