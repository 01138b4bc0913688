"""Differences between two vehicle files: each value by its key."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ironbird.vehicles.spec import VehicleSpec

NOT_COMPARED = ("schema", "id", "title", "summary", "provenance")
SAME = 1e-6  # relative tolerance: imports round to six digits or more


@dataclass(frozen=True)
class Difference:
    """A value that differs between two vehicles; None where a file does not contain it."""

    path: str
    here: Any
    there: Any

    def text(self, here: str, there: str) -> str:
        """The difference as a sentence; `here` and `there` are the names of the vehicles."""
        both = isinstance(self.here, float | int) and isinstance(self.there, float | int) and self.there
        share = f" ({100.0 * (self.here / self.there - 1.0):+.1f} %)" if both else ""
        return f"{self.path}: {_said(self.here)} in {here}, {_said(self.there)} in {there}{share}"


def differences(here: VehicleSpec, there: VehicleSpec) -> list[Difference]:
    """All values that differ between two vehicle files."""
    first, second = (dict(_scalars(spec.model_dump(exclude=set(NOT_COMPARED)))) for spec in (here, there))
    result = []
    for path in dict.fromkeys([*first, *second]):
        one, other = first.get(path), second.get(path)
        if isinstance(one, float | int) and isinstance(other, float | int):
            same = math.isclose(one, other, rel_tol=SAME, abs_tol=1e-12)
        else:
            same = one == other
        if not same:
            result.append(Difference(path, one, other))
    return result


def _said(value: Any) -> str:
    return "nothing" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _scalars(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every scalar with its key: `rotor[0].position_B_m[1]`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _scalars(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _scalars(inner, f"{path}[{number}]")
    elif value is not None:
        yield path, value
