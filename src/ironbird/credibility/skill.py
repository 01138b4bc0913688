"""Skill of a driven model: is its forecast better than none, and does the record distinguish the model from wrong ones?

Each piece of a driven model is a forecast from the recorded motion. Two forecasts need no model: nothing changes, and
everything goes on straight, with the slope that the record has before the piece. Skill is 1 - error / error of such a
forecast: 1 is exact, 0 is no better, below 0 is worse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEAST_CHANGE = 0.1  # of a signal by a wrong parameter, over the model's own error: below it is not seen
LEAST_ERROR = 1e-4  # of a forecast's error: a smaller one of the model is as good as none
DRAWS = 1000
LEAST_PIECES = 8  # of which drawing again shows the chance


@dataclass(frozen=True)
class Skill:
    """Errors (rms) of the model and of two forecasts without a model, for one signal."""

    signal: str
    unit: str
    error: float
    unchanged: float
    straight: float

    @property
    def against_unchanged(self) -> float:
        """Skill against the forecast that nothing changes."""
        return _skill(self.error, self.unchanged)

    @property
    def against_straight(self) -> float:
        """Skill against the forecast that everything goes on straight."""
        return _skill(self.error, self.straight)


@dataclass(frozen=True)
class WrongModel:
    """Whether a record distinguishes the model from one with a wrong parameter."""

    name: str
    word: str  # yes, no, or against: the record is nearer to the wrong model
    signal: str  # that the wrong parameter changes most, by the model's own error there
    unit: str
    change: float  # of the signal by the wrong parameter, rms
    error: float  # of the model as it is
    wrong_error: float
    why: str = ""  # the word is no whatever the errors are; empty if they decide

    @property
    def distinguished(self) -> bool:
        """Whether the record is nearer to the model than to the wrong one, beyond chance."""
        return self.word == "yes"


def _skill(error: float, other: float) -> float:
    return 1 - error / other if other > 0 else -math.inf


def overall(skills: Sequence[Skill], name: str) -> float:
    """Skill over all signals: 1 - the geometric mean of the ratios of errors, which needs no scales."""
    ratios = [max(1 - float(getattr(skill, name)), LEAST_ERROR) for skill in skills]
    return 1 - math.exp(float(np.mean(np.log(ratios)))) if ratios else math.nan


def judged(
    name: str, signals: Sequence[str], units: Sequence[str], model: Sequence[np.ndarray], wrong: Sequence[np.ndarray]
) -> WrongModel:
    """Compare the errors [piece, row] of a model and a wrong one, of several signals, against the record.

    The signal is the one that the wrong parameter changes most, over the model's error, so that the choice does not
    depend on which of the two is better. Pieces are drawn again for the chance; fewer than `LEAST_PIECES` show nothing.
    """
    changes = [float(np.sqrt(np.mean((b - a) ** 2))) for a, b in zip(model, wrong, strict=True)]
    errors = [float(np.sqrt(np.mean(a**2))) for a in model]
    place = int(np.argmax([c / max(e, 1e-12) for c, e in zip(changes, errors, strict=True)]))
    ours, theirs = (np.mean(values[place] ** 2, axis=1) for values in (model, wrong))
    word, why = "no", ""
    if len(ours) < LEAST_PIECES:
        why = f"{len(ours)} pieces are too few, at least {LEAST_PIECES} are needed: a longer window, or shorter pieces"
    elif changes[place] > LEAST_CHANGE * errors[place]:
        rows = np.random.default_rng(0).integers(0, len(ours), (DRAWS, len(ours)))
        low, high = np.percentile((theirs - ours)[rows].mean(axis=1), [2.5, 97.5])
        word = "yes" if low > 0 else "against" if high < 0 else "no"
    wrong_error = float(np.sqrt(np.mean(wrong[place] ** 2)))
    return WrongModel(name, word, signals[place], units[place], changes[place], errors[place], wrong_error, why)
