"""Margins of requirements as people read them: with their unit, in degrees where the requirement is written so."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from ironbird.flight.judge import Judgement

SEVERITIES = ("critical", "major", "minor")  # the worst first
DEGREES = {"rad": "deg", "rad/s": "deg/s"}
WRITTEN = {"m", "m/s", "m/s^2", "rad", "rad/s", "deg", "deg/s", "s", "N", "V", "A", "Pa", "K"}
LIMIT = re.compile(r"[<>]=?\s*-?[\d.]+(?:e-?\d+)?\s*([A-Za-z%/^\d]*)")


def by_severity(judgements: Iterable[Judgement]) -> list[Judgement]:
    """Broken requirements: the most severe first, of these the one that broke first."""
    broken = [j for j in judgements if j.status == "broken"]
    ranks = {name: rank for rank, name in enumerate(SEVERITIES)}
    return sorted(broken, key=lambda j: (ranks.get(j.severity, len(ranks)), math.isnan(j.broken_s), j.broken_s))


def unit_of(judgement: Judgement) -> str:
    """SI unit of a margin: as it was judged, else that of the formula's limits if all have the same; else empty."""
    if judgement.unit not in ("", "1"):
        return judgement.unit
    units = set(LIMIT.findall(judgement.formula))
    unit = units.pop() if len(units) == 1 else ""
    return {"deg": "rad", "deg/s": "rad/s"}.get(unit, unit) if unit in WRITTEN else ""


def scale_of(judgement: Judgement) -> tuple[float, str]:
    """Factor from SI to the unit in which a margin is shown, and that unit: degrees if the formula has degrees."""
    unit = unit_of(judgement)
    if unit in DEGREES and re.search(rf"\d\s*{DEGREES[unit]}\b", judgement.formula):
        return math.degrees(1.0), DEGREES[unit]
    return 1.0, unit


def margin_text(judgement: Judgement) -> str:
    """A margin with its unit."""
    factor, unit = scale_of(judgement)
    return (
        f"{number_text(factor * judgement.margin)} {unit}".strip()
        if math.isfinite(judgement.margin)
        else (number_text(judgement.margin))
    )


def number_text(value: float) -> str:
    """A number of four digits, or its word."""
    if math.isfinite(value):
        return f"{value:.4g}"
    return "none" if math.isnan(value) else "∞" if value > 0 else "-∞"
