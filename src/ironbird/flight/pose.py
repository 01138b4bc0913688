"""Position and heading of a vehicle at the start, in place of its file's: settings of an order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ironbird import rotations
from ironbird.errors import OrderError
from ironbird.flight.order import Order
from ironbird.flight.prepare import fit
from ironbird.vehicles import places as at

FLAT_STARTS = (at.NAVIGATOR("origin_0"),)  # north, east


def start_settings(order: Order, north_m: float = 0.0, east_m: float = 0.0, yaw_deg: float = 0.0) -> dict[str, Any]:
    """Settings for a start at a distance north and east of home (m), with a heading in degrees from north."""
    if not all(map(math.isfinite, (north_m, east_m, yaw_deg))):
        raise OrderError(f"start {north_m}, {east_m}, {yaw_deg}: give finite numbers")
    model = fit(order).model
    values = model.flat.values

    def of(path: str) -> np.ndarray:
        return np.array(values[model.param_rows(path)])

    known = model.params()
    settings: dict[str, Any] = {}
    if north_m or east_m:
        if at.STARTS[0] not in known:
            raise OrderError(f"vehicle '{model.name}' stands on a round earth: give its place by --home")
        for path in at.STARTS:
            if path in known:
                settings[path] = np.add(of(path), [north_m, east_m, 0.0]).tolist()
        for path in FLAT_STARTS:
            if path in known:
                settings[path] = np.add(of(path), [north_m, east_m]).tolist()
    if yaw_deg:
        yaw = math.radians(yaw_deg)
        if any(path.startswith(f"{at.LAUNCHER.place}/") for path in model.flat.diagram.blocks):
            raise OrderError(f"vehicle '{model.name}' starts from a launcher that points north: it has no other yaw")
        if at.BODY("yaw_0") in known:
            settings[at.BODY("yaw_0")] = float(of(at.BODY("yaw_0"))[0]) + yaw
        elif at.STARTS[0] in known:
            turn = [math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)]
            settings[at.BODY.attitude_0] = rotations.multiply(turn, of(at.BODY.attitude_0)).tolist()
            if at.NAVIGATOR("launch_course") in known:  # the runway lies ahead
                course = of(at.NAVIGATOR("launch_course"))
                settings[at.NAVIGATOR("launch_course")] = float(course[0]) + yaw
        else:
            raise OrderError(f"vehicle '{model.name}' stands on a round earth: it has no other yaw")
    return settings
