"""A flight as one HTML page that opens from disk without a network: results, plots, and how to repeat it.

Values are shown in SI units; angles in degrees, which exist only here. Curves are thinned for the screen, with their
peaks kept; the log files hold every row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from ironbird.campaign.margins import margin_text
from ironbird.errors import LinkError, UnknownNameError
from ironbird.faults.spec import Injection
from ironbird.flight.flight import Flight
from ironbird.flight.judge import Judgement
from ironbird.report.flight.curves import Json
from ironbird.report.flight.estimates import estimate_panels
from ironbird.report.flight.parameters import overrides, parameter_groups
from ironbird.report.flight.paths import path_figures
from ironbird.report.flight.plots import Plots
from ironbird.report.flight.repeat import command, mission_text, notes
from ironbird.report.flight.section import sections
from ironbird.report.flight.signals import signal_panels, witness_figure
from ironbird.report.flight.story import story
from ironbird.report.flight.timeline import timeline
from ironbird.report.flight.tuning import followed_rows, limit_rows, spectrum_panels, step_rows
from ironbird.report.page import hash_source, script_text, write_page

if TYPE_CHECKING:
    from ironbird.flight.autopilot_estimate import AutopilotEstimate

# Rows that a comparison with healthy flights gives
CAUSED = r"effect \d+|first divergence|caused( \d+| later)?|carried by|ending"
EFFECT = re.compile(r"(?P<kind>[^:]+): (?P<text>.*), (?P<after>-?[\d.]+ s after \S+)")


@dataclass(frozen=True)
class Origin:
    """The campaign of a flight, and the relative path of its page."""

    flight_id: str
    campaign: str
    title: str
    report: str = ""


def write_flight_page(
    flight: Flight,
    path: str | Path,
    autopilot: AutopilotEstimate | LinkError | None = None,
    origin: Origin | None = None,
    more: Mapping[str, str] | None = None,
    *,
    flies: bool = False,
) -> None:
    """Write the page of a flight as one self-contained HTML file.

    Parameters
    ----------
    flight : Flight
        The flight.
    path : str or Path
        File to write.
    autopilot : AutopilotEstimate or LinkError, optional
        The autopilot's own log beside the truth, or why there is none although there should be.
    origin : Origin, optional
        The campaign that the page leads back to.
    more : mapping of str, optional
        Further rows of the summary; those of a healthy twin are shown as what the faults caused.
    flies : bool, default False
        The page holds the kernel as WebAssembly, and flies the flight again in the reader's browser.

    Examples
    --------
    >>> ib.write_flight_page(flight, "flight.html")  # doctest: +SKIP
    """
    with np.errstate(over="ignore", invalid="ignore"):  # a diverged run may hold any number
        content = _content(flight, autopilot, more or {})
    healthy = "healthy/flight.html" if (Path(path).parent / "healthy" / "flight.html").is_file() else ""
    content |= _flying(flight, content["scripts"]) if flies else {"again": None}
    write_page(Path(path), "flight.html.j2", {**content, "origin": origin, "healthy": healthy})


def _flying(flight: Flight, scripts: list[Markup]) -> Json:
    """Values of a page that can fly: the section, and one script more that the browser may run."""
    from ironbird.report.flight.again import again

    all_scripts = [*scripts, Markup(script_text("again.js"))]
    hashes = Markup(" ".join(map(hash_source, all_scripts)))
    return {"again": again(flight), "scripts": all_scripts, "script_hashes": hashes}


def _autopilot_section(autopilot: AutopilotEstimate | LinkError | None, plots: Plots) -> Json | None:
    """The section on the autopilot's own log; its drawing code is loaded only if there is such a log."""
    if autopilot is None:
        return None
    from ironbird.report.flight.autopilot import autopilot_section

    return autopilot_section(autopilot, plots)


def _content(flight: Flight, autopilot: AutopilotEstimate | LinkError | None, more: Mapping[str, str]) -> Json:
    """All values that the template shows."""
    plots = Plots(flight)
    spec = flight.vehicle.spec
    groups = parameter_groups(spec)
    rows = [row for _, rows in groups for row in rows]
    scripts = script_text("plots.js"), script_text("scene.js", "replay.js", "flight.js")
    return {
        "title": spec.title or spec.id,
        "vehicle": flight.order.vehicle,
        "about": spec.summary,
        "badge": {"kind": flight.verdict, "text": flight.verdict},
        "outcome": flight.outcome,
        "lead": _lead(flight),
        "summary": _summary(flight, more),
        "requirements": [_requirement(judgement) for judgement in flight.judged.judgements],
        "why": flight.judged.sentence,
        "story": story(plots),
        "faults": [_fault(plots, number, fault) for number, fault in enumerate(plots.faults, start=1)],
        "twin": _twin_sentence(flight),
        "caused": _caused(more),
        "path_figures": path_figures(plots),
        "timeline": timeline(plots),
        "panels": signal_panels(plots),
        "estimates": estimate_panels(plots),
        "followed": followed_rows(plots),
        "steps": step_rows(plots),
        "limits": limit_rows(plots),
        "spectra": spectrum_panels(plots),
        "log_hz": _log_hz(flight),
        "autopilot": _autopilot_section(autopilot, plots),
        "sections": list(sections(flight)),
        "rows": flight.log.rows(),
        "command": command(flight.order),
        "notes": notes(flight),
        "said": [(f"{h.time_s:.2f}", h.kind, h.text) for h in flight.autopilot_events],
        "repeats": flight.repeats,
        "mission_text": mission_text(flight.order),
        "sha256": flight.sha256,
        "model_hash": flight.model.model_hash,
        "groups": groups,
        "count": len(rows),
        "assumed": sum(row["kind"] == "assumed" for row in rows),
        "overrides": overrides(flight),
        "figures": plots.figures,
        "time_range": plots.range,
        "version": metadata.version("ironbird"),
        "written": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "scripts": [Markup(script) for script in scripts],
        "script_hashes": Markup(" ".join(map(hash_source, scripts))),
    }


def _log_hz(flight: Flight) -> float:
    """Rows of the log per second."""
    return round(1 / flight.order.log_s)


def _lead(flight: Flight) -> list[str]:
    """The conditions of the flight as short texts."""
    wind = flight.order.weather
    pieces = [flight.mission_title or "mission without a title"]
    pieces.append(f"wind {wind.speed_mps:g} m/s from {wind.from_deg:g}°" if wind.speed_mps else "no steady wind")
    if wind.turbulence_mps:
        pieces.append(f"turbulence of {wind.turbulence_mps:g} m/s at 20 ft")
    if wind.gust_mps:
        pieces.append(f"gust of {wind.gust_mps:g} m/s at {wind.gust_start_s:g} s")
    count = len(flight.order.faults)
    pieces.append(f"{count} fault{'s' if count > 1 else ''}" if count else "no faults")
    return [*pieces, f"seed {flight.order.seed}"]


def _summary(flight: Flight, more: Mapping[str, str]) -> list[tuple[str, str]]:
    """The summary without rows that other sections of the page show."""
    try:
        rows = flight.summary()
    except UnknownNameError:  # a log that lacks the signals of the figures
        rows = {"vehicle": flight.vehicle.id, "mission": flight.mission_title, "outcome": flight.outcome}
        rows["seed"] = str(flight.order.seed)
    hidden = r"(fault|witness) \d+|sha256|verdict"
    if _is_compared(more):  # what merely came next says less than what the twin shows
        hidden += rf"|afterwards \d+|{CAUSED}"
    return [
        (key[:1].upper() + key[1:], text) for key, text in {**rows, **more}.items() if not re.fullmatch(hidden, key)
    ]


def _is_compared(more: Mapping[str, str]) -> bool:
    """Whether the rows come from a comparison with a healthy twin."""
    return any(key.startswith("caused") for key in more) or "first divergence" in more


def _caused(more: Mapping[str, str]) -> Json | None:
    """What the twin shows: facts as key and text, and effects as delay, kind and text; None without a twin."""
    if not _is_compared(more):
        return None
    facts, effects = [], []
    for key, text in more.items():
        effect = EFFECT.fullmatch(text)
        if re.fullmatch(r"caused \d+", key) and effect is not None:
            effects.append((effect["after"], effect["kind"], effect["text"]))
        elif re.fullmatch(CAUSED, key):
            facts.append((key[:1].upper() + key[1:], text))
    return {"facts": facts, "effects": effects}


def _requirement(judgement: Judgement) -> Json:
    """A row of the table of requirements; unknown values are empty."""
    margin = margin_text(judgement) if math.isfinite(judgement.margin) else ""
    sentence = judgement.sentence or (f"not put to the test: {judgement.untested}" if judgement.untested else "")
    return {
        "name": judgement.name,
        "formula": judgement.formula,
        "severity": judgement.severity,
        "margin": margin,
        "status": judgement.status,
        "moment": f"{judgement.time_s:.2f} s" if math.isfinite(judgement.time_s) else "",
        "sentence": sentence[:1].upper() + sentence[1:],
    }


def _fault(plots: Plots, number: int, injection: Injection) -> Json:
    """An ordered fault with the evidence of its effect."""
    witnesses = plots.flight.witnesses
    witness = witnesses[number - 1] if number <= len(witnesses) else None
    sentence = witness.effect() if witness else "no witness was taken"
    return {
        "number": number,
        "order": injection.text(),
        "about": injection.fault.summary,
        "severity": f"severity {injection.severity:g}: {injection.fault.severity}",
        "trigger": _trigger_sentence(injection, plots.triggered[number - 1]),
        "sentence": sentence[:1].upper() + sentence[1:],
        "effective": witness is not None and witness.effective,
        "figure": witness_figure(plots, number, injection),
    }


def _trigger_sentence(injection: Injection, triggered_s: float) -> str:
    """When the condition of a fault was first true; empty for a fault without a condition."""
    if not injection.when:
        return ""
    if math.isinf(triggered_s):
        return f"Its condition, {injection.when}, never held: the fault was not triggered"
    begin = f"; the fault began {injection.start_s:g} s later" if injection.start_s else ""
    return f"Triggered at {triggered_s:.2f} s, when {injection.when} first held{begin}"


def _twin_sentence(flight: Flight) -> str:
    if flight.twin is None:
        return ""
    stop = flight.twin.stops[0]
    end = ", to the end" if stop is None else f": {stop.reason} at {stop.time_s:.2f} s"
    text = f"The healthy twin flew the same mission in the same wind{end}. A witness is the difference between the two."
    if len(flight.order.faults) > 1:
        text += " With several faults, each witness is the difference to a twin that lacks that fault alone."
    return text
