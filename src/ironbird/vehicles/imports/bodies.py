"""Combination of rigid parts to one body, and conversion from forward-left-up to forward-right-down axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ironbird.rotations import from_euler, matrix

FLU_TO_FRD = np.diag([1.0, -1.0, -1.0])


@dataclass(frozen=True)
class Pose:
    """Pose of a frame in another: its origin, and the rotation matrix of its vectors."""

    origin: np.ndarray
    turn: np.ndarray

    @staticmethod
    def of(values: Sequence[float]) -> Pose:
        """Pose from x y z roll pitch yaw about fixed axes, as written in SDF and URDF."""
        return Pose(np.array(values[:3], float), matrix(from_euler(values[3:])) if any(values[3:]) else np.eye(3))

    def __matmul__(self, inner: Pose) -> Pose:
        return Pose(self.origin + self.turn @ inner.origin, self.turn @ inner.turn)


@dataclass(frozen=True)
class Mass:
    """A rigid part: mass, centre, and inertia about its centre in the axes of the whole body."""

    kg: float
    centre: np.ndarray
    inertia: np.ndarray


def joined(parts: Sequence[Mass]) -> Mass:
    """All parts combined to one body, by Steiner's theorem."""
    total = sum(part.kg for part in parts)
    centre = sum((part.kg * part.centre for part in parts), np.zeros(3)) / total
    inertia = np.zeros((3, 3))
    for part in parts:
        away = part.centre - centre
        inertia += part.inertia + part.kg * (away @ away * np.eye(3) - np.outer(away, away))
    return Mass(total, centre, inertia)


def frd(vector: np.ndarray) -> np.ndarray:
    """A forward-left-up vector in forward-right-down axes."""
    return np.asarray(FLU_TO_FRD @ vector) + 0.0  # + 0.0 turns minus zero to zero


def frd_inertia(inertia: np.ndarray) -> np.ndarray:
    """A forward-left-up inertia matrix in forward-right-down axes."""
    return np.asarray(FLU_TO_FRD @ inertia @ FLU_TO_FRD) + 0.0
