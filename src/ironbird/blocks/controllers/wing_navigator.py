"""Navigator of a fixed wing: legs between waypoints, loiter circles; puts out the path to follow."""

from __future__ import annotations

import casadi as ca

from ironbird.blocks.controllers.navigator import HOLD, LAND, MISSION, ROWS
from ironbird.model.block import Block, Values, View
from ironbird.model.signal import In, Out, Param, State
from ironbird.symbolic.smooth import choose, clip

SHORTEST_LEG_M = 1.0  # a shorter leg has no direction: the vehicle flies straight to its end
LINE, ORBIT = 0.0, 1.0  # kinds of path


class WingNavigator(Block):
    """Straight legs from waypoint to waypoint, and circles where the vehicle stays, [BeardMcLain] Ch. 10. Sampled.

    The mission table is that of the multicopter's navigator. A waypoint counts as reached within
    `acceptance_radius`; a vehicle that has passed one further away turns back to it. An item with a hold time, and the
    last item, are circled: time counts from the start of the circle, and after the last item's the mission
    is done; circling goes on. Height changes evenly along a leg. A wing cannot stand still: yaw in the table
    is not used. The vehicle begins in the air. Not modelled: take-off and landing (a landing item is circled at the
    place and height of the item before), failsafes, return, fillets.
    """

    source = "[BeardMcLain] Ch. 10; [RflyModel] 9.2.2.2"

    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    path_kind = Out(unit="1", doc="0 straight line, 1 circle")
    path_origin = Out(unit="m", shape=3, frame="N", doc="a point of the line, or the circle's centre")
    path_course = Out(unit="rad", doc="direction of the line, from north to east")
    path_radius = Out(unit="m", doc="of the circle; negative is flown counter-clockwise seen from above")
    height_set = Out(unit="m", doc="above the take-off point")
    airspeed_set = Out(unit="m/s", doc="speed through the air")
    position_set = Out(unit="m", shape=3, frame="N", doc="the nearest point of leg, leg before, and circle")
    mode = Out(unit="1", doc="number of the mode: 3 mission, 2 hold after it")
    item = Out(unit="1", doc="number of the present mission item, from 0")
    done = Out(unit="1", doc="1 when the last item is completed")

    index = State(unit="1", init=0.0, doc="present item")
    place = State(unit="m", shape=3, frame="N", init="point_0", doc="where the present leg begins")
    before = State(unit="m", shape=3, frame="N", init="point_0", doc="where the leg before began")
    circling = State(unit="1", init=0.0, doc="1 when the present item's circle has been reached")
    timer = State(unit="s", init=0.0, doc="circled so long")
    finished = State(unit="1", init=0.0, doc="1 after the last item")

    point_0 = Param(unit="m", shape=3, frame="N", default=0.0, doc="where the first leg begins")
    count = Param(unit="1", low=1.0, doc="number of items in use")
    cruise_speed = Param(unit="m/s", low=0.1, tunable=True, doc="through the air")
    acceptance_radius = Param(unit="m", low=1.0, tunable=True, doc="horizontal; a waypoint nearer than this is reached")
    loiter_radius = Param(unit="m", low=1.0, tunable=True, doc="of circles")
    sense = Param(unit="1", default=1.0, low=-1.0, high=1.0, tunable=True, doc="+1 clockwise seen from above, or -1")

    def __init__(self, items: int, *, sample_s: float) -> None:
        super().__init__(sample_s=sample_s)
        self.items = items
        self.declare(
            "table",
            Param(
                unit="1", shape=(ROWS, items), default=0.0,
                doc="items: north, east, down (m), yaw (rad), hold (s), kind",
            ),
        )  # fmt: skip

    def _leg(self, x: View, u: View, p: View) -> dict[str, ca.SX]:
        """Geometry of the present item."""
        item = choose(x.index, [p.table[:, i] for i in range(self.items)])
        lands = item[5] > 0.5 * LAND
        target = ca.if_else(lands, x.place, item[:3])
        last = x.index >= p.count - 1.5
        stays = ca.logic_or(ca.logic_or(last, lands), item[4] > 0)
        away = u.p_NB_N[:2] - target[:2]
        distance = _length(away)
        leg = target[:2] - x.place[:2]
        length = _length(leg)
        short = length < SHORTEST_LEG_M
        ahead = ca.if_else(short, -away / distance, leg / length)
        travelled = ca.if_else(short, length, ca.dot(u.p_NB_N[:2] - x.place[:2], ahead))
        share = ca.if_else(short, 1, clip(travelled / length, 0, 1))
        return {
            "target": target, "last": last, "stays": stays, "hold": item[4], "away": away, "distance": distance,
            "ahead": ahead, "travelled": travelled, "short": short,
            "down": x.place[2] + share * (target[2] - x.place[2]),
            "passed": ca.logic_and(ca.dot(away, ahead) > 0, ca.logic_not(short)),
        }  # fmt: skip

    def update(self, x: View, u: View, p: View) -> Values:
        assert self.sample_s is not None
        leg = self._leg(x, u, p)
        # A circle begins one acceptance radius outside it: room to turn onto it
        near = leg["distance"] < p.acceptance_radius + ca.if_else(leg["stays"], p.loiter_radius, 0)
        circling = ca.if_else(ca.logic_and(leg["stays"], near), 1, x.circling)
        timer = ca.if_else(circling > 0.5, x.timer + self.sample_s, 0)
        complete = ca.if_else(leg["stays"], ca.logic_and(circling > 0.5, timer >= leg["hold"]), near)
        advance = ca.logic_and(complete, ca.logic_not(leg["last"]))
        missed = ca.logic_and(leg["passed"], ca.logic_not(ca.logic_or(near, circling > 0.5)))
        again = ca.vertcat(u.p_NB_N[:2], leg["target"][2])  # the leg begins anew from here
        return {
            "index": x.index + ca.if_else(advance, 1, 0),
            "place": ca.if_else(advance, leg["target"], ca.if_else(missed, again, x.place)),
            "before": ca.if_else(advance, x.place, x.before),
            "circling": ca.if_else(advance, 0, circling),
            "timer": ca.if_else(advance, 0, clip(timer, 0, 1e6)),
            "finished": ca.if_else(ca.logic_and(complete, leg["last"]), 1, x.finished),
        }

    def _nearest(self, x: View, u: View, p: View, leg: dict[str, ca.SX]) -> ca.SX:
        """Where the vehicle should be by now: near a corner it may be on its way from one leg to the next."""
        here, target, circles = u.p_NB_N, leg["target"], x.circling > 0.5
        span = target[:2] - x.place[:2]
        most = ca.if_else(leg["stays"], ca.fmax(1 - p.loiter_radius / _length(span), 0), 1)  # legs end at the circle
        now = _on_leg(here, x.place, target, most)
        around = ca.vertcat(target[:2] + leg["away"] * (p.loiter_radius / leg["distance"]), target[2])
        other = ca.if_else(circles, around, _on_leg(here, x.before, x.place, 1))
        nearer = _length(here[:2] - other[:2]) < _length(here[:2] - now[:2])
        return ca.if_else(nearer, other, now)

    def output(self, x: View, u: View, p: View) -> Values:
        leg = self._leg(x, u, p)
        circles = x.circling > 0.5
        along = ca.if_else(leg["short"], u.p_NB_N[:2], x.place[:2] + leg["ahead"] * leg["travelled"])
        down = ca.if_else(circles, leg["target"][2], leg["down"])
        return {
            "path_kind": x.circling,
            "path_origin": ca.vertcat(ca.if_else(circles, leg["target"][:2], along), down),
            "path_course": ca.atan2(leg["ahead"][1], leg["ahead"][0]),
            "path_radius": p.loiter_radius * ca.if_else(p.sense < 0, -1, 1),
            "height_set": -down,
            "airspeed_set": p.cruise_speed,
            "position_set": self._nearest(x, u, p, leg),
            "mode": ca.if_else(x.finished > 0.5, HOLD, MISSION),
            "item": x.index,
            "done": x.finished,
        }


def _length(v: ca.SX) -> ca.SX:
    """Of a horizontal vector, never zero."""
    return ca.sqrt(ca.dot(v, v) + 1e-12)


def _on_leg(here: ca.SX, a: ca.SX, b: ca.SX, most: ca.SX | float) -> ca.SX:
    """The point of a leg, up to a share of it, that is nearest in the horizontal."""
    leg = b - a
    share = clip(ca.dot(here[:2] - a[:2], leg[:2]) / (ca.dot(leg[:2], leg[:2]) + 1e-12), 0, most)
    return a + share * leg
