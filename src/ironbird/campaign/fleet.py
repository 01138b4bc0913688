"""The whole fleet: every vehicle flies its own mission in weather, many seeds side by side, and is judged.

Each vehicle has its usual control, 5 m/s of wind from the west with light turbulence, and where it meets water a
current of 0.3 m/s. The figures are the share of flights that complete, and how far the vehicles are from where their
navigator wants them.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from ironbird.campaign.batch import BatchResult, TracePolicy, fly_batch, model_of
from ironbird.campaign.case import FlightCase, Requirement
from ironbird.campaign.verdict import ERROR
from ironbird.compiler.compiled import LANES
from ironbird.flight.flight import COMPLETED, STATISTICS_AFTER_S, Wind
from ironbird.flight.mission import load_mission
from ironbird.model.signal import Number
from ironbird.requirements import library
from ironbird.vehicles.load import load_spec, usual_control, vehicle_ids

SEEDS = 20
WIND = Wind(5.0, 270.0, 7.7)  # turbulence: light, [MIL8785C]
CURRENT: dict[str, Number] = {"current.speed": 0.3, "current.direction": math.pi / 2}
LOG_S = 0.1
REQUIRED = ("no_crash", "mission_completed")


@dataclass(frozen=True)
class FleetRow:
    """What came of one vehicle's flights."""

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
        """All flights together, against the wall clock."""
        return self.simulated_s / max(self.wall_s, 1e-9)

    def outcome(self) -> str:
        """For people."""
        return f"{self.completed} of {self.seeds} completed" + (f", {self.lost} lost" if self.lost else "")

    def sentence(self) -> str:
        """Everything on one line."""
        error = f"tracking error {self.rms_m:.2f} m rms, {self.worst_m:.2f} m at most"
        return f"{self.outcome()}, {error}, {self.times_real_time:.0f} times real time"


def weather(vehicle: str, control: str) -> dict[str, Number]:
    """Settings for the water that a vehicle meets, besides the wind."""
    return CURRENT if "current.speed" in model_of(vehicle, control).params() else {}


def fly_vehicle(vehicle: str, seeds: int = SEEDS) -> FleetRow:
    """Fly one vehicle's own mission with as many seeds, side by side."""
    spec, control = load_spec(vehicle), usual_control(vehicle)
    model_of(vehicle, control).library(1 if seeds == 1 else LANES)  # compiling is not part of the time
    settings = weather(vehicle, control)
    known = [library.get(name) for name in REQUIRED]
    cases = [
        FlightCase(
            id=f"{spec.id}/s{seed}", case_id=spec.id, title=spec.title, vehicle=vehicle, control=control,
            mission=load_mission(spec.mission), mission_name=spec.mission, wind=WIND, settings=settings, faults=(),
            requirements=tuple(Requirement(r.name, r.formula_text, r.severity, r.name) for r in known), seed=seed,
            until_s=None, log_s=LOG_S, expect=None, tags=(), values={},
        )
        for seed in range(seeds)
    ]  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="ironbird-fleet-") as folder:
        batch = fly_batch(
            cases, TracePolicy(folder, share_of_passing=1.0, most_per_case=seeds), threads=os.cpu_count() or 1
        )
        errors = [tracking_error(Path(folder) / flight.trace) for flight in batch.flights if flight.trace]
    return _row(spec.id, spec.title, spec.template, control, spec.mission, bool(settings), batch, errors)


def tracking_error(trace: Path) -> np.ndarray:
    """Distance between a vehicle and its navigator's set-point over a flight, without the start."""
    table = pq.read_table(trace)
    names = [f"{path}[{i}]" for path in ("body.p_NB_N", "navigator.position_set") for i in range(3)]
    here_and_there = np.array([table[name].to_numpy() for name in names])
    time_s = table["time_s"].to_numpy()
    error = np.linalg.norm(here_and_there[:3] - here_and_there[3:], axis=0)
    return np.asarray(error[time_s >= min(STATISTICS_AFTER_S, time_s[-1] / 2)])


def _row(
    vehicle: str, title: str, template: str, control: str, mission: str, current: bool, batch: BatchResult,
    errors: Sequence[np.ndarray],
) -> FleetRow:  # fmt: skip
    flights = batch.flights
    values = np.concatenate([*errors, np.zeros(0)])
    completed = [flight for flight in flights if flight.outcome.startswith(COMPLETED)]
    others = [flight for flight in flights if flight not in completed]
    return FleetRow(
        vehicle=vehicle, title=title, template=template, control=control, mission=mission, current=current,
        seeds=len(flights), completed=len(completed),
        lost=sum(flight.crashed or flight.verdict == ERROR for flight in flights),
        rms_m=float(np.sqrt(np.mean(values**2))) if len(values) else math.nan,
        worst_m=float(values.max()) if len(values) else math.nan,
        simulated_s=batch.simulated_s, wall_s=batch.kernel_s,
        endings=[f"seed {f.seed}: {f.sentence if f.verdict == ERROR else f.outcome}" for f in others],
    )  # fmt: skip


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
    """For JSON, which has no NaN."""
    data = asdict(row) | {"times_real_time": row.times_real_time}
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in data.items()}


def page(rows: Sequence[FleetRow]) -> str:
    """The table as a page of the documentation."""
    seeds = max((row.seeds for row in rows), default=0)
    lines = [
        "# The fleet",
        "",
        "Written by `make docs` with `ironbird fleet`. Every vehicle flies its own mission with its usual control and",
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
