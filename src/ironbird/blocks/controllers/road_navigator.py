"""Navigator of a roadable aircraft: drives on its wheels before the take-off and after the landing."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.controllers.fixed_wing_control import BANK
from ironbird.blocks.controllers.mission_table import FLY, MISSION, TAKE_OFF, command_in_force
from ironbird.blocks.controllers.runway_navigator import RunwayNavigator
from ironbird.blocks.controllers.wing_navigator import OPEN, STANDS_MPS
from ironbird.model.block import Values, View
from ironbird.model.signal import Out, Param, State
from ironbird.symbolic.smooth import clip

ROAD_M = 1.0  # m; a waypoint below this height is driven to
LAG_MPS = 0.3  # m/s of excess speed that is not braked
ALIGNED = 0.94  # cosine between velocity and leg below which the vehicle turns, at the speed of corners
CLOSE_MPS = 1.0  # m/s, speed error below which it is integrated


class RoadNavigator(RunwayNavigator):
    """`RunwayNavigator` of an aircraft that also drives on roads, to waypoints on the ground. Sampled.

    Waypoints without a height in front of the take-off are driven to on straight legs with the propeller off: the
    wheels are driven by a proportional-integral law of the speed, which falls towards corners and the end with
    `road_slowing` and rises after the corner. The first item with a height begins the take-off run, along the runway.
    After a landing that is followed by a waypoint on the ground, the vehicle drives on as soon as it has rolled out to
    `road_speed`; at the last waypoint it stands. In the air, waypoints on the ground are passed over. Any command but
    mission and take-off stops a vehicle that drives. Not modelled: other traffic, hold times on the road, driving
    backward, crossfall.
    """

    source = "[RflyModel] 9.2.2; [Raymer] 17.8; drive legs of this project"

    drive = Out(unit="1", low=-1.0, high=1.0, doc="of the driven wheels, share of the full force")
    road = State(unit="1", init=0.0, doc="1 while it drives")
    push = State(unit="1", init=0.0, doc="integral part of the drive")

    road_speed = Param(unit="m/s", default=5.0, low=0.5, tunable=True, doc="on straight legs")
    corner_speed = Param(unit="m/s", default=1.5, low=0.2, tunable=True, doc="at waypoints")
    road_slowing = Param(unit="m/s^2", default=0.7, low=0.05, tunable=True, doc="towards waypoints")
    road_radius = Param(unit="m", default=3.0, low=0.5, tunable=True, doc="a waypoint on the ground is reached")
    road_gain = Param(unit="s/m", default=0.3, low=0.0, tunable=True, doc="error of speed to drive")
    road_brake = Param(unit="s/m", default=1.0, low=0.0, tunable=True, doc="error of speed to brake")
    road_integral = Param(unit="1/m", default=0.1, low=0.0, tunable=True, doc="its integral to drive")

    def _way(self, x: View, u: View, p: View) -> dict[str, ca.SX]:
        """Present leg on the ground: direction, remaining distance and speed to drive."""
        task = self._task(x, p)
        left = _size(task["item"][:2] - u.p_NB_N[:2])
        leg = task["item"][:2] - x.place[:2]
        speed = _size(u.v_NB_N[:2])
        turns = ca.logic_and(ca.dot(leg, u.v_NB_N[:2]) < ALIGNED * _size(leg) * speed, speed > 0.5 * p.corner_speed)
        slow = ca.if_else(task["last"], 0, p.corner_speed)
        asked = ca.sqrt(slow * slow + 2 * p.road_slowing * ca.fmax(left - 0.5 * p.road_radius, 0))
        asked = ca.fmin(asked, ca.if_else(turns, p.corner_speed, p.road_speed))
        command = command_in_force(u, p)
        goes = ca.logic_and(ca.logic_or(command == MISSION, command == TAKE_OFF), x.finished < 0.5)
        return {
            "left": left,
            "last": task["last"],
            "speed": speed,
            "short": ca.if_else(goes, asked, 0) - speed,  # m/s, speed error of the wheels
        }

    def _on_ground(self, item: ca.SX) -> ca.SX:
        return ca.logic_and(item[5] == FLY, item[2] > -ROAD_M)

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        values = dict(super().update(x, u, p))
        task, way = self._task(x, p), self._way(x, u, p)
        here, drives, aloft = u.p_NB_N, x.road > 0.5, x.aloft > 0.5
        road_now = self._on_ground(task["item"])
        road_next = ca.logic_and(self._on_ground(self._item_at(x.index + 1, p)), ca.logic_not(task["last"]))

        # Start driving: on the road, or after the landing once it has rolled out
        begins = ca.logic_and(ca.logic_and(x.now < TAKE_OFF, values["now"] == TAKE_OFF), road_now)
        _, _, out = self._on_runway(x, u, p)
        rolled = ca.logic_and(ca.logic_and(out, way["speed"] < p.road_speed), ca.logic_and(task["by_item"], road_next))
        # The next leg, or the runway; waypoints on the ground are skipped in the air
        reached = ca.logic_and(drives, way["left"] < p.road_radius)
        arrives = ca.logic_and(reached, ca.logic_not(task["last"]))
        runs = ca.logic_and(arrives, ca.logic_not(road_next))
        passes = ca.logic_and(ca.logic_and(aloft, task["by_item"]), ca.logic_and(road_now, ca.logic_not(task["last"])))
        stands = ca.logic_and(ca.logic_and(reached, task["last"]), way["speed"] < 0.5 * STANDS_MPS)

        on = ca.logic_or(ca.logic_or(begins, rolled), ca.logic_and(drives, ca.logic_not(runs)))
        steps = ca.logic_or(ca.logic_or(arrives, rolled), passes)
        anew = ca.logic_or(ca.logic_or(begins, rolled), passes)
        place = ca.if_else(arrives, task["item"][:3], ca.if_else(drives, x.place, values["place"]))
        now = ca.if_else(on, MISSION, ca.if_else(runs, TAKE_OFF, values["now"]))
        nearly = ca.if_else(ca.fabs(way["short"]) < CLOSE_MPS, way["short"], 0)
        push = clip(x.push + self.sample_s * p.road_integral * nearly, 0, 1)
        return {
            **values,
            "now": now,
            "road": ca.if_else(on, 1, 0),
            "push": ca.if_else(ca.logic_and(on, drives), push, 0),
            "aloft": ca.if_else(on, 0, values["aloft"]),
            "index": ca.if_else(steps, x.index + 1, values["index"]),
            "place": ca.if_else(anew, here, place),
            "before": ca.if_else(anew, here, ca.if_else(drives, x.place, values["before"])),
            "circling": ca.if_else(ca.logic_or(on, passes), 0, values["circling"]),
            "stage": ca.if_else(on, OPEN, values["stage"]),
            "rotated": ca.if_else(on, 0, values["rotated"]),
            "still": ca.if_else(on, 0, values["still"]),
            "down": ca.if_else(on, 0, values["down"]),
            "finished": ca.if_else(stands, 1, ca.if_else(passes, x.finished, values["finished"])),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        values = dict(super().output(x, u, p))
        way, drives = self._way(x, u, p), x.road > 0.5
        leg = self._leg(x, u, p, self._task(x, p), self._approach(x, u, p, self._task(x, p)))
        along = x.place[:2] + leg["ahead"] * leg["travelled"]
        asks = clip(p.road_gain * way["short"] + x.push, 0, 1)
        slows = clip(-p.road_brake * (way["short"] + LAG_MPS), 0, 1)
        stopped = ca.logic_and(way["short"] + way["speed"] < 1e-6, way["speed"] < STANDS_MPS)
        road = {
            "rolling": ca.SX(1),
            "brake": ca.if_else(stopped, 1, slows),
            "path_kind": ca.SX(BANK),
            "bank_set": ca.SX(0),
            "pitch_limits": ca.vertcat(p.runway_pitch, p.runway_pitch),
            "throttle_limits": ca.SX.zeros(2),
            "position_set": ca.vertcat(ca.if_else(leg["short"], u.p_NB_N[:2], along), u.p_NB_N[2]),
        }
        values |= {name: ca.if_else(drives, value, values[name]) for name, value in road.items()}
        return {**values, "drive": ca.if_else(ca.logic_and(drives, ca.logic_not(stopped)), asks, 0)}


def _size(v: ca.SX) -> ca.SX:
    """Length of a horizontal vector, bounded away from zero."""
    return ca.sqrt(ca.dot(v, v) + 1e-12)
