"""Rigid parts joined to one body, and turned from forward-left-up to forward-right-down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ironbird.rotations import from_euler, matrix

FLU_TO_FRD = np.diag([1.0, -1.0, -1.0])


@dataclass(frozen=True)
class Pose:
    """A frame in another: its origin, and the matrix that turns its vectors there."""

    origin: np.ndarray
    turn: np.ndarray

    @staticmethod
    def of(values: Sequence[float]) -> Pose:
        """From x y z roll pitch yaw, fixed axes, as SDF and URDF write it."""
        return Pose(np.array(values[:3], float), matrix(from_euler(values[3:])) if any(values[3:]) else np.eye(3))

    def __matmul__(self, inner: Pose) -> Pose:
        return Pose(self.origin + self.turn @ inner.origin, self.turn @ inner.turn)


@dataclass(frozen=True)
class Mass:
    """A rigid part: mass, centre, and inertia about its centre in the axes of the whole."""

    kg: float
    centre: np.ndarray
    inertia: np.ndarray


def joined(parts: Sequence[Mass]) -> Mass:
    """All parts as one body, by Steiner's theorem."""
    total = sum(part.kg for part in parts)
    centre = sum((part.kg * part.centre for part in parts), np.zeros(3)) / total
    inertia = np.zeros((3, 3))
    for part in parts:
        away = part.centre - centre
        inertia += part.inertia + part.kg * (away @ away * np.eye(3) - np.outer(away, away))
    return Mass(total, centre, inertia)


def frd(vector: np.ndarray) -> np.ndarray:
    """A vector in forward-left-up axes, in forward-right-down ones."""
    return np.asarray(FLU_TO_FRD @ vector) + 0.0  # no minus zero


def frd_inertia(inertia: np.ndarray) -> np.ndarray:
    """The same of a matrix."""
    return np.asarray(FLU_TO_FRD @ inertia @ FLU_TO_FRD) + 0.0
