"""Pages of tuning: step responses of several sets of gains on one axis, and Bode and Nichols plots of loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ironbird.model.signal import Number
from ironbird.report.page import write_page
from ironbird.report.svg_plot import Curve, field_plot, lines_plot
from ironbird.tuning.loops import Margins, Response
from ironbird.tuning.steps import Answer, Step

INKS = tuple(f"var(--c{i})" for i in range(6))
LEGEND = len(INKS)
CROSS = np.array([-190.0, -170.0, -180.0, -180.0, -180.0]), np.array([0.0, 0.0, 0.0, 8.0, -8.0])


FIGURES = (  # of a step response: name, unit, factor, what gives it
    ("overshoot", "%", 100.0, lambda answer: answer.overshoot),
    ("settled within 5 %", "s", 1.0, lambda answer: answer.settling_s),
    ("rise 10 to 90 %", "s", 1.0, lambda answer: answer.rise_s),
)


def sweep_plots(answers: Sequence[Answer], sets: Sequence[Mapping[str, Number]]) -> list[str]:
    """Plots over the swept parameters: curves over one, fields of numbers over two; more are in the table."""
    varied = [path for path in (sets[0] if sets else {}) if len({str(values.get(path)) for values in sets}) > 1]
    numbers = [[float(np.ravel(values[path])[0]) for values in sets] for path in varied]
    if len(varied) == 1 and len(answers) > 2:
        return [
            lines_plot(
                f"{name} ({unit}) over {varied[0]}",
                "",
                [Curve(name, np.array(numbers[0]), _figures(answers, get, factor))],
            )
            for name, unit, factor, get in FIGURES
        ]
    if len(varied) != 2:
        return []
    x, y = (sorted(set(values)) for values in numbers)
    plots = []
    for name, unit, factor, get in FIGURES:
        field = np.full((len(y), len(x)), math.nan)
        for value, a, b in zip(_figures(answers, get, factor), *numbers, strict=True):
            field[y.index(b), x.index(a)] = value
        plots.append(field_plot(f"{name} ({unit})", varied[0], varied[1], x, y, field))
    return plots


def _figures(answers: Sequence[Answer], get: Callable[[Answer], float], factor: float) -> np.ndarray:
    """One figure of every answer; NaN for those that did not fly."""
    return np.array([math.nan if answer.failure else factor * get(answer) for answer in answers])


def write_step_page(
    title: str, step: Step, answers: Mapping[str, Answer], path: Path, sets: Sequence[Mapping[str, Number]] = ()
) -> None:
    """Write the page of a step and the response for each set of parameters; `sets` adds plots over swept parameters."""
    lasting = max((answer.time_s[-1] for answer in answers.values() if len(answer.time_s)), default=1.0)
    size = next(iter(answers.values())).size
    set_point = Curve("set-point", np.array([0.0, lasting]), np.array([size, size]), "var(--muted)")
    curves = [
        Curve(name, answer.time_s, answer.value, INKS[number % LEGEND])
        for number, (name, answer) in enumerate(answers.items())
        if len(answer.time_s)
    ]
    rows = [
        {"name": name, "ink": INKS[number % LEGEND], "values": _words(answer), "failure": answer.failure}
        for number, (name, answer) in enumerate(answers.items())
    ]
    content = {
        "title": title,
        "kicker": "Step response",
        "lead": f"{step.name} by {size:g} {step.unit} from steady flight in calm air; read from the true motion",
        "heads": [
            "rise 10 to 90 %",
            "delay to 50 %",
            "overshoot",
            "settled within 5 %",
            "error at the end",
            "saturated",
        ],
        "rows": rows,
        "plots": [
            lines_plot(f"{step.name} ({step.unit}) over time (s)", "", [set_point, *curves]),
            *filter(None, sweep_plots(list(answers.values()), sets)),
        ],
        "note": "Saturated: share of the time in which an actuator was at a limit of its command.",
    }
    write_page(path, "tuning.html.j2", content)


def _words(answer: Answer) -> list[str]:
    def seconds(value: float) -> str:
        return "-" if math.isnan(value) else f"{value:.3f} s"

    def share(value: float) -> str:
        return "-" if math.isnan(value) else f"{100 * value:.1f} %"

    return [
        seconds(answer.rise_s), seconds(answer.delay_s), share(answer.overshoot), seconds(answer.settling_s),
        share(answer.error), share(answer.saturated),
    ]  # fmt: skip


def margin_words(margins: Margins) -> list[str]:
    """Margins as texts, in the order of `MARGINS`."""

    def number(value: float, form: str, unit: str) -> str:
        return "-" if math.isnan(value) else "any" if math.isinf(value) else f"{value:{form}} {unit}"

    return [
        number(margins.crossover_radps, ".2f", "rad/s"), number(margins.phase_deg, ".1f", "deg"),
        number(margins.gain_up_dB, ".1f", "dB"), number(margins.gain_down_dB, ".1f", "dB"),
        number(1e3 * margins.delay_s, ".1f", "ms"), f"{margins.sensitivity:.2f}",
        "stable" if margins.stable else "UNSTABLE",
    ]  # fmt: skip


MARGINS = (
    "crossover", "phase margin", "gain may rise by", "gain may fall by", "delay margin", "peak sensitivity",
    "closed loop",
)  # fmt: skip


def write_margins_page(title: str, responses: Sequence[Response], path: Path) -> None:
    """Write the page of loops broken at the actuators: margins, Bode and Nichols plots."""
    rows = [
        {"name": r.axis, "ink": INKS[i % LEGEND], "values": margin_words(r.margins), "failure": ""}
        for i, r in enumerate(responses)
    ]
    inks = {r.axis: INKS[i % LEGEND] for i, r in enumerate(responses)}
    curves = {
        "|L| (dB)": [np.clip(r.gain_dB, -60, 60) for r in responses],
        "phase of L (deg)": [r.phase_deg for r in responses],
    }
    bode = [
        lines_plot(
            f"{what} over frequency (rad/s)", "",
            [Curve(r.axis, r.frequency_radps, y, inks[r.axis]) for r, y in zip(responses, values, strict=True)],
            decades=True,
        )
        for what, values in curves.items()
    ]  # fmt: skip
    shown = [(r, np.abs(r.gain_dB) < 40) for r in responses]
    nichols = lines_plot(
        "Nichols: |L| (dB) over phase (deg)", "",
        [Curve(r.axis, r.phase_deg[near], r.gain_dB[near], inks[r.axis]) for r, near in shown]
        + [Curve("-180 deg, 0 dB", *CROSS, "var(--bad)")],
    )  # fmt: skip
    content = {
        "title": title,
        "kicker": "Loop margins",
        "lead": "broken at the actuators, from the exact linear model of steady flight, sampling and hold included",
        "heads": list(MARGINS),
        "rows": rows,
        "plots": [*bode, nichols],
        "note": "The controller sees the true state: lags of sensors and of an estimator are not in these margins.",
    }
    write_page(path, "tuning.html.j2", content)
