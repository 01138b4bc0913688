"""Lemniscate: follow a point on a horizontal figure of eight, at a speed that is drawn for each episode."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ironbird.gym.task import Seen, Start
from ironbird.gym.tasks.multicopter import HEIGHT_M, Tracking
from ironbird.vehicles import places as at


@dataclass(frozen=True)
class Lemniscate(Tracking):
    """Follow a point on Bernoulli's lemniscate; its position and velocity are observed.

    x = a cos(wt) / (1 + sin^2(wt)), y = x sin(wt): [Lawrence1972] pp. 120 to 124. The fastest point has speed a w.
    """

    size_m: float = 4.0
    slowest_mps: float = 1.0
    fastest_mps: float = 3.0
    memory = 3  # half width a, circular frequency w, heading of the long axis

    def draw(self, rng: np.random.Generator) -> tuple[Start, np.ndarray]:
        half = self.size_m * float(rng.uniform(0.6, 1.0))
        memory = np.array(
            [half, rng.uniform(self.slowest_mps, self.fastest_mps) / half, rng.uniform(-math.pi, math.pi)]
        )
        return Start(self.target(memory[None], np.zeros(1))[0]), memory

    def target(self, memory: np.ndarray, time_s: np.ndarray) -> np.ndarray:
        half, turn = memory[:, 0], memory[:, 1] * time_s
        along = half * np.cos(turn) / (1.0 + np.sin(turn) ** 2)
        return _turned(along, along * np.sin(turn), memory[:, 2], -HEIGHT_M)

    def signals(self, seen: Seen, memory: np.ndarray) -> dict[str, np.ndarray]:
        away = self.target(memory, seen.time_s) - seen[at.BODY.position]
        half, rate = memory[:, 0], memory[:, 1]
        sine, cosine = np.sin(rate * seen.time_s), np.cos(rate * seen.time_s)
        below = 1.0 + sine * sine
        along = -half * rate * sine * (below + 2.0 * cosine * cosine) / below**2
        across = (
            half * rate * (cosine * cosine - sine * sine) / below - 2.0 * half * rate * (sine * cosine) ** 2 / below**2
        )
        velocity = _turned(along, across, memory[:, 2], 0.0)
        return {
            "to_target": away,
            "target_velocity": velocity,
            "target_distance": np.linalg.norm(away, axis=1)[:, None],
        }


def _turned(along: np.ndarray, across: np.ndarray, heading: np.ndarray, down: float) -> np.ndarray:
    """Vectors of a horizontal curve in N, with its long axis along a heading."""
    c, s = np.cos(heading), np.sin(heading)
    return np.stack([c * along - s * across, s * along + c * across, np.full_like(along, down)], axis=1)
