"""Values that are drawn for each episode besides its start: weather, parameters, faults."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import FaultError, OrderError
from ironbird.faults.catalog import parse_fault
from ironbird.faults.spec import Injection
from ironbird.flight.order import Weather

Range = tuple[float, float]


@dataclass(frozen=True)
class Randomisation:
    """Ranges from which each episode draws uniformly; a range of two equal values is a constant.

    `scale` multiplies parameters by path (`body.mass`: 0.9 to 1.1); a vector is scaled as a whole. `faults` are orders
    as on the command line; with probability `fault_share` one of them is injected. It begins within `fault_start_s`,
    and a fault with a severity gets a random one up to the given severity.
    """

    wind_mps: Range = (0.0, 0.0)
    wind_from_deg: Range = (0.0, 360.0)
    turbulence_mps: Range = (0.0, 0.0)
    scale: Mapping[str, Range] = field(default_factory=dict)
    faults: Sequence[str] = ()
    fault_share: float = 1.0
    fault_start_s: Range = (1.0, 3.0)

    def __post_init__(self) -> None:
        pairs = {"wind_mps": self.wind_mps, "wind_from_deg": self.wind_from_deg, "turbulence_mps": self.turbulence_mps}
        pairs |= {
            "fault_start_s": self.fault_start_s,
            **{f"scale of {path}": pair for path, pair in self.scale.items()},
        }
        for name, pair in pairs.items():
            if len(pair) != 2 or not all(math.isfinite(v) for v in pair) or pair[0] > pair[1]:
                raise OrderError(
                    f"{name} = {pair} of a randomisation is no range: give its least and its greatest value"
                )
        if not 0.0 <= self.fault_share <= 1.0:
            raise OrderError(f"fault_share = {self.fault_share:g} is outside 0 .. 1")

    def orders(self) -> list[Injection]:
        """The faults as parsed orders; a fault with a condition instead of a time is refused."""
        injections = [parse_fault(text) for text in self.faults]
        for injection in injections:
            if injection.when:
                raise FaultError(f"{injection.text()}: a fault of an episode has a time, no condition")
        return injections

    def varied(self) -> list[str]:
        """Paths of the parameters that differ between episodes."""
        return list(dict.fromkeys([*Weather(1.0, 0.0, 1.0).params(), *self.scale]))

    def draw(self, rng: np.random.Generator, model: CompiledModel) -> dict[str, np.ndarray]:
        """Values of the varied parameters for one episode, by path."""
        wind, direction, turbulence = (
            float(rng.uniform(*pair)) for pair in (self.wind_mps, self.wind_from_deg, self.turbulence_mps)
        )
        values = {p: np.ravel(np.asarray(v, float)) for p, v in Weather(wind, direction, turbulence).params().items()}
        for path, pair in self.scale.items():
            values[path] = model.flat.values[model.param_rows(path)] * float(rng.uniform(*pair))
        return values

    def draw_fault(self, rng: np.random.Generator, orders: Sequence[Injection]) -> Injection | None:
        """The fault of one episode; None if it has none."""
        if not orders or rng.random() >= self.fault_share:
            return None
        chosen = orders[int(rng.integers(len(orders)))]
        start_s, share = float(rng.uniform(*self.fault_start_s)), float(rng.random())
        duration_s = chosen.end_s - chosen.start_s
        changes = {"start_s": start_s, "end_s": start_s + duration_s}
        if chosen.fault.has_severity:
            changes["severity"] = chosen.severity * share
        return Injection(**{**vars(chosen), **changes})
