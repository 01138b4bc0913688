"""The section of the flight page that compares the autopilot's own log with the truth."""

from __future__ import annotations

import numpy as np

from ironbird.errors import LinkError
from ironbird.flight.autopilot_estimate import RATIOS, AutopilotEstimate
from ironbird.flight.systems import title_of
from ironbird.report.flight.curves import Json
from ironbird.report.flight.plots import Plots, Span, ink, panels_of
from ironbird.rotations import euler
from ironbird.vehicles import places as at

AXES_N = ("north", "east", "down")
ANGLES = ("roll", "pitch", "yaw")
ERROR_INKS = (ink(0), ink(2), ink(3))


def autopilot_section(autopilot: AutopilotEstimate | LinkError, plots: Plots) -> Json | None:
    """Content of the section: clocks, a table of errors, plots; or the reason why there are none."""
    if isinstance(autopilot, LinkError):
        return {"problem": str(autopilot), "clock": "", "notes": [], "errors": [], "panels": [], "faults": False}
    if not plots.log.rows():
        return None
    drawn = _Drawn(autopilot, plots)
    made = [
        ("Modes", "as the autopilot logged them", drawn.modes()),
        ("Height", "m above home: truth, estimate, what it measured", drawn.height()),
        ("Horizontal position", "m from home: truth, estimate, what it measured", drawn.horizontal()),
        ("Error of the estimated position", "m: estimate minus truth", drawn.position_error()),
        ("Velocity", "m/s: truth and estimate; below: estimate minus truth", drawn.velocity()),
        ("Attitude", "degrees: truth and estimate; below: estimate minus truth", drawn.attitude()),
        ("Tests of the estimator", "innovation over its limit; above 1 it rejects the measurement", drawn.ratios()),
        ("Outputs", drawn.output_unit, drawn.outputs()),
        ("Battery", "V: truth and what the autopilot had", drawn.battery()),
    ]
    return {
        "problem": "",
        "clock": f"{title_of(autopilot.log.kind)}, {autopilot.log.path.name}: {autopilot.clock.sentence()}",
        "verified": autopilot.clock.verified,
        "notes": [note[:1].upper() + note[1:] for note in (autopilot.uncovered(), *autopilot.log.notes) if note],
        "errors": _error_rows(autopilot),
        "faults": bool(autopilot.begins_s),
        "panels": panels_of(made),
    }


def _error_rows(autopilot: AutopilotEstimate) -> list[list[str]]:
    """Quantity, rms and greatest error with its time; then rms before and after the first fault, if there is one."""
    rows = []
    for error in autopilot.errors():
        row = [error.name, error.unit, _number(error.rms), _number(error.most), f"{error.at_s:.1f}"]
        if autopilot.begins_s:
            row += [_number(error.rms_before), _number(error.rms_after)]
        rows.append(row)
    return rows


def _number(value: float) -> str:
    return f"{value:.3g}" if np.isfinite(value) else "-"


class _Drawn:
    """Figures of the section; each is drawn only if the log has its signals."""

    def __init__(self, autopilot: AutopilotEstimate, plots: Plots) -> None:
        self.autopilot, self.plots = autopilot, plots
        outputs = autopilot.log.estimated.get("output")
        self.pulses = outputs is not None and outputs.unit == "s"
        self.output_unit = "pulse width, ms" if self.pulses else "share of full range"

    def modes(self) -> str:
        """Bands of the modes and of the active estimator, above the faults."""
        modes, leaders = self.autopilot.modes(), self.autopilot.leaders()
        rows = [("Mode", self._spans(modes))] if modes else []
        if len(leaders) > 1:
            rows.append(("Estimator in charge", self._spans(leaders)))
        return self.plots.bands("autopilot-modes", [*rows, *self.plots.fault_rows()]) if rows else ""

    def _spans(self, changes: list[tuple[float, str]]) -> list[Span]:
        """Spans from each change to the next, one colour for each name."""
        inks: dict[str, str] = {}
        spans = []
        ends = [*(time_s for time_s, _ in changes[1:]), self.plots.end]
        for (begin, name), end in zip(changes, ends, strict=True):
            colour = inks.setdefault(name, ink(len(inks)))
            begin, end = max(begin, self.plots.range[0]), min(end, self.plots.end)
            if end > begin:
                spans.append((begin, end, name, colour))
        return spans

    def height(self) -> str:
        """Plot of the height above home: truth, estimate, GNSS and barometer."""
        estimate = self.autopilot.estimated("position")
        if estimate is None:
            return ""
        true = self.autopilot.truth("position")
        curves = [self.plots.truth(-true[:, 2], "m"), self.plots.estimate(-estimate[:, 2], "m")]
        gnss, baro = self.autopilot.estimated("gnss"), self.autopilot.estimated("baro")
        if gnss is not None:
            curves.append(self.plots.measured(-gnss[:, 2], "GNSS", ink(0), "m"))
        if baro is not None:
            curves.append(self.plots.measured(baro[:, 0], "barometer", ink(3), "m"))
        return self.plots.figure("autopilot-height", curves)

    def horizontal(self) -> str:
        """Plots of the north and east position: truth, estimate and GNSS."""
        estimate = self.autopilot.estimated("position")
        if estimate is None:
            return ""
        true, gnss = self.autopilot.truth("position"), self.autopilot.estimated("gnss")
        rows = []
        for i, name in enumerate(AXES_N[:2]):
            curves = [self.plots.truth(true[:, i], "m"), self.plots.estimate(estimate[:, i], "m")]
            if gnss is not None:
                curves.append(self.plots.measured(gnss[:, i], "GNSS", ink(0), "m"))
            rows.append((name, curves))
        return self.plots.stack("autopilot-horizontal", rows)

    def _errors(self, name: str, words: tuple[str, ...], unit: str, factor: float = 1.0) -> list[Json]:
        error = self.autopilot.error(name)
        assert error is not None
        return [
            self.plots.curve(factor * error[:, i], f"error {word}", ERROR_INKS[i], unit) for i, word in enumerate(words)
        ]

    def position_error(self) -> str:
        """Plots of the position error (estimate minus truth) by axis."""
        if self.autopilot.estimated("position") is None:
            return ""
        return self.plots.figure("autopilot-error", self._errors("position", AXES_N, "m"))

    def velocity(self) -> str:
        """Plots of the velocity: truth and estimate by axis, and the error."""
        estimate = self.autopilot.estimated("velocity")
        if estimate is None:
            return ""
        truth = self.autopilot.truth("velocity")
        rows = [
            (name, [self.plots.truth(truth[:, i], "m/s"), self.plots.estimate(estimate[:, i], "m/s")])
            for i, name in enumerate(AXES_N)
        ]
        return self.plots.stack("autopilot-velocity", [*rows, ("error", self._errors("velocity", AXES_N, "m/s"))])

    def attitude(self) -> str:
        """Plots of the attitude: truth and estimate by angle, and the error."""
        matrices = self.autopilot.estimated("attitude")
        if matrices is None:
            return ""
        truth, estimate = np.degrees(euler(self.autopilot.truth("attitude"))), np.degrees(euler(matrices))
        rows = []
        for i, name in enumerate(ANGLES):
            own = self.plots.estimate(estimate[:, i], "°", turns=True)
            rows.append((name, [self.plots.truth(truth[:, i], "°", turns=True), own]))
        errors = self._errors("attitude", ANGLES, "°", float(np.degrees(1)))
        return self.plots.stack("autopilot-attitude", [*rows, ("error", errors)])

    def ratios(self) -> str:
        """Plot of the test ratios of the active estimator."""
        ratios = self.autopilot.estimated("test_ratio")
        if ratios is None:
            return ""
        curves = [self.plots.curve(ratios[:, i], name, ink(i), "") for i, name in enumerate(RATIOS)]
        return self.plots.figure("autopilot-ratios", curves)

    def outputs(self) -> str:
        """Plot of the autopilot's commands to the actuators."""
        commands = self.autopilot.estimated("output")
        if commands is None:
            return ""
        factor, unit = (1e3, "ms") if self.pulses else (1.0, "")
        curves = [
            self.plots.curve(factor * commands[:, i], name, ink(i), unit)
            for i, name in enumerate(self.autopilot.log.outputs)
        ]
        return self.plots.figure("autopilot-outputs", curves)

    def battery(self) -> str:
        """Plot of the battery voltage: truth and the autopilot's value."""
        voltage = self.autopilot.estimated("battery")
        if voltage is None:
            return ""
        curves = [self.plots.estimate(voltage[:, 0], "V")]
        if at.BATTERY.voltage in self.plots.log:
            curves.insert(0, self.plots.truth(self.plots.log[at.BATTERY.voltage], "V"))
        return self.plots.figure("autopilot-battery", curves)
