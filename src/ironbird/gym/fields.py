"""Fields of observations and actions: a name, a unit and bounds; a space consists of a list of fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from gymnasium.spaces import Box

from ironbird.model.signal import entry_names


@dataclass(frozen=True)
class Field:
    """One number of an observation or an action: its bounds in SI; in the space it is divided by `divisor`."""

    name: str
    unit: str
    low: float
    high: float
    divisor: float = 1.0


@dataclass(frozen=True)
class Action:
    """How one number x of an action becomes an input, a row: limited, then centre + x up, or down if x < 0."""

    row: int
    low: float
    high: float
    centre: float = 0.0
    up: float = 1.0
    down: float = 1.0


def entries(name: str, size: int, unit: str, low: float, high: float, divisor: float = 1.0) -> list[Field]:
    """The fields of a signal: one, or one for each entry of a vector (`body.w_NB_B[2]`)."""
    return [Field(entry, unit, low, high, divisor) for entry in entry_names(name, size)]


def box(fields: Sequence[Field]) -> Box:
    """The gymnasium space of observations with these fields."""
    low, high = (np.array([getattr(f, end) / f.divisor for f in fields], np.float32) for end in ("low", "high"))
    return Box(low, high, dtype=np.float32)


def action_box(actions: Sequence[Action]) -> Box:
    """The gymnasium space of actions."""
    low, high = (np.array([getattr(a, end) for a in actions], np.float32) for end in ("low", "high"))
    return Box(low, high, dtype=np.float32)
