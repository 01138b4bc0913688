"""Deck: land on a deck that drives and heaves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ironbird.gym.task import MARK, Goal, Seen, Signal, Start, Task
from ironbird.vehicles import places as at
from ironbird.world.model import Box, Obstacle

DECK_M = 5.0  # mean height of the deck above the ground
NEAR_M = 0.15  # above the deck: feet of a small vehicle touch


@dataclass(frozen=True)
class Deck(Task):
    """Come down on a deck that drives straight and heaves as a sine; its position and velocity are observed.

    Success is within 0.15 m of the deck's surface and 0.5 m of its middle, slower than 0.7 m/s relative to it; below
    the surface without that, the episode ends. The deck is no body: it carries nothing, and makes no wind.
    """

    longest_s: float = 12.0
    pad_m: float = 0.5
    slow_mps: float = 0.7
    drives_mps: float = 2.0
    heaves_m: float = 0.5
    keep: tuple[str, ...] = (
        "always (tilt < 60 deg)",
        "always (target_distance < 12 m)",
        "always (missed == 0)",
    )
    goals: tuple[Goal, ...] = (
        Goal("always (target_distance < 2 m)", 2.0),
        Goal("always (relative_speed < 1.5 m/s)", 1.5, 0.3),
        Goal("always (tilt < 20 deg)", 0.35, 0.2),
    )
    success_reward: float = 100.0
    memory = 6  # velocity north and east; heave: amplitude, circular frequency, phase; whether it was missed
    task_signals: Mapping[str, Signal] = field(
        default_factory=lambda: {
            "to_target": Signal("m", 3, 12.0),
            "target_velocity": Signal("m/s", 3, 5.0),
            "target_distance": Signal("m", 1, 20.0),
            "relative_speed": Signal("m/s", 1, 20.0),
            "missed": Signal("1", 1, 1.0),
        }
    )
    shown: tuple[str, ...] = ("to_target", "target_velocity")

    def draw(self, rng: np.random.Generator) -> tuple[Start, np.ndarray]:
        course, speed = rng.uniform(-math.pi, math.pi), rng.uniform(0.0, self.drives_mps)
        heave = self.heaves_m * rng.uniform(0.3, 1.0), rng.uniform(0.5, 1.2), rng.uniform(0.0, 2 * math.pi)
        memory = np.array([speed * math.cos(course), speed * math.sin(course), *heave, 0.0])
        start = self.target(memory[None], np.zeros(1))[0] + [*rng.uniform(-1.5, 1.5, 2), -rng.uniform(2.0, 3.5)]
        return Start(start, np.array([memory[0], memory[1], 0.0])), memory

    def target(self, memory: np.ndarray, time_s: np.ndarray) -> np.ndarray:
        down = -DECK_M - memory[:, 2] * np.sin(memory[:, 3] * time_s + memory[:, 4])
        return np.stack([memory[:, 0] * time_s, memory[:, 1] * time_s, down], axis=1)

    def signals(self, seen: Seen, memory: np.ndarray) -> dict[str, np.ndarray]:
        away = self.target(memory, seen.time_s) - seen[at.BODY.position]
        sink = -memory[:, 2] * memory[:, 3] * np.cos(memory[:, 3] * seen.time_s + memory[:, 4])
        velocity = np.stack([memory[:, 0], memory[:, 1], sink], axis=1)
        return {
            "to_target": away,
            "target_velocity": velocity,
            "target_distance": np.linalg.norm(away, axis=1)[:, None],
            "relative_speed": np.linalg.norm(seen[at.BODY.velocity] - velocity, axis=1)[:, None],
            "missed": memory[:, 5:6],
        }

    def after(
        self, seen: Seen, signals: Mapping[str, np.ndarray], memory: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        away = signals["to_target"]
        near = away[:, 2] < NEAR_M
        good = near & (np.hypot(away[:, 0], away[:, 1]) < self.pad_m)
        good &= signals["relative_speed"][:, 0] < self.slow_mps
        memory = memory.copy()
        memory[:, 5] = (away[:, 2] < 0.0) & ~good
        return memory, np.zeros(len(memory)), good

    def marks(self, memory: np.ndarray, time_s: float) -> list[Obstacle]:
        """The deck, 1 m wide."""
        place = self.target(memory[None], np.array([time_s]))[0]
        size = (2 * self.pad_m, 2 * self.pad_m, 0.05)
        return [Box("deck", (place[0], place[1], place[2] + NEAR_M), material=MARK, size_m=size)]
