"""The page of a comparison with a real record: verdicts, overlays, residuals, Bode plots; and its numbers as JSON."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.credibility.amounts import DEGREES, amount
from ironbird.credibility.compare import Bode, Comparison, Index, Pair
from ironbird.credibility.evidence import Standing
from ironbird.credibility.index import HIGH_MARK
from ironbird.credibility.skill import Skill, WrongModel
from ironbird.credibility.summary import WORTHLESS, count, skill_text, with_sign
from ironbird.files.json_text import json_text
from ironbird.files.whole import write_text
from ironbird.report.page import write_page
from ironbird.report.svg_plot import Curve, lines_plot

REAL, SIMULATED, LIMIT = "var(--text)", "var(--c1)", "var(--bad)"
MOST_RUNS = 5  # drawn


def write_credibility_page(
    comparison: Comparison, path: Path, *, title: str, levels: list[Standing] | None = None
) -> None:
    """Write the HTML page of a comparison; `levels` are the validation levels of the vehicle's modules."""
    write_page(path, "credibility.html.j2", _content(comparison, title, levels or []))


def write_credibility_json(comparison: Comparison, path: Path) -> None:
    """All numbers of a comparison, for programs."""
    write_text(path, json_text(credibility_numbers(comparison), "ironbird/credibility/1"))


def credibility_numbers(comparison: Comparison) -> dict[str, Any]:
    """The numbers of a comparison as plain data; missing values are None."""

    def three(value: tuple[float, float, float]) -> dict[str, float]:
        return dict(zip(("value", "low", "high"), value, strict=True))

    plan = comparison.plan
    return {
        "real": comparison.real.path.name,
        "simulated": [record.path.name for record in comparison.simulated],
        "window_s": list(comparison.window_s),
        "shift_s": [shift.seconds for shift in comparison.shifts],
        "correlation": [_number(shift.correlation) for shift in comparison.shifts],
        "pass_mark": plan.pass_mark,
        "mean": plan.mean,
        "weights": dict(plan.weights),
        "skill": _skill_numbers(comparison),
        "wrong_models": [_wrong_numbers(wrong) for wrong in comparison.wrong],
        "overall": None if comparison.worthless else three(comparison.overall),
        "classes": {name: three(value) for name, value in comparison.classes.items()},
        "smallest": {"test": comparison.smallest.test.name, "value": comparison.smallest.least},
        "passed": comparison.passed,
        "indices": [
            {
                "test": i.test.name,
                "class": i.test.kind,
                **three((i.value, i.low, i.high)),
                "error": i.error,
                "tolerance": i.tolerance,
                "unit": i.unit,
                "passed": i.passed,
                "runs": i.runs,
            }
            for i in comparison.indices
        ],
        "measures": [
            {"name": m.name, "signal": m.signal, "value": _number(m.value), "limit": m.limit, "passed": m.passed}
            for m in comparison.measures
        ],
        "events": [
            {
                "signal": e.signal,
                "unit": e.unit,
                "most": e.most,
                "at_s": e.at_s,
                "beyond_s": e.beyond_s,
                "longest_s": e.longest_s,
                "delay_s": e.delay_s,
                "rms_after_delay": e.best_rms,
            }
            for e in comparison.events
        ],
        "skipped": comparison.skipped,
        "notes": comparison.notes,
    }


def _skill_numbers(comparison: Comparison) -> dict[str, Any] | None:
    if comparison.skill is None:
        return None
    return {
        "against_no_change": _number(comparison.skill[0]),
        "against_straight_on": _number(comparison.skill[1]),
        "signals": [
            {
                "signal": s.signal,
                "unit": s.unit,
                "error": s.error,
                "no_change": s.unchanged,
                "straight_on": s.straight,
                "against_no_change": _number(s.against_unchanged),
                "against_straight_on": _number(s.against_straight),
            }
            for s in comparison.skills
        ],
    }


def _wrong_numbers(wrong: WrongModel) -> dict[str, Any]:
    return {
        "name": wrong.name,
        "distinguished": wrong.word,
        "signal": wrong.signal,
        "unit": wrong.unit,
        "change": wrong.change,
        "error": wrong.error,
        "wrong_error": wrong.wrong_error,
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _content(comparison: Comparison, title: str, levels: list[Standing]) -> dict[str, Any]:
    plan, smallest = comparison.plan, comparison.smallest
    total = sum(plan.weights.get(name, 0.0) for name in comparison.classes)
    return {
        "title": title,
        "passed": comparison.passed,
        "verdict": _verdict(comparison),
        "overall": "" if comparison.worthless else _range(*comparison.overall),
        "skills": [_skill_row(skill) for skill in comparison.skills],
        "wrong": [_wrong_row(wrong) for wrong in comparison.wrong],
        "smallest": f"{smallest.least:.3f} ({smallest.test.name})",
        "window": f"{comparison.window_s[0]:.2f} to {comparison.window_s[1]:.2f} s of {comparison.real.path.name}",
        "shifts": [f"{r.path.name}: {s}" for r, s in zip(comparison.simulated, comparison.shifts, strict=True)],
        "mean": {"rms": "root mean square", "arithmetic": "arithmetic mean"}[plan.mean],
        "mark": plan.pass_mark,
        "classes": [
            {
                "name": name,
                "value": _range(*value),
                "count": sum(index.test.kind == name for index in comparison.indices),
                "weight": f"{plan.weights.get(name, 0.0) / total:.2f}",
            }
            for name, value in comparison.classes.items()
        ],
        "indices": [_row(index) for index in comparison.indices],
        "measures": [
            {
                "name": m.name,
                "signal": m.signal,
                "value": f"{m.value:.4g}",
                "limit": m.limit,
                "word": {True: "pass", False: "fail", None: ""}[m.passed],
                "detail": m.detail,
            }
            for m in comparison.measures
        ],
        "events": [
            {
                "signal": e.signal,
                "most": amount(e.most, e.unit, 4),
                "at": f"{e.at_s:.2f} s",
                "limit": amount(e.tolerance, e.unit, 4),
                "beyond": f"{e.beyond_s:.2f} s",
                "longest": f"{e.longest_s:.2f} s",
                "delay": f"{e.delay_s * 1e3:+.0f} ms",
                "left": amount(e.best_rms, e.unit, 4),
            }
            for e in comparison.events
        ],
        "curves": [_curves(pair) for pair in comparison.pairs],
        "bodes": [_bode(bode) for bode in comparison.bodes],
        "skipped": comparison.skipped,
        "notes": comparison.notes,
        "levels": levels,
        "runs": len(comparison.simulated),
    }


def _verdict(comparison: Comparison) -> str:
    """The headline: skill first, then how many indices passed."""
    plan, smallest = comparison.plan, comparison.smallest
    if comparison.worthless:
        return f"{skill_text(comparison)}; {WORTHLESS}"
    verdict = count(comparison)
    if comparison.passed:
        high = smallest.least >= HIGH_MARK
        verdict += f": every index is at least {HIGH_MARK if high else plan.pass_mark:g}"
    return f"{skill_text(comparison)}; {verdict}" if comparison.skill is not None else verdict


def _skill_row(skill: Skill) -> dict[str, str]:
    return {
        "signal": skill.signal,
        "error": amount(skill.error, skill.unit, 4),
        "unchanged": amount(skill.unchanged, skill.unit, 4),
        "straight": amount(skill.straight, skill.unit, 4),
        "values": f"{with_sign(skill.against_unchanged)}, {with_sign(skill.against_straight)}",
        "word": "pass" if min(skill.against_unchanged, skill.against_straight) > 0 else "fail",
    }


def _wrong_row(wrong: WrongModel) -> dict[str, str]:
    shown = {"yes": "yes", "no": "cannot distinguish", "against": "nearer to the wrong one"}
    return {
        "name": wrong.name,
        "distinguished": shown[wrong.word],
        "word": {"yes": "pass", "no": "void", "against": "fail"}[wrong.word],
        "signal": wrong.signal,
        "error": amount(wrong.error, wrong.unit, 4),
        "wrong_error": amount(wrong.wrong_error, wrong.unit, 4),
    }


def _range(value: float, low: float, high: float) -> str:
    return f"{value:.3f} ({low:.3f} to {high:.3f})"


def _row(index: Index) -> dict[str, str]:
    two = index.test.kind == "frequency"
    return {
        "name": index.test.name,
        "kind": index.test.kind,
        "value": f"{index.value:.3f}",
        "interval": f"{index.low:.3f} to {index.high:.3f}",
        "error": "" if two else amount(index.error, index.unit, 4),
        "limit": "" if two else amount(index.tolerance, index.unit, 4),
        "word": "pass" if index.passed else "fail",
        "text": index.text,
    }


def _curves(pair: Pair) -> list[str]:
    unit, factor = DEGREES.get(pair.unit, (pair.unit, 1.0))
    shown = pair.simulated[:MOST_RUNS]
    simulated = [
        Curve(f"simulated {n}" if len(shown) > 1 else "simulated", pair.time_s, values * factor, SIMULATED)
        for n, values in enumerate(shown, 1)
    ]
    rest = [
        Curve("residual", pair.time_s, (values - pair.real) * factor, SIMULATED)
        for values in pair.simulated[:MOST_RUNS]
    ]
    real = Curve("real", pair.time_s, pair.real * factor, REAL)
    return [
        lines_plot(pair.signal.replace("_", " "), unit, [real, *simulated]),
        lines_plot(f"{pair.signal.replace('_', ' ')}: simulated - real", unit, rest),
    ]


def _bode(bode: Bode) -> dict[str, Any]:
    w = bode.real.frequency_radps

    def plot(title: str, unit: str, real: np.ndarray, simulated: np.ndarray) -> str:
        curves = [Curve("real", w, real, REAL), Curve("simulated", w, simulated, SIMULATED)]
        return lines_plot(title, unit, curves, decades=True)

    turns = 360 * round(float(np.mean(bode.real.phase_deg - bode.simulated.phase_deg)) / 360)
    return {
        "name": bode.test.name,
        "plots": [
            plot("magnitude over rad/s", "dB", bode.real.magnitude_dB, bode.simulated.magnitude_dB),
            plot("phase over rad/s", "°", bode.real.phase_deg, bode.simulated.phase_deg + turns),
            plot("coherence over rad/s", "", bode.real.coherence, bode.simulated.coherence),
        ],
    }
