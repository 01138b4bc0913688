"""Tasks of multicopters: hover at a point, follow a moving point, fly through gates, land on a pad."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ironbird.gym.task import Goal, Seen, Signal, Start, Task
from ironbird.vehicles import places as at

HEIGHT_M = 10.0  # above ground: height at which tasks begin


def _around(rng: np.random.Generator, size: float, count: int = 3) -> np.ndarray:
    return rng.uniform(-size, size, count)


@dataclass(frozen=True)
class Hover(Task):
    """Fly to a point and stay there; begins up to 2 m from it, moving, tilted and turning."""

    beside_m: float = 2.0
    moving_mps: float = 1.0
    tilted_rad: float = 0.3
    turning_radps: float = 0.5

    def draw(self, rng: np.random.Generator) -> tuple[Start, np.ndarray]:
        target = np.array([0.0, 0.0, -HEIGHT_M])
        start = Start(
            target + _around(rng, self.beside_m),
            _around(rng, self.moving_mps),
            np.append(_around(rng, self.tilted_rad, 2), rng.uniform(-math.pi, math.pi)),
            _around(rng, self.turning_radps),
        )
        return start, target


@dataclass(frozen=True)
class Tracking(Task):
    """Follow a point on a Lissajous curve whose position and velocity are observed."""

    longest_s: float = 10.0
    size_m: float = 3.0
    goals: tuple[Goal, ...] = (
        Goal("always (target_distance < 1 m)", 1.0),
        Goal("always (rate < 3 rad/s)", 3.0, 0.1),
    )
    memory = 9  # three amplitudes, circular frequencies and phases
    task_signals: Mapping[str, Signal] = field(
        default_factory=lambda: {
            "to_target": Signal("m", 3, 10.0),
            "target_velocity": Signal("m/s", 3, 10.0),
            "target_distance": Signal("m", 1, 20.0),
        }
    )
    shown: tuple[str, ...] = ("to_target", "target_velocity")

    def draw(self, rng: np.random.Generator) -> tuple[Start, np.ndarray]:
        sizes = self.size_m * np.array([1.0, 1.0, 0.3]) * rng.uniform(0.3, 1.0, 3)
        memory = np.concatenate([sizes, rng.uniform(0.3, 1.0, 3), rng.uniform(0.0, 2 * math.pi, 3)])
        return Start(self.target(memory[None], np.zeros(1))[0]), memory

    def target(self, memory: np.ndarray, time_s: np.ndarray) -> np.ndarray:
        sizes, speeds, phases = memory[:, :3], memory[:, 3:6], memory[:, 6:9]
        centre = np.array([0.0, 0.0, -HEIGHT_M])
        return np.asarray(centre + sizes * np.sin(speeds * time_s[:, None] + phases))

    def signals(self, seen: Seen, memory: np.ndarray) -> dict[str, np.ndarray]:
        signals = super().signals(seen, memory)
        sizes, speeds, phases = memory[:, :3], memory[:, 3:6], memory[:, 6:9]
        signals["target_velocity"] = sizes * speeds * np.cos(speeds * seen.time_s[:, None] + phases)
        return signals


GATES = 5


@dataclass(frozen=True)
class Gates(Task):
    """Fly through five round gates in order, each from its front; the next two are observed.

    A gate is passed when the vehicle crosses its plane within its radius; crossing outside it ends the episode. Gates
    are no bodies: the vehicle cannot collide with them.
    """

    longest_s: float = 15.0
    radius_m: float = 0.8
    apart_m: float = 4.0
    keep: tuple[str, ...] = ("always (tilt < 100 deg)", "always (gate_distance < 12 m)", "always (gate_missed == 0)")
    goals: tuple[Goal, ...] = (
        Goal("always (gate_distance < 4 m)", 4.0, 0.1),
        Goal("always (rate < 4 rad/s)", 4.0, 0.05),
    )
    gate_reward: float = 10.0
    memory = 6 * GATES + 5  # centres, normals; number of the next gate, position before, whether one was missed
    task_signals: Mapping[str, Signal] = field(
        default_factory=lambda: {
            "to_gate": Signal("m", 3, 15.0),
            "gate_normal": Signal("1", 3, 1.0),
            "to_gate_after": Signal("m", 3, 20.0),
            "gate_distance": Signal("m", 1, 20.0),
            "gate_missed": Signal("1", 1, 1.0),
        }
    )
    shown: tuple[str, ...] = ("to_gate", "gate_normal", "to_gate_after")

    def draw(self, rng: np.random.Generator) -> tuple[Start, np.ndarray]:
        place, heading = np.array([0.0, 0.0, -HEIGHT_M]), rng.uniform(-math.pi, math.pi)
        start, centres, normals = place.copy(), [], []
        for _ in range(GATES):
            heading += rng.uniform(-0.7, 0.7)
            normal = np.array([math.cos(heading), math.sin(heading), 0.0])
            place = place + self.apart_m * normal + np.array([0.0, 0.0, rng.uniform(-0.8, 0.8)])
            centres.append(place)
            normals.append(normal)
        return Start(start), np.concatenate([*centres, *normals, [0.0], start, [0.0]])

    @staticmethod
    def _next(memory: np.ndarray, ahead: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Centre and normal of the next gate, or of the one `ahead` of it; after the last gate, of the last."""
        rows = np.arange(len(memory))
        number = np.minimum(memory[:, 6 * GATES].astype(int) + ahead, GATES - 1)
        centres = memory[:, : 3 * GATES].reshape(-1, GATES, 3)
        normals = memory[:, 3 * GATES : 6 * GATES].reshape(-1, GATES, 3)
        return centres[rows, number], normals[rows, number]

    def signals(self, seen: Seen, memory: np.ndarray) -> dict[str, np.ndarray]:
        here = seen[at.BODY.position]
        (centre, normal), (later, _) = self._next(memory), self._next(memory, 1)
        return {
            "to_gate": centre - here,
            "gate_normal": normal,
            "to_gate_after": later - here,
            "gate_distance": np.linalg.norm(centre - here, axis=1)[:, None],
            "gate_missed": memory[:, -1:],
        }

    def after(
        self, seen: Seen, signals: Mapping[str, np.ndarray], memory: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        memory = memory.copy()
        here, before = seen[at.BODY.position], memory[:, 6 * GATES + 1 : 6 * GATES + 4].copy()
        centre, normal = self._next(memory)
        depth_before = np.einsum("ij,ij->i", before - centre, normal)
        depth = np.einsum("ij,ij->i", here - centre, normal)
        through = (depth_before < 0.0) & (depth >= 0.0)
        share = np.where(through, -depth_before / np.maximum(depth - depth_before, 1e-12), 0.0)
        crossing = before + share[:, None] * (here - before)
        inside = through & (np.linalg.norm(crossing - centre, axis=1) <= self.radius_m)
        done = inside & (memory[:, 6 * GATES] >= GATES - 1)
        memory[:, 6 * GATES] += inside & ~done
        memory[:, 6 * GATES + 1 : 6 * GATES + 4] = here
        memory[:, -1] = through & ~inside
        forward = np.linalg.norm(before - centre, axis=1) - np.linalg.norm(here - centre, axis=1)
        return memory, np.where(inside, self.gate_reward, forward), done


@dataclass(frozen=True)
class Landing(Task):
    """Touch down on a pad of 0.5 m, upright and slower than 0.7 m/s, from up to 4 m above it.

    Success is contact with the ground at such a speed within the pad; a touch-down beside it or too fast ends the
    episode.
    """

    longest_s: float = 10.0
    pad_m: float = 0.5
    slow_mps: float = 0.7
    keep: tuple[str, ...] = (
        "always (tilt < 60 deg)",
        "always (target_distance < 10 m)",
        "always (rough_contact == 0)",
    )
    goals: tuple[Goal, ...] = (
        Goal("always (target_distance < 2 m)", 2.0),
        Goal("always (climb > -1.5 m/s)", 1.0, 0.3),
        Goal("always (tilt < 20 deg)", 0.35, 0.2),
    )
    success_reward: float = 100.0
    observed: tuple[tuple[str, float], ...] = (
        (at.BODY.velocity, 15.0),
        (at.BODY.attitude, 1.0),
        (at.BODY.rates, 30.0),
        ("contact.load", 1000.0),
    )
    memory = 3
    task_signals: Mapping[str, Signal] = field(
        default_factory=lambda: {
            "to_target": Signal("m", 3, 10.0),
            "target_distance": Signal("m", 1, 20.0),
            "rough_contact": Signal("1", 1, 1.0),
        }
    )

    def draw(self, rng: np.random.Generator) -> tuple[Start, np.ndarray]:
        start = np.append(_around(rng, 1.5, 2), -rng.uniform(1.5, 4.0))
        return Start(start, _around(rng, 0.5), np.append(np.zeros(2), rng.uniform(-math.pi, math.pi))), np.zeros(3)

    def _touches(self, seen: Seen) -> tuple[np.ndarray, np.ndarray]:
        """For each vehicle: whether it touches the ground, and whether it does so on the pad and slowly enough."""
        touch = seen["contact.load"][:, 0] > 0.0
        beside = np.linalg.norm(seen[at.BODY.position][:, :2], axis=1)
        gentle = (np.linalg.norm(seen[at.BODY.velocity], axis=1) < self.slow_mps) & (beside < self.pad_m)
        return touch, gentle

    def signals(self, seen: Seen, memory: np.ndarray) -> dict[str, np.ndarray]:
        touch, gentle = self._touches(seen)
        return {**super().signals(seen, memory), "rough_contact": (touch & ~gentle).astype(float)[:, None]}

    def after(
        self, seen: Seen, signals: Mapping[str, np.ndarray], memory: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        touch, gentle = self._touches(seen)
        return memory, np.zeros(len(memory)), touch & gentle
