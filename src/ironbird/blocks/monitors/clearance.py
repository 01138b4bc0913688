"""Distance of a vehicle's hull to obstacles and other vehicles, and detection of collisions."""

from __future__ import annotations

import casadi as ca

from ironbird.model.block import Block, Values, View
from ironbird.model.signal import Clock, In, Out, Param, State
from ironbird.symbolic.rotation import norm
from ironbird.symbolic.shapes import FAR_M, LANDING, SLOT_ROWS, VELOCITY, nearest_of

CLOSE_M = 0.05  # within this distance, or within CLOSE_S at its speed, contact is computed
CLOSE_S = 0.03


class Clearance(Block):
    """Computes the distance of the vehicle's hull to the nearest obstacles, and the speed at which they are hit.
    Sampled. The hull is represented by balls.

    A touch is a collision if it is faster than `stop_speed` (0: every touch), on obstacles that are made for landing
    faster than `landing_speed`. The speed of a hit is that across the surface at the sample before. The ground below is
    no obstacle. Inputs give the distance of the nearest other vehicle, and the speed of a hit by one.

    Not modelled: obstacles beyond the slots, parts of a hull between its balls.
    """

    source = "[RflyModel] 6.3: isCrash; criteria of this project"

    time = Clock(doc="simulation time")
    p_NB_N = In(unit="m", shape=3, frame="N", doc="position")
    v_NB_N = In(unit="m/s", shape=3, frame="N", doc="velocity")
    R_NB = In(unit="1", shape=(3, 3), doc="attitude")
    stamp = In(unit="s", default=0.0, doc="time for which the slots were filled")
    others_distance = In(unit="m", default=FAR_M, doc="to the nearest other vehicle")
    others_hit = In(unit="m/s", default=0.0, doc="speed at which another vehicle was hit; 0: none was")
    min_distance = Out(unit="m", doc="between the hull and the nearest obstacle or vehicle; negative inside")
    near = Out(unit="1", doc="1 when contact has to be computed")
    collision = Out(unit="1", doc="1 from the first collision on")
    impact_speed = Out(unit="m/s", doc="of the last hit")
    broken = Out(unit="1", doc="1 from a hit on that was faster than `damage_speed`")
    away_B = Out(unit="1", shape=3, frame="B", doc="direction away from the nearest obstacle")

    last_speed = State(unit="m/s", init=0.0, doc="towards the nearest obstacle at the sample before")
    last_distance = State(unit="m", init=1.0, doc="at the sample before")
    impact = State(unit="m/s", init=0.0, doc="of the last hit")
    collided = State(unit="1", init=0.0, doc="1 after a collision")
    damaged = State(unit="1", init=0.0, doc="1 after a hit that broke something")

    radius = Param(unit="m", low=1e-3, doc="of the balls")
    stop_speed = Param(unit="m/s", default=0.0, low=0.0, tunable=True, doc="a faster touch is a collision")
    landing_speed = Param(
        unit="m/s", default=3.0, low=0.0, tunable=True, doc="the same on what is made for landing: decks and pads"
    )
    damage_speed = Param(unit="m/s", default=0.0, low=0.0, tunable=True, doc="a faster hit breaks rotors; 0: none does")

    def __init__(self, balls: int, slots: int, *, sample_s: float) -> None:
        super().__init__(sample_s=sample_s)
        self.balls = balls
        self.declare("slots", In(unit="1", shape=(SLOT_ROWS, slots), default=0.0, doc="nearest shapes, SI units"))
        self.declare("centres", Param(unit="m", shape=(3, balls), frame="B", doc="of the balls, one per column"))

    def _nearest(self, u: View, p: View) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Distance of the nearest ball's surface, the direction away, and the slot."""
        since = u.time - u.stamp
        distance, away, slot = nearest_of(u.p_NB_N + u.R_NB @ p.centres[:, 0], u.slots, since)
        for i in range(1, self.balls):
            other, other_away, other_slot = nearest_of(u.p_NB_N + u.R_NB @ p.centres[:, i], u.slots, since)
            nearer = other < distance
            away, slot = ca.if_else(nearer, other_away, away), ca.if_else(nearer, other_slot, slot)
            distance = ca.if_else(nearer, other, distance)
        return distance - p.radius, away, slot

    def _look(self, x: View, u: View, p: View) -> dict[str, ca.SX]:
        distance, away, slot = self._nearest(u, p)
        relative = u.v_NB_N - slot[VELOCITY : VELOCITY + 3]
        first = ca.logic_and(distance <= 0, x.last_distance > 0)
        allowed = ca.if_else(slot[LANDING] > 0.5, p.landing_speed, p.stop_speed)
        hits = ca.logic_and(first, x.last_speed >= allowed)
        other = u.others_hit > 0
        impact = ca.if_else(other, u.others_hit, ca.if_else(first, x.last_speed, x.impact))
        fresh = ca.logic_or(other, first)
        breaks = ca.logic_and(p.damage_speed > 0, impact > p.damage_speed)
        return {
            "distance": distance,
            "away": away,
            "near": distance < CLOSE_M + CLOSE_S * norm(relative),
            "towards": ca.fmax(-ca.dot(relative, away), 0),
            "impact": impact,
            "collided": ca.logic_or(x.collided > 0.5, ca.logic_or(hits, u.others_hit > p.stop_speed)),
            "damaged": ca.logic_or(x.damaged > 0.5, ca.logic_and(fresh, breaks)),
        }

    def update(self, x: View, u: View, p: View) -> Values:
        seen = self._look(x, u, p)
        return {
            "last_speed": seen["towards"],
            "last_distance": seen["distance"],
            "impact": seen["impact"],
            "collided": ca.if_else(seen["collided"], 1, 0),
            "damaged": ca.if_else(seen["damaged"], 1, 0),
        }

    def output(self, x: View, u: View, p: View) -> Values:
        seen = self._look(x, u, p)
        return {
            "min_distance": ca.fmin(seen["distance"], u.others_distance),
            "near": ca.if_else(seen["near"], 1, 0),
            "collision": ca.if_else(seen["collided"], 1, 0),
            "impact_speed": seen["impact"],
            "broken": ca.if_else(seen["damaged"], 1, 0),
            "away_B": u.R_NB.T @ seen["away"],
        }
