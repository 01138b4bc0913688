"""Fields of observations and actions: a name, a unit and bounds; a space consists of a list of fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from gymnasium.spaces import Box

from ironbird.model.signal import entry_names


@dataclass(frozen=True)
class Field:
    """One number of an observation or an action, in SI units."""

    name: str
    unit: str
    low: float
    high: float


def entries(name: str, size: int, unit: str, low: float, high: float) -> list[Field]:
    """The fields of a signal: one, or one for each entry of a vector (`body.w_NB_B[2]`)."""
    return [Field(entry, unit, low, high) for entry in entry_names(name, size)]


def box(fields: Sequence[Field]) -> Box:
    """The gymnasium space with the bounds of the fields."""
    low, high = np.array([f.low for f in fields], np.float32), np.array([f.high for f in fields], np.float32)
    return Box(low, high, dtype=np.float32)
