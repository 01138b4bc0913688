"""A flight as one HTML page that opens from disk, without a network, and shows what happened and how to repeat it.

Values are shown in SI units; angles in degrees, which exist only here. Curves are thinned for the screen, with their
peaks kept; the log files hold every row.
"""

from __future__ import annotations

import base64
import fnmatch
import functools
import json
import math
import re
import shlex
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

import ironbird
from ironbird.blocks.controllers.navigator import FAILSAFES, MODES
from ironbird.errors import LinkError, RunError, UnknownNameError
from ironbird.faults.spec import Injection
from ironbird.flight.belief import Belief
from ironbird.flight.flight import ALIASES, Flight
from ironbird.flight.mission import ON_BOARD, Mission, load_mission, mission_names
from ironbird.model.signal import Number
from ironbird.report.autopilot_section import autopilot_section
from ironbird.runtime import predicate
from ironbird.runtime.record import Log
from ironbird.vehicles.load import CATALOG
from ironbird.vehicles.spec import VehicleSpec

TEMPLATES = Path(__file__).parent / "templates"
MAX_POINTS = 2000  # of one curve on the screen
MAX_SPANS = 60  # shaded pieces of one intermittent fault; with more, the whole window is shaded
SHOWN = 1e30  # larger numbers (a diverged run) are left out of plots
INKS = 8  # colours of curves, defined in the template as --c0 … --c7
DEFAULT_LOG_S = 0.02  # of `ironbird fly`
FLIGHT, TWIN = 0, 1  # lanes
FAINT_POINTS = 1000  # of one curve of a measurement
STALE_S = 1.0  # a measurement that is not renewed for so long is left out of its plot
START_UP_S = 1.0  # a sensor may be left out for so long after the start: it has not measured yet
CLOSED_GAP = 1 / 400  # of the time axis: shorter gaps between two pieces of one span would not be seen
MODE_INKS = (  # of MODES, in their order
    "var(--idle)", "var(--c6)", "var(--c5)", "var(--c0)", "var(--c3)", "var(--c2)", "var(--c7)", "var(--c1)",
    "var(--bad)", "var(--c5)", "var(--c4)", "var(--c0)", "var(--c4)",
)  # fmt: skip
SENSORS = {"imu": "IMU", "mag": "magnetometer", "baro": "barometer", "gnss": "GNSS receiver"}
REJECTED = ("GNSS position", "GNSS velocity", "magnetic field", "barometer")  # of the port `estimator.rejected`
AXES_B = ("x, forward", "y, right", "z, down")

Json = dict[str, Any]
_Span = tuple[float, float, str, str]  # start, end, text, colour
_Row = tuple[str, list[_Span]]


OUTSIDE = {"PX4": "sitl px4", "ArduPilot": "sitl ardupilot", "flight controller": "hil"}  # verbs


def write_flight_page(flight: Flight, path: Path, belief: Belief | LinkError | None = None) -> None:
    """Write the page of a flight as one self-contained HTML file.

    `belief` is the autopilot's own log beside the truth, or why there is none although there should be.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    with np.errstate(over="ignore", invalid="ignore"):  # a diverged run may hold any number
        content = _content(flight, belief)
    page = environment.get_template("flight.html.j2").render(**content)
    Path(path).write_text(page, encoding="utf-8")


def _content(flight: Flight, belief: Belief | LinkError | None) -> Json:
    """Everything that the template shows."""
    plots = Plots(flight)
    spec = flight.vehicle.spec
    groups = parameter_groups(flight.vehicle.spec)
    rows = [row for _, rows in groups for row in rows]
    return {
        "title": spec.title or spec.id,
        "about": spec.summary,
        "badge": _badge(flight),
        "outcome": flight.outcome,
        "lead": _lead(flight),
        "summary": _summary(flight),
        "faults": _faults(flight, plots),
        "twin": _twin_sentence(flight),
        "path_figures": plots.path(),
        "timeline": plots.timeline(),
        "panels": plots.panels(),
        "estimates": plots.estimates(),
        "belief": autopilot_section(belief, plots),
        "rows": flight.log.rows(),
        "command": command(flight),
        "notes": _notes(flight),
        "said": [(f"{h.time_s:.2f}", h.kind, h.text) for h in flight.happenings],
        "repeats": not flight.happenings,
        "mission_text": _mission_text(flight),
        "sha256": flight.sha256,
        "model_hash": flight.model.model_hash,
        "groups": groups,
        "count": len(rows),
        "assumed": sum(row["kind"] == "assumed" for row in rows),
        "overrides": _overrides(flight),
        "figures": plots.figures,
        "time_range": plots.range,
        "version": ironbird.__version__,
        "plotly": Markup(_plotly_js()),
    }


@functools.cache
def _plotly_js() -> str:
    return str(get_plotlyjs())


# ---------------------------------------------------------------------- words


def _badge(flight: Flight) -> Json:
    if flight.void:
        return {"kind": "interrupted", "text": "void"}
    if flight.log.interrupted:
        return {"kind": "interrupted", "text": "interrupted"}
    return {"kind": "survived", "text": "survived"} if flight.survived else {"kind": "crash", "text": "crash"}


def _lead(flight: Flight) -> list[str]:
    """The conditions, in short pieces."""
    wind = flight.wind
    pieces = [flight.mission.title or "mission without a title"]
    pieces.append(f"wind {wind.speed_mps:g} m/s from {wind.from_deg:g}°" if wind.speed_mps else "no steady wind")
    if wind.turbulence_mps:
        pieces.append(f"turbulence of {wind.turbulence_mps:g} m/s at 20 ft")
    count = len(flight.injections)
    pieces.append(f"{count} fault{'s' if count > 1 else ''}" if count else "no faults")
    return [*pieces, f"seed {flight.seed}"]


def _summary(flight: Flight) -> list[tuple[str, str]]:
    """The summary without what the page shows elsewhere."""
    try:
        rows = flight.summary()
    except UnknownNameError:  # a log that lacks the signals of the figures
        rows = {
            "vehicle": flight.vehicle.id, "mission": flight.mission.title, "outcome": flight.outcome,
            "seed": str(flight.seed),
        }  # fmt: skip
    hidden = re.compile(r"(fault|witness) \d+|sha256")
    return [(key[:1].upper() + key[1:], text) for key, text in rows.items() if not hidden.fullmatch(key)]


def _faults(flight: Flight, plots: Plots) -> list[Json]:
    """Each ordered fault with what its witness says."""
    found = []
    for number, injection in enumerate(flight.injections, start=1):
        witness = flight.witnesses[number - 1] if number <= len(flight.witnesses) else None
        sentence = witness.sentence().partition(": ")[2] if witness else "no witness was taken"
        found.append(
            {
                "number": number,
                "order": fault_order(injection),
                "about": injection.fault.summary,
                "severity": f"severity {injection.severity:g}: {injection.fault.severity}",
                "trigger": _trigger_sentence(injection, plots.triggered[number - 1]),
                "sentence": sentence[:1].upper() + sentence[1:],
                "effective": witness is not None and witness.effective,
                "figure": plots.witness(number, injection),
            }
        )
    return found


def _trigger_sentence(injection: Injection, triggered_s: float) -> str:
    """When the condition of a fault first held; nothing without a condition."""
    if not injection.when:
        return ""
    if math.isinf(triggered_s):
        return f"Its condition, {injection.when}, never held: the fault was not triggered"
    begin = f"; the fault began {injection.start_s:g} s later" if injection.start_s else ""
    return f"Triggered at {triggered_s:.2f} s, when {injection.when} first held{begin}"


def _twin_sentence(flight: Flight) -> str:
    if not _has_twin(flight):
        return ""
    stop = flight.log.stops[TWIN] if len(flight.log.stops) > TWIN else None
    end = ", to the end" if stop is None else f": {stop.reason} at {stop.time_s:.2f} s"
    text = f"The healthy twin flew the same mission in the same wind{end}. A witness is the difference between the two."
    if len(flight.injections) > 1:
        text += " With several faults, each witness is the difference to a twin that lacks that fault alone."
    return text


def _has_twin(flight: Flight) -> bool:
    return bool(flight.injections) and flight.log.lanes > TWIN


# ---------------------------------------------------------------------- how to repeat


def exact(value: float) -> str:
    """A number in its shortest form that reads back to the same bits."""
    short = f"{value:g}"
    return short if float(short) == float(value) else repr(float(value))


def fault_order(injection: Injection) -> str:
    """A fault as ordered on the command line; unlike `describe`, without rounding."""
    parts = [f"instance={injection.instance}"] if injection.fault.counts_instances else []
    if injection.axis is not None:
        parts.append(f"axis={injection.axis}")
    parts += [f"severity={exact(injection.severity)}", f"start={exact(injection.start_s)}"]
    if math.isfinite(injection.end_s):
        parts.append(f"end={exact(injection.end_s)}")
    if injection.shape != "step":
        parts.append(f"shape={injection.shape}")
    if injection.shape == "ramp":
        parts.append(f"rise={exact(injection.rise_s)}")
    if injection.shape == "intermittent":
        parts += [f"period={exact(injection.period_s)}", f"duty={exact(injection.duty)}"]
    if injection.when:  # the last: a predicate may hold commas and equal signs
        parts.append(f"when={injection.when}")
    return f"{injection.fault.id}:{','.join(parts)}"


def command(flight: Flight) -> str:
    """The command that flies this flight again, bit for bit."""
    vehicle = flight.vehicle
    name = vehicle.id if vehicle.path.parent == CATALOG else str(vehicle.path)
    wind = flight.wind
    outside = OUTSIDE.get(flight.control)
    words = [] if flight.mission == ON_BOARD else [("--mission", _mission_name(flight.mission) or "mission.toml")]
    words.append(("--vehicle", name) if outside else ("--control", _control(flight)))
    if wind.speed_mps or wind.from_deg:
        words.append(("--wind", f"{exact(wind.speed_mps)},{exact(wind.from_deg)}"))
    if wind.turbulence_mps:
        words.append(("--turbulence", exact(wind.turbulence_mps)))
    words.append(("--seed", str(flight.seed)))
    words += [("--set", f"{path}={_setting(value)}") for path, value in flight.settings.items()]
    words += [("--fault", fault_order(injection)) for injection in flight.injections]
    until = _until(flight)
    if until is not None:
        words.append(("--until", exact(until)))
    if flight.tunings:
        words.append(("--replay", "tunings.json"))
    verb = f"ironbird {outside}" if outside else f"ironbird fly {shlex.quote(name)}"
    verb += flight.log.meta.get("ironbird.cable", "")
    lines = [verb, *(f"{key} {shlex.quote(value)}" for key, value in words)]
    return " \\\n    ".join(lines)


def _control(flight: Flight) -> str:
    """What flew the vehicle, as the model has it."""
    return "reference" if "estimator.p_NB_N" in flight.model.flat.log.signals else "truth"


def _setting(value: Number) -> str:
    array = np.asarray(value, dtype=float)
    return exact(float(array)) if array.ndim == 0 else json.dumps(array.tolist(), separators=(",", ":"))


def _mission_name(mission: Mission) -> str:
    """Name of a built-in mission, or nothing."""
    return next((name for name in mission_names() if load_mission(name) == mission), "")


def _mission_text(flight: Flight) -> str | None:
    """The mission's file, if it is neither a built-in one nor one that we do not know."""
    known = flight.mission == ON_BOARD or _mission_name(flight.mission)
    return None if known else mission_toml(flight.mission)


def _until(flight: Flight) -> float | None:
    """The ordered end of the flight, if it is not the mission's own."""
    if flight.stop is not None or flight.log.interrupted:
        return None
    if flight.control in OUTSIDE:  # an autopilot ends a flight itself
        return None if any(what.kind == "finished" for what in flight.happenings) else flight.ended_s
    mission = flight.mission
    if mission.duration_s is not None:
        own = mission.duration_s
    else:
        cruise = flight.settings.get("navigator.cruise_speed", mission.cruise_speed_mps)
        if cruise is None:
            cruise = float(flight.vehicle.diagram.value("navigator.cruise_speed")[0])
        own = mission.longest_s(float(np.asarray(cruise)))
    return None if abs(own - flight.ended_s) < flight.model.step_s else flight.ended_s


def _notes(flight: Flight) -> list[str]:
    """What the command does not say."""
    notes = []
    log_s = flight.log.plan.every * flight.log.plan.step_s
    if abs(log_s - DEFAULT_LOG_S) > 1e-9:
        notes.append(f"The log has a row every {log_s:g} s; the hash is that of these rows.")
    if flight.log.interrupted:
        notes.append("The flight was interrupted by hand: the command flies it to its end.")
    if flight.tunings:
        notes.append("Parameters were changed during the flight; tunings.json, beside the log, holds these changes.")
    if _mission_text(flight) is not None:
        notes.append("The mission is not a built-in one. Save the text below as mission.toml.")
    return notes


def mission_toml(mission: Mission) -> str:
    """A mission as the text of its file."""
    lines = ["schema = 1", f"title = {json.dumps(mission.title, ensure_ascii=False)}"]
    if mission.duration_s is not None:
        lines.append(f"duration_s = {float(mission.duration_s)!r}")
    if mission.cruise_speed_mps is not None:
        lines.append(f"cruise_speed_mps = {float(mission.cruise_speed_mps)!r}")
    for item in mission.item:
        lines += ["[[item]]", f'kind = "{item.kind}"']
        lines += [
            f"{key} = {value!r}" for key, value in item.model_dump(exclude={"kind"}, exclude_defaults=True).items()
        ]
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------------- parameters


def parameter_groups(spec: VehicleSpec) -> list[tuple[str, list[Json]]]:
    """The vehicle file's values by table, each with where it comes from."""
    head = {"schema_version", "id", "title", "template", "summary", "provenance"}
    written = {key for key, _ in _leaves(spec.model_dump(exclude=head, exclude_unset=True))}
    groups: dict[str, list[Json]] = {}
    for key, value in _leaves(spec.model_dump(exclude=head)):
        kind, detail = _provenance(spec.provenance, key)
        if key not in written and key not in spec.provenance:  # a pattern speaks for what is in the file
            kind, detail = "default", "not in the vehicle file"
        elif not kind and isinstance(value, str):
            kind = "choice"
        row = {"key": key, "value": _show(value), "kind": kind or "not stated", "detail": detail}
        groups.setdefault(key.partition(".")[0], []).append(row)
    return sorted(groups.items(), key=lambda group: group[0] in ("home", "environment"))  # the surroundings last


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys of all values; equal parts in a list are numbered from 1."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        for number, inner in enumerate(value, start=1):
            yield from _leaves(inner, f"{path}.{number}")
    elif value is not None:
        yield path, value


def _provenance(provenance: dict[str, str], key: str) -> tuple[str, str]:
    text = provenance.get(key)
    if text is None:
        text = next((source for pattern, source in provenance.items() if fnmatch.fnmatchcase(key, pattern)), "")
    kind, _, detail = text.partition(":")
    return kind.strip(), detail.strip()


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return exact(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_show, value))}]"
    return str(value)


def _overrides(flight: Flight) -> list[Json]:
    """Parameters that were set for this flight alone."""
    rows = []
    known = flight.model.params()
    for path, value in flight.settings.items():
        name, _, index = path.partition("[")
        signal = known.get(name)
        base = "unknown"
        if signal is not None:
            column = flight.vehicle.diagram.value(name)
            if index:
                column = column[[int(index.rstrip("]"))]]
            base = _show(column.tolist() if column.size > 1 else float(column[0]))
        unit = signal.unit if signal is not None and signal.unit != "1" else ""
        rows.append({"path": path, "base": base, "value": _show(np.asarray(value, float).tolist()), "unit": unit})
    return rows


# ---------------------------------------------------------------------- curves


def thin(time_s: np.ndarray, values: np.ndarray, limit: int = MAX_POINTS) -> tuple[np.ndarray, np.ndarray]:
    """At most `limit` points of a curve: the least and the greatest of each short stretch, the first and the last."""
    if len(time_s) <= limit:
        return time_s, values
    stretch = math.ceil(len(time_s) / (limit // 2 - 1))
    count = math.ceil(len(time_s) / stretch)
    padded = np.full(count * stretch, np.nan)
    padded[: len(values)] = values
    table = padded.reshape(count, stretch)
    first = stretch * np.arange(count)
    lowest = first + np.where(np.isnan(table), np.inf, table).argmin(axis=1)
    highest = first + np.where(np.isnan(table), -np.inf, table).argmax(axis=1)
    kept = np.unique(np.concatenate([[0], lowest, highest, [len(time_s) - 1]]))
    return time_s[kept], values[kept]


def _break_turns(time_s: np.ndarray, degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An angle without the strokes from +180 to -180 degrees."""
    jumps = np.flatnonzero(np.abs(np.diff(degrees)) > 180.0) + 1
    return np.insert(time_s, jumps, time_s[jumps]), np.insert(degrees, jumps, np.nan)


def _packed(values: np.ndarray) -> Json:
    """Numbers as plotly reads them in base64; single precision is enough for a screen."""
    shown = np.where(np.abs(values) < SHOWN, values, np.nan).astype("<f4")
    return {"dtype": "f4", "bdata": base64.b64encode(shown.tobytes()).decode()}


def runs(time_s: np.ndarray, values: np.ndarray, end_s: float) -> list[tuple[float, float, float]]:
    """Stretches of equal value: start, end, value. The last one lasts until `end_s`; no number is shown as -1."""
    if not len(values):
        return []
    values = np.where(np.isfinite(values), values, -1.0)
    first = np.concatenate([[0], np.flatnonzero(np.diff(values) != 0) + 1])
    starts = time_s[first].tolist()
    return list(zip(starts, [*starts[1:], max(end_s, starts[-1])], values[first].tolist(), strict=True))


def flag_pieces(time_s: np.ndarray, flags: np.ndarray, end_s: float, gap_s: float = 0.0) -> list[tuple[float, float]]:
    """Stretches in which a flag is up; gaps shorter than `gap_s` are closed."""
    pieces: list[tuple[float, float]] = []
    for start, end, up in runs(time_s, (flags > 0.5).astype(float), end_s):
        if up and pieces and start - pieces[-1][1] < gap_s:
            pieces[-1] = (pieces[-1][0], end)
        elif up:
            pieces.append((start, end))
    return pieces


def triggered_times(flight: Flight) -> list[float]:
    """When the condition of each fault first held: zero without a condition, infinity if it never did.

    Read from the rows of the log, so late by one row at most. A condition that held between two rows only shows in what
    the fault did.
    """
    found = []
    for number, injection in enumerate(flight.injections):
        time_s = _first_held(flight, injection.when) if injection.when else 0.0
        witness = flight.witnesses[number] if number < len(flight.witnesses) else None
        if injection.when and witness is not None and witness.effective:
            time_s = min(time_s, max(witness.first_s - injection.start_s, 0.0))
        found.append(time_s)
    return found


def _first_held(flight: Flight, text: str) -> float:
    """The first row of the log at which a predicate holds; infinity if there is none."""
    log, words = flight.log, {name: float(number) for number, name in enumerate(MODES)}
    place = {int(row): column for column, row in enumerate(log.plan.index)}
    rows = log.rows(FLIGHT)
    try:
        wanted = predicate.parse_predicate(text, flight.model, words, ALIASES)
    except RunError:  # the log is of another model
        return math.inf
    stack: list[np.ndarray] = []
    for op, number in wanted.code:
        if op == predicate.PUSH_SIGNAL:
            if number not in place:
                return math.inf
            stack.append(log.data[0, :rows, place[number], FLIGHT])
        elif op == predicate.PUSH_CONSTANT:
            stack.append(np.full(rows, wanted.constants[number]))
        elif op in _UNARY:
            stack.append(_UNARY[op](stack.pop()))
        else:
            right, left = stack.pop(), stack.pop()
            stack.append(_BINARY[op](left, right))
    holds = np.flatnonzero(stack[-1])
    return float(log.time()[holds[0]]) if holds.size else math.inf


_UNARY: dict[int, np.ufunc] = {predicate.NOT: np.logical_not, predicate.ABS: np.abs}
_BINARY: dict[int, np.ufunc] = {
    predicate.LESS: np.less, predicate.LESS_EQUAL: np.less_equal, predicate.GREATER: np.greater,
    predicate.GREATER_EQUAL: np.greater_equal, predicate.EQUAL: np.equal, predicate.NOT_EQUAL: np.not_equal,
    predicate.AND: np.logical_and, predicate.OR: np.logical_or, predicate.ADD: np.add, predicate.SUBTRACT: np.subtract,
    predicate.MULTIPLY: np.multiply,
}  # fmt: skip


def _ink(number: int) -> str:
    return f"var(--c{number % INKS})"


class Plots:
    """The figures of a flight, in plotly's form; colours are names that the page fills in for its theme."""

    def __init__(self, flight: Flight) -> None:
        self.flight = flight
        self.log: Log = flight.log
        self.figures: dict[str, Json] = {}
        self.twin = _has_twin(flight) and self.log.rows(TWIN) > 0
        time_s = self.log.time()
        first = float(time_s[0]) if len(time_s) else 0.0
        last = max(float(time_s[-1]) if len(time_s) else 0.0, flight.ended_s, first + 1e-3)
        self.end = last
        self.range = [first, last + 0.01 * (last - first)]
        self.triggered = triggered_times(flight)

    # -------------------------------------------------------------- pieces

    def _values(self, signal: str, lane: int) -> np.ndarray:
        """A signal as [row, size]."""
        return self.log.lane(signal, lane).reshape(self.log.rows(lane), self.log.signals[signal].size)

    def curve(
        self, values: np.ndarray, name: str, ink: str, unit: str, *, lane: int = FLIGHT, role: str = "",
        turns: bool = False, limit: int = MAX_POINTS,
    ) -> Json:  # fmt: skip
        """One line over time; a role (`set-point`, `twin`) gives its style and one entry in the legend for all."""
        time_s, values = thin(self.log.time(lane)[: len(values)], values, limit)
        if turns and len(values) > 1:
            time_s, values = _break_turns(time_s, values)
        label = f"{name}, {role}" if role and name != role else name
        dash = {"": "solid", "set-point": "dot", "twin": "dash"}[role]
        trace: Json = {
            "type": "scatter", "mode": "lines" if len(values) > 2 else "lines+markers",
            "x": _packed(time_s), "y": _packed(values), "name": role or name,
            "line": {"color": ink, "width": 1.3 if role else 1.8, "dash": dash},
            "hovertemplate": f"{escape(label)}  %{{y:.4~g}} {escape(unit)}<extra></extra>",
        }  # fmt: skip
        if role:  # below the flight's own curves, and after them in the legend
            trace |= {"legendgroup": role, "legendrank": {"set-point": 1001, "twin": 1002}[role], "zorder": -1}
        return trace

    def figure(self, key: str, curves: list[Json], lowest: str = "y", **layout: Any) -> str:
        """Store a time plot; each role gets one entry in the legend."""
        seen: set[str] = set()
        for curve in curves:
            group = curve.get("legendgroup", "")
            curve["showlegend"] = group not in seen
            if group:
                seen.add(group)
        self.figures[key] = {
            "kind": "time",
            "data": curves,
            "layout": {
                **_base_layout(height=234, margin={"l": 62, "r": 58, "t": 46, "b": 30}),
                "hovermode": "x unified",
                "legend": {"orientation": "h", "x": 0, "y": 1, "yref": "container", "yanchor": "top"},
                "xaxis": {
                    **_AXIS, "range": self.range, "ticksuffix": " s", "showticksuffix": "last", "hoverformat": ".3f",
                    "anchor": lowest,
                    "showspikes": True, "spikemode": "across", "spikesnap": "hovered data", "spikethickness": 1,
                    "spikedash": "dot", "spikecolor": "var(--muted)", "unifiedhovertitle": {"text": "%{x:.2f} s"},
                },
                "yaxis": {**_AXIS, "zeroline": True, "zerolinecolor": "var(--grid-strong)"},
                "shapes": self._spans() + self._stop_line(),
                "annotations": self._labels(),
                **layout,
            },
        }  # fmt: skip
        return key

    def _on_pieces(self, number: int) -> list[tuple[float, float]]:
        """The stretches in which a fault is on."""
        return on_pieces(self.flight.injections[number - 1], self.end, self.triggered[number - 1])

    def _begins_s(self, number: int) -> float:
        return self.flight.injections[number - 1].start_s + self.triggered[number - 1]

    def _spans(self) -> list[Json]:
        """Faults as shaded spans."""
        return [
            {
                "type": "rect", "xref": "x", "yref": "paper", "x0": start, "x1": end, "y0": 0, "y1": 1,
                "fillcolor": "var(--fault-span)", "line": {"width": 0}, "layer": "below", "name": f"fault {number}",
            }
            for number in range(1, len(self.flight.injections) + 1)
            for start, end in self._on_pieces(number)
        ]  # fmt: skip

    def _stop_line(self) -> list[Json]:
        """The end before time: a crash, or the mission's end."""
        stop = self.flight.stop
        if stop is None:
            return []
        line = {"color": self._stop_ink(), "width": 1.6}
        return [
            {
                "type": "line", "xref": "x", "yref": "paper", "x0": stop.time_s, "x1": stop.time_s, "y0": 0, "y1": 1,
                "line": line, "name": "stop",
            }
        ]  # fmt: skip

    def _stop_ink(self) -> str:
        return "var(--bad)" if not self.flight.survived else "var(--muted)"

    def _labels(self) -> list[Json]:
        """Names of the spans and of the stop, above the plot; faults that begin at nearly the same time share one."""
        wide = self.range[1] - self.range[0]
        texts: dict[float, str] = {}
        for number in range(1, len(self.flight.injections) + 1):
            if self._on_pieces(number):
                begin = self._begins_s(number)
                near = next((x for x in texts if abs(x - begin) < 0.06 * wide), begin)
                texts[near] = f"{texts[near]}, {number}" if near in texts else f"fault {number}"
        stop = self.flight.stop
        labels = []
        for x, text in texts.items():
            crowded = stop is not None and stop.time_s - x < 0.15 * wide
            labels.append(_label(x, text, "var(--fault)", "right" if crowded else "left"))
        if stop is not None:
            labels.append(_label(stop.time_s, escape(stop.reason), self._stop_ink(), "right"))
        return labels

    def _lanes(self) -> list[tuple[int, str]]:
        """The flight, then the twin if there is one, with the role of its curves."""
        return [(FLIGHT, ""), *([(TWIN, "twin")] if self.twin else [])]

    def _vector(
        self, signal: str, names: Sequence[str], unit: str, factor: float = 1.0, *, turns: bool = False,
        twin: bool = True,
    ) -> list[Json]:  # fmt: skip
        """Curves of the components of a signal."""
        return [
            self.curve(factor * column, name, _ink(i), unit, lane=lane, role=role, turns=turns)
            for lane, role in self._lanes() if twin or lane == FLIGHT
            for i, (name, column) in enumerate(zip(names, self._values(signal, lane).T, strict=False))
        ]  # fmt: skip

    # -------------------------------------------------------------- time plots

    def panels(self) -> list[Json]:
        """All time plots that the log has signals for, in reading order."""
        if not self.log.rows():
            return []
        made = [
            ("Height", "m", self._height()),
            ("Position error", "m, distance from the set-point", self._error()),
            ("Horizontal position", "m", self._horizontal()),
            ("Attitude", "degrees", self._attitude()),
            ("Body rates", "degrees per second, in body axes", self._rates()),
            ("Rotor speeds", "rad/s", self._rotors()),
            ("Throttles", "share of full command", self._throttles()),
            ("Wind", "m/s, direction the air moves to", self._wind()),
            ("Battery", "V (left), % (right)", self._battery()),
        ]
        return [{"title": title, "unit": unit, "figure": key} for title, unit, key in made if key]

    def _height(self) -> str:
        log = self.log
        if "body.p_NB_N" not in log:
            return ""
        curves = [self.curve(-self._values("body.p_NB_N", FLIGHT)[:, 2], "height", _ink(0), "m")]
        if "navigator.position_set" in log:
            values = -self._values("navigator.position_set", FLIGHT)[:, 2]
            curves.append(self.curve(values, "set-point", _ink(1), "m", role="set-point"))
        if self.twin:
            values = -self._values("body.p_NB_N", TWIN)[:, 2]
            curves.append(self.curve(values, "height", _ink(2), "m", lane=TWIN, role="twin"))
        return self.figure("height", curves)

    def _error(self) -> str:
        if "body.p_NB_N" not in self.log or "navigator.position_set" not in self.log:
            return ""
        curves = []
        for lane, role in self._lanes():
            gap = self._values("body.p_NB_N", lane) - self._values("navigator.position_set", lane)
            error = np.linalg.norm(gap, axis=1)
            curves.append(self.curve(error, "error", _ink(2 if role else 0), "m", lane=lane, role=role))
        return self.figure("error", curves)

    def _horizontal(self) -> str:
        if "body.p_NB_N" not in self.log:
            return ""
        curves = self._vector("body.p_NB_N", ("north", "east"), "m")
        if "navigator.position_set" in self.log:
            for i, name in enumerate(("north", "east")):
                values = self._values("navigator.position_set", FLIGHT)[:, i]
                curves.append(self.curve(values, name, _ink(i), "m", role="set-point"))
        return self.figure("horizontal", curves)

    def _attitude(self) -> str:
        if "body.euler" not in self.log:
            return ""
        return self.figure(
            "attitude", self._vector("body.euler", ("roll", "pitch", "yaw"), "°", math.degrees(1), turns=True)
        )

    def _rates(self) -> str:
        if "body.w_NB_B" not in self.log:
            return ""
        names = ("about x (roll)", "about y (pitch)", "about z (yaw)")
        return self.figure("rates", self._vector("body.w_NB_B", names, "°/s", math.degrees(1)))

    def _rotors(self) -> str:
        signals = _matching(self.log, r"rotor/(.+)/motor\.speed")
        touched = {part for i in self.flight.injections for part in (*i.targets, i.witness)}
        curves = []
        for i, (signal, number) in enumerate(signals):
            values = self._values(signal, FLIGHT)[:, 0]
            curves.append(self.curve(values, f"rotor {number}", _ink(i), "rad/s"))
            if self.twin and any(path.startswith(f"rotor/{number}/") for path in touched):  # others would only cover it
                values = self._values(signal, TWIN)[:, 0]
                curves.append(self.curve(values, f"rotor {number}", _ink(i), "rad/s", lane=TWIN, role="twin"))
        return self.figure("rotors", curves) if curves else ""

    def _throttles(self) -> str:
        signals = _matching(self.log, r"(?:.+/)?[^./]*\.throttle_?(.*)")
        curves = [
            self.curve(self._values(signal, FLIGHT)[:, 0], f"throttle {number}".strip(), _ink(i), "")
            for i, (signal, number) in enumerate(signals)
        ]
        return self.figure("throttles", curves) if curves else ""

    def _wind(self) -> str:
        if "air.wind_sum_N" not in self.log:
            return ""
        curves = self._vector("air.wind_sum_N", ("to north", "to east", "down"), "m/s", twin=False)
        return self.figure("wind", curves)

    def _battery(self) -> str:
        curves = []
        layout: Json = {}
        if "battery.voltage" in self.log:
            for lane, role in self._lanes():
                values = self._values("battery.voltage", lane)[:, 0]
                curves.append(self.curve(values, "voltage", _ink(0), "V", lane=lane, role=role))
        if "battery.remaining" in self.log:
            for lane, role in self._lanes():
                values = 100 * self._values("battery.remaining", lane)[:, 0]
                curve = self.curve(values, "remaining", _ink(1), "%", lane=lane, role=role)
                curves.append({**curve, "yaxis": "y2"})
            axis = {**_AXIS, "overlaying": "y", "side": "right", "showgrid": False, "ticksuffix": " %"}
            layout["yaxis2"] = {**axis, "tickmode": "linear", "tick0": 0, "dtick": 25, "range": [-4, 104]}
        return self.figure("battery", curves, **layout) if curves else ""

    # -------------------------------------------------------------- modes and flags over time

    def timeline(self) -> str:
        """Rows of coloured spans: modes, failsafes, faults, what the voters left out, what the estimator thought."""
        if not self.log.rows():
            return ""
        rows = [*self._mode_rows(), *self._failsafe_rows(), *self.fault_rows(), *self._voter_rows()]
        rows += self._estimator_rows()
        return self.bands("timeline", rows) if any(spans for _, spans in rows) else ""

    def bands(self, key: str, rows: Sequence[_Row]) -> str:
        """Rows of coloured spans over time, each below its name."""
        bars, labels = [], []
        for place, (name, spans) in enumerate(rows):
            labels.append(
                {
                    "x": 0, "xref": "paper", "y": -place + 0.06, "yref": "y", "text": escape(name), "showarrow": False,
                    "xanchor": "left", "yanchor": "bottom", "font": {"size": 11, "color": "var(--muted)"},
                    "borderpad": 0,
                }
            )  # fmt: skip
            texts = [escape(text) for _, _, text, _ in spans]
            named = len(set(texts)) > 1  # else the row's name says it
            thick = 0.58 if named else 0.36
            bars.append(
                {
                    "type": "bar", "orientation": "h", "width": thick,
                    "y": [round(0.04 - place - thick / 2, 3)] * len(spans),
                    "base": [round(start, 4) for start, _, _, _ in spans],
                    "x": [round(end - start, 4) for start, end, _, _ in spans],
                    "marker": {"color": [ink for _, _, _, ink in spans], "line": {"width": 0}},
                    "text": texts, "textposition": "inside" if named else "none", "textangle": 0,
                    "insidetextanchor": "middle", "insidetextfont": {"color": "var(--card)", "size": 10},
                    "customdata": [f"{start:.2f} s to {end:.2f} s" for start, end, _, _ in spans],
                    "hovertemplate": f"{escape(name)}  %{{text}}<br>%{{customdata}}<extra></extra>",
                }
            )  # fmt: skip
        axis = {**_AXIS, "range": [-len(rows) + 0.4, 0.45], "fixedrange": True, "showgrid": False, "ticks": ""}
        return self.figure(
            key, bars, height=36 * len(rows) + 60, margin={"l": 62, "r": 58, "t": 24, "b": 30},
            hovermode="closest", barmode="overlay", showlegend=False, uniformtext={"minsize": 10, "mode": "hide"},
            yaxis={**axis, "showticklabels": False}, shapes=self._stop_line(), annotations=labels,
        )  # fmt: skip

    def _flags(self, values: np.ndarray, text: str, ink: str, lead_s: float = 0.0) -> list[_Span]:
        """Spans in which a flag is up; one that begins with the log and ends within `lead_s` is left out."""
        first, last = self.range
        pieces = flag_pieces(self.log.time(), values, self.end, CLOSED_GAP * (last - first))
        return [(start, end, text, ink) for start, end in pieces if not (start == first and end - first <= lead_s)]

    def _mode_rows(self) -> list[_Row]:
        rows: list[_Row] = []
        if "navigator.mode" in self.log:
            spans: list[_Span] = []
            for start, end, value in runs(self.log.time(), self.log["navigator.mode"], self.end):
                known = 0 <= value < len(MODES)
                name, ink = (MODES[int(value)], MODE_INKS[int(value)]) if known else ("unknown", "var(--idle)")
                spans.append((start, end, name, ink))
            rows.append(("Mode", spans))
        if "navigator.item" in self.log and len(self.flight.mission.item) > 1:
            items = runs(self.log.time(), self.log["navigator.item"], self.end)
            shown = [(a, b, f"{n + 1:.0f}", "var(--c0)" if i % 2 else "var(--c6)") for i, (a, b, n) in enumerate(items)]
            rows.append(("Mission item", shown))
        return rows

    def _failsafe_rows(self) -> list[_Row]:
        if "navigator.failsafe" not in self.log:
            return []
        columns = self._values("navigator.failsafe", FLIGHT).T
        made = [
            (f"Failsafe: {name}", self._flags(column, "active", "var(--bad)"))
            for name, column in zip(FAILSAFES, columns, strict=False)
        ]
        return [row for row in made if row[1]]

    def fault_rows(self) -> list[_Row]:
        rows: list[_Row] = []
        for number, injection in enumerate(self.flight.injections, start=1):
            part = f", instance {injection.instance}" if injection.fault.counts_instances else ""
            spans = [(start, end, "on", "var(--fault)") for start, end in self._on_pieces(number)]
            rows.append((f"Fault {number}: {injection.fault.id}{part}", spans))
        return rows

    def _voter_rows(self) -> list[_Row]:
        rows: list[_Row] = []
        for signal in self.log.signals:
            match = re.fullmatch(r"vote/(\w+)\.faulty_(\d+)", signal)
            if match:
                spans = self._flags(self.log[signal], "left out", "var(--c4)", START_UP_S)
                name = SENSORS.get(match.group(1), match.group(1))
                rows.append((f"Voter: {name} {match.group(2)} left out", spans))
        return [row for row in rows if row[1]]

    def _estimator_rows(self) -> list[_Row]:
        rows: list[_Row] = []
        if "estimator.healthy" in self.log:
            ill = 1 - self.log["estimator.healthy"]
            spans: list[_Span] = []
            if "estimator.aligned" in self.log:
                waiting = 1 - self.log["estimator.aligned"]
                spans = self._flags(waiting, "aligning", "var(--idle)")
                ill = ill * (waiting < 0.5)
            rows.append(("Estimator not healthy", spans + self._flags(ill, "not healthy", "var(--bad)")))
        if "estimator.rejected" in self.log:
            for name, column in zip(REJECTED, self._values("estimator.rejected", FLIGHT).T, strict=False):
                rows.append((f"Estimator rejects: {name}", self._flags(column, "rejected", "var(--c4)")))
        return [row for row in rows if row[1]]

    # -------------------------------------------------------------- truth, measurement, estimate

    def estimates(self) -> list[Json]:
        """Time plots that set the truth beside what was measured and estimated, as far as the log has them."""
        if not self.log.rows():
            return []
        made = [
            ("Height", "m: truth, measurements, estimate", self._estimate_height()),
            ("Horizontal position", "m: truth, measurements, estimate", self._estimate_horizontal()),
            ("Error of the estimated position", "m: estimate minus truth; shaded: ± 2 std", self._estimate_error()),
            ("Attitude", "degrees: truth and estimate; below: estimate minus truth", self._estimate_attitude()),
            ("Gyroscopes", "degrees per second, in body axes", self._inertial("gyro", "°/s", math.degrees(1))),
            ("Accelerometers", "m/s², in body axes", self._inertial("accel", "m/s²", 1.0)),
        ]
        return [{"title": title, "unit": unit, "figure": key} for title, unit, key in made if key]

    def stack(self, key: str, rows: Sequence[tuple[str, list[Json]]], height: int = 118) -> str:
        """Small plots below each other on one time axis; curves of one name share an entry in the legend."""
        share, gap = 1 / len(rows), 0.14 / len(rows)
        layout: Json = {"height": 76 + height * len(rows), "hoversubplots": "axis"}
        data: list[Json] = []
        for i, (title, curves) in enumerate(rows):
            number = "" if i == 0 else str(i + 1)
            top = 1 - i * share
            layout[f"yaxis{number}"] = {
                **_AXIS, "domain": [round(max(top - share + gap, 0.0), 4) if i < len(rows) - 1 else 0.0, round(top, 4)],
                "title": {"text": title, "standoff": 4, "font": {"size": 12}}, "zeroline": True,
                "zerolinecolor": "var(--grid-strong)", "nticks": 5,
            }  # fmt: skip
            data += [{**curve, "yaxis": f"y{number}", "legendgroup": curve["name"]} for curve in curves]
        return self.figure(key, data, lowest="y" if len(rows) == 1 else f"y{len(rows)}", **layout)

    def truth(self, values: np.ndarray, unit: str, turns: bool = False) -> Json:
        return {**self.curve(values, "truth", "var(--text)", unit, turns=turns), "zorder": 1, "legendrank": 1}

    def estimate(self, values: np.ndarray, unit: str, turns: bool = False) -> Json:
        curve = self.curve(values, "estimate", _ink(1), unit, turns=turns)
        return {**curve, "zorder": 2, "legendrank": 2, "line": {"color": _ink(1), "width": 1.5}}

    def _measured(self, values: np.ndarray, name: str, ink: str, unit: str, stamp: str = "") -> Json:
        """A faint curve of a measurement; it is interrupted where no samples came."""
        if stamp in self.log:
            stamps = self.log[stamp]
            values = np.where((stamps >= 0) & (self.log.time() - stamps < STALE_S), values, np.nan)
        curve = self.curve(values, name, ink, unit, limit=FAINT_POINTS)
        return {**curve, "opacity": 0.7, "zorder": 0, "legendrank": 3, "line": {"color": ink, "width": 1.1}}

    def _has_estimate(self, quantity: str) -> bool:
        return f"estimator.{quantity}" in self.log and f"body.{quantity}" in self.log

    def _receivers(self) -> list[tuple[int, str]]:
        """Paths of the taps behind the GNSS receivers, with a number for their colour."""
        found = [re.fullmatch(r"(gnss/\w+/position_fault)\.value", signal) for signal in self.log.signals]
        return [(i, match.group(1)) for i, match in enumerate(filter(None, found))]

    def _gnss(self, axis: int, sign: float) -> list[Json]:
        """Curves of one component of the position from all receivers."""
        return [
            self._measured(
                sign * self._values(f"{tap}.value", FLIGHT)[:, axis], f"GNSS {tap.split('/')[1]}", _ink((0, 3)[i % 2]),
                "m", f"{tap}.stamp",
            )
            for i, tap in self._receivers()
        ]  # fmt: skip

    def _estimate_height(self) -> str:
        if not self._has_estimate("p_NB_N"):
            return ""
        curves = [
            self._measured(
                self.log[f"baro/{number}/height.baro_height"], f"barometer {number}", _ink((2, 5)[i % 2]), "m",
                f"baro/{number}/height.stamp",
            )
            for i, (_, number) in enumerate(_matching(self.log, r"baro/(\w+)/height\.baro_height"))
        ]  # fmt: skip
        curves += self._gnss(2, -1.0)
        curves.append(self.truth(-self._values("body.p_NB_N", FLIGHT)[:, 2], "m"))
        curves.append(self.estimate(-self._values("estimator.p_NB_N", FLIGHT)[:, 2], "m"))
        return self.stack("estimate-height", [("height", curves)], 190)

    def _estimate_horizontal(self) -> str:
        if not self._has_estimate("p_NB_N"):
            return ""
        rows = []
        for axis, name in enumerate(("north", "east")):
            truth, estimate = (self._values(f"{part}.p_NB_N", FLIGHT)[:, axis] for part in ("body", "estimator"))
            rows.append((name, [*self._gnss(axis, 1.0), self.truth(truth, "m"), self.estimate(estimate, "m")]))
        return self.stack("estimate-horizontal", rows, 135)

    def _estimate_error(self) -> str:
        if not self._has_estimate("p_NB_N"):
            return ""
        gap = self._values("estimator.p_NB_N", FLIGHT) - self._values("body.p_NB_N", FLIGHT)
        rows = []
        for axis, name in enumerate(("north", "east", "down")):
            curves = []
            if "estimator.std_position" in self.log:
                curves = self._band(2 * self._values("estimator.std_position", FLIGHT)[:, axis], "m")
            rows.append((name, [*curves, self.curve(gap[:, axis], "error", _ink(1), "m")]))
        return self.stack("estimate-error", rows)

    def _band(self, width: np.ndarray, unit: str) -> list[Json]:
        """A shaded band around zero; both edges are thinned alike."""
        low, high = (
            self.curve(sign * width, "± 2 std", "var(--band-edge)", unit, limit=FAINT_POINTS) for sign in (-1.0, 1.0)
        )
        edge = {"line": {"color": "var(--band-edge)", "width": 0.8}, "zorder": 0}
        return [
            {**low, **edge, "hoverinfo": "skip", "hovertemplate": None},
            {**high, **edge, "fill": "tonexty", "fillcolor": "var(--band)"},
        ]

    def _estimate_attitude(self) -> str:
        if not self._has_estimate("euler"):
            return ""
        truth, estimate = (np.degrees(self._values(f"{part}.euler", FLIGHT)) for part in ("body", "estimator"))
        names = ("roll", "pitch", "yaw")
        rows = [
            (name, [self.truth(truth[:, i], "°", turns=True), self.estimate(estimate[:, i], "°", turns=True)])
            for i, name in enumerate(names)
        ]
        gap = (estimate - truth + 180.0) % 360.0 - 180.0
        inks = (_ink(0), _ink(2), _ink(3))
        rows.append(
            ("error", [self.curve(gap[:, i], f"error of {name}", inks[i], "°") for i, name in enumerate(names)])
        )
        return self.stack("estimate-attitude", rows)

    def _inertial(self, kind: str, unit: str, factor: float) -> str:
        """Truth and each unit's measurement, one small plot per axis."""
        found = [re.fullmatch(rf"imu/(\w+)/{kind}_fault\.value", signal) for signal in self.log.signals]
        units = [match.group(1) for match in filter(None, found)]
        own = {"gyro": "body.w_NB_B", "accel": "body.specific_force_B"}[kind]
        inks = (_ink(0), _ink(2), _ink(3), _ink(6))
        rows = []
        for axis, name in enumerate(AXES_B if units else ()):
            curves = [
                self._measured(
                    factor * self._values(f"imu/{number}/{kind}_fault.value", FLIGHT)[:, axis], f"IMU {number}",
                    inks[i % len(inks)], unit, f"imu/{number}/{kind}_fault.stamp",
                )
                for i, number in enumerate(units)
            ]  # fmt: skip
            source = f"imu/{units[0]}/chip.{kind}_truth_B"
            source = source if source in self.log else own
            if source in self.log:
                curves.append(self.truth(factor * self._values(source, FLIGHT)[:, axis], unit))
            if kind == "gyro" and "estimator.w_NB_B" in self.log:
                curves.append(self.estimate(factor * self._values("estimator.w_NB_B", FLIGHT)[:, axis], unit))
            rows.append((name, curves))
        return self.stack(f"measured-{kind}", rows) if rows else ""

    def witness(self, number: int, injection: Injection) -> str:
        """The signal that should show a fault beside that of the healthy twin, and the difference below."""
        signal = injection.witness
        if signal not in self.log or not self.log.rows():
            return ""
        declared = self.log.signals[signal]
        unit = "" if declared.unit == "1" else declared.unit
        names = [signal] if declared.size == 1 else [f"{signal}[{i}]" for i in range(min(declared.size, 4))]
        curves = self._vector(signal, names, unit)
        if declared.size == 1:
            for curve in curves:
                if curve.get("legendgroup") == "twin":
                    curve["line"]["color"] = _ink(2)
        layout: Json = {}
        if self.twin:
            rows = min(self.log.rows(FLIGHT), self.log.rows(TWIN))
            gap = self._values(signal, FLIGHT)[:rows] - self._values(signal, TWIN)[:rows]
            for i, column in enumerate(gap.T[:4]):
                ink = "var(--fault)" if declared.size == 1 else _ink(i)
                curve = self.curve(column, "flight minus twin", ink, unit)
                curves.append({**curve, "yaxis": "y2", "legendgroup": "gap", "legendrank": 1003})
            axis = {**_AXIS, "zeroline": True, "zerolinecolor": "var(--grid-strong)"}
            layout = {"yaxis": {**axis, "domain": [0.44, 1]}, "yaxis2": {**axis, "domain": [0, 0.34]}, "height": 320}
            layout["lowest"] = "y2"
        return self.figure(f"witness-{number}", curves, **layout)

    # -------------------------------------------------------------- paths

    def path(self) -> list[str]:
        """The way flown: in space, and seen from above."""
        if "body.p_NB_N" not in self.log or not self.log.rows():
            return []
        self._path_3d()
        self._path_plan()
        return ["path-3d", "path-plan"]

    def _way(self, signal: str, lane: int) -> np.ndarray:
        """North, east and height along the way, in steps wide enough for the screen."""
        values = self._values(signal, lane) * [1.0, 1.0, -1.0]
        values = np.where(np.abs(values) < SHOWN, values, np.nan)
        step = math.ceil(len(values) / MAX_POINTS) or 1
        return np.vstack([values[::step], values[-1:]])

    def _marks(self) -> list[tuple[str, str, str, np.ndarray]]:
        """Name, symbol, colour and place of the start, of each fault's beginning and of the end."""
        way, time_s = self._values("body.p_NB_N", FLIGHT) * [1.0, 1.0, -1.0], self.log.time()
        crashed = self.flight.stop is not None and not self.flight.survived
        marks = [("start", "circle", "var(--good)", way[0])]
        for number in range(1, len(self.flight.injections) + 1):
            row = int(np.searchsorted(time_s, self._begins_s(number)))
            if row < len(way):
                marks.append((f"fault {number} begins", "diamond", "var(--fault)", way[row]))
        return [*marks, ("end", "x" if crashed else "square", "var(--bad)" if crashed else "var(--text)", way[-1])]

    def _waypoints(self) -> np.ndarray:
        """North, east, height of the mission's waypoints; a landing is below the one before."""
        here = np.zeros(3)
        places = []
        for item in self.flight.mission.item:
            if item.kind == "land":
                here = np.array([here[0], here[1], 0.0])
            else:
                here = np.array([item.north_m, item.east_m, item.height_m])
            places.append(here)
        return np.array(places)

    def _path_3d(self) -> None:
        way = self._way("body.p_NB_N", FLIGHT)
        waypoints = self._waypoints()
        everything = [way, waypoints]
        data: list[Json] = []

        def line(points: np.ndarray, name: str, ink: str, width: float, **more: Any) -> None:
            data.append(
                {
                    "type": "scatter3d", "mode": "lines", "name": name, "line": {"color": ink, "width": width},
                    **_xyz(points), "hovertemplate": _PLACE_3D.format(name=name), "showlegend": True, **more,
                }
            )  # fmt: skip

        if self.twin:
            twin = self._way("body.p_NB_N", TWIN)
            everything.append(twin)
            line(twin, "healthy twin", _ink(2), 2.5)
        line(way, "flight", _ink(0), 5)
        ground = way * [1.0, 1.0, 0.0]
        line(
            ground,
            "shadow on the ground",
            "var(--grid-strong)",
            2,
            hoverinfo="skip",
            hovertemplate="",
            showlegend=False,
        )
        data.append(
            {
                "type": "scatter3d", "mode": "markers+text", "name": "waypoints", **_xyz(waypoints),
                "text": _numbers(waypoints), "textposition": "top center",
                "textfont": {"color": "var(--muted)", "size": 11},
                "marker": {"symbol": "circle-open", "size": 6, "color": "var(--muted)"},
                "hovertemplate": _PLACE_3D.format(name="waypoint %{text}"),
            }
        )  # fmt: skip
        for name, symbol, ink, place in self._marks():
            data.append(
                {
                    "type": "scatter3d", "mode": "markers", "name": name, **_xyz(place[None, :]),
                    "marker": {"symbol": symbol, "size": 5, "color": ink},
                    "hovertemplate": _PLACE_3D.format(name=name),
                }
            )  # fmt: skip
        ranges = equal_ranges(np.vstack(everything))
        wide = [high - low for low, high in ranges]
        axis: Json = {
            "gridcolor": "var(--grid-strong)", "zerolinecolor": "var(--grid-strong)", "linecolor": "var(--grid-strong)",
            "showbackground": False, "showspikes": False, "tickfont": {"size": 10},
        }  # fmt: skip
        titles = ("east, m", "north, m", "height, m")
        order = (1, 0, 2)  # east to the right, north away: as on a map
        scene: Json = {
            f"{letter}axis": {**axis, "title": {"text": title}, "range": ranges[i]}
            for letter, title, i in zip("xyz", titles, order, strict=True)
        }
        scene |= {
            "aspectmode": "manual",
            "aspectratio": {letter: 1.15 * wide[i] / max(wide) for letter, i in zip("xyz", order, strict=True)},
            "camera": {"eye": {"x": 0.75, "y": -1.55, "z": 0.85}, "center": {"x": 0, "y": 0, "z": -0.17}},
        }
        layout = {
            **_base_layout(height=470, margin={"l": 0, "r": 0, "t": 0, "b": 0}), "scene": scene,
            "legend": {"orientation": "h", "x": 0, "y": 0, "yanchor": "top"},
        }  # fmt: skip
        self.figures["path-3d"] = {"kind": "path", "data": data, "layout": layout}

    def _path_plan(self) -> None:
        data: list[Json] = []

        def line(points: np.ndarray, name: str, ink: str, width: float, dash: str) -> None:
            data.append(
                {
                    "type": "scatter", "mode": "lines", "name": name, **_xy(points),
                    "line": {"color": ink, "width": width, "dash": dash}, "showlegend": False,
                    "hovertemplate": _PLACE_2D.format(name=name),
                }
            )  # fmt: skip

        if "navigator.position_set" in self.log:
            line(self._way("navigator.position_set", FLIGHT), "set-point", _ink(1), 1.2, "dot")
        if self.twin:
            line(self._way("body.p_NB_N", TWIN), "healthy twin", _ink(2), 1.3, "dash")
        line(self._way("body.p_NB_N", FLIGHT), "flight", _ink(0), 2.2, "solid")
        waypoints = self._waypoints()
        data.append(
            {
                "type": "scatter", "mode": "markers+text", "name": "waypoints", "showlegend": False, **_xy(waypoints),
                "text": _numbers(waypoints[:, :2]), "textposition": "top right", "cliponaxis": False,
                "textfont": {"color": "var(--muted)", "size": 11},
                "marker": {"symbol": "circle-open", "size": 9, "color": "var(--muted)"},
                "hovertemplate": _PLACE_2D.format(name="waypoint %{text}"),
            }
        )  # fmt: skip
        for name, symbol, ink, place in self._marks():
            data.append(
                {
                    "type": "scatter", "mode": "markers", "name": name, "showlegend": False, **_xy(place[None, :]),
                    "marker": {"symbol": symbol, "size": 9, "color": ink}, "cliponaxis": False,
                    "hovertemplate": _PLACE_2D.format(name=name),
                }
            )  # fmt: skip
        layout = {
            **_base_layout(height=470, margin={"l": 52, "r": 16, "t": 16, "b": 46}),
            "hovermode": "closest",
            "xaxis": {**_AXIS, "title": {"text": "east, m"}, "scaleanchor": "y", "constrain": "domain"},
            "yaxis": {**_AXIS, "title": {"text": "north, m"}, "constrain": "domain"},
        }
        self.figures["path-plan"] = {"kind": "path", "data": data, "layout": layout}


_AXIS: Json = {
    "gridcolor": "var(--grid)", "linecolor": "var(--grid-strong)", "zeroline": False, "ticks": "outside",
    "tickcolor": "var(--grid-strong)", "ticklen": 4, "automargin": False,
}  # fmt: skip
_PLACE_3D = "{name}<br>%{{y:.2f}} m north, %{{x:.2f}} m east, %{{z:.2f}} m high<extra></extra>"
_PLACE_2D = "{name}<br>%{{y:.2f}} m north, %{{x:.2f}} m east<extra></extra>"


def _label(x: float, text: str, ink: str, anchor: str) -> Json:
    """A short text above a plot, beside a point in time."""
    return {
        "x": x, "xref": "x", "y": 1, "yref": "paper", "text": text, "showarrow": False, "xanchor": anchor,
        "yanchor": "bottom", "font": {"size": 11, "color": ink}, "borderpad": 0,
    }  # fmt: skip


def _base_layout(**more: Any) -> Json:
    font = {"family": "var(--font)", "size": 12, "color": "var(--text)"}
    return {
        "autosize": True, "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)", "font": font,
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "var(--grid-strong)", "activecolor": "var(--accent)"},
        "hoverlabel": {"bgcolor": "var(--card)", "bordercolor": "var(--grid-strong)", "font": font}, **more,
    }  # fmt: skip


def _xyz(points: np.ndarray) -> Json:
    """North, east, height to the axes of a map: x east, y north, z up."""
    return {"x": _packed(points[:, 1]), "y": _packed(points[:, 0]), "z": _packed(points[:, 2])}


def _xy(points: np.ndarray) -> Json:
    return {"x": _packed(points[:, 1]), "y": _packed(points[:, 0])}


def _numbers(waypoints: np.ndarray) -> list[str]:
    """Numbers of the waypoints; those at one place share a label."""
    texts: list[str] = []
    first: dict[tuple[float, ...], int] = {}
    for number, place in enumerate(waypoints, start=1):
        key = tuple(place.tolist())
        texts.append("" if key in first else str(number))
        if key in first:
            texts[first[key]] += f", {number}"
        first.setdefault(key, number - 1)
    return texts


def equal_ranges(points: np.ndarray) -> list[list[float]]:
    """Ranges of three axes around points; none is narrower than a quarter of the widest, all have a margin."""
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return [[-1.0, 1.0]] * 3
    low, high = points.min(axis=0), points.max(axis=0)
    widest = max(float((high - low).max()), 1.0)
    half = np.maximum(high - low, 0.25 * widest) / 2 + 0.06 * widest
    middle = (low + high) / 2
    return [[float(m - h), float(m + h)] for m, h in zip(middle, half, strict=True)]


def on_pieces(injection: Injection, until_s: float, triggered_s: float = 0.0) -> list[tuple[float, float]]:
    """The stretches of time in which a fault is on; the whole window if there are very many."""
    start, end = injection.start_s + triggered_s, min(injection.end_s + triggered_s, until_s)
    if start >= end:
        return []
    if injection.shape == "intermittent" and 0 < (end - start) / injection.period_s <= MAX_SPANS:
        count = math.ceil((end - start) / injection.period_s)
        begins = [start + i * injection.period_s for i in range(count)]
        return [(b, min(b + injection.duty * injection.period_s, end)) for b in begins]
    return [(start, end)]


def _matching(log: Log, pattern: str) -> list[tuple[str, str]]:
    """Scalar signals whose whole path matches, with the pattern's group."""
    found = []
    for signal, declared in log.signals.items():
        match = re.fullmatch(pattern, signal)
        if match and declared.size == 1:
            found.append((signal, match.group(1)))
    return found
