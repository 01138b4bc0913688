"""The page of a log as one HTML file that opens from disk, without a network."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from ironbird.protocols.flight_log import ERROR, INFO, WARNING, FlightLog, spans
from ironbird.report.log.plots import LEAST_HZ, LogPlots, message_rows
from ironbird.report.log.summary import counted, findings, followed, sentence, setting, summary_rows
from ironbird.report.page import hash_source, script_text, write_page

BADGES = {ERROR: "fail", WARNING: "void", INFO: "plain"}
UNITS = {"position": "m", "velocity": "m/s", "attitude": "°", "rates": "°/s"}
MOST_MESSAGES = 2000


def write_log_page(log: FlightLog, path: Path) -> None:
    """Write the page of a log."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        content = _content(log)
    write_page(path, "log.html.j2", content)


def _content(log: FlightLog) -> dict[str, Any]:
    plots = LogPlots(log)
    found = findings(log)
    scripts = script_text("plots.js"), script_text("scene.js", "replay.js", "flight.js")
    panels = plots.motion(), plots.power(), plots.sensors(), plots.estimator()
    rows = summary_rows(log)
    rows.pop("messages", None)
    messages = message_rows(log)
    return {
        "title": log.path.name,
        "about": ", ".join(log.facts[key] for key in ("vehicle", "firmware", "hardware") if key in log.facts),
        "sentence": sentence(log),
        "badges": _badges(log),
        "lead": _lead(log),
        "findings": [(BADGES[one.level], one.level, _moment(one.time_s), one.text) for one in found],
        "summary": [(key[:1].upper() + key[1:], text) for key, text in rows.items()],
        "where": plots.where(),
        "has_replay": "replay" in plots.figures,
        "timeline": plots.timeline(),
        "motion": panels[0],
        "power": panels[1],
        "sensors": panels[2],
        "estimator": panels[3],
        "slow": _slow(log),
        "followed": [
            (loop, axis, f"{rms:.3g} {UNITS[loop]}", f"{most:.3g} {UNITS[loop]}")
            for loop, axis, rms, most in followed(log)
        ],
        "modes": [(name, f"{start:.2f}", f"{end - start:.1f}") for start, end, name in spans(log.modes, log.length_s)],
        "messages": [(BADGES[level], level, at_s, text) for at_s, level, text in messages[:MOST_MESSAGES]],
        "more_messages": max(len(messages) - MOST_MESSAGES, 0),
        "states": [(f"{one.time_s:.2f}", one.kind, one.text) for one in log.states[:MOST_MESSAGES]],
        "changed": [
            (f"{one.time_s:.2f}", one.name, "" if one.before is None else setting(one.before), setting(one.after))
            for one in log.changed
        ],
        "non_default": [(name, setting(value), setting(usual)) for name, value, usual in log.non_default()],
        "has_defaults": log.defaults is not None,
        "parameters": [(name, setting(value)) for name, value in sorted(log.parameters.items())],
        "topics": [
            (one.name, len(one.time_s), f"{one.rate_hz:.3g}", ", ".join(one.fields))
            for one in sorted(log.topics, key=lambda one: one.name)
        ],
        "kind": log.kind,
        "what": log.what,
        "file": log.path.name,
        "figures": plots.figures,
        "time_range": plots.range,
        "version": metadata.version("ironbird"),
        "written": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "scripts": [Markup(script) for script in scripts],
        "script_hashes": Markup(" ".join(map(hash_source, scripts))),
    }  # fmt: skip


def _moment(time_s: float) -> tuple[str, str]:
    """A time for the script, and for people; empty where there is none."""
    return ("", "") if math.isnan(time_s) else (f"{time_s:.3f}", f"{time_s:.1f} s")


def _badges(log: FlightLog) -> list[tuple[str, str]]:
    found = []
    for level in (ERROR, WARNING):
        count = sum(one.level == level for one in log.messages)
        if count:
            found.append((BADGES[level], counted(count, level)))
    return found or [("pass", "no errors or warnings")]


def _lead(log: FlightLog) -> list[str]:
    pieces = [log.what]
    if log.is_simulated:
        pieces.append("a simulated flight")
    if log.started is not None:
        pieces.append(f"began {log.started:%Y-%m-%d %H:%M:%S} UTC")
    return [*pieces, summary_rows(log)["length"]]


def _slow(log: FlightLog) -> str:
    """Why there is no spectrum, if there is an accelerometer."""
    series = log.series.get("acceleration")
    if series is None or len(series) < 2:
        return ""
    rate_hz = 1 / float(np.median(np.diff(series.time_s)))
    if rate_hz >= LEAST_HZ:
        return ""
    return (
        f"The accelerometer was logged at {rate_hz:.0f} Hz: a spectrum of vibration needs {LEAST_HZ:.0f} Hz at least."
    )
