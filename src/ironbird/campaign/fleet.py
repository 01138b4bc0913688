"""Flights of the whole catalogue: every vehicle flies its own mission in weather, with many seeds, and is judged.

Each vehicle has its usual control, 5 m/s of wind from the west with light turbulence, and where it meets water a
current of 0.3 m/s. The figures are the share of flights that complete, and the distance between the vehicles and the
set-points of their navigators.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ironbird.compiler.compiled import LANES
from ironbird.files.json_text import json_data
from ironbird.flight.derived import derived
from ironbird.flight.flight import STATISTICS_AFTER_S, flying
from ironbird.flight.inside import fly_lanes
from ironbird.flight.judge import Judged, judge
from ironbird.flight.order import Order, Weather, make_order
from ironbird.flight.prepare import fit
from ironbird.flight.words import COMPLETED, ERROR
from ironbird.model.signal import Number
from ironbird.runtime.log import Log
from ironbird.vehicles import places as at
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.names import vehicle_ids
from ironbird.vehicles.spec import VehicleSpec

SEEDS = 20
WIND = Weather(5.0, 270.0, 7.7)  # turbulence: light, [MIL8785C]
CURRENT: dict[str, Number] = {at.CURRENT.speed: 0.3, at.CURRENT.direction: math.pi / 2}
LOG_S = 0.1
REQUIRED = ("no_crash", "mission_completed")


@dataclass(frozen=True)
class FleetRow:
    """The results of one vehicle's flights."""

    vehicle: str
    title: str
    template: str
    control: str
    mission: str
    current: bool  # whether it met one
    seeds: int
    completed: int
    lost: int  # crashed, or not flown at all
    rms_m: float  # tracking error over all flights
    worst_m: float
    simulated_s: float  # of all flights together
    wall_s: float
    endings: list[str]  # how flights ended that did not complete

    @property
    def times_real_time(self) -> float:
        """Simulated time of all flights together over wall time."""
        return self.simulated_s / max(self.wall_s, 1e-9)

    @property
    def good(self) -> bool:
        """Whether every flight completed."""
        return self.completed == self.seeds

    def outcome(self) -> str:
        """Numbers of completed and lost flights, as text."""
        return f"{self.completed} of {self.seeds} completed" + (f", {self.lost} lost" if self.lost else "")

    def sentence(self) -> str:
        """All figures of the vehicle on one line."""
        error = f"tracking error {self.rms_m:.2f} m rms, {self.worst_m:.2f} m at most"
        return f"{self.outcome()}, {error}, {self.times_real_time:.0f} times real time"


def order_of(vehicle: str) -> Order:
    """A vehicle's own mission in wind and, where it meets water, in a current."""
    order = make_order(vehicle, weather=WIND, requirements=REQUIRED, log_s=LOG_S)
    return replace(order, settings=CURRENT) if at.CURRENT.speed in fit(order).model.params() else order


def fly_vehicle(vehicle: str, seeds: int = SEEDS) -> FleetRow:
    """Fly one vehicle's own mission with `seeds` seeds in one batch."""
    order = order_of(vehicle)
    model = fit(order).model
    model.library(1 if seeds == 1 else LANES)  # compiling is not part of the time
    begin = time.perf_counter()
    lanes = fly_lanes([replace(order, seed=seed) for seed in range(seeds)], model, threads=os.cpu_count() or 1)
    flights = judge(lanes, model)
    wall_s = time.perf_counter() - begin
    if lanes[0].log.interrupted:
        raise KeyboardInterrupt
    return _row(load_spec(vehicle), order, lanes[0].log, flights, wall_s)


def _row(spec: VehicleSpec, order: Order, log: Log, flights: list[Judged], wall_s: float) -> FleetRow:
    errors = [flying(log.time(lane), derived(log, "position_error", lane)) for lane in range(log.lanes)]
    values = np.concatenate(errors)
    others = [(seed, flight) for seed, flight in enumerate(flights) if not flight.outcome.startswith(COMPLETED)]
    return FleetRow(
        vehicle=spec.id,
        title=spec.title,
        template=spec.template,
        control=order.control,
        mission=order.mission_name,
        current=bool(order.settings),
        seeds=len(flights),
        completed=len(flights) - len(others),
        lost=sum(flight.crashed or flight.verdict == ERROR for flight in flights),
        rms_m=float(np.sqrt(np.mean(values**2))),
        worst_m=float(values.max()),
        simulated_s=sum(flight.ended_s for flight in flights),
        wall_s=wall_s,
        endings=[f"seed {seed}: {flight.outcome}" for seed, flight in others],
    )


def fly_fleet(
    vehicles: Sequence[str] = (), seeds: int = SEEDS, progress: Callable[[str], None] | None = None
) -> list[FleetRow]:
    """Fly these vehicles, or all of the catalogue, grouped by kind."""
    chosen = list(vehicles) or vehicle_ids()
    rows = []
    for vehicle in sorted(chosen, key=lambda name: (load_spec(name).template, name)):
        if progress:
            progress(f"flying {vehicle}")
        rows.append(fly_vehicle(vehicle, seeds))
    return rows


def as_data(row: FleetRow) -> dict[str, Any]:
    """A row of the fleet's table as plain data for JSON, which has neither NaN nor infinities."""
    return dict(json_data(asdict(row) | {"times_real_time": row.times_real_time}))


def page(rows: Sequence[FleetRow]) -> str:
    """The table as a Markdown page of the documentation."""
    seeds = max((row.seeds for row in rows), default=0)
    lines = [
        "# The fleet",
        "",
        "Written by `make docs` with `ironbird bench fleet`. Every vehicle flies its mission, its usual control and",
        f"{seeds} seeds side by side, in wind of {WIND.describe()}; vehicles on and in the water",
        f"also meet a current of {CURRENT['current.speed']} m/s to the east. Tracking error: distance to the point",
        f"where the navigator wants the vehicle, from {STATISTICS_AFTER_S:g} s on, over all flights. For wings and",
        "ground vehicles that is the nearest point of the path, corners cut included. Speed: seconds flown by all",
        "lanes over the wall time of the run; it depends on the machine.",
        "",
        "| kind | vehicle | control | mission | outcome | error rms, m | at most, m | times real time |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        lines.append(
            f"| {row.template} | [{row.vehicle}](vehicles/{row.vehicle}.md) | {row.control} | {row.mission} | "
            f"{row.outcome()} | {row.rms_m:.2f} | {row.worst_m:.2f} | {row.times_real_time:.0f} |"
        )
    endings = [f"- {row.vehicle}, {ending}" for row in rows for ending in row.endings]
    if endings:
        lines += ["", "Flights that did not complete:", "", *endings]
    return "\n".join(lines) + "\n"
