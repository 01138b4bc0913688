"""The page of a campaign: one self-contained HTML file.

Unexpected results come first; then the verdicts by case and requirement at a glance, margins over the varied
parameters, and every flight in a table that can be filtered and sorted. A small script of this project does that; the
page can be read without it.
"""

from __future__ import annotations

import hashlib
import json
import math
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from markupsafe import Markup

from ironbird.campaign.case import FlightCase
from ironbird.campaign.coverage import TraceRow, case_coverage, coverage
from ironbird.campaign.fault_coverage import fault_coverage, not_flown
from ironbird.campaign.identity import earlier_meaning
from ironbird.campaign.margins import by_severity, margin_text, number_text, scale_of
from ironbird.campaign.result import FlightResult, worst_key
from ironbird.campaign.search import Map
from ironbird.campaign.store import Campaign, Store
from ironbird.campaign.summary import by_case, exit_code, sampled_cases
from ironbird.credibility.evidence import Standing, standing
from ironbird.errors import IronbirdError, shortened
from ironbird.flight.derived import derived_from
from ironbird.flight.words import FAIL, PASS, VERDICTS
from ironbird.report.log.summary import duration
from ironbird.report.page import hash_source, script_text, write_page
from ironbird.report.svg_plot import Point, histogram_plot, line_plot, map_plot, scatter_plot

MOST_FAILING = 40  # flights drawn on the page; the store has all
MOST_ROWS = 2000  # flights that the table shows without scripts; the script adds the rest
MOST_PLOTS = 6  # of one case's margins
MOST_VARIED = 12  # cases whose margins are drawn
SYMBOLS = {"holds": "✓", "broken": "✗", "vacuous": "○"}  # not by colour alone
MOST_REACTIONS = 200
MOST_NOT_FLOWN = 100  # faults of the catalogue that are listed because they were not flown
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
    """Write the page of a campaign, complete or in progress."""
    write_page(path, "campaign.html.j2", _content(store, campaign, maps, trace, path.parent))


def flight_folder(report: Path, flight_id: str) -> Path:
    """Folder of a flight's page, below the folder of its campaign's report."""
    return report / "flights" / flight_id.replace("/", "_")


def worst_first(results: Sequence[FlightResult]) -> list[FlightResult]:
    """Results sorted: unexpected ones first, of these the worst."""
    return sorted(results, key=lambda r: (r.as_expected, r.verdict == PASS, worst_key(r), r.trace is None))


def _content(
    store: Store, campaign: Campaign, maps: Sequence[tuple[str, Map]], trace: Sequence[TraceRow], folder: Path
) -> Json:
    results = store.results(campaign)
    cases = {case.id: case for case in store.cases(campaign)}
    counts = store.counts(campaign)
    pairs = [(cases[result.id], result) for result in results]
    notable = worst_first([r for r in results if r.verdict != PASS or not r.as_expected])
    shown = notable[:MOST_FAILING]
    anchors = {result.id: f"flight-{number}" for number, result in enumerate(shown)}
    pages = {r.id: _page_of(folder, r.id) for r in results}
    judged = counts[PASS] + counts[FAIL]
    first = results[0].id if results else "FLIGHT"
    where = [] if store.url.startswith("sqlite") and "ironbird.db" in store.url else ["--store", store.url]
    summaries = by_case(results, sampled=sampled_cases(campaign.source, results))
    titles = {case.case_id: case.title for case in cases.values()}
    wrong = [r for r in results if not r.as_expected]
    return {
        "name": campaign.name,
        "title": campaign.title,
        "ok": counts["open"] == 0 and exit_code(results) == 0 and not earlier_meaning(campaign.ironbird),
        "headline": ", ".join(f"{counts[v]} {v}" for v in (*VERDICTS, "open") if counts[v]) or "nothing flown",
        "counts": counts,
        "version": campaign.ironbird,
        "lead": [
            *filter(None, [earlier_meaning(campaign.ironbird)]),
            f"{sum(counts.values())} flights of {len({c.case_id for c in cases.values()})} cases",
            f"{duration(sum(r.ended_s for r in results))} of flight",
            f"{judged} judged on their requirements",
            f"begun {campaign.created[:16].replace('T', ' ')} UTC",
        ],
        "wrong": len(wrong),
        "groups": _groups(wrong, titles, anchors, pages),
        "cases": [
            {
                "id": s.case_id,
                "title": titles[s.case_id] if titles[s.case_id] != s.case_id else "",
                "verdicts": s.verdicts,
                "ok": s.as_expected,
                "margin": _margin(s.worst),
                "expected": s.as_expected and any(n for verdict, n in s.verdicts.items() if verdict != PASS),
                "failures": s.failures(),
                "worst": s.worst.id,
                "page": pages[s.worst.id],
                "anchor": anchors.get(s.worst.id, ""),
                "sentence": reason_of(s.worst),
            }
            for s in sorted(summaries, key=lambda s: (s.as_expected, worst_key(s.worst)))
        ],
        "glance": _glance(results, titles, anchors),
        "requirements": _requirements(results),
        "validation": [{"vehicle": name, "rows": rows} for name, rows in validation_of(cases.values()).items()],
        "matrix": _matrix(results, anchors),
        "varied": _margins(results, titles),
        "flights": [_row(r, titles, anchors, pages) for r in worst_first(results)[:MOST_ROWS]],
        "unlisted": max(0, len(results) - MOST_ROWS),
        "rest": _rest(worst_first(results)[MOST_ROWS:]),
        "trace": trace,
        "failing": [_flight(store, campaign, cases[r.id], r, anchors[r.id], where, pages[r.id]) for r in shown],
        "reactions": _reacting(results)[:MOST_REACTIONS],
        "hidden": len(notable) - len(shown),
        "show_command": f"ironbird campaign show {campaign.name}",
        "pages_command": shlex.join(["ironbird", "campaign", "report", campaign.name, "--pages", "failed", *where]),
        "paged": any(pages.values()),
        "maps": [{"title": title, "svg": map_plot(map_, title)} for title, map_ in maps],
        **_coverage(campaign, list(cases.values()), pairs),
        "repeat": shlex.join(["ironbird", "campaign", "rerun", campaign.name, first, *where]),
        "hashes": {"definition of all flights": campaign.digest, "results": _digest(results)},
        "symbols": SYMBOLS,
        "script": Markup(script_text("campaign.js")),
        "script_hash": Markup(hash_source(script_text("campaign.js"))),
    }


def _reacting(results: Sequence[FlightResult]) -> list[Json]:
    """What control systems outside did after faults, or what none of the healthy flights did."""
    return [
        {
            "id": r.id,
            "verdict": r.verdict,
            "healthy": r.healthy,
            "texts": [*(f"{step['fault']} {step['sentence']}" for step in r.steps), *r.caused]
            if r.healthy
            else r.reactions,
        }
        for r in results
        if r.reactions or r.healthy
    ]


def _page_of(folder: Path, flight_id: str) -> str:
    """Relative link to the page of a flight; empty if it was not written."""
    page = flight_folder(folder, flight_id) / "flight.html"
    return quote(page.relative_to(folder).as_posix()) if page.is_file() else ""


def reason_of(result: FlightResult) -> str:
    """The reason of a flight's verdict in one line: the most severe broken requirement, and the names of the others."""
    broken = by_severity(result.judgements)
    if result.verdict != FAIL or not broken:
        return shortened(result.sentence, 200)
    first, *others = broken
    more = f"; also broken: {shortened(', '.join(j.name for j in others), 120)}" if others else ""
    return shortened(f"{first.name}: {first.sentence}", 200) + more


def _margin(result: FlightResult) -> str:
    """The smallest margin of a flight, with the unit of the requirement that it belongs to."""
    nearest = next((j for j in result.judgements if j.margin == result.margin), None)
    return margin_text(nearest) if nearest is not None else number_text(result.margin)


def _groups(
    wrong: Sequence[FlightResult], titles: dict[str, str], anchors: dict[str, str], pages: dict[str, str]
) -> list[Json]:
    """Unexpected flights, grouped by case, verdict and most severe broken requirement."""
    groups: dict[tuple[str, str, str], list[FlightResult]] = {}
    for result in worst_first(wrong):
        broken = by_severity(result.judgements)
        groups.setdefault((result.case_id, result.verdict, broken[0].name if broken else ""), []).append(result)
    return [
        {**_row(flights[0], titles, anchors, pages), "count": len(flights)}
        for flights in sorted(groups.values(), key=lambda flights: -len(flights))
    ]


def _row(result: FlightResult, titles: dict[str, str], anchors: dict[str, str], pages: dict[str, str]) -> Json:
    """A flight as a row of the table of all flights."""
    return {
        "id": result.id,
        "case": result.case_id,
        "title": _title(titles[result.case_id], result),
        "verdict": result.verdict,
        "ok": result.as_expected,
        "expected": _is_expected(result),
        "margin": _margin(result),
        "number": _sorted_by(result),
        "values": _values(result),
        "reason": reason_of(result),
        "anchor": anchors.get(result.id, ""),
        "page": pages[result.id],
    }


def _rest(results: Sequence[FlightResult]) -> str:
    """Flights beyond those that are written as rows, as JSON for the page's script, which lists them on demand."""
    rows = [
        [r.verdict, r.case_id, r.id, _sorted_by(r), _margin(r), _values(r), reason_of(r), _is_expected(r)]
        for r in results
    ]
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")  # must not end the script


def _sorted_by(result: FlightResult) -> str:
    """The margin as the script sorts it."""
    return f"{_number(result.margin):.9g}" if math.isfinite(_number(result.margin)) else "1e300"


def _is_expected(result: FlightResult) -> bool:
    """Whether a flight did not pass, as its case says."""
    return result.verdict != PASS and result.as_expected


def _title(title: str, result: FlightResult) -> str:
    """The title of a flight's case; empty if it says no more than the ids."""
    return "" if title in (result.case_id, result.id) else title


def _values(result: FlightResult) -> str:
    return ", ".join(f"{k} = {v:.5g}" if isinstance(v, float) else f"{k} = {v}" for k, v in result.values.items())


def _glance(results: Sequence[FlightResult], titles: dict[str, str], anchors: dict[str, str]) -> Json:
    """Cases by requirements: how many flights broke each, and how near the others came; the worst rows first."""
    names = list(dict.fromkeys(j.name for r in results for j in r.judgements))
    rows: dict[str, dict[str, Json]] = {}
    for r in results:
        row = rows.setdefault(r.case_id, {})
        for j in r.judgements:
            cell = row.setdefault(
                j.name, {"holds": 0, "vacuous": 0, "broken": 0, "worst": math.inf, "flight": "", "margin": "∞"}
            )
            cell[j.status] += 1
            if j.margin < cell["worst"]:
                cell["worst"], cell["flight"], cell["margin"] = j.margin, r.id, margin_text(j)
    unjudged = {case: sum(r.case_id == case and not r.judgements for r in results) for case in rows}
    table = []
    for case, row in rows.items():
        cells = []
        for name in names:
            if name not in row:
                cells.append({"status": "none", "text": "", "said": f"{case} does not ask for {name}", "anchor": ""})
                continue
            cell = row[name]
            total = cell["holds"] + cell["vacuous"] + cell["broken"]
            status = "broken" if cell["broken"] else "vacuous" if not cell["holds"] else "holds"
            count = f" {cell['broken']}/{total}" if cell["broken"] and total > 1 else ""
            text = f"{name} in {case}: {cell['holds']} hold, {cell['broken']} broken, "
            text += f"{cell['vacuous']} not put to the test; "
            text += f"smallest margin {cell['margin']} in {cell['flight']}"
            anchor = anchors.get(cell["flight"], "")
            cells.append({"status": status, "text": SYMBOLS[status] + count, "said": text, "anchor": anchor})
        broken = sum(cell["broken"] for cell in row.values())
        table.append({"id": case, "title": titles[case], "cells": cells, "broken": broken, "errors": unjudged[case]})
    return {"names": names, "rows": sorted(table, key=lambda row: -(row["broken"] + row["errors"]))}


def margin_plots(requirement: str, flights: Sequence[FlightResult], varied: Sequence[str]) -> list[str]:
    """Histogram of a requirement's margins, and its margins over varied parameters; none if it is only a flag."""
    judged = [(f, j) for f in flights for j in f.judgements if j.name == requirement]
    if len({round(j.margin, 9) for _, j in judged}) < 3:  # a flag has two values: the table shows it
        return []
    factor, unit = next((scale for _, j in judged if (scale := scale_of(j))[1]), (1.0, ""))
    words = f"{requirement}: margin" + (f" ({unit})" if unit else "")
    verdicts = [(factor * j.margin, "fail" if j.margin < 0 else PASS) for _, j in judged]
    plots = [histogram_plot(requirement, unit, verdicts)]
    for name in varied:
        points = [
            Point(
                f.values[name],
                factor * j.margin,
                f.verdict,
                f"{f.id}: {f.verdict}, {_values(f)}, margin {margin_text(j)}",
            )
            for f, j in judged
            if name in f.values
        ]
        plots.append(scatter_plot(words, name, points))
    return plots


def _margins(results: Sequence[FlightResult], titles: dict[str, str]) -> list[Json]:
    """Histogram of each requirement's margins, and its margins over each varied parameter, case by case."""
    groups: dict[str, list[FlightResult]] = {}
    for result in results:
        groups.setdefault(result.case_id, []).append(result)
    plots_by_case: list[Json] = []
    for case, flights in groups.items():
        names = list(dict.fromkeys(name for flight in flights for name in flight.values))
        varied = [name for name in names if len({f.values.get(name) for f in flights}) > 1]
        if len(flights) < 3:
            continue
        plots = []
        for requirement in dict.fromkeys(j.name for f in flights for j in f.judgements):
            plots += margin_plots(requirement, flights, varied)
        if not any(plots) and varied:  # flags alone: which values fail
            for name in varied:
                points = [
                    Point(f.values[name], f.score, f.verdict, f"{f.id}: {f.verdict}, {_values(f)}, score {f.score:.3g}")
                    for f in flights
                    if name in f.values
                ]
                plots.append(scatter_plot("score (1 safe, 0 lost)", name, points))
        drawn = [plot for plot in plots if plot]
        if drawn:
            failed = sum(f.verdict != PASS for f in flights)
            plots_by_case.append({
                "id": case, "title": titles[case], "plots": drawn[:MOST_PLOTS], "failed": failed, "count": len(flights),
                "left_out": max(0, len(drawn) - MOST_PLOTS),
            })  # fmt: skip
    plots_by_case.sort(key=lambda row: -row["failed"])
    return plots_by_case[:MOST_VARIED]


def _digest(results: Sequence[FlightResult]) -> str:
    """Hash of all logs and verdicts: equal campaigns have equal hashes."""
    text = "\n".join(f"{r.id} {r.verdict} {r.sha256}" for r in results)
    return hashlib.sha256(text.encode()).hexdigest()


def validation_of(cases: Iterable[FlightCase]) -> dict[str, list[Standing]]:
    """Evidence sheets of the vehicles that were flown, by vehicle; empty for a vehicle whose file is gone."""
    sheets: dict[str, list[Standing]] = {}
    for name in sorted({case.vehicle for case in cases}):
        try:
            sheets[Path(name).stem] = standing(name)
        except IronbirdError:
            sheets[Path(name).stem] = []
    return sheets


def _requirements(results: Sequence[FlightResult]) -> list[Json]:
    rows: dict[str, Json] = {}
    for result in results:
        for judgement in result.judgements:
            new = {"name": judgement.name, "severity": judgement.severity, "holds": 0, "vacuous": 0, "broken": 0}
            row = rows.setdefault(judgement.name, new | {"worst": math.inf, "flight": "", "margin": "∞"})
            row[judgement.status] += 1
            if judgement.margin < row["worst"]:
                row["worst"], row["flight"], row["margin"] = judgement.margin, result.id, margin_text(judgement)
    return list(rows.values())


def _matrix(results: Sequence[FlightResult], anchors: dict[str, str]) -> list[Json]:
    rows: dict[str, list[Json]] = {}
    for r in results:
        sentence = r.sentence if len(r.sentence) < 200 else r.sentence[:200] + "…"
        text = f"{r.id}: {r.verdict}, margin {_margin(r)}. {sentence}"
        cell = {"verdict": r.verdict, "ok": r.as_expected, "text": text, "anchor": anchors.get(r.id, "")}
        rows.setdefault(r.case_id, []).append(cell)
    return [{"id": case_id, "cells": cells} for case_id, cells in rows.items()]


def _flight(
    store: Store, campaign: Campaign, case: FlightCase, result: FlightResult, anchor: str, where: list[str], page: str
) -> Json:
    return {
        "anchor": anchor,
        "id": result.id,
        "title": _title(case.title, result),
        "expected": _is_expected(result),
        "ok": result.as_expected,
        "page": page,
        "verdict": result.verdict,
        "outcome": result.outcome,
        "score": number_text(result.score),
        "level": result.level,
        "sentence": result.sentence,
        "values": _values(result),
        "plots": _plots(store.trace_folder(campaign.name), case, result),
        "sha256": result.sha256,
        "command": shlex.join(["ironbird", "campaign", "rerun", campaign.name, result.id, *where]),
    }


def _plots(folder: Path, case: FlightCase, result: FlightResult) -> list[str]:
    """Plots of height, speed, tilt and distance from the set-point, from the trace if one was kept."""
    if result.trace is None or not (folder / result.trace).is_file():
        return []
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(folder / result.trace)
    except (OSError, ValueError):  # a damaged file loses its plots, not the report
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


def _coverage(
    campaign: Campaign, cases: Sequence[FlightCase], pairs: Sequence[tuple[FlightCase, FlightResult]]
) -> Json:
    covered, results = coverage(pairs), [result for _, result in pairs]
    modes, faults = covered.modes, fault_coverage(cases, results)
    plans = case_coverage(campaign.source, cases, results)
    return {
        "modes": modes,
        "phases": [
            {"fault": fault, "counts": [counter[mode] for mode in modes], "failed": covered.verdicts[fault][FAIL]}
            for fault, counter in sorted(covered.phases.items())
        ],
        "transitions": [
            {"before": a, "after": b, "count": count} for (a, b), count in covered.transitions.most_common()
        ],
        "plans": [
            {"id": plan.id, "flown": plan.flown, "planned": plan.planned, "text": plan.sentence()} for plan in plans
        ],
        "faults": {"flown": sum(row.flights > 0 for row in faults), "total": len(faults)},
        "not_flown": [
            {"vehicle": vehicle, "fault": fault, "parts": ", ".join(parts)}
            for (vehicle, fault), parts in not_flown(faults).items()
        ][:MOST_NOT_FLOWN],
        "coverage_command": f"ironbird campaign coverage {campaign.name} --full",
    }


def _number(value: float) -> float:
    return math.inf if math.isnan(value) else value
