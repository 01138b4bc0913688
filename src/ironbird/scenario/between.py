"""Conditions that name several vehicles of a scenario: `distance(a, b)`, `gap(a, b)`, `a.height`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ironbird.conditions.formula import parse_formula
from ironbird.conditions.names import Names
from ironbird.errors import ScenarioError, UnknownNameError
from ironbird.requirements.robustness import robustness
from ironbird.requirements.trace import Trace

BETWEEN = re.compile(r"\b(distance|gap)\(\s*([A-Za-z]\w*)\s*,\s*([A-Za-z]\w*)\s*\)")
MOVING = {"height": "m", "depth": "m", "climb": "m/s", "speed": "m/s"}  # of one vehicle, in triggers
NO_TIME = np.zeros(1)


def plain(text: str) -> str:
    """The condition with names of its language: `distance(a, b)` becomes `distance.a.b`."""
    return BETWEEN.sub(lambda match: f"{match[1]}.{match[2]}.{match[3]}", text)


def pairs(text: str, names: Sequence[str], where: str = "") -> list[tuple[str, str, str]]:
    """Each distance or gap of a condition with its two vehicles; `ScenarioError` if a vehicle is unknown."""
    matches = BETWEEN.findall(text)
    for _, *both in matches:
        for name in both:
            if name not in names:
                raise ScenarioError(f"{text}: {UnknownNameError('vehicle', name, names, where)}")
    return matches


def crosses(text: str, names: Sequence[str]) -> bool:
    """Whether a trigger names vehicles of the scenario, not only signals of its own vehicle."""
    if BETWEEN.search(text):
        return True
    return any(word in names for word in re.findall(r"\b([A-Za-z]\w*)\.[A-Za-z]", text))


@dataclass(frozen=True)
class Motion:
    """Positions and motion of the vehicles, one row each, one step ago."""

    position: np.ndarray  # (n, 3) m in N
    velocity: np.ndarray  # (n, 3) m/s in N
    attitude: np.ndarray  # (n, 3, 3) R_NB
    rates: np.ndarray  # (n, 3) rad/s in B


class Trigger:
    """A trigger on the motion of several vehicles, evaluated between two slices."""

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self.text = text
        self.number = {name: number for number, name in enumerate(names)}
        self.pairs = pairs(text, names)
        units = {f"{what}.{a}.{b}": "m" for what, a, b in self.pairs}
        units |= {f"{name}.{what}": unit for name in names for what, unit in MOVING.items()}
        self.formula = parse_formula(plain(text), Names(units))
        both = {f"{what}.{a}.{b}" for what, a, b in self.pairs}
        self.singles = [signal.split(".") for signal in self.formula.signals if signal not in both]

    def holds(self, motion: Motion, gap: Callable[[Motion, int, int], tuple[float, np.ndarray, np.ndarray]]) -> bool:
        """Whether the condition holds now; `gap` measures between the hulls of two vehicles by their numbers."""
        values: dict[str, float] = {}
        for what, a, b in self.pairs:
            i, j = self.number[a], self.number[b]
            away = motion.position[i] - motion.position[j]
            apart = float(np.sqrt((away * away).sum())) if what == "distance" else gap(motion, i, j)[0]
            values[f"{what}.{a}.{b}"] = apart
        for name, what in self.singles:
            number = self.number[name]
            down, velocity = float(motion.position[number][2]), motion.velocity[number]
            moving = {"height": -down, "depth": down, "climb": -float(velocity[2])}
            values[f"{name}.{what}"] = moving.get(what, float(np.sqrt((velocity * velocity).sum())))
        trace = Trace(NO_TIME, {name: np.array([[value]]) for name, value in values.items()}, np.array([1]))
        return bool(robustness(self.formula, trace)[0] >= 0)
