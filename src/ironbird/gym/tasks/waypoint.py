"""Waypoint: come to a point and stay, seen in the vehicle's own axes; what a policy for flights learns on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ironbird.gym.task import Goal, Seen, Signal, Start, Task
from ironbird.systems.policy.observing import in_body_axes
from ironbird.vehicles import places as at

HEIGHT_M = 10.0


@dataclass(frozen=True)
class Waypoint(Task):
    """Fly to a point and stay there, from up to 3 m away; observed are velocity, way, vertical and rates in body axes.

    The heading is free. Nothing of the observation depends on where north is, so a policy flies to any point.
    """

    decision_s: float = 0.02
    beside_m: float = 2.0
    moving_mps: float = 1.0
    tilted_rad: float = 0.4
    turning_radps: float = 1.0
    observed: tuple[tuple[str, float], ...] = ((at.BODY.rates, 6.0),)
    goals: tuple[Goal, ...] = (  # met near the target, so that flying on is worth more than a crash
        Goal("always (target_distance < 3 m)", 3.0),
        Goal("always (target_distance < 0.5 m)", 0.5, 0.3),
        Goal("always (speed < 3 m/s)", 3.0, 0.3),
        Goal("always (rate < 3 rad/s)", 3.0, 0.3),
    )
    task_signals: Mapping[str, Signal] = field(
        default_factory=lambda: {
            "way_B": Signal("m", 3, 3.0),
            "velocity_B": Signal("m/s", 3, 4.0),
            "down_B": Signal("1", 3, 1.0),
            "target_distance": Signal("m", 1, 20.0),
        }
    )
    shown: tuple[str, ...] = ("way_B", "velocity_B", "down_B")

    def draw(self, rng: np.random.Generator) -> tuple[Start, np.ndarray]:
        target = np.array([0.0, 0.0, -HEIGHT_M])
        start = Start(
            target + rng.uniform(-self.beside_m, self.beside_m, 3),
            rng.uniform(-self.moving_mps, self.moving_mps, 3),
            np.append(rng.uniform(-self.tilted_rad, self.tilted_rad, 2), rng.uniform(-math.pi, math.pi)),
            rng.uniform(-self.turning_radps, self.turning_radps, 3),
        )
        return start, target

    def signals(self, seen: Seen, memory: np.ndarray) -> dict[str, np.ndarray]:
        away = self.target(memory, seen.time_s) - seen[at.BODY.position]
        velocity, way, down = in_body_axes(seen[at.BODY.velocity], seen[at.BODY.attitude], away)
        distance = np.linalg.norm(away, axis=1)[:, None]
        return {"way_B": way, "velocity_B": velocity, "down_B": down, "target_distance": distance}
