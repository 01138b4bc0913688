"""Wakes of rotors as turbulent round jets: the air velocity behind and below the rotors of other vehicles.

Momentum theory gives the jet of a rotor with thrust T, disc area A and air density rho: induced speed
v_i = sqrt(T / (2 rho A)), and 2 v_i in the contracted wake. From there it is a round jet [Pope2000] Ch. 5: speed on the
axis U_c = B d U_J / x, half width S x, profile (1 + a eta^2)^-2 with eta = r / x and a = (sqrt(2) - 1) / S^2. B follows
from S, as the jet keeps its momentum flux: it equals T at every distance. Nearer than where U_c would exceed 2 v_i it
is 2 v_i, with the width of the same flux. Jets that meet add their momentum fluxes: speeds add by their squares
[Knystautas1964]. The axis starts along the rotor's shaft and is left behind by the vehicle's motion through the air.

Valid for hover and flight slower than the induced speed, and from about one diameter below a rotor. Not modelled: the
air's memory (each wake is that of the present thrust and motion, with no delay), swirl, pulsation and turbulence inside
a wake, the bend of a jet by the wind other than by being carried, ground and obstacles in its way, inflow above a
rotor, its virtual origin (the disc is x = 0). One wind acts on a whole vehicle, so a wake that meets one side of it
does not roll it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ironbird.vehicles.in_world import Rotor

SPREAD = 0.094  # S: half width per distance, [Pope2000] Table 5.1
SHAPE = (math.sqrt(2.0) - 1.0) / SPREAD**2  # a of the profile, [Pope2000] Ch. 5: half the speed at eta = S
DECAY = math.sqrt(0.75 * SHAPE)  # B = 5.93 by the momentum flux; measured: 5.8 to 6.1, [Pope2000] Table 5.1
REACH_M = 100.0  # further away no wake is felt
LEAST_N = 1e-3  # thrust below which a rotor has no wake


@dataclass(frozen=True)
class Discs:
    """Rotors that make a wake, one row each."""

    hub: np.ndarray  # (m, 3) m in N
    down: np.ndarray  # (m, 3) unit vectors in N: where the wake goes
    diameter: np.ndarray  # (m,) m
    thrust: np.ndarray  # (m,) N
    density: np.ndarray  # (m,) kg/m^3
    drift: np.ndarray  # (m, 3) m/s in N: of the air relative to the vehicle


def induced_speed(thrust: np.ndarray, diameter: np.ndarray, density: np.ndarray) -> np.ndarray:
    """v_i = sqrt(T / (2 rho A)) of momentum theory in hover; 0 for a rotor that does not push."""
    area = math.pi * diameter * diameter / 4
    return np.asarray(np.sqrt(np.where(thrust > LEAST_N, thrust, 0.0) / (2 * density * area)))


def axis_speed(induced: np.ndarray, diameter: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Speed of the jet on its axis at a distance x (m) from the disc; 0 above it."""
    jet = DECAY * 2 * induced * diameter / math.sqrt(2.0)  # B U_J d: 2 v_i through half of the disc's area
    far = jet / np.maximum(x, 1e-9)
    return np.asarray(np.where(x > 0, np.minimum(2 * induced, far), 0.0))


def core_length(diameter: np.ndarray) -> np.ndarray:
    """Distance below the disc (m) up to which the speed on the axis is 2 v_i."""
    return np.asarray(DECAY * diameter / math.sqrt(2.0))


def jet_speed(induced: np.ndarray, diameter: np.ndarray, x: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Speed of the jet at distances along (x) and across (r) the axis."""
    width = np.maximum(x, core_length(diameter))  # nearer the profile keeps the width of the same flux
    profile = 1 + SHAPE * (r / width) ** 2
    return np.asarray(axis_speed(induced, diameter, x) / (profile * profile))


def travel_time(induced: np.ndarray, diameter: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Time (s) that the air on the axis needs for a distance x."""
    fast, core = 2 * np.maximum(induced, 1e-9), core_length(diameter)
    further = np.maximum(x, core)
    return np.asarray((np.minimum(np.maximum(x, 0), core) + (further * further - core * core) / (2 * core)) / fast)


def wake_at(points: np.ndarray, discs: Discs, others: np.ndarray) -> np.ndarray:
    """Velocity of the air in N at points (p, 3) by all rotors; `others` (p, m) selects the rotors that count."""
    induced = induced_speed(discs.thrust, discs.diameter, discs.density)
    away = points[:, None] - discs.hub[None]
    x = (away * discs.down).sum(axis=2)
    felt = others & (x > 0) & (x < REACH_M) & (induced > 0)
    across = discs.drift - (discs.drift * discs.down).sum(axis=1, keepdims=True) * discs.down
    carried = travel_time(induced, discs.diameter, np.where(felt, x, 0.0))
    aside = away - x[..., None] * discs.down - carried[..., None] * across
    r = np.sqrt((aside * aside).sum(axis=2))
    speed = np.where(felt, jet_speed(induced, discs.diameter, x, r), 0.0)
    flux = (speed * speed)[..., None] * discs.down  # momentum adds up, with its direction
    total = flux.sum(axis=1)
    size = np.sqrt(np.sqrt((total * total).sum(axis=1)))  # |U|^2 is the size of the sum
    return np.asarray(total / np.maximum(size, 1e-9)[:, None])


class Wakes:
    """Rotors of several vehicles that blow on each other; rotors are rows, vehicle after vehicle."""

    def __init__(self, rotors: Sequence[Sequence[Rotor]]) -> None:
        """`rotors` are those of each vehicle; one without rotors feels the wakes at its origin."""
        rows = [(number, rotor) for number, own in enumerate(rotors) for rotor in own]
        self.count = len(rotors)
        self.of = np.array([number for number, _ in rows], np.int64)  # vehicle of each rotor
        self._hubs, self._shafts = (
            np.array([getattr(rotor, name) for _, rotor in rows]).reshape(-1, 3) for name in ("hub_m", "axis")
        )
        self._diameters = np.array([rotor.diameter_m for _, rotor in rows])
        feels = [(n, at_m) for n, own in enumerate(rotors) for at_m in [r.hub_m for r in own] or [np.zeros(3)]]
        self._feeler = np.array([number for number, _ in feels])
        self._felt_at = np.array([at_m for _, at_m in feels])
        self._others = self._feeler[:, None] != self.of[None]

    def wind(
        self,
        position: np.ndarray,
        attitude: np.ndarray,
        thrust: np.ndarray,
        density: np.ndarray,
        flow_B: np.ndarray,
    ) -> np.ndarray:
        """Mean wake of the others over each vehicle's rotors, m/s in N.

        Positions and R_NB are rows of vehicles, the rest rows of rotors: thrust, and the air's density and flow there.
        """
        R = attitude[self.of]
        hubs = position[self.of] + np.einsum("mij,mj->mi", R, self._hubs)
        down, drift = (-np.einsum("mij,mj->mi", R, part) for part in (self._shafts, flow_B))
        feels = attitude[self._feeler]
        places = position[self._feeler] + np.einsum("pij,pj->pi", feels, self._felt_at)
        wind = np.zeros((self.count, 3))
        discs = Discs(hubs, down, self._diameters, thrust, density, drift)
        np.add.at(wind, self._feeler, wake_at(places, discs, self._others))
        return wind / np.bincount(self._feeler)[:, None]
