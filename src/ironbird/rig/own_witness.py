"""Evidence of a fault that acts outside the vehicle's model: inside a control system, on its wires or links."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OwnWitness:
    """Evidence that a fault acted inside the control system: what shows it, since when (NaN: it did not), how much."""

    signal: str
    unit: str
    first_s: float
    size: float
