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
# How many parts of a kind the reference autopilot can lose: of three inertial units one is outvoted, two that disagree
# are not resolved; without GNSS, compass or barometer it lands by failsafe
BEARABLE: dict[str, Callable[[int], int]] = {
    "imu": lambda n: max(0, n - 2),
    "gnss": lambda n: n,
    "mag": lambda n: n,
    "baro": lambda n: n,
}


@dataclass(frozen=True)
class Kind:
    """A kind of part: its life, its failure mode, and the fault that simulates this mode."""

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
    lost: float = 1.0  # probability that this loses the vehicle; from a campaign if it flew the fault
    flights: int = 0  # number of flights behind that probability; 0: from the layout

    def part_probability(self, age_h: float, hours: float) -> float:
        """Probability that one part of the kind fails in a flight of `hours`, at age `age_h`."""
        return self.kind.life.fails_in(age_h, hours)

    def probability(self, age_h: float, hours: float) -> float:
        """Probability that the event happens in a flight of `hours` and the vehicle is lost by it."""
        p = self.part_probability(age_h, hours)
        return self.lost * at_least(self.bearable + 1, self.count, p)


def at_least(k: int, n: int, p: float) -> float:
    """Probability that k or more of n independent parts fail."""
    return math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1)) if k <= n else 0.0


@dataclass(frozen=True)
class Tree:
    """Fault tree of a vehicle: it is lost if any of the events happens."""

    vehicle: str
    events: list[Event]

    def probability(self, age_h: float, hours: float) -> float:
        """Probability of losing the vehicle in a flight of `hours`, with parts of age `age_h`."""
        keep = math.fsum(math.log1p(-min(e.probability(age_h, hours), 1 - 1e-15)) for e in self.events)
        return -math.expm1(keep)

    def ranking(self, age_h: float, hours: float) -> list[tuple[Event, float, float]]:
        """Events with their probability and their share of the loss (Fussell and Vesely), largest first."""
        whole = self.probability(age_h, hours)
        rows = [(e, e.probability(age_h, hours)) for e in self.events]
        return sorted(((e, p, p / whole if whole > 0 else 0.0) for e, p in rows), key=lambda row: -row[1])

    def fmea(self, age_h: float, hours: float) -> list[dict[str, str]]:
        """FMEA table with one row per kind of part: failure mode, rate, effect, and the evidence for the effect."""
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
    """Lives of parts by kind: the shipped ones; those of the file at `path` replace or extend them."""
    kinds: dict[str, Kind] = {}
    for file in (FILE, *([path] if path else [])):
        source = read_source(file, "give the path of a TOML file of lives")
        if isinstance(source, Problem):
            raise RecordError(str(source))
        for name, table in source.data.items():
            if not isinstance(table, Mapping):
                raise RecordError(f"{file.name}: [{name}] is no table")
            kinds[name] = _kind(name, table, file.name)
    return kinds


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
    """The fault tree of a vehicle.

    `lost` gives, by fault, lost flights and all flights of a campaign.
    """
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
    """Lost flights and all flights by fault id; only flights with exactly one fault are counted."""
    counts: dict[str, tuple[int, int]] = {}
    for faults, verdict in flights:
        if len(faults) == 1 and verdict in ("pass", "fail"):
            bad, every = counts.get(faults[0], (0, 0))
            counts[faults[0]] = (bad + (verdict == "fail"), every + 1)
    return counts
