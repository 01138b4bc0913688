"""The figures of a log, drawn by the flight page's own plot engine: modes shaded, errors and warnings as lines."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ironbird.protocols.autopilot_log import FIX_3D, Series
from ironbird.protocols.flight_log import ERROR, INFO, WARNING, FlightLog, spans
from ironbird.report.flight.curves import MAX_POINTS, SHOWN, Json, packed
from ironbird.report.flight.paths import equal_ranges
from ironbird.report.flight.plots import AXIS, ZERO_LINE, Row, Span, TimePlots, base_layout, ink, panels_of
from ironbird.report.flight.replay import MOST_FRAMES, UP
from ironbird.report.flight.tuning import LEAST_ROWS, spectrum_figure
from ironbird.report.log.summary import RATIO_LIMIT, below, flown_spans, heights, share_of
from ironbird.rotations import from_euler
from ironbird.vehicles.shape import shape_of

MODE_INKS = tuple(f"var(--c{number})" for number in (0, 2, 3, 5, 6, 1, 4, 7))  # in the order in which modes appear
MOST_LINES = 60  # of messages in a plot; more would hide the curves
MOST_SHADES = 80  # stretches of modes
LEAST_HZ = 100.0  # of an accelerometer whose spectrum says something of vibration
AXES, ANGLES = ("north", "east", "down"), ("roll", "pitch", "yaw")
FLOWN, ASKED = "as logged", "set-point"
MOST_ERRORS = 20  # on the scrub bar
LIKE = (  # words for a vehicle in logs, and the vehicle of the catalogue that is drawn
    (("vtol",), "vtol_standard"), (("fixed", "plane"), "aerosonde"), (("heli",), "heli_xcell60"),
    (("rover",), "car_escort"), (("boat", "surface"), "boat_otter"), (("sub",), "rov_bluerov2_heavy"),
)  # fmt: skip
COPTERS = {3: "tri_y", 4: "quad_f450", 6: "hexa_x", 8: "octo_x"}  # by the number of rotors


class LogPlots(TimePlots):
    """The figures of one log."""

    def __init__(self, log: FlightLog) -> None:
        super().__init__(0.0, log.length_s)
        self.log = log
        names = list(dict.fromkeys(name for _, name in log.modes))
        self.inks = {name: MODE_INKS[number % len(MODE_INKS)] for number, name in enumerate(names)}
        self.inks["disarmed"] = "var(--idle)"

    def spans(self) -> list[Json]:
        """Modes, faintly shaded, and lines at errors and warnings."""
        pieces = spans(self.log.modes, self.end)
        shown = pieces if 1 < len(pieces) <= MOST_SHADES else []
        shapes: list[Json] = [
            {
                "type": "rect", "fillcolor": self.inks[name], "opacity": 0.09, "line": {"width": 0}, "layer": "below",
                "xref": "x", "yref": "paper", "y0": 0, "y1": 1, "x0": start, "x1": end, "name": name,
            }
            for start, end, name in shown
        ]  # fmt: skip
        worst = [one for level in (ERROR, WARNING) for one in self.log.messages if one.level == level][:MOST_LINES]
        for one in worst:
            line = {"color": "var(--bad)" if one.level == ERROR else "var(--warn)", "width": 1}
            shape = {"type": "line", "xref": "x", "yref": "paper", "y0": 0, "y1": 1, "name": one.text}
            shapes.append({**shape, "x0": one.time_s, "x1": one.time_s, "line": line, "opacity": 0.55})
        return shapes

    # -------------------------------------------------------------- curves

    def of(self, name: str) -> Series | None:
        """A quantity of the log."""
        return self.log.series.get(name)

    def column(
        self, series: Series, column: int, name: str, ink: str, unit: str, factor: float = 1.0, *, turns: bool = False,
        role: str = "",
    ) -> Json:  # fmt: skip
        """The curve of one column."""
        values = factor * series.values[:, column]
        return self.line(series.time_s, values, name, ink, unit, turns=turns, role=role)

    def beside(
        self, key: str, name: str, words: Sequence[str], unit: str, factor: float = 1.0, *, turns: bool = False
    ) -> str:
        """A quantity with its set-point, each axis in a plot of its own."""
        true, asked = self.of(name), self.of(f"{name}_set")
        if true is None:
            return ""
        rows = []
        for i, word in enumerate(words):
            curves = [{**self.column(true, i, word, ink(0), unit, factor, turns=turns), "name": FLOWN}]
            if asked is not None and np.isfinite(asked.values[:, i]).any():
                curve = self.column(asked, i, word, ink(1), unit, factor, turns=turns, role=ASKED)
                curves.append({**curve, "line": {"color": ink(1), "width": 1.5, "dash": "dot"}, "zorder": 1})
            rows.append((word, curves))
        return self.stack(key, rows)

    def columns(self, key: str, name: str, unit: str, words: Sequence[str] = (), factor: float = 1.0) -> str:
        """All columns of a quantity in one plot."""
        series = self.of(name)
        if series is None:
            return ""
        words = words or self.log.names.get(name, [name])
        return self.figure(key, [self.column(series, i, word, ink(i), unit, factor) for i, word in enumerate(words)])

    # -------------------------------------------------------------- panels

    def motion(self) -> list[Json]:
        """What the vehicle did."""
        return panels_of(
            [
                ("Height", "m above the place where the position begins", self._height()),
                ("Attitude", "degrees", self.beside("attitude", "attitude", ANGLES, "°", math.degrees(1), turns=True)),
                ("Velocity", "m/s over ground", self.beside("velocity", "velocity", AXES, "m/s")),
                ("Position", "m", self.beside("position", "position", AXES[:2], "m")),
                ("Airspeed", "m/s", self.columns("airspeed", "airspeed", "m/s")),
                (
                    "Body rates", "degrees per second",
                    self.beside("rates", "rates", ("roll rate", "pitch rate", "yaw rate"), "°/s", math.degrees(1)),
                ),
                ("Motors and servos", self._output_words(), self._outputs()),
                ("Sticks", "share of the full way", self._sticks()),
            ]
        )  # fmt: skip

    def power(self) -> list[Json]:
        """Battery and processor."""
        return panels_of(
            [
                ("Battery", "V, A and share of the charge", self._battery()),
                ("Processor", "% of its time, % of its memory", self.columns("load", "load", "%", factor=100.0)),
            ]
        )

    def sensors(self) -> list[Json]:
        """Plots of vibration, its spectra, and GNSS."""
        return panels_of(
            [
                ("Vibration", self._vibration_words(), self.columns("vibration", "vibration", self._vibration_unit())),
                *self._spectra(),
                ("GNSS", "satellites, accuracy in m, kind of fix", self._gnss()),
            ]
        )

    def estimator(self) -> list[Json]:
        """Test ratios and innovations."""
        return panels_of(
            [
                ("Test ratios", "squared innovation over what is allowed; above 1 is rejected", self._ratios()),
                ("Innovations", "measured minus predicted: m/s, m, m, degrees", self._innovations()),
            ]
        )

    def _height(self) -> str:
        found = heights(self.log)
        if found is None:
            return ""
        position = self.log.series["position"]
        first = float(found[1][np.isfinite(found[1])][0] + position.values[np.isfinite(found[1]), 2][0])
        curves = [{**self.line(*found, "height", ink(0), "m"), "legendrank": 1}]
        asked = self.of("position_set")
        if asked is not None and np.isfinite(asked.values[:, 2]).any():
            curve = self.line(asked.time_s, first - asked.values[:, 2], ASKED, ink(1), "m", role=ASKED)
            curves.append({**curve, "zorder": 1, "legendrank": 2})
        receiver, baro, ranger = self.of("gnss_position"), self.of("baro_height"), self.of("range")
        if receiver is not None:
            curves.append(self._faint(receiver.time_s, _level(found, receiver, -receiver.values[:, 2]), "GNSS", 2))
        if baro is not None:
            curves.append(self._faint(baro.time_s, _level(found, baro, baro.values[:, 0]), "barometer", 3))
        if ranger is not None:
            curves.append(self._faint(ranger.time_s, ranger.values[:, 0], "range to the ground", 4))
        return self.figure("height", curves)

    def _faint(self, time_s: np.ndarray, values: np.ndarray, name: str, number: int) -> Json:
        curve = self.line(time_s, values, name, ink(number), "m")
        return {**curve, "opacity": 0.7, "zorder": -1, "line": {"color": ink(number), "width": 1.1, "dash": "solid"}}

    def _sticks(self) -> str:
        series = self.of("sticks")
        moved = (
            series is not None and np.nanmax(np.nanmax(series.values, axis=0) - np.nanmin(series.values, axis=0)) > 0
        )
        return self.columns("sticks", "sticks", "") if moved else ""

    def _output_words(self) -> str:
        series = self.of("output")
        pulses = series is not None and series.unit == "s"
        return "share of the full command" + (", pulses of 1 to 2 ms" if pulses else "")

    def _outputs(self) -> str:
        series = self.of("output")
        if series is None:
            return ""
        shares = Series(series.time_s, share_of(series), "1")
        names = self.log.names["output"]
        curves = [self.column(shares, i, name, ink(i), "") for i, name in enumerate(names)]
        for i, curve in enumerate(curves):
            curve["line"]["dash"] = ("solid", "dash")[i // 8 % 2]
            curve["line"]["width"] = 1.4
        return self.figure("outputs", curves)

    def _battery(self) -> str:
        rows = []
        for name, word, unit, factor, number in (
            ("battery_voltage", "voltage, V", "V", 1.0, 0),
            ("battery_current", "current, A", "A", 1.0, 1),
            ("battery_remaining", "charge, %", "%", 100.0, 2),
        ):
            series = self.of(name)
            if series is not None:
                rows.append((word, [self.column(series, 0, word.split(",")[0], ink(number), unit, factor)]))
        return self.stack("battery", rows) if rows else ""

    def _gnss(self) -> str:
        rows = []
        satellites, fix = self.of("satellites"), self.of("fix")
        accuracy, hdop = self.of("gnss_accuracy"), self.of("hdop")
        if satellites is not None:
            rows.append(("satellites", [self.column(satellites, 0, "satellites", ink(0), "")]))
        curves = []
        if accuracy is not None:
            curves += [
                self.column(accuracy, i, word, ink(i + 2), "m")
                for i, word in enumerate(("horizontal accuracy", "vertical accuracy"))
            ]
        if hdop is not None:
            curves.append(self.column(hdop, 0, "HDOP", ink(1), ""))
        if curves:
            rows.append(("accuracy", curves))
        if fix is not None:
            rows.append(("fix", [self.column(fix, 0, "kind of fix: 3 is 3D, 6 RTK", ink(4), "")]))
        return self.stack("gnss", rows, height=104) if rows else ""

    def _vibration_unit(self) -> str:
        series = self.of("vibration")
        return series.unit.replace("^2", "²") if series is not None else ""

    def _vibration_words(self) -> str:
        if self._vibration_unit() != "m/s²":
            return "m/s in one step, as PX4 had it before version 1.13: above 0.02 is doubtful, above 0.04 bad"
        limits = {
            "dataflash": "VIBE: above 30 is doubtful, above 60 bad",
            "ulog": "above 4.9 is doubtful, above 9.8 bad",
        }
        return f"m/s², {limits.get(self.log.kind, 'as logged')}"

    def _spectra(self) -> list[tuple[str, str, str]]:
        found = []
        for title, name, unit, factor in (
            ("Accelerometer spectrum", "acceleration", "m/s²", 1.0),
            ("Gyroscope spectrum", "rates", "°/s", math.degrees(1)),
        ):
            series = self.of(name)
            piece = _even_piece(self.log, series) if series is not None else None
            if piece is None:
                continue
            step_s, values = piece
            words = f"{unit} per √Hz over Hz, {self.log.sources[name]} at {1 / step_s:.0f} Hz"
            found.append((title, words, spectrum_figure(self, f"spectrum-{name}", factor * values, step_s, unit)))
        return found

    def _ratios(self) -> str:
        series = self.of("test_ratio")
        if series is None:
            return ""
        curves = [self.column(series, i, name, ink(i), "") for i, name in enumerate(self.log.names["test_ratio"])]
        ends = np.array([0.0, self.end])
        limit = self.line(ends, np.array([RATIO_LIMIT, RATIO_LIMIT]), "limit", "var(--bad)", "")
        curves.append({**limit, "mode": "lines", "line": {"color": "var(--bad)", "width": 1.1, "dash": "dash"}})
        return self.figure("ratios", curves)

    def _innovations(self) -> str:
        rows = []
        for name, words, unit, factor in (
            ("velocity", AXES, "m/s", 1.0),
            ("position", AXES[:2], "m", 1.0),
            ("height", ("height",), "m", 1.0),
            ("heading", ("heading",), "°", math.degrees(1)),
        ):
            series = self.of(f"innovation_{name}")
            if series is not None:
                curves = [
                    self.column(series, i, word, ink(i if len(words) > 1 else 3), unit, factor)
                    for i, word in enumerate(words)
                ]
                rows.append((name, curves))
        return self.stack("innovations", rows, height=100) if rows else ""

    # -------------------------------------------------------------- time line

    def timeline(self) -> str:
        """Modes, flight, failsafes, messages, changes of the estimator, GNSS and holes of the log as bands."""
        log, wide = self.log, self.range[1] - self.range[0]
        rows: list[Row] = []
        if log.modes:
            title = "Mode" if len(log.modes) > 1 else f"Mode: {log.modes[0][1]}"
            rows.append((title, [(a, b, name, self.inks[name]) for a, b, name in spans(log.modes, self.end)]))
        if log.landed or log.armed:
            armed = [(a, b, "armed", "var(--c6)") for a, b, name in spans(log.armed, self.end) if name == "armed"]
            rows.append(("Armed", armed))
            if log.landed:
                rows.append(("In the air", [(a, b, "in the air", "var(--c2)") for a, b in flown_spans(log)]))
        failsafe = [(a, b, name, "var(--bad)") for a, b, name in spans(log.failsafe, self.end) if name]
        if failsafe:
            rows.append(("Failsafe", failsafe))
        for level, colour, name in ((ERROR, "var(--bad)", "Errors"), (WARNING, "var(--warn)", "Warnings")):
            marks = [(m.time_s, m.time_s + 0.004 * wide, m.text, colour) for m in log.messages if m.level == level]
            if marks:
                rows.append((name, marks))
        for kind, name, colour in (
            ("rejection", "Estimator rejects or accepts", "var(--c1)"),
            ("estimator", "Estimator changes", "var(--c3)"),
            ("sensor", "Sensor chosen", "var(--c4)"),
        ):
            changes = [(c.time_s, c.time_s + 0.003 * wide, c.text, colour) for c in log.states if c.kind == kind]
            if changes:
                rows.append((name, changes))
        if (fix := self.of("fix")) is not None and np.nanmax(fix.values) >= FIX_3D:
            lost: list[Span] = [(a, b, "no position fix", "var(--warn)") for a, b in below(fix, FIX_3D, log)]
            if lost:
                rows.append(("No GNSS fix", lost))
        if log.dropouts:
            holes = [(a, a + max(b, 0.003 * wide), f"{b:.2f} s lost", "var(--idle)") for a, b in log.dropouts]
            rows.append(("Dropouts of the log", [hole for hole in holes if hole[0] <= self.end]))
        rows = [row for row in rows if row[1]]
        return self.bands("timeline", rows) if rows else ""

    # -------------------------------------------------------------- where

    def where(self) -> bool:
        """Draw the replay and the track from above; returns False if the log has no position."""
        position = self.of("position")
        if position is None or not np.isfinite(position.values).all(axis=1).any():
            return self._receiver_only()
        self.figures["replay"] = self._replay(position)
        self.figures["path-plan"] = self._from_above(position)
        return True

    def _receiver_only(self) -> bool:
        receiver = self.of("gnss_position")
        if receiver is None:
            return False
        self.figures["path-plan"] = self._from_above(None)
        return True

    def _replay(self, position: Series) -> Json:
        good = np.flatnonzero(np.isfinite(position.values).all(axis=1))
        rows = good[:: math.ceil(len(good) / MOST_FRAMES)]
        rows = np.append(rows, good[-1]) if rows[-1] != good[-1] else rows
        time_s = position.time_s[rows]
        floor = float(position.values[good[0], 2])
        place = _raised(position.values[rows], floor)
        frames = {"time_s": packed(time_s), "place": packed(place.ravel())}
        attitude, asked = self.of("attitude"), self.of("position_set")
        if attitude is not None:
            frames["attitude"] = packed(from_euler(_near(attitude, time_s)).ravel())
        if asked is not None and np.isfinite(asked.values).all(axis=1).any():
            frames["set_point"] = packed(_raised(_near(asked, time_s), floor).ravel())
        names = list(self.inks)
        if self.log.modes:
            starts = np.array([at_s for at_s, _ in self.log.modes])
            found = np.clip(np.searchsorted(starts, time_s, side="right") - 1, 0, None)
            numbers = np.array([names.index(name) for _, name in self.log.modes], float)
            frames["mode"] = packed(numbers[found])
        marks = [
            {"name": name, "symbol": symbol, "ink": colour, "place": [round(float(x), 3) for x in spot]}
            for name, symbol, colour, spot in self._marks(time_s, place)
        ]
        return {
            "kind": "replay", "frames": frames, "others": {}, "modes": names, "marks": marks, "waypoints": [],
            "numbers": [], "ranges": equal_ranges(place), "shape": self._shape(), "world": None, "hit": None,
            "broken": [], "bands": self._bands(float(time_s[-1])), "events": self._events(float(time_s[-1])),
            "crashed": False,
        }  # fmt: skip

    def _bands(self, end_s: float) -> list[Json]:
        """The row of modes of the scrub bar."""
        starts = [*(at_s for at_s, _ in self.log.modes), end_s]
        spans = [
            [round(at_s, 3), round(max(starts[n + 1], at_s), 3), name, self.inks.get(name, "var(--idle)")]
            for n, (at_s, name) in enumerate(self.log.modes)
        ]
        return [{"name": "mode", "spans": spans}] if spans else []

    def _events(self, end_s: float) -> list[Json]:
        """Errors in the log, as moments of the scrub bar."""
        errors = [one for one in self.log.messages if one.level == ERROR][:MOST_ERRORS]
        found = [{"time_s": round(one.time_s, 3), "kind": "broken", "text": one.text} for one in errors]
        return [*found, {"time_s": round(end_s, 3), "kind": "end", "text": "end of the log"}]

    def _shape(self) -> Json:
        """A vehicle of the catalogue of the kind that the log names: its own form is not known."""
        kind = self.log.facts.get("vehicle", "")
        known = next((name for words, name in LIKE if any(word in kind for word in words)), "")
        made = shape_of(known or COPTERS.get(self.log.rotors, "quad_f450"))
        return {key: made[key] for key in ("drawing", "parts", "joints", "signals")}

    def _marks(self, time_s: np.ndarray, place: np.ndarray) -> list[tuple[str, str, str, np.ndarray]]:
        marks = [("start", "circle", "var(--good)", place[0])]
        first = next((one for one in self.log.messages if one.level == ERROR), None)
        row = int(np.searchsorted(time_s, first.time_s)) if first is not None else len(place)
        if first is not None and row < len(place):
            marks.append((f"first error, {first.time_s:.1f} s", "diamond", "var(--bad)", place[row]))
        return [*marks, ("end", "square", "var(--text)", place[-1])]

    def _from_above(self, position: Series | None) -> Json:
        data: list[Json] = []

        def line(values: np.ndarray, name: str, colour: str, width: float, dash: str) -> None:
            step = math.ceil(len(values) / MAX_POINTS) or 1
            points = np.where(np.abs(values[::step]) < SHOWN, values[::step], np.nan)
            data.append(
                {
                    "type": "scatter", "mode": "lines", "name": name, "x": packed(points[:, 1]),
                    "y": packed(points[:, 0]), "label": name, "unit": "m", "showlegend": True,
                    "line": {"color": colour, "width": width, "dash": dash},
                }
            )  # fmt: skip

        asked, receiver = self.of("position_set"), self.of("gnss_position")
        if receiver is not None:
            line(receiver.values, "GNSS", ink(2), 1.1, "solid")
        if asked is not None and np.isfinite(asked.values[:, :2]).any():
            line(asked.values, ASKED, ink(1), 1.2, "dot")
        if position is not None:
            line(position.values, "estimated position", ink(0), 2.2, "solid")
        base = position or receiver
        assert base is not None
        good = np.isfinite(base.values).all(axis=1)
        for name, symbol, colour, spot in self._marks(base.time_s[good], base.values[good]):
            look = {"symbol": symbol, "size": 9, "color": colour}
            data.append(
                {
                    "type": "scatter", "mode": "markers", "name": name, "x": packed(spot[1:2]), "y": packed(spot[0:1]),
                    "label": name, "unit": "m", "showlegend": True, "marker": look,
                }
            )  # fmt: skip
        layout = {
            **base_layout(height=420, margin={"l": 52, "r": 16, "t": 12, "b": 40}),
            "xaxis": {**AXIS, "title": {"text": "east, m"}, "scaleanchor": "y"},
            "yaxis": {**AXIS, **ZERO_LINE, "title": {"text": "north, m"}},
        }
        return {"kind": "path", "data": data, "layout": layout}


def _raised(values: np.ndarray, floor: float) -> np.ndarray:
    """North, east and height above the first place."""
    return (values - np.array([0.0, 0.0, floor])) * UP


def _near(series: Series, time_s: np.ndarray) -> np.ndarray:
    """The last sample at each time."""
    rows = np.clip(np.searchsorted(series.time_s, time_s, side="right") - 1, 0, None)
    return np.asarray(series.values[rows])


def _level(height: tuple[np.ndarray, np.ndarray], series: Series, values: np.ndarray) -> np.ndarray:
    """A height of another origin, moved so that it begins at that of the estimate."""
    good = np.flatnonzero(np.isfinite(values))
    if not len(good):
        return values
    known = np.isfinite(height[1])
    begin = float(np.interp(series.time_s[good[0]], height[0][known], height[1][known]))
    return np.asarray(values - values[good[0]] + begin)


def _even_piece(log: FlightLog, series: Series) -> tuple[float, np.ndarray] | None:
    """The longest piece of the flight without a gap, on an even time base; None if the rate is too low."""
    steps = np.diff(series.time_s)
    usual = float(np.median(steps)) if len(steps) else math.inf
    if not 0 < usual <= 1 / LEAST_HZ:
        return None
    best: tuple[float, float] = (0.0, 0.0)
    for start, end in flown_spans(log) or [(0.0, log.length_s)]:
        inside = series.time_s[(series.time_s >= start) & (series.time_s <= end)]
        breaks = np.flatnonzero(np.diff(inside) > 5 * usual)
        firsts, lasts = [0, *(breaks + 1)], [*breaks, len(inside) - 1]
        for a, b in zip(firsts, lasts, strict=True):
            if len(inside) and inside[b] - inside[a] > best[1] - best[0]:
                best = float(inside[a]), float(inside[b])
    time_s = np.arange(best[0], best[1], usual)
    good = np.isfinite(series.values).all(axis=1)
    if len(time_s) < LEAST_ROWS or not good.any():
        return None
    columns = [np.interp(time_s, series.time_s[good], column[good]) for column in series.values.T]
    return usual, np.column_stack(columns)


def message_rows(log: FlightLog) -> list[tuple[str, str, str]]:
    """Messages as rows of a table: the worst first, each level by time."""
    rows = []
    for level in (ERROR, WARNING, INFO):
        rows += [(f"{one.time_s:.2f}", level, one.text) for one in log.messages if one.level == level]
    return rows
