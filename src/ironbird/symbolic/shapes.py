"""Distance from a place to balls, cylinders and boxes, with the direction away from them.

A shape is a column of numbers, a *slot* (`SLOT_ROWS`), so that a kernel is the same for every world: kind, centre,
velocity, axes, half sizes and surface. The content of a slot changes while a vehicle moves (`ironbird.world.near`).
"""

from __future__ import annotations

import casadi as ca

from ironbird.symbolic.rotation import norm

Expr = ca.SX

NOTHING, BALL, CYLINDER, BOX = range(4)  # kind of shape
# first row of each quantity in a slot
KIND, CENTRE, VELOCITY, AXES, HALF, FRICTION, RESTITUTION, LANDING = 0, 1, 4, 7, 16, 19, 20, 21
SLOT_ROWS = 22
FAR_M = 1000.0  # m, distance to an empty slot
_NEVER_M = -1e9  # half size along an axis that the shape does not have


def slot_place(slot: Expr, since: Expr) -> Expr:
    """Centre of a shape that has moved at constant velocity for `since` seconds after its slot was filled."""
    return slot[CENTRE : CENTRE + 3] + slot[VELOCITY : VELOCITY + 3] * since


def distance_to(place: Expr, slot: Expr, since: Expr) -> tuple[Expr, Expr]:
    """Signed distance from a place to the surface of a shape, and the unit vector away from it.

    Outside, it is the distance to the nearest point; inside, minus the distance to the nearest face; the vector is its
    gradient. Half sizes are (radius, -, -), (radius, -, half height) and (x, y, z); the axis of a cylinder is z.
    """
    R = ca.reshape(slot[AXES : AXES + 9], 3, 3)
    local = R.T @ (place - slot_place(slot, since))
    ball, cylinder, box = (slot[KIND] == kind for kind in (BALL, CYLINDER, BOX))
    half = slot[HALF : HALF + 3]
    sign = ca.if_else(local < 0, -1, 1)
    length, round_ = norm(local), ca.sqrt(local[0] ** 2 + local[1] ** 2 + 1e-24)
    # How far beyond each side: round mantle or x face; y face; z face
    beyond = ca.vertcat(
        ca.if_else(box, sign[0] * local[0], ca.if_else(ball, length, round_)) - half[0],
        ca.if_else(box, sign[1] * local[1] - half[1], _NEVER_M),
        ca.if_else(ball, _NEVER_M, sign[2] * local[2] - half[2]),
    )
    mantle = ca.if_else(
        box,
        ca.vertcat(sign[0], 0, 0),
        ca.if_else(ball, local / length, ca.vertcat(local[0] / round_, local[1] / round_, 0)),
    )
    faces = (mantle, ca.vertcat(0, sign[1], 0), ca.vertcat(0, 0, sign[2]))
    out = ca.fmax(beyond, 0)
    outside = ca.sqrt(ca.dot(out, out) + 1e-30)
    inside = ca.fmax(ca.fmax(beyond[0], beyond[1]), beyond[2])
    pointing: Expr = sum((out[i] * faces[i] for i in range(3)), ca.SX.zeros(3)) / outside
    deepest = ca.if_else(beyond[0] >= inside, faces[0], ca.if_else(beyond[1] >= inside, faces[1], faces[2]))
    away = ca.if_else(inside > 0, pointing, deepest)
    there = ca.logic_or(ball, ca.logic_or(cylinder, box))
    return ca.if_else(there, ca.if_else(inside > 0, outside, inside), FAR_M), R @ away


def nearest_of(place: Expr, slots: Expr, since: Expr) -> tuple[Expr, Expr, Expr]:
    """Distance to the nearest of several slots (columns), the direction away from it, and that slot itself."""
    distance, away = distance_to(place, slots[:, 0], since)
    slot = slots[:, 0]
    for number in range(1, slots.columns()):
        other, other_away = distance_to(place, slots[:, number], since)
        nearer = other < distance
        away = ca.if_else(nearer, other_away, away)
        slot = ca.if_else(nearer, slots[:, number], slot)
        distance = ca.if_else(nearer, other, distance)
    return distance, away, slot
