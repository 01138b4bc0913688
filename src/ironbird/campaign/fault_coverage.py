"""Which faults of the catalogue a campaign has tried on each part of its vehicles, and which it has not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ironbird.campaign.case import FlightCase
from ironbird.campaign.result import FlightResult
from ironbird.campaign.scenario_case import orders_of
from ironbird.errors import IronbirdError
from ironbird.faults.catalog import FAULTS
from ironbird.flight.outline import outline
from ironbird.flight.words import FAIL, PASS


@dataclass(frozen=True)
class FaultOnPart:
    """A fault of the catalogue that can act on a part of a vehicle, and how often it was flown.

    Attributes
    ----------
    vehicle, control : str
        The vehicle and its control system.
    fault : str
        Id of the fault.
    part : str
        Number or name of the part; empty if the fault has no instances.
    flights : int
        Flights with it that passed or failed: a void flight shows nothing, an error neither.
    """

    vehicle: str
    control: str
    fault: str
    part: str
    flights: int


def fault_coverage(cases: Iterable[FlightCase], results: Iterable[FlightResult]) -> list[FaultOnPart]:
    """Every fault of the catalogue that fits a vehicle of the campaign, with each part on which it can act.

    Faults that need a world, chips, firmware or packets are not among them, nor vehicles whose file is gone.
    """
    judged = {result.id for result in results if result.verdict in (PASS, FAIL)}
    flown: Counter[tuple[str, str, str, str]] = Counter()
    vehicles: dict[tuple[str, str], None] = {}
    for case in cases:
        try:
            orders = orders_of(case)
        except IronbirdError:
            continue
        for order in orders:
            vehicles[order.vehicle, order.control] = None
        if case.id in judged:
            flown.update(
                {
                    (order.vehicle, order.control, i.fault.id, str(i.instance) if i.fault.counts_instances else "")
                    for order in orders
                    for i in order.faults
                }
            )
    rows = []
    for vehicle, control in vehicles:
        try:
            known = outline(vehicle, control)
        except (IronbirdError, OSError):
            continue
        there = (*known.params(), *known.signals())
        for fault in FAULTS.values():
            for part in fault.parts_in(there) if fault.needs == "part" else ():
                count = flown[vehicle, control, fault.id, part]
                rows.append(FaultOnPart(Path(vehicle).stem, control, fault.id, part, count))
    return rows


def share_flown(rows: Sequence[FaultOnPart]) -> float:
    """Share of the faults on parts that were flown, 0 to 1."""
    return sum(row.flights > 0 for row in rows) / len(rows) if rows else 1.0


def not_flown(rows: Sequence[FaultOnPart]) -> dict[tuple[str, str], list[str]]:
    """Parts of which a fault was not flown, by vehicle and fault; a fault without instances has the part "all"."""
    missing: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if not row.flights:
            missing.setdefault((row.vehicle, row.fault), []).append(row.part or "all")
    return missing
