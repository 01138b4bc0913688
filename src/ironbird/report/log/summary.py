"""What a log shows in numbers and sentences: extremes, battery, GNSS, estimator, and what stands out.

Limits by which something stands out, and where they come from: test ratios above 1 are rejected by the estimators of
PX4 and ArduPilot [PX4Sim] [ArduPilotDev]; vibration of 30 and 60 m/s^2 (VIBE) is what ArduPilot's guide calls doubtful
and bad, as are more than 100 samples out of range; 4.9 and 9.8 m/s^2 are the limits of PX4's Flight Review (another
measure, from version 1.13 on; before it was a velocity, 0.02 and 0.04 m/s); a position fix is fix type 3.
They are hints where to look, no verdict on the flight.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ironbird.protocols.autopilot_log import FIX_3D, Series
from ironbird.protocols.flight_log import ERROR, INFO, LEVELS, WARNING, FlightLog, Message, gaps, spans

RATIO_LIMIT = 1.0
VIBRATION = {  # kind and unit of the measure: doubtful from here on, bad
    ("dataflash", "m/s^2"): (30.0, 60.0),
    ("ulog", "m/s^2"): (4.905, 9.81),
    ("ulog", "m/s"): (0.02, 0.04),
}
MANY_CLIPS = 100
LEAST_VOLTS = 0.5  # else no battery is measured
FEW_SATELLITES = 6
FULL, LONG_FULL_S = 0.98, 0.5  # of an output: at its upper limit, for so long
FULL_LOAD = 0.95  # of a processor
EMPTY, LOW = 0.1, 0.2  # share of the battery's charge
PULSE_LOW_S, PULSE_SPAN_S = 1e-3, 1e-3
FIXES = {0: "none", 1: "none", 2: "2D", 3: "3D", 4: "DGNSS", 5: "RTK float", 6: "RTK fixed"}
LEAST_SHOWN = 0.05  # of extremes, in their units: less is noise of a vehicle that stands


@dataclass(frozen=True)
class Finding:
    """Something to look at."""

    level: str  # of LEVELS
    time_s: float  # NaN: no single moment
    text: str


@dataclass(frozen=True)
class Extreme:
    """The largest value of a quantity, and when."""

    value: float
    time_s: float


# ---------------------------------------------------------------------- when it flew


def flown_spans(log: FlightLog) -> list[tuple[float, float]]:
    """Stretches in the air, by the landing detector; else while armed, or in modes of flight; else the whole log."""
    for changes, name in ((log.landed, "in the air"), (log.armed, "armed")):
        found = [(start, end) for start, end, state in spans(changes, log.length_s) if state == name and end > start]
        if found:
            return found
    if any(mode == "disarmed" for _, mode in log.modes):
        flies = list[tuple[float, str]]()  # modes that follow each other are one flight
        for start_s, mode in log.modes:
            state = "disarmed" if mode == "disarmed" else "armed"
            if not flies or flies[-1][1] != state:
                flies.append((start_s, state))
        return [(a, b) for a, b, state in spans(flies, log.length_s) if state == "armed" and b > a]
    return [] if log.landed or log.armed else [(0.0, log.length_s)]


def in_flight(log: FlightLog, time_s: np.ndarray) -> np.ndarray:
    """Which samples fall into the flight; all of them if it never flew."""
    pieces = flown_spans(log)
    found = np.zeros(len(time_s), bool)
    for start, end in pieces:
        found |= (time_s >= start) & (time_s <= end)
    return found if found.any() else np.ones(len(time_s), bool)


def _greatest(log: FlightLog, time_s: np.ndarray, values: np.ndarray) -> Extreme | None:
    chosen = np.where(in_flight(log, time_s) & np.isfinite(values), values, -np.inf)
    if not len(chosen) or not np.isfinite(chosen).any():
        return None
    row = int(chosen.argmax())
    return Extreme(float(values[row]), float(time_s[row]))


def heights(log: FlightLog) -> tuple[np.ndarray, np.ndarray] | None:
    """Times and heights above the place where the position begins, m."""
    position = log.series.get("position")
    if position is None:
        return None
    down = position.values[:, 2]
    known = np.flatnonzero(np.isfinite(down))
    return (position.time_s, down[known[0]] - down) if len(known) else None


def tilt_deg(attitude: Series) -> np.ndarray:
    """Angle between the vertical of the vehicle and that of the earth, degrees."""
    roll, pitch = attitude.values[:, 0], attitude.values[:, 1]
    return np.degrees(np.arccos(np.clip(np.cos(roll) * np.cos(pitch), -1.0, 1.0)))


def extremes(log: FlightLog) -> dict[str, Extreme]:
    """Largest tilt (degrees), speeds (m/s), height and distance (m), current (A)."""
    found: dict[str, Extreme | None] = {}
    attitude, velocity = log.series.get("attitude"), log.series.get("velocity")
    position, current = log.series.get("position"), log.series.get("battery_current")
    if attitude is not None:
        found["tilt_deg"] = _greatest(log, attitude.time_s, tilt_deg(attitude))
    if velocity is not None:
        level = np.linalg.norm(velocity.values[:, :2], axis=1)
        found["speed_mps"] = _greatest(log, velocity.time_s, level)
        found["climb_mps"] = _greatest(log, velocity.time_s, -velocity.values[:, 2])
        found["descent_mps"] = _greatest(log, velocity.time_s, velocity.values[:, 2])
    if (height := heights(log)) is not None:
        found["height_m"] = _greatest(log, *height)
    if position is not None:
        known = np.flatnonzero(np.isfinite(position.values[:, :2]).all(axis=1))
        if len(known):
            away = np.linalg.norm(position.values[:, :2] - position.values[known[0], :2], axis=1)
            found["distance_m"] = _greatest(log, position.time_s, away)
    if (airspeed := log.series.get("airspeed")) is not None:
        found["airspeed_mps"] = _greatest(log, airspeed.time_s, airspeed.values[:, 0])
    if current is not None:
        found["current_a"] = _greatest(log, current.time_s, current.values[:, 0])
    return {name: value for name, value in found.items() if value is not None}


def path_m(log: FlightLog) -> float | None:
    """Length of the way over ground, m; steps of more than 100 m are jumps of the estimate."""
    position = log.series.get("position")
    if position is None:
        return None
    values = position.values[np.isfinite(position.values[:, :2]).all(axis=1), :2]
    steps = np.linalg.norm(np.diff(values, axis=0), axis=1)
    return float(steps[steps < 100].sum())


# ---------------------------------------------------------------------- battery, GNSS, tracking


def battery(log: FlightLog) -> dict[str, float]:
    """Voltage at both ends and the least, charge used (mAh), energy used (Wh), share at both ends."""
    found: dict[str, float] = {}
    voltage, current = log.series.get("battery_voltage"), log.series.get("battery_current")
    if voltage is not None:
        known = voltage.values[np.isfinite(voltage.values[:, 0]), 0]
        if known.max() < LEAST_VOLTS:
            return {}
        found |= {"first_v": float(known[0]), "last_v": float(known[-1]), "least_v": float(known.min())}
    used, remaining = log.series.get("battery_used"), log.series.get("battery_remaining")
    if used is not None:
        known = used.values[np.isfinite(used.values[:, 0]), 0]
        found["used_mah"] = float(known.max() - known[0]) / 3.6
    if voltage is not None and current is not None:
        amps = np.interp(voltage.time_s, current.time_s, np.nan_to_num(current.values[:, 0]))
        watts = np.nan_to_num(voltage.values[:, 0]) * amps
        found["used_wh"] = float(np.sum(0.5 * (watts[1:] + watts[:-1]) * np.diff(voltage.time_s))) / 3600
        if used is None and len(amps) > 1:
            charge = float(np.sum(0.5 * (amps[1:] + amps[:-1]) * np.diff(voltage.time_s)))
            found["used_mah"] = charge / 3.6
    if remaining is not None:
        known = remaining.values[np.isfinite(remaining.values[:, 0]), 0]
        found |= {"first_share": float(known[0]), "last_share": float(known[-1])}
    return found


def gnss(log: FlightLog) -> dict[str, float]:
    """Best and worst fix, fewest and usual satellites, worst HDOP and accuracy (m), seconds without a position fix."""
    found: dict[str, float] = {}
    for name, series in ((name, log.series.get(name)) for name in ("fix", "satellites", "hdop", "gnss_accuracy")):
        if series is None:
            continue
        values = series.values[in_flight(log, series.time_s), 0]
        values = values[np.isfinite(values)]
        if not len(values):
            continue
        if name == "fix":
            found |= {"worst_fix": float(values.min()), "best_fix": float(values.max())}
            found["without_fix_s"] = sum(b - a for a, b in below(series, FIX_3D, log))
        elif name == "satellites":
            found |= {"fewest_satellites": float(values.min()), "satellites": float(np.median(values))}
        else:
            found["worst_hdop" if name == "hdop" else "worst_accuracy_m"] = float(values.max())
    return found


def below(series: Series, limit: float, log: FlightLog, column: int = 0) -> list[tuple[float, float]]:
    """Stretches of the flight in which a quantity is below a limit."""
    values = series.values[:, column]
    low = (values < limit) & in_flight(log, series.time_s)
    return _pieces(series.time_s, low)


def above(series: Series, limit: float, log: FlightLog, column: int = 0) -> list[tuple[float, float]]:
    """Stretches of the flight in which a quantity is above a limit."""
    values = series.values[:, column]
    return _pieces(series.time_s, (values > limit) & in_flight(log, series.time_s))


def _pieces(time_s: np.ndarray, on: np.ndarray) -> list[tuple[float, float]]:
    """Stretches of samples in which a flag is up; each lasts until the next sample."""
    if not on.any():
        return []
    edges = np.flatnonzero(np.diff(np.concatenate([[0], on.astype(int), [0]])))
    last = len(time_s) - 1
    return [(float(time_s[a]), float(time_s[min(b, last)])) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def followed(log: FlightLog) -> list[tuple[str, str, float, float]]:
    """How well set-points were followed in flight: loop, axis, rms and greatest difference, in m, m/s, degrees."""
    rows: list[tuple[str, str, float, float]] = []
    for loop, axes, factor in (
        ("position", ("north", "east", "down"), 1.0),
        ("velocity", ("north", "east", "down"), 1.0),
        ("attitude", ("roll", "pitch", "yaw"), math.degrees(1)),
        ("rates", ("roll rate", "pitch rate", "yaw rate"), math.degrees(1)),
    ):
        true, asked = log.series.get(loop), log.series.get(f"{loop}_set")
        if true is None or asked is None:
            continue
        flying = in_flight(log, true.time_s) & (true.time_s >= asked.time_s[0])
        last = np.clip(np.searchsorted(asked.time_s, true.time_s, side="right") - 1, 0, None)
        error = (true.values - asked.values[last])[flying]
        if loop == "attitude":
            error = (error + math.pi) % (2 * math.pi) - math.pi
        for axis, column in zip(axes, (factor * error).T, strict=True):
            known = column[np.isfinite(column)]
            if len(known) > 1:
                rows.append((loop, axis, float(np.sqrt(np.mean(known**2))), float(np.abs(known).max())))
    return rows


# ---------------------------------------------------------------------- what stands out


def share_of(output: Series) -> np.ndarray:
    """Outputs as shares of the full command: pulses of 1 to 2 ms are 0 to 1."""
    return (output.values - PULSE_LOW_S) / PULSE_SPAN_S if output.unit == "s" else output.values


def findings(log: FlightLog) -> list[Finding]:
    """What to look at first, the worst first, then by time."""
    found = [
        *_messages(log),
        *_failsafes(log),
        *_estimator(log),
        *_gnss(log),
        *_vibration(log),
        *_outputs(log),
        *_load(log),
        *_battery(log),
        *_logging(log),
    ]
    return sorted(found, key=lambda f: (LEVELS.index(f.level), math.inf if math.isnan(f.time_s) else f.time_s))


def _messages(log: FlightLog) -> list[Finding]:
    """Errors and warnings; those that differ in their numbers alone count as one."""
    alike: dict[tuple[str, str], list[Message]] = {}
    for one in log.messages:
        if one.level != INFO:
            alike.setdefault((one.level, re.sub(r"\d+", "0", one.text)), []).append(one)
    return [
        Finding(level, found[0].time_s, f"“{found[0].text}”" + (f", {len(found)} times" if len(found) > 1 else ""))
        for (level, _), found in alike.items()
    ]


def _failsafes(log: FlightLog) -> list[Finding]:
    return [
        Finding(ERROR, start, f"Failsafe{'' if name == 'failsafe' else f' ({name})'} for {end - start:.1f} s")
        for start, end, name in spans(log.failsafe, log.length_s)
        if name
    ]


def _estimator(log: FlightLog) -> list[Finding]:
    series = log.series.get("test_ratio")
    if series is None:
        return []
    found = []
    for column, name in enumerate(log.names["test_ratio"]):
        pieces = above(series, RATIO_LIMIT, log, column)
        if pieces:
            total = sum(end - start for start, end in pieces)
            most = float(np.nanmax(series.values[:, column]))
            text = f"The estimator rejects {name} for {total:.1f} s (test ratio up to {short(most)}, limit 1)"
            found.append(Finding(WARNING, pieces[0][0], text))
    return found


def _gnss(log: FlightLog) -> list[Finding]:
    found = []
    fix, satellites = log.series.get("fix"), log.series.get("satellites")
    if fix is not None and np.nanmax(fix.values) >= FIX_3D:
        pieces = below(fix, FIX_3D, log)
        if pieces:
            total = sum(end - start for start, end in pieces)
            found.append(Finding(ERROR, pieces[0][0], f"GNSS has no position fix for {total:.1f} s of the flight"))
    if satellites is not None and not found:
        pieces = below(satellites, FEW_SATELLITES, log)
        if pieces:
            least = np.nanmin(satellites.values[in_flight(log, satellites.time_s)])
            found.append(Finding(WARNING, pieces[0][0], f"GNSS uses only {least:.0f} satellites"))
    return found


def _vibration(log: FlightLog) -> list[Finding]:
    found = []
    series, clipping = log.series.get("vibration"), log.series.get("clipping")
    if series is not None:
        flying = in_flight(log, series.time_s)
        most = np.nanmax(series.values, axis=1)
        high = _greatest(log, series.time_s, most)
        usual = float(np.nanmedian(most[flying]))
        doubtful, bad = VIBRATION.get((log.kind, series.unit), (math.inf, math.inf))
        if high is not None and usual > doubtful:
            level, word = (ERROR, "bad") if usual > bad else (WARNING, "doubtful")
            unit = series.unit.replace("^2", "²")
            text = (
                f"Vibration is {word}: usually {usual:.2g} {unit}, up to {high.value:.2g} (good: below {doubtful:.2g})"
            )
            found.append(Finding(level, high.time_s, text))
    if clipping is not None:
        rows = np.flatnonzero(in_flight(log, clipping.time_s))
        grown = np.nan_to_num(clipping.values[rows[-1]] - clipping.values[rows[0]])
        if grown.max() > 0:
            first = np.flatnonzero((np.diff(np.nan_to_num(clipping.values[rows]), axis=0) > 0).any(axis=1))
            at_s = float(clipping.time_s[rows[first[0] + 1]]) if len(first) else math.nan
            found.append(
                Finding(
                    WARNING if grown.max() >= MANY_CLIPS else INFO,
                    at_s,
                    f"The accelerometer was out of its range {grown.max():.0f} times",
                )
            )
    return found


def _outputs(log: FlightLog) -> list[Finding]:
    series = log.series.get("output")
    if series is None:
        return []
    found = []
    shares = share_of(series)
    for column, name in enumerate(log.names["output"]):
        if not log.rotors or column >= log.rotors:
            continue
        on = (shares[:, column] >= FULL) & in_flight(log, series.time_s)
        pieces = _pieces(series.time_s, on)
        longest = max(pieces, key=lambda piece: piece[1] - piece[0], default=(0.0, 0.0))
        if longest[1] - longest[0] >= LONG_FULL_S:
            text = f"{name.capitalize()} is at its upper limit for {longest[1] - longest[0]:.1f} s"
            found.append(Finding(WARNING, longest[0], text))
    return found


def _load(log: FlightLog) -> list[Finding]:
    series = log.series.get("load")
    pieces = above(series, FULL_LOAD, log) if series is not None else []
    if series is None or not pieces:
        return []
    total, most = sum(end - start for start, end in pieces), 100 * float(np.nanmax(series.values[:, 0]))
    return [Finding(WARNING, pieces[0][0], f"The processor is busy for {most:.0f} % of its time, {total:.1f} s in all")]


def _battery(log: FlightLog) -> list[Finding]:
    series = log.series.get("battery_remaining")
    if series is None or not np.nanmax(series.values) > EMPTY:
        return []
    for limit, level in ((EMPTY, ERROR), (LOW, WARNING)):
        pieces = below(series, limit, log)
        if pieces:
            text = f"The battery falls below {100 * limit:.0f} % of its charge"
            return [Finding(level, pieces[0][0], text)]
    return []


def _logging(log: FlightLog) -> list[Finding]:
    found = [Finding(WARNING, math.nan, note[:1].upper() + note[1:]) for note in log.notes]
    total = sum(length for _, length in log.dropouts)
    if total > 0:
        text = f"The log has {counted(len(log.dropouts), 'dropout')}, {total:.2f} s in all"
        first_s = log.dropouts[0][0]
        found.append(Finding(WARNING if total > 0.5 else INFO, first_s if first_s <= log.length_s else math.nan, text))
    for name in ("attitude", "position"):
        if name in log.series and (holes := gaps(log.series[name].time_s)):
            longest = max(length for _, length in holes)
            text = f"No {name} was logged {counted(len(holes), 'time')}, for up to {longest:.1f} s"
            found.append(Finding(WARNING, holes[0][0], text))
            break
    return found


# ---------------------------------------------------------------------- sentences


def short(value: float) -> str:
    """A number with two or three digits, never in powers of ten."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2g}"


def setting(value: float) -> str:
    """The value of a parameter: whole numbers with all their digits."""
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:.6g}"


def counted(count: int, word: str) -> str:
    """A number with its noun: 1 dropout, 4 dropouts."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """A time in words: 41.3 s, 12 min 05 s, 1 h 02 min."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def sentence(log: FlightLog) -> str:
    """What happened, in one sentence."""
    pieces = flown_spans(log)
    most = extremes(log)
    if not pieces:
        return f"It was not armed in the {duration(log.length_s)} of this log."
    total = sum(end - start for start, end in pieces)
    if not log.series:
        return f"A log of {duration(log.length_s)} without any quantity that this page shows."
    in_air = any(name == "in the air" for _, name in log.landed) or any(name == "disarmed" for _, name in log.modes)
    begin = "Flew" if in_air else "Was armed for" if log.armed else "Logged"
    words = [f"{begin} {duration(total)}"]
    if len(pieces) > 1:
        words[0] += f" in {len(pieces)} flights"
    names = list(dict.fromkeys(name for _, name in log.modes if name != "disarmed"))
    if names:
        words[0] += f" in {_list(names[:4])}" + (" and other modes" if len(names) > 4 else "")
    if "height_m" in most and "distance_m" in most and most["height_m"].value > LEAST_SHOWN:
        words.append(f"up to {most['height_m'].value:.1f} m high and {most['distance_m'].value:.0f} m away")
    if "tilt_deg" in most:
        words.append(f"tilted by up to {most['tilt_deg'].value:.0f}° at {most['tilt_deg'].time_s:.1f} s")
    return ", ".join(words) + "."


def _list(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def summary_rows(log: FlightLog) -> dict[str, str]:
    """The table of a log: name and text."""
    rows: dict[str, str] = {"log": f"{log.what}, {log.path.stat().st_size / 1e6:.1f} MB"}
    rows |= log.facts
    if log.started is not None:
        rows["began"] = f"{log.started:%Y-%m-%d %H:%M:%S} UTC"
    rows["length"] = duration(log.length_s)
    pieces = flown_spans(log)
    if log.armed or log.landed:
        total = sum(end - start for start, end in pieces)
        where = "in the air" if any(name == "in the air" for _, name in log.landed) else "armed"
        rows[where] = f"{duration(total)} in {len(pieces)} pieces" if len(pieces) > 1 else duration(total)
    rows |= _extreme_rows(log)
    if text := _battery_text(log):
        rows["battery"] = text
    if text := _gnss_text(log):
        rows["GNSS"] = text
    if "test_ratio" in log.series:
        series, names = log.series["test_ratio"], log.names["test_ratio"]
        flying = in_flight(log, series.time_s)
        most = [float(np.nanmax(column[flying], initial=0.0)) for column in series.values.T]
        rows["largest test ratios"] = ", ".join(f"{n} {v:.2f}" for n, v in zip(names, most, strict=True))
    if "vibration" in log.series:
        series = log.series["vibration"]
        values = np.nanmax(series.values[in_flight(log, series.time_s)], axis=1)
        unit = series.unit.replace("^2", "²")
        rows["vibration"] = f"{np.nanmedian(values):.2g} {unit} usually, up to {np.nanmax(values):.2g}"
    counts = {level: sum(one.level == level for one in log.messages) for level in LEVELS}
    words = (counted(count, level) for level, count in counts.items() if level != INFO and count)
    rows["messages"] = ", ".join([*words, f"{len(log.messages)} in all"]) if log.messages else "none"
    dropped = sum(length for _, length in log.dropouts)
    if log.kind == "ulog":
        rows["dropouts"] = f"{len(log.dropouts)}, {dropped:.2f} s in all" if log.dropouts else "none"
    if log.parameters:
        other = f", {len(log.non_default())} not at their default" if log.defaults is not None else ""
        rows["parameters"] = f"{len(log.parameters)}{other}, {counted(len(log.changed), 'change')} while logging"
    return rows


def _extreme_rows(log: FlightLog) -> dict[str, str]:
    words = {
        "tilt_deg": ("largest tilt", "°"),
        "speed_mps": ("largest speed over ground", " m/s"),
        "airspeed_mps": ("largest airspeed", " m/s"),
        "climb_mps": ("fastest climb", " m/s"),
        "descent_mps": ("fastest descent", " m/s"),
        "height_m": ("largest height", " m"),
        "distance_m": ("farthest from the start", " m"),
    }
    most = extremes(log)
    rows = {
        name: f"{most[key].value:.1f}{unit} at {most[key].time_s:.1f} s"
        for key, (name, unit) in words.items()
        if key in most and most[key].value >= LEAST_SHOWN
    }
    if (length := path_m(log)) is not None and "position" in log.series:
        rows["way over ground"] = f"{length:.0f} m"
    return rows


def _battery_text(log: FlightLog) -> str:
    used = battery(log)
    words = []
    if "first_v" in used:
        words.append(f"{used['first_v']:.2f} to {used['last_v']:.2f} V (least {used['least_v']:.2f})")
    if "first_share" in used:
        words.append(f"{100 * used['first_share']:.0f} to {100 * used['last_share']:.0f} %")
    if used.get("used_mah", 0) > 0:
        words.append(f"{used['used_mah']:.0f} mAh used")
    if used.get("used_wh", 0) > 0:
        words.append(f"{used['used_wh']:.2f} Wh")
    return ", ".join(words)


def _gnss_text(log: FlightLog) -> str:
    found = gnss(log)
    words = []
    if "best_fix" in found:
        best, worst = (FIXES.get(int(found[key]), f"{found[key]:.0f}") for key in ("best_fix", "worst_fix"))
        words.append(f"fix {best}" if best == worst else f"fix {worst} to {best}")
    if "satellites" in found:
        words.append(f"{found['satellites']:.0f} satellites (fewest {found['fewest_satellites']:.0f})")
    if "worst_hdop" in found:
        words.append(f"HDOP up to {found['worst_hdop']:.2f}")
    if "worst_accuracy_m" in found:
        words.append(f"accuracy {found['worst_accuracy_m']:.1f} m or better")
    if found.get("without_fix_s", 0) > 0:
        words.append(f"{found['without_fix_s']:.1f} s without a position fix")
    return ", ".join(words)


def figures(log: FlightLog) -> dict[str, Any]:
    """The summary of a log as plain data, for `--json`."""
    return {
        "file": str(log.path),
        "kind": log.kind,
        "facts": log.facts,
        "began": log.started.isoformat() if log.started is not None else None,
        "length_s": log.length_s,
        "flown_s": sum(end - start for start, end in flown_spans(log)),
        "largest": {name: {"value": one.value, "time_s": one.time_s} for name, one in extremes(log).items()},
        "battery": battery(log),
        "gnss": gnss(log),
        "followed": [
            {"loop": loop, "axis": axis, "rms": rms, "greatest": most} for loop, axis, rms, most in followed(log)
        ],
        "findings": [
            {"level": one.level, "time_s": None if math.isnan(one.time_s) else one.time_s, "text": one.text}
            for one in findings(log)
        ],
        "dropouts": [{"time_s": at_s, "length_s": length} for at_s, length in log.dropouts],
    }  # fmt: skip
