"""Collision of two vehicles: one impulse with restitution and friction, which adds no energy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ironbird import rotations
from ironbird.runtime.state import RunState
from ironbird.vehicles import places as at

RESTITUTION = 0.3  # of two hulls of plastic and carbon; assumed
FRICTION = 0.4  # assumed


@dataclass
class Body:
    """Mass, inertia and motion of a vehicle in a collision; if it is not `free` it acts like a wall."""

    state: RunState
    lane: int
    free: bool
    mass: float
    inertia: np.ndarray  # in B
    position: np.ndarray
    velocity: np.ndarray  # in N
    q: np.ndarray
    rates: np.ndarray  # in B

    @staticmethod
    def of(state: RunState, lane: int) -> Body:
        """The body of a lane of a run at this moment."""
        flat = state.model.flat
        block, place = divmod(lane, state.width)

        def values(path: str) -> np.ndarray:
            return np.array(state.params[block, state.model.param_rows(path), place])

        names = {name: at.BODY(name) for name in ("p", "v", "q", "w")}
        known = state.model.params()
        free = all(path in flat.x.start for path in names.values()) and at.BODY("inertia") in known
        if not free:
            pose = {
                name: state.held[block, flat.held.rows(at.POSE(name)), place]
                for name in ("position", "velocity", "attitude", "rates")
            }
            q = rotations.from_matrix(pose["attitude"].reshape(3, 3).T)
            return Body(state, lane, False, np.inf, np.eye(3), pose["position"], pose["velocity"], q, pose["rates"])
        p, v, q, w = (state.x[block, flat.x.rows(path), place].copy() for path in names.values())
        q = q / np.linalg.norm(q)
        mass, inertia = float(values(at.BODY.mass)[0]), values(at.BODY("inertia")).reshape(3, 3)
        return Body(state, lane, True, mass, inertia, p, rotations.rotate(q, v), q, w)

    def velocity_at(self, arm: np.ndarray) -> np.ndarray:
        """Velocity in N of a point at `arm` (m, in N) from the centre of mass."""
        return np.asarray(self.velocity + np.cross(rotations.rotate(self.q, self.rates), arm))

    def give_way(self, arm: np.ndarray, n: np.ndarray) -> float:
        """Speed along `n` of the point at `arm` per unit of impulse along `n` (1/kg)."""
        if not self.free:
            return 0.0
        R = rotations.matrix(self.q)
        turn = np.linalg.solve(self.inertia, R.T @ np.cross(arm, n))
        return float(1 / self.mass + n @ np.cross(R @ turn, arm))

    def push(self, impulse: np.ndarray, arm: np.ndarray) -> None:
        """Change the motion by an impulse (N s) at `arm`, here and in the run."""
        if not self.free:
            return
        R = rotations.matrix(self.q)
        self.velocity = self.velocity + impulse / self.mass
        self.rates = self.rates + np.linalg.solve(self.inertia, R.T @ np.cross(arm, impulse))
        self.state.set_state(at.BODY("v"), rotations.rotate(rotations.conjugate(self.q), self.velocity), self.lane)
        self.state.set_state(at.BODY("w"), self.rates, self.lane)


def collide(a: Body, b: Body, where: np.ndarray, n: np.ndarray) -> float:
    """Collision at a point along `n` (from b to a); returns the closing speed, 0 if they separate already.

    Newton's restitution along `n`, then Coulomb's friction across, at most as much as stops the sliding: neither part
    can raise the energy, and momentum and angular momentum are conserved [Stronge2000].
    """
    arms = where - a.position, where - b.position
    closing = -float((a.velocity_at(arms[0]) - b.velocity_at(arms[1])) @ n)
    soft = a.give_way(arms[0], n) + b.give_way(arms[1], n)
    if closing <= 0 or soft <= 0:
        return 0.0
    blow = (1 + RESTITUTION) * closing / soft
    a.push(blow * n, arms[0])
    b.push(-blow * n, arms[1])
    slip = a.velocity_at(arms[0]) - b.velocity_at(arms[1])
    slip = slip - n * (slip @ n)
    speed = float(np.linalg.norm(slip))
    if speed > 1e-9:
        t = slip / speed
        rub = min(FRICTION * blow, speed / (a.give_way(arms[0], t) + b.give_way(arms[1], t)))
        a.push(-rub * t, arms[0])
        b.push(rub * t, arms[1])
    return closing
