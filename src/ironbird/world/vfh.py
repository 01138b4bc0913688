"""A simple obstacle-avoidance planner: a vector field histogram in three dimensions.

Directions around the vehicle are cells of azimuth and elevation. Points that a lidar saw lately, within `look_m`, block
the cells within the angle asin((radius + margin) / distance) around them [Borenstein1991] [Vanneste2014]. Of the free
cells the one with the smallest cost is flown: angle to the goal, angle to the direction flown last (so that it does not
waver), and climbing. It has no map and may be trapped in dead ends deeper than its memory. Everything follows from its
inputs; ties go to the lower number of a cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

AZIMUTHS, ELEVATIONS = 36, 9  # cells of 10 degrees; elevations from -40 to 40
STEP_RAD = math.radians(10.0)
CUBE_M = 0.5  # points closer to each other are merged
CLIMB_MPS = 1.0  # climb rate until it is off the ground


def cell_directions() -> np.ndarray:
    """Unit vectors in N (north, east, down) of the centres of all cells, (n, 3), elevation by elevation."""
    up = (np.arange(ELEVATIONS) - ELEVATIONS // 2) * STEP_RAD
    around = np.arange(AZIMUTHS) * STEP_RAD
    elevation, azimuth = np.meshgrid(up, around, indexing="ij")
    flat = np.cos(elevation)
    return np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), -np.sin(elevation)], axis=-1).reshape(-1, 3)


def _cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cosines of the angles between unit vectors (n, 3) and (m, 3); no matrix product, which differs by machine."""
    return np.asarray(sum(a[:, None, axis] * b[None, :, axis] for axis in range(3)))


class Avoidance:
    """A planner in flight: it climbs first, as all directions are blocked on the ground, then avoids obstacles."""

    def __init__(self, reach_m: float, speed_mps: float) -> None:
        self.planner = Planner(radius_m=reach_m, speed_mps=speed_mps)

    @property
    def lowest_m(self) -> float:
        """Lowest planned height in m above the start."""
        return self.planner.lowest_m

    def see(self, time_s: float, place: np.ndarray, R_NB: np.ndarray, points_B: np.ndarray) -> None:
        """Add points (n, 3) in body axes that were seen at a time from a position."""
        turned = sum(points_B[:, axis, None] * R_NB[None, :, axis] for axis in range(3))
        self.planner.see(time_s, place, place + turned)

    def velocity(self, place: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """Velocity command in m/s in N."""
        if -place[2] < self.planner.lowest_m:
            return np.array([0.0, 0.0, -CLIMB_MPS])
        return self.planner.velocity(place, goal)


@dataclass
class Planner:
    """Computes a velocity from seen points and a goal."""

    radius_m: float  # radius of the vehicle
    speed_mps: float
    margin_m: float = 0.8
    look_m: float = 12.0
    remember_s: float = 4.0
    slow_s: float = 1.5  # speed limit: the free distance ahead over this time
    goal_weight: float = 1.0
    last_weight: float = 0.4
    climb_weight: float = 0.3
    lowest_m: float = 1.0  # lowest planned height above the start
    _points: list[tuple[float, np.ndarray]] = field(default_factory=list)
    _last: np.ndarray | None = None

    def __post_init__(self) -> None:
        self._cells = cell_directions()

    def see(self, time_s: float, place: np.ndarray, points_N: np.ndarray) -> None:
        """Add points (n, 3) in N that were seen at a time from a position; one is kept per cube of `CUBE_M`."""
        away = points_N - place
        points = points_N[(away * away).sum(axis=1) < (1.5 * self.look_m) ** 2]  # also drops NaN
        _, kept = np.unique(np.round(points / CUBE_M), axis=0, return_index=True)
        points = points[np.sort(kept)]
        self._points = [(t, p) for t, p in self._points if t > time_s - self.remember_s]
        self._points.append((time_s, points))

    def blocked(self, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which cells are blocked, and the free distance in m along each, up to `look_m`."""
        points = np.concatenate([p for _, p in self._points]) if self._points else np.zeros((0, 3))
        away = points - place
        distance = np.sqrt((away * away).sum(axis=1))
        near = distance < self.look_m
        away, distance = away[near], np.maximum(distance[near], 1e-6)
        free = np.full(len(self._cells), self.look_m)
        if len(distance):
            cosine = _cosines(self._cells, away / distance[:, None])
            half = np.arcsin(np.minimum((self.radius_m + self.margin_m) / distance, 1.0))
            half = np.maximum(half, STEP_RAD / 2)
            hit = cosine >= np.cos(half)[None, :]
            free = np.where(hit, distance[None, :], self.look_m).min(axis=1)
        low = (self._cells[:, 2] > 0.02) & (-place[2] < self.lowest_m)
        return (free < self.look_m) | low, free

    def velocity(self, place: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """Velocity in m/s in N: to the goal if that direction is free, else around the obstacle, else zero."""
        way = goal - place
        length = float(np.linalg.norm(way))
        if length < 1e-6:
            return np.zeros(3)
        wish = way / length
        blocked, free = self.blocked(place)
        usable = np.where(blocked, np.maximum(free - self.radius_m - self.margin_m, 0.0), free)
        # The goal may be closer than the obstacle behind it: then the direction is free
        to_goal = _cosines(self._cells, wish[None])[:, 0]
        ahead = int(np.argmax(to_goal))
        if blocked[ahead] and length < free[ahead] - self.radius_m - self.margin_m:
            blocked = blocked.copy()
            blocked[ahead] = False
            usable[ahead] = length
        if blocked.all():
            self._last = None
            return np.zeros(3)
        cost = self.goal_weight * np.arccos(np.clip(to_goal, -1.0, 1.0))
        cost = cost + self.climb_weight * np.abs(np.arcsin(np.clip(-self._cells[:, 2], -1.0, 1.0)))
        if self._last is not None:
            turn = _cosines(self._cells, self._last[None])[:, 0]
            cost = cost + self.last_weight * np.arccos(np.clip(turn, -1.0, 1.0))
        best = int(np.argmin(np.where(blocked, np.inf, cost)))
        direct = best == ahead
        self._last = self._cells[best]
        speed = min(self.speed_mps, float(usable[best]) / self.slow_s, length)
        return (wish if direct else self._cells[best]) * speed
