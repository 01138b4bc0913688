"""The page of a campaign: one self-contained HTML file without scripts."""

from __future__ import annotations

import hashlib
import math
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.campaign.case import FlightCase
from ironbird.campaign.coverage import TraceRow, combinations, coverage
from ironbird.campaign.result import FlightResult
from ironbird.campaign.search import Map
from ironbird.campaign.store import Campaign, Store
from ironbird.campaign.summary import by_case, exit_code
from ironbird.credibility.evidence import Standing, standing
from ironbird.errors import IronbirdError
from ironbird.flight.derived import derived_from
from ironbird.flight.judge import FAIL, PASS, VERDICTS
from ironbird.report.page import write_page
from ironbird.report.svg_plot import line_plot, map_plot

MOST_FAILING = 40  # flights drawn on the page; the store has all
MOST_REACTIONS = 200
Json = dict[str, Any]
SHOWN = (  # derived signal, title, unit and factor of the plots of a flight
    ("height", "height", "m", 1.0),
    ("position_error", "distance from the set-point", "m", 1.0),
    ("speed", "speed", "m/s", 1.0),
    ("tilt", "tilt", "°", float(np.degrees(1.0))),
)


def write_campaign_page(
    store: Store,
    campaign: Campaign,
    path: Path,
    *,
    maps: Sequence[tuple[str, Map]] = (),
    trace: Sequence[TraceRow] = (),
) -> None:
    """Write the page of a campaign as far as it is flown."""
    write_page(path, "campaign.html.j2", _content(store, campaign, maps, trace))


def _content(store: Store, campaign: Campaign, maps: Sequence[tuple[str, Map]], trace: Sequence[TraceRow]) -> Json:
    results = store.results(campaign)
    cases = {case.id: case for case in store.cases(campaign)}
    counts = store.counts(campaign)
    pairs = [(cases[result.id], result) for result in results]
    notable = [r for r in results if r.verdict != PASS or not r.as_expected]
    notable.sort(key=lambda r: (r.as_expected, r.trace is None, _number(r.margin)))
    shown = notable[:MOST_FAILING]
    reacting = [{"id": r.id, "verdict": r.verdict, "texts": r.reactions} for r in results if r.reactions]
    anchors = {result.id: f"flight-{number}" for number, result in enumerate(shown)}
    judged = counts[PASS] + counts[FAIL]
    first = results[0].id if results else "FLIGHT"
    where = [] if store.url.startswith("sqlite") and "ironbird.db" in store.url else ["--store", store.url]
    return {
        "name": campaign.name,
        "title": campaign.title,
        "ok": counts["open"] == 0 and exit_code(results) == 0,
        "headline": ", ".join(f"{counts[v]} {v}" for v in (*VERDICTS, "open") if counts[v]) or "nothing flown",
        "counts": counts,
        "version": campaign.ironbird,
        "lead": [
            f"{sum(counts.values())} flights of {len({c.case_id for c in cases.values()})} cases",
            f"{sum(r.ended_s for r in results) / 3600:.2f} h in the air",
            f"{judged} judged on their requirements",
            f"begun {campaign.created}",
        ],
        "cases": [
            {
                "id": s.case_id,
                "verdicts": s.verdicts,
                "ok": s.as_expected,
                "margin": _show(s.worst.margin),
                "probability": s.probability.sentence(),
                "sentence": s.worst.sentence,
            }
            for s in by_case(results)
        ],
        "requirements": _requirements(results),
        "validation": [{"vehicle": name, "rows": rows} for name, rows in validation_of(cases.values()).items()],
        "matrix": _matrix(results, anchors),
        "trace": trace,
        "failing": [_flight(store, campaign, cases[r.id], r, anchors[r.id], where) for r in shown],
        "reactions": reacting[:MOST_REACTIONS],
        "hidden": len(notable) - len(shown),
        "show_command": f"ironbird campaign show {campaign.name}",
        "maps": [{"title": title, "svg": map_plot(found)} for title, found in maps],
        **_coverage(pairs),
        "repeat": shlex.join(["ironbird", "campaign", "rerun", campaign.name, first, *where]),
        "hashes": {"definition of all flights": campaign.digest, "results": _digest(results)},
    }


def _digest(results: Sequence[FlightResult]) -> str:
    """Of all logs and verdicts: equal campaigns have equal ones."""
    text = "\n".join(f"{r.id} {r.verdict} {r.sha256}" for r in results)
    return hashlib.sha256(text.encode()).hexdigest()


def validation_of(cases: Iterable[FlightCase]) -> dict[str, list[Standing]]:
    """What the evidence sheets say of the vehicles that were flown; a vehicle whose file is gone has no rows."""
    found: dict[str, list[Standing]] = {}
    for name in sorted({case.vehicle for case in cases}):
        try:
            found[Path(name).stem] = standing(name)
        except IronbirdError:
            found[Path(name).stem] = []
    return found


def _requirements(results: Sequence[FlightResult]) -> list[Json]:
    rows: dict[str, Json] = {}
    for result in results:
        for judgement in result.judgements:
            new = {"name": judgement.name, "severity": judgement.severity, "holds": 0, "vacuous": 0, "broken": 0}
            row = rows.setdefault(judgement.name, new | {"worst": math.inf, "flight": ""})
            row[judgement.status] += 1
            if judgement.margin < row["worst"]:
                row["worst"], row["flight"] = judgement.margin, result.id
    return [row | {"margin": _show(row["worst"])} for row in rows.values()]


def _matrix(results: Sequence[FlightResult], anchors: dict[str, str]) -> list[Json]:
    rows: dict[str, list[Json]] = {}
    for r in results:
        said = r.sentence if len(r.sentence) < 200 else r.sentence[:200] + "…"
        text = f"{r.id}: {r.verdict}, margin {_show(r.margin)}. {said}"
        cell = {"verdict": r.verdict, "ok": r.as_expected, "text": text, "anchor": anchors.get(r.id, "")}
        rows.setdefault(r.case_id, []).append(cell)
    return [{"id": case_id, "cells": cells} for case_id, cells in rows.items()]


def _flight(
    store: Store, campaign: Campaign, case: FlightCase, result: FlightResult, anchor: str, where: list[str]
) -> Json:
    values = ", ".join(f"{k} = {v:.5g}" if isinstance(v, float) else f"{k} = {v}" for k, v in result.values.items())
    return {
        "anchor": anchor,
        "id": result.id,
        "verdict": result.verdict,
        "outcome": result.outcome,
        "score": _show(result.score),
        "level": result.level,
        "sentence": result.sentence,
        "values": values,
        "plots": _plots(store.trace_folder(campaign.name), case, result),
        "sha256": result.sha256,
        "command": shlex.join(["ironbird", "campaign", "rerun", campaign.name, result.id, *where]),
    }


def _plots(folder: Path, case: FlightCase, result: FlightResult) -> list[str]:
    """Height, speed, tilt and distance from the set-point, from the trace if one was kept."""
    if result.trace is None or not (folder / result.trace).is_file():
        return []
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(folder / result.trace)
    except (OSError, ValueError):  # a damaged file costs its plots, not the report
        return []
    columns = {name: np.asarray(table[name]) for name in table.column_names}
    events = [w["first_s"] for w in result.witnesses if w["first_s"] is not None]
    events = events or [injection.start_s for injection in case.faults if not injection.when]
    plots = []
    for name, title, unit, factor in SHOWN:
        values = derived_from(columns, name)
        if values is not None:
            plots.append(line_plot(title, unit, columns["time_s"], factor * values, events))
    return [plot for plot in plots if plot]


def _coverage(pairs: Sequence[tuple[FlightCase, FlightResult]]) -> Json:
    found = coverage(pairs)
    modes = found.modes
    rows = []
    for case_summary in by_case([result for _, result in pairs]):
        flights = [result for _, result in pairs if result.case_id == case_summary.case_id]
        count = len({name for flight in flights for name in flight.values})
        if count:
            parts = [combinations(flights, t) for t in (1, 2) if t <= count]
            text = "; ".join(f"{p.covered} of {p.total} {'values' if p.strength == 1 else 'pairs'}" for p in parts)
            rows.append({"id": case_summary.case_id, "text": text})
    return {
        "modes": modes,
        "phases": [
            {"fault": fault, "counts": [counter[mode] for mode in modes], "failed": found.verdicts[fault][FAIL]}
            for fault, counter in sorted(found.phases.items())
        ],
        "transitions": [{"before": a, "after": b, "count": count} for (a, b), count in found.transitions.most_common()],
        "combinations": rows,
    }


def _number(value: float) -> float:
    return math.inf if math.isnan(value) else value


def _show(value: float) -> str:
    if math.isfinite(value):
        return f"{value:.4g}"
    return "none" if math.isnan(value) else "infinite" if value > 0 else "-infinite"
