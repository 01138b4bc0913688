"""The page of a replay: whether estimates agree, where logs part first, and how far each topic is apart over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ironbird.replay.compare import LogComparison, Parting, TopicDifference
from ironbird.replay.replay import Replay
from ironbird.report.page import write_page
from ironbird.report.svg_plot import Curve, lines_plot

MOST_PLOTS = 24


def verdict_of(replay: Replay) -> str:
    """The outcome in one sentence."""
    comparison = replay.comparison
    if replay.void:
        return "void: a fault changed no logged value"
    if (beyond := comparison.beyond) is not None:
        return f"estimates part at {beyond.sentence()}"
    if not comparison.agrees:
        return "no estimates to compare, or some of them are missing"
    ended = next((one.ended for one in replay.played if one.ended), "")
    if ended:
        return f"it did not get all of the flight: {ended}"
    same = "equal, bit for bit" if comparison.parted is None else f"within {comparison.tolerance:g}"
    return f"estimates are {same}"


def replay_rows(replay: Replay) -> dict[str, str]:
    """Rows of the table of a replay."""
    recording, comparison = replay.recording, replay.comparison
    source = (
        "its record: every byte at its moment"
        if recording.exact
        else "its log: what PX4 kept of its sensors, at the rates of the log"
    )
    rows = {"flight": str(recording.log), "given": source, **recording.rows}
    for number, one in enumerate(replay.played, start=1):
        rows[f"program {number}" if len(replay.played) > 1 else "program"] = (
            f"{one.program.name} ({one.program.binary})"
        )
    if recording.digest:
        rows["build"] = "that of the flight" if replay.same_program else "another one than that of the flight"
    rows |= {text: acted.sentence() for text, acted in replay.acted.items()}
    samples = sum(topic.samples for topic in comparison.topics)
    rows["compared"] = (
        f"{replay.between[0]} and {replay.between[1]}: {len(comparison.topics)} topics, {samples} samples"
    )
    rows["compared"] += ", value by value" if comparison.exact else ", by the newest sample of the other log"
    if comparison.missing:
        rows["not in the second"] = ", ".join(comparison.missing)
    rows |= replay.figures
    rows["first difference"] = comparison.parted.sentence() if comparison.parted else "none: equal, bit for bit"
    rows["first estimate"] = (
        comparison.beyond.sentence() if comparison.beyond else f"none beyond {comparison.tolerance:g}"
    )
    if (largest := comparison.largest) is not None and largest.largest > 0:
        rows["largest"] = f"{largest.largest:.3g} of {largest.topic}.{largest.name} at {largest.at_s:.3f} s"
    for number, one in enumerate(replay.played, start=1):
        which = f" {number}" if len(replay.played) > 1 else ""
        rows |= {f"{name}{which}": text for name, text in one.figures.items()}
    return rows


def replay_data(replay: Replay) -> dict[str, Any]:
    """The outcome of a replay as data for JSON."""
    comparison = replay.comparison
    return {
        "agrees": replay.agrees,
        "void": replay.void,
        "exact_input": replay.recording.exact,
        "same_program": replay.same_program,
        "compared": list(replay.between),
        "tolerance": comparison.tolerance,
        "value_by_value": comparison.exact,
        "first_difference": _parting(comparison.parted),
        "first_estimate": _parting(comparison.beyond),
        "missing": comparison.missing,
        "faults": {text: vars(acted) for text, acted in replay.acted.items()},
        "programs": [
            {"name": one.program.name, "binary": str(one.program.binary), "log": str(one.log), "ended": one.ended}
            for one in replay.played
        ],
        "topics": {
            topic.topic: {
                "samples": topic.samples,
                "unpaired": topic.unpaired,
                "estimate": comparison.is_estimate(topic.topic),
                "largest": topic.largest,
                "field": topic.name,
                "first_difference": _parting(topic.parted),
            }
            for topic in comparison.topics
        },
    }


def _parting(parting: Parting | None) -> dict[str, Any] | None:
    return vars(parting) if parting is not None else None


def write_replay_page(replay: Replay, path: Path) -> None:
    """Write the HTML page of a replay."""
    comparison = replay.comparison
    estimates = [topic for topic in comparison.topics if comparison.is_estimate(topic.topic)]
    by_time = sorted(comparison.topics, key=lambda topic: topic.parted.time_s if topic.parted else np.inf)
    parted = [topic for topic in estimates if topic.largest > 0]
    content = {
        "title": f"Replay of {replay.recording.log.name}",
        "verdict": "void" if replay.void else "pass" if replay.agrees else "fail",
        "sentence": verdict_of(replay),
        "rows": replay_rows(replay),
        "topics": [_row(topic, comparison) for topic in by_time],
        "plots": [_plot(topic, comparison) for topic in sorted(parted, key=lambda one: -one.largest)[:MOST_PLOTS]],
        "more": max(len(parted) - MOST_PLOTS, 0),
    }
    write_page(path, "replayed.html.j2", content)


def _row(topic: TopicDifference, comparison: LogComparison) -> dict[str, Any]:
    return {
        "topic": topic.topic,
        "estimate": comparison.is_estimate(topic.topic),
        "samples": topic.samples,
        "unpaired": topic.unpaired,
        "largest": f"{topic.largest:.3g}" if topic.largest else "0",
        "field": topic.name if topic.largest else "",
        "first": topic.parted.sentence() if topic.parted else "equal",
    }


def _plot(topic: TopicDifference, comparison: LogComparison) -> str:
    """The difference over time in decades, the tolerance as a line."""
    shown = np.isfinite(topic.differences) & (topic.differences > 0)
    size = np.log10(topic.differences[shown])
    level = np.full(2, np.log10(comparison.tolerance))
    ends = topic.time_s[[0, -1]]
    curves = [
        Curve(topic.topic, topic.time_s[shown], size, "var(--c1)"),
        Curve("tolerance", ends, level, "var(--muted)"),
    ]
    return lines_plot(topic.topic, "log10 of the difference", curves)
