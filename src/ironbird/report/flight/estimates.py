"""Time plots that compare the truth with sensor measurements and with the estimate."""

from __future__ import annotations

import math
import re

import numpy as np

from ironbird.report.flight.curves import FAINT_POINTS, Json
from ironbird.report.flight.plots import Plots, ink, matching, panels_of
from ironbird.vehicles import places as at

STALE_S = 1.0  # a measurement that is not renewed for so long is left out of its plot
AXES_B = ("x, forward", "y, right", "z, down")
TRUE_MOTION = {"gyro": at.BODY.rates, "accel": at.BODY.specific_force}


def estimate_panels(plots: Plots) -> list[Json]:
    """The plots for which the log has signals."""
    if not plots.log.rows():
        return []
    return panels_of(
        [
            ("Height", "m: truth, measurements, estimate", _height(plots)),
            ("Horizontal position", "m: truth, measurements, estimate", _horizontal(plots)),
            ("Error of the estimated position", "m: estimate minus truth; shaded: ± 2 std", _error(plots)),
            ("Attitude", "degrees: truth and estimate; below: estimate minus truth", _attitude(plots)),
            ("Gyroscopes", "degrees per second, in body axes", _inertial(plots, "gyro", "°/s", math.degrees(1))),
            ("Accelerometers", "m/s², in body axes", _inertial(plots, "accel", "m/s²", 1.0)),
        ]
    )


def _has_estimate(plots: Plots, quantity: str) -> bool:
    return f"estimator.{quantity}" in plots.log and f"body.{quantity}" in plots.log


def _measured(plots: Plots, values: np.ndarray, name: str, ink: str, unit: str, stamp: str) -> Json:
    """A faint curve of a measurement, interrupted where no samples came."""
    if stamp in plots.log:
        stamps = plots.log[stamp]
        values = np.where((stamps >= 0) & (plots.time_s() - stamps < STALE_S), values, np.nan)
    return plots.measured(values, name, ink, unit, limit=FAINT_POINTS)


def _gnss(plots: Plots, axis: int, sign: float) -> list[Json]:
    """Curves of one position component from all receivers, after fault injection."""
    matches = [re.fullmatch(r"(gnss/(\w+)/position_fault)\.value", signal) for signal in plots.log.signals]
    curves = []
    for i, match in enumerate(filter(None, matches)):
        values = sign * plots.values(match.group())[:, axis]
        tap, number = match.groups()
        curves.append(_measured(plots, values, f"GNSS {number}", ink((0, 3)[i % 2]), "m", f"{tap}.stamp"))
    return curves


def _height(plots: Plots) -> str:
    if not _has_estimate(plots, "p_NB_N"):
        return ""
    curves = []
    for i, (signal, number) in enumerate(matching(plots.log, r"baro/(\w+)/height\.baro_height")):
        stamp = f"baro/{number}/height.stamp"
        curves.append(_measured(plots, plots.log[signal], f"barometer {number}", ink((2, 5)[i % 2]), "m", stamp))
    curves += _gnss(plots, 2, -1.0)
    curves.append(plots.truth(-plots.values(at.BODY.position)[:, 2], "m"))
    curves.append(plots.estimate(-plots.values(at.ESTIMATOR.position)[:, 2], "m"))
    return plots.stack("estimate-height", [("height", curves)], 190)


def _horizontal(plots: Plots) -> str:
    if not _has_estimate(plots, "p_NB_N"):
        return ""
    rows = []
    for axis, name in enumerate(("north", "east")):
        truth, estimate = (plots.values(f"{part}.p_NB_N")[:, axis] for part in ("body", "estimator"))
        rows.append((name, [*_gnss(plots, axis, 1.0), plots.truth(truth, "m"), plots.estimate(estimate, "m")]))
    return plots.stack("estimate-horizontal", rows, 135)


def _error(plots: Plots) -> str:
    if not _has_estimate(plots, "p_NB_N"):
        return ""
    gap = plots.values(at.ESTIMATOR.position) - plots.values(at.BODY.position)
    rows = []
    for axis, name in enumerate(("north", "east", "down")):
        curves = []
        if at.ESTIMATOR.position_deviation in plots.log:
            curves = _band(plots, 2 * plots.values(at.ESTIMATOR.position_deviation)[:, axis], "m")
        rows.append((name, [*curves, plots.curve(gap[:, axis], "error", ink(1), "m")]))
    return plots.stack("estimate-error", rows)


def _band(plots: Plots, width: np.ndarray, unit: str) -> list[Json]:
    """A shaded band around zero; both edges are thinned alike."""
    low, high = (
        plots.curve(sign * width, "± 2 std", "var(--band-edge)", unit, limit=FAINT_POINTS) for sign in (-1.0, 1.0)
    )
    edge = {"line": {"color": "var(--band-edge)", "width": 0.8}, "zorder": 0}
    return [
        {**low, **edge, "label": ""},
        {**high, **edge, "fill": "tonexty", "fillcolor": "var(--band)"},
    ]


def _attitude(plots: Plots) -> str:
    if not _has_estimate(plots, "euler"):
        return ""
    truth, estimate = (np.degrees(plots.values(f"{part}.euler")) for part in ("body", "estimator"))
    gap = (estimate - truth + 180.0) % 360.0 - 180.0
    rows, errors = [], []
    for i, (name, colour) in enumerate((("roll", ink(0)), ("pitch", ink(2)), ("yaw", ink(3)))):
        pair = [plots.truth(truth[:, i], "°", turns=True), plots.estimate(estimate[:, i], "°", turns=True)]
        rows.append((name, pair))
        errors.append(plots.curve(gap[:, i], f"error of {name}", colour, "°"))
    return plots.stack("estimate-attitude", [*rows, ("error", errors)])


def _inertial(plots: Plots, kind: str, unit: str, factor: float) -> str:
    """Truth and the measurement of each inertial unit, one small plot per axis."""
    matches = [re.fullmatch(rf"imu/(\w+)/{kind}_fault\.value", signal) for signal in plots.log.signals]
    units = [match.group(1) for match in filter(None, matches)]
    if not units:
        return ""
    inks = (ink(0), ink(2), ink(3), ink(6))
    at_chip = f"imu/{units[0]}/chip.{kind}_truth_B"
    source = at_chip if at_chip in plots.log else TRUE_MOTION[kind]
    rows = []
    for axis, name in enumerate(AXES_B):
        curves = []
        for i, number in enumerate(units):
            tap = f"imu/{number}/{kind}_fault"
            values = factor * plots.values(f"{tap}.value")[:, axis]
            curves.append(_measured(plots, values, f"IMU {number}", inks[i % len(inks)], unit, f"{tap}.stamp"))
        if source in plots.log:
            curves.append(plots.truth(factor * plots.values(source)[:, axis], unit))
        if kind == "gyro" and at.ESTIMATOR.rates in plots.log:
            curves.append(plots.estimate(factor * plots.values(at.ESTIMATOR.rates)[:, axis], unit))
        rows.append((name, curves))
    return plots.stack(f"measured-{kind}", rows)
