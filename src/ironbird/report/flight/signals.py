"""Time plots of the vehicle's motion, and of the signal that shows each fault."""

from __future__ import annotations

import math

import numpy as np

from ironbird.faults.spec import Injection
from ironbird.flight.set_points import attitude_set, rate_set, velocity_set
from ironbird.model.signal import entry_names
from ironbird.report.flight.curves import Json
from ironbird.report.flight.plots import AXIS, FLIGHT, TWIN, ZERO_LINE, Plots, ink, matching, panels_of
from ironbird.vehicles import places as at

MOST_COLUMNS = 4  # of a vector in the plot of a witness


def signal_panels(plots: Plots) -> list[Json]:
    """All time plots for which the log has signals, in reading order."""
    if not plots.log.rows():
        return []
    return panels_of(
        [
            ("Height", "m", _height(plots)),
            ("Position error", "m, distance from the set-point", _error(plots)),
            ("Horizontal position", "m", _horizontal(plots)),
            ("Velocity", "m/s over ground", _velocity(plots)),
            ("Speed", "m/s", _speed(plots)),
            ("Attitude", "degrees", _attitude(plots)),
            ("Body rates", "degrees per second, in body axes", _rates(plots)),
            ("Rotor speeds", "rad/s", _rotors(plots)),
            ("Throttles", "share of full command", _throttles(plots)),
            ("Wind", "m/s, direction the air moves to", _wind(plots)),
            ("Battery", "V (left), % (right)", _battery(plots)),
        ]
    )


def _height(plots: Plots) -> str:
    if at.BODY.position not in plots.log:
        return ""
    curves = [plots.curve(-plots.values(at.BODY.position)[:, 2], "height", ink(0), "m")]
    if at.NAVIGATOR.position_set in plots.log:
        values = -plots.values(at.NAVIGATOR.position_set)[:, 2]
        curves.append(plots.curve(values, "set-point", ink(1), "m", role="set-point"))
    if plots.twin:
        values = -plots.values(at.BODY.position, TWIN)[:, 2]
        curves.append(plots.curve(values, "height", ink(2), "m", lane=TWIN, role="twin"))
    return plots.figure("height", curves)


def _error(plots: Plots) -> str:
    if at.BODY.position not in plots.log or at.NAVIGATOR.position_set not in plots.log:
        return ""
    curves = [
        plots.curve(plots.set_point_distance(lane), "error", ink(2 if role else 0), "m", lane=lane, role=role)
        for lane, role in plots.lanes()
    ]
    return plots.figure("error", curves)


def _horizontal(plots: Plots) -> str:
    if at.BODY.position not in plots.log:
        return ""
    curves = plots.vector(at.BODY.position, ("north", "east"), "m")
    if at.NAVIGATOR.position_set in plots.log:
        for i, name in enumerate(("north", "east")):
            values = plots.values(at.NAVIGATOR.position_set)[:, i]
            curves.append(plots.curve(values, name, ink(i), "m", role="set-point"))
    return plots.figure("horizontal", curves)


def _set_point_curves(
    plots: Plots, values: np.ndarray | None, names: tuple[str, ...], unit: str, factor: float = 1.0, turns: bool = False
) -> list[Json]:
    """Curves of set-points; none where they are not known."""
    if values is None:
        return []
    return [
        plots.curve(factor * column, name, ink(i), unit, role="set-point", turns=turns)
        for i, (name, column) in enumerate(zip(names, values.T, strict=True))
        if np.isfinite(column).any()
    ]


def _velocity(plots: Plots) -> str:
    if at.BODY.velocity not in plots.log:
        return ""
    names = ("north", "east", "down")
    set_points = _set_point_curves(plots, velocity_set(plots.flight), names, "m/s")
    return plots.figure("velocity", plots.vector(at.BODY.velocity, names, "m/s") + set_points)


def _speed(plots: Plots) -> str:
    """Plot of the airspeed where one is commanded, else of the ground speed where that is."""
    log = plots.log
    for set_point, true in ((at.NAVIGATOR("airspeed_set"), at.AIR.airspeed), (at.NAVIGATOR("speed_set"), "")):
        if set_point in log and (true or at.BODY.velocity) in log:
            values = plots.values(true)[:, 0] if true else np.linalg.norm(plots.values(at.BODY.velocity), axis=1)
            name = "airspeed" if true else "speed"
            curves = [plots.curve(values, name, ink(0), "m/s")]
            curves.append(plots.curve(plots.values(set_point)[:, 0], name, ink(1), "m/s", role="set-point"))
            return plots.figure("speed", curves)
    return ""


def _attitude(plots: Plots) -> str:
    if at.BODY.euler not in plots.log:
        return ""
    names, factor = ("roll", "pitch", "yaw"), math.degrees(1)
    set_points = _set_point_curves(plots, attitude_set(plots.flight), names, "°", factor, turns=True)
    return plots.figure("attitude", plots.vector(at.BODY.euler, names, "°", factor, turns=True) + set_points)


def _rates(plots: Plots) -> str:
    if at.BODY.rates not in plots.log:
        return ""
    names = ("about x (roll)", "about y (pitch)", "about z (yaw)")
    set_points = _set_point_curves(plots, rate_set(plots.flight), names, "°/s", math.degrees(1))
    return plots.figure("rates", plots.vector(at.BODY.rates, names, "°/s", math.degrees(1)) + set_points)


def _rotors(plots: Plots) -> str:
    touched = {part for injection in plots.faults for part in (*injection.targets, injection.witness)}
    curves = []
    for i, (signal, number) in enumerate(matching(plots.log, r"rotor/(.+)/motor\.speed")):
        name = f"rotor {number}"
        curves.append(plots.curve(plots.values(signal)[:, 0], name, ink(i), "rad/s"))
        # curves of the other rotors' twins would only hide it
        if plots.twin and any(path.startswith(f"rotor/{number}/") for path in touched):
            values = plots.values(signal, TWIN)[:, 0]
            curves.append(plots.curve(values, name, ink(i), "rad/s", lane=TWIN, role="twin"))
    return plots.figure("rotors", curves) if curves else ""


def _throttles(plots: Plots) -> str:
    curves = [
        plots.curve(plots.values(signal)[:, 0], f"throttle {number}".strip(), ink(i), "")
        for i, (signal, number) in enumerate(matching(plots.log, r"(?:.+/)?[^./]*\.throttle_?(.*)"))
    ]
    return plots.figure("throttles", curves) if curves else ""


def _wind(plots: Plots) -> str:
    if at.AIR.wind not in plots.log:
        return ""
    return plots.figure("wind", plots.vector(at.AIR.wind, ("to north", "to east", "down"), "m/s", twin=False))


def _battery(plots: Plots) -> str:
    curves = []
    layout: Json = {}
    if at.BATTERY.voltage in plots.log:
        for lane, role in plots.lanes():
            values = plots.values(at.BATTERY.voltage, lane)[:, 0]
            curves.append(plots.curve(values, "voltage", ink(0), "V", lane=lane, role=role))
    if at.BATTERY.remaining in plots.log:
        for lane, role in plots.lanes():
            values = 100 * plots.values(at.BATTERY.remaining, lane)[:, 0]
            curve = plots.curve(values, "remaining", ink(1), "%", lane=lane, role=role)
            curves.append({**curve, "yaxis": "y2"})
        axis = {**AXIS, "overlaying": "y", "side": "right", "showgrid": False, "ticksuffix": " %"}
        layout["yaxis2"] = {**axis, "tickmode": "linear", "tick0": 0, "dtick": 25, "range": [-4, 104]}
    return plots.figure("battery", curves, **layout) if curves else ""


def witness_figure(plots: Plots, number: int, injection: Injection) -> str:
    """The signal that shows a fault, compared with that of the healthy twin, and the difference below."""
    signal = injection.witness
    if signal not in plots.log or not plots.log.rows():
        return ""
    declared = plots.log.signals[signal]
    alone = declared.size == 1
    unit = "" if declared.unit == "1" else declared.unit
    curves = plots.vector(signal, entry_names(signal, declared.size)[:MOST_COLUMNS], unit)
    for curve in curves:
        if alone and curve.get("legendgroup") == "twin":
            curve["line"]["color"] = ink(2)
    layout: Json = {}
    if plots.twin:
        own, twin = plots.values(signal, FLIGHT), plots.values(signal, TWIN)
        rows = min(len(own), len(twin))
        for i, column in enumerate((own[:rows] - twin[:rows]).T[:MOST_COLUMNS]):
            curve = plots.curve(column, "flight minus twin", "var(--fault)" if alone else ink(i), unit)
            curves.append({**curve, "yaxis": "y2", "legendgroup": "gap", "legendrank": 1003})
        axis = {**AXIS, **ZERO_LINE}
        layout = {"yaxis": {**axis, "domain": [0.44, 1]}, "yaxis2": {**axis, "domain": [0, 0.34]}, "height": 320}
        layout["lowest"] = "y2"
    return plots.figure(f"witness-{number}", curves, **layout)
