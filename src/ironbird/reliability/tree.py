"""Fault tree and FMEA of a vehicle: which parts it has, how many it can lose, how likely each is to fail.

Counts of parts come from the vehicle. How many of a kind may fail, and how likely the loss of one more is the loss of
the vehicle, come from its layout (four rotors bear no loss) and, where a campaign has flown the fault, from its
verdicts. Failures are independent; common causes are not modelled.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ironbird.errors import RecordError, UnknownNameError
from ironbird.files.problems import Problem, read_source
from ironbird.reliability.life import Life
from ironbird.vehicles.load import load_vehicle

FILE = Path(__file__).parent / "components.toml"
# How many of a kind the reference autopilot bears to lose: of three inertial units one is outvoted, two that disagree
# are not resolved; without GNSS, compass or barometer it lands by failsafe
BEARABLE: dict[str, Callable[[int], int]] = {
    "imu": lambda n: max(0, n - 2),
    "gnss": lambda n: n,
    "mag": lambda n: n,
    "baro": lambda n: n,
}


@dataclass(frozen=True)
class Kind:
    """A kind of part: life, mode and the fault that stands for it."""

    name: str
    life: Life
    mode: str
    fault: str


@dataclass(frozen=True)
class Event:
    """A basic event: more than `bearable` of `count` parts of a kind fail."""

    kind: Kind
    count: int
    bearable: int
    lost: float = 1.0  # probability that this loses the vehicle; by campaigns if flown
    flights: int = 0  # on which that rests; 0: by layout

    def part_probability(self, age_h: float, hours: float) -> float:
        """Of one part in a flight."""
        return self.kind.life.fails_in(age_h, hours)

    def probability(self, age_h: float, hours: float) -> float:
        """Of the event in a flight, as far as it loses the vehicle."""
        p = self.part_probability(age_h, hours)
        return self.lost * at_least(self.bearable + 1, self.count, p)


def at_least(k: int, n: int, p: float) -> float:
    """Probability that k or more of n independent parts fail."""
    return math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1)) if k <= n else 0.0


@dataclass(frozen=True)
class Tree:
    """The loss of the vehicle: any of the events."""

    vehicle: str
    events: list[Event]

    def probability(self, age_h: float, hours: float) -> float:
        """Of the loss in a flight of so many hours, with parts of this age."""
        keep = math.fsum(math.log1p(-min(e.probability(age_h, hours), 1 - 1e-15)) for e in self.events)
        return -math.expm1(keep)

    def ranking(self, age_h: float, hours: float) -> list[tuple[Event, float, float]]:
        """Events with their probability and their share of the loss (Fussell and Vesely), largest first."""
        whole = self.probability(age_h, hours)
        rows = [(e, e.probability(age_h, hours)) for e in self.events]
        return sorted(((e, p, p / whole if whole > 0 else 0.0) for e, p in rows), key=lambda row: -row[1])

    def fmea(self, age_h: float, hours: float) -> list[dict[str, str]]:
        """One row per kind of part: mode, rate, effect, and how that is known."""
        rows = []
        for event, p, share in self.ranking(age_h, hours):
            by = f"{event.flights} flights with {event.kind.fault}" if event.flights else "layout of the vehicle"
            effect = "loss of the vehicle" if event.bearable == 0 else f"borne up to {event.bearable} of {event.count}"
            rows.append(
                {
                    "part": f"{event.kind.name}, {event.count} of them",
                    "mode": event.kind.mode,
                    "rate": f"{event.part_probability(age_h, hours) / hours:.2e} /h",
                    "effect": effect,
                    "lost": f"{event.lost:.2f} ({by})",
                    "probability": f"{p:.2e}",
                    "share": f"{100 * share:.1f} %",
                    "source": event.kind.life.source,
                }
            )
        return rows


def load_lives(path: Path | None = None) -> dict[str, Kind]:
    """Lives of parts by kind: the shipped ones, with those of a file on top."""
    found: dict[str, Kind] = {}
    for file in (FILE, *([path] if path else [])):
        source = read_source(file, "give the path of a TOML file of lives")
        if isinstance(source, Problem):
            raise RecordError(str(source))
        for name, table in source.data.items():
            if not isinstance(table, Mapping):
                raise RecordError(f"{file.name}: [{name}] is no table")
            found[name] = _kind(name, table, file.name)
    return found


def _kind(name: str, table: Mapping[str, Any], where: str) -> Kind:
    known = ("shape", "scale_h", "mtbf_h", "fault", "mode", "source")
    for key in table:
        if key not in known:
            raise UnknownNameError(f"key of [{name}]", str(key), known, where)
    try:
        shape = float(table.get("shape", 1.0))
        scale = float(table["scale_h"] if "scale_h" in table else table["mtbf_h"])
    except (KeyError, TypeError, ValueError):
        raise RecordError(f"{where}: [{name}] needs scale_h (with shape) or mtbf_h, both numbers") from None
    life = Life(shape, scale, str(table.get("source", "assumed: no source")))
    return Kind(name, life, str(table.get("mode", "")), str(table.get("fault", "")))


def tree_of(
    name: str | Path, lives: Mapping[str, Kind] | None = None, lost: Mapping[str, tuple[int, int]] | None = None
) -> Tree:
    """The tree of a vehicle; `lost` are lost and all flights of a campaign by fault."""
    kinds = dict(lives or load_lives())
    vehicle = load_vehicle(name)
    counts = {kind: len(fnmatch.filter(vehicle.diagram.blocks, blocks)) for kind, blocks in vehicle.kind.parts.items()}
    events = []
    for kind, count in counts.items():
        if count == 0 or kind not in kinds:
            continue
        bearable = BEARABLE[kind](count) if kind in BEARABLE else 0
        if kind in ("rotor", "propeller") and count >= 6:
            bearable = 1
        flown = _flown(kinds[kind].fault, lost or {})
        share, flights = ((flown[0] + 1) / (flown[1] + 2), flown[1]) if flown else (1.0, 0)  # Laplace's rule
        if bearable < count:
            events.append(Event(kinds[kind], count, bearable, share, flights))
        elif flown and flown[0]:
            events.append(Event(kinds[kind], count, count - 1, share, flights))
    if not events:
        raise RecordError(f"vehicle '{name}' has no part whose life is known")
    return Tree(Path(name).stem, events)


def _flown(fault: str, lost: Mapping[str, tuple[int, int]]) -> tuple[int, int] | None:
    rows = [counts for name, counts in lost.items() if fault and name.partition("@")[0] == fault]
    return (sum(r[0] for r in rows), sum(r[1] for r in rows)) if rows else None


def lost_by_fault(flights: Iterable[tuple[Sequence[str], str]]) -> dict[str, tuple[int, int]]:
    """Lost and all flights of each fault, of flights (their faults, verdict) with one fault only."""
    found: dict[str, tuple[int, int]] = {}
    for faults, verdict in flights:
        if len(faults) == 1 and verdict in ("pass", "fail"):
            bad, every = found.get(faults[0], (0, 0))
            found[faults[0]] = (bad + (verdict == "fail"), every + 1)
    return found
