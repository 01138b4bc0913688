"""Witness of a fault that acts outside the vehicle's model: inside a control system, on its wires or on its links."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OwnWitness:
    """That a fault acted inside the control system: what shows it, from when on (NaN: it did not), how much."""

    signal: str
    unit: str
    first_s: float
    size: float
