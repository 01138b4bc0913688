"""Wind behind buildings: the steady wind's deficit in the cavity and the wake of boxes and cylinders.

A building of height H, width W across and length L along the wind has a cavity of length
L_R = 1.8 W / ((L / H)^0.3 (1 + 0.24 W / H)) [Fackrell1984]. A distance x behind its lee side, y beside its middle and z
over its foot, with d = L_R sqrt((1 - (2 y / W)^2) (1 - (z / H)^2)), the wind is -(1 - x / d)^2 of the free one in the
cavity (x < d: it blows back) and 1 - (d / x)^1.5 beyond [Rockle1990] [Kaplan1996]. Of several buildings the one with
the largest deficit counts. For wind at an angle, W and L are the extents of the plan across and along the wind.

Only the steady wind is changed, and it is taken as equal at all heights. Not modelled: the step to the free wind at 3 d
of the sources (the power law goes on), what is in front, beside and on top of a building, mass consistency, channelling
in streets, turbulence in wakes, and wakes of spheres, meshes, movers and tilted objects.
"""

from __future__ import annotations

import numpy as np

from ironbird.rotations import matrix
from ironbird.world.model import Box, Cylinder, World

UPRIGHT = 1e-6  # tolerance of an upright axis
LEAST_M = 0.5  # lower objects have no lee
LEAST_MPS = 1e-6


def cavity_length_m(height_m: float, width_m: float, length_m: float) -> float:
    """Cavity length L_R of [Fackrell1984] in m, rounded to the micrometre so that it is the same on every machine."""
    ratio = width_m / height_m
    return round(1.8 * width_m / ((length_m / height_m) ** 0.3 * (1 + 0.24 * ratio)), 6)


class Lee:
    """The buildings of a world that shelter from the wind. Has no state."""

    def __init__(self, world: World) -> None:
        rows = []
        for thing in world.obstacles:
            half: tuple[float, float, float]
            if isinstance(thing, Cylinder):
                half = (thing.radius_m, thing.radius_m, thing.height_m / 2)
            elif isinstance(thing, Box):
                half = (thing.size_m[0] / 2, thing.size_m[1] / 2, thing.size_m[2] / 2)
            else:
                continue
            R = matrix(thing.q_NB)
            north, east, down = thing.p_N_m
            foot = float(world.height_at(north, east))
            high = -down + half[2] - foot
            if abs(abs(R[2, 2]) - 1) < UPRIGHT and high >= LEAST_M:
                round_one = float(isinstance(thing, Cylinder))
                rows.append([north, east, *half[:2], R[0, 0], R[1, 0], foot, high, round_one])
        self.buildings = np.array(rows).reshape(-1, 9)
        self._lengths: dict[tuple[float, float, float], float] = {}

    def change(self, places: np.ndarray, wind_N: np.ndarray) -> np.ndarray:
        """Change of the steady wind (k, 3) at positions (k, 3), m/s in N."""
        speed = np.sqrt((wind_N[:, :2] ** 2).sum(axis=1))
        share = np.ones(len(places))
        for lane in np.flatnonzero(speed > LEAST_MPS):
            share[lane] = self.share(places[lane], wind_N[lane, :2] / speed[lane])
        return np.asarray((share - 1.0)[:, None] * wind_N)

    def share(self, place: np.ndarray, along: np.ndarray) -> float:
        """Wind at a position as a share of the free wind, which blows along a level direction."""
        if not len(self.buildings):
            return 1.0
        north, east, ahead, beside, c, s, foot, high, round_one = self.buildings.T
        away = place[0] - north, place[1] - east
        x, y = away[0] * along[0] + away[1] * along[1], away[1] * along[0] - away[0] * along[1]
        z = -place[2] - foot
        cosine, sine = np.abs(along[0] * c + along[1] * s), np.abs(along[1] * c - along[0] * s)
        deep = np.where(round_one > 0, ahead, ahead * cosine + beside * sine)  # half of the length along the wind
        wide = np.where(round_one > 0, ahead, ahead * sine + beside * cosine)
        x = x - deep
        near = np.flatnonzero((x > 0) & (np.abs(y) < wide) & (z < high))
        least = 1.0
        for i in near.tolist():
            reach = self._length(float(high[i]), 2 * float(wide[i]), 2 * float(deep[i]))
            d = reach * np.sqrt((1 - (y[i] / wide[i]) ** 2) * (1 - (max(z[i], 0.0) / high[i]) ** 2))
            back = 1 - x[i] / d if d > 0 else 0.0
            ratio = d / x[i]
            least = min(least, float(-back * back if x[i] < d else 1 - ratio * np.sqrt(ratio)))
        return least

    def _length(self, high: float, wide: float, deep: float) -> float:
        key = high, wide, deep
        if key not in self._lengths:
            if len(self._lengths) > 10_000:  # the cache is cleared: the wind direction keeps changing
                self._lengths.clear()
            self._lengths[key] = cavity_length_m(*key)
        return self._lengths[key]
