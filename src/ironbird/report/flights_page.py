"""Several recorded flights on one page: their orders, results, curves, and where they differ."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.errors import RunError
from ironbird.files.problems import read_toml
from ironbird.flight.derived import derived
from ironbird.report.page import write_page
from ironbird.report.svg_plot import Curve, lines_plot, track_plot
from ironbird.runtime.log import Log
from ironbird.runtime.parquet_log import read_log
from ironbird.vehicles import places as at

INKS = tuple(f"var(--c{i})" for i in range(6))
SHOWN = (  # signal, entry, name, unit, factor
    (at.BODY.position, 2, "height", "m", -1.0),
    (at.BODY.velocity, 0, "speed north", "m/s", 1.0),
    (at.BODY.velocity, 1, "speed east", "m/s", 1.0),
    (at.BODY.euler, 0, "roll", "deg", 180 / np.pi),
    (at.BODY.euler, 1, "pitch", "deg", 180 / np.pi),
    (at.BODY.euler, 2, "yaw", "deg", 180 / np.pi),
    (at.BODY.rates, 0, "roll rate", "deg/s", 180 / np.pi),
    (at.BODY.rates, 1, "pitch rate", "deg/s", 180 / np.pi),
)
MOST_PARTED = 12  # signals that are named


@dataclass(frozen=True)
class Kept:
    """One recorded flight, read from its folder."""

    name: str
    order: Mapping[str, Any]
    summary: Mapping[str, Any]
    log: Log


def read_flight(folder: Path) -> Kept:
    """Read a flight's folder, as `ironbird fly` and other commands write it."""
    try:
        order = read_toml((folder / "order.toml").read_text(encoding="utf-8"))
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        if not isinstance(summary, dict):
            raise ValueError("summary.json is no table")
    except (OSError, ValueError, RecursionError) as error:
        why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else error
        raise RunError(f"{folder} is not the folder of a flight: {why}; give one that 'ironbird fly' wrote") from None
    return Kept(folder.name, order, summary, read_log(folder / "flight.parquet"))


@dataclass(frozen=True)
class Parting:
    """The difference of two flights in one signal."""

    signal: str
    unit: str
    first_s: float  # first row in which they are not equal
    most: float
    most_s: float


def partings(a: Log, b: Log) -> list[Parting]:
    """Signals of both logs that differ at common times, sorted by the time of the first difference."""
    times, rows_a, rows_b = np.intersect1d(np.round(a.time_s, 9), np.round(b.time_s, 9), return_indices=True)
    rows = []
    for path, signal in a.plan.signals.items():
        if path not in b or b.plan.signals[path].size != signal.size or not len(times):
            continue
        off = np.abs(a[path].reshape(len(a.time_s), -1)[rows_a] - b[path].reshape(len(b.time_s), -1)[rows_b]).max(
            axis=1
        )
        unequal = np.flatnonzero(~(off == 0))
        if len(unequal):
            worst = int(np.nanargmax(off)) if np.isfinite(off).any() else int(unequal[0])
            rows.append(Parting(path, signal.unit, float(times[unequal[0]]), float(off[worst]), float(times[worst])))
    return sorted(rows, key=lambda parting: (parting.first_s, parting.signal))


def ordered_differently(flights: Sequence[Kept]) -> dict[str, list[str]]:
    """Keys of the orders whose values differ, with the value of each flight."""
    flat = [dict(_leaves(flight.order)) for flight in flights]
    keys = list(dict.fromkeys(key for one in flat for key in one))
    rows = {key: [one.get(key, "-") for one in flat] for key in keys}
    return {key: values for key, values in rows.items() if len(set(values)) > 1}


def _leaves(table: Mapping[str, Any], before: str = "") -> list[tuple[str, str]]:
    rows = []
    for key, value in table.items():
        if isinstance(value, dict):
            rows += _leaves(value, f"{before}{key}.")
        else:
            rows.append((f"{before}{key}", str(value)))
    return rows


def write_flights_page(flights: Sequence[Kept], path: Path) -> None:
    """Write the HTML page that compares several flights."""
    inks = [INKS[i % len(INKS)] for i in range(len(flights))]
    rows = [key for flight in flights for key in flight.summary if key not in ("schema", "figures")]
    plots = [
        track_plot(
            "from above, east and north (m)",
            [Curve(f.name, f.log[at.BODY.position][:, 1], f.log[at.BODY.position][:, 0], ink)
             for f, ink in zip(flights, inks, strict=True) if at.BODY.position in f.log],
        )
    ]  # fmt: skip
    for signal, entry, name, unit, factor in SHOWN:
        curves = [
            Curve(f.name, f.log.time_s, factor * f.log[signal][:, entry], ink)
            for f, ink in zip(flights, inks, strict=True)
            if signal in f.log
        ]
        plots.append(lines_plot(f"{name} ({unit}) over time (s)", "", curves))
    errors = [
        Curve(f.name, f.log.time_s, derived(f.log, "position_error"), ink)
        for f, ink in zip(flights, inks, strict=True)
        if at.NAVIGATOR.position_set in f.log and at.BODY.position in f.log
    ]
    plots.insert(1, lines_plot("distance from the set-point (m) over time (s)", "", errors))
    parted = partings(flights[0].log, flights[1].log)
    content = {
        "title": " and ".join(flight.name for flight in flights),
        "names": [{"name": f.name, "ink": ink} for f, ink in zip(flights, inks, strict=True)],
        "ordered": ordered_differently(flights),
        "rows": {key: [str(f.summary.get(key, "-")) for f in flights] for key in dict.fromkeys(rows)},
        "partings": parted[:MOST_PARTED],
        "more": max(0, len(parted) - MOST_PARTED),
        "plots": [plot for plot in plots if plot],
    }
    write_page(path, "flights.html.j2", content)
