"""Integration: how far a vehicle's own method and step are from steps of 0.1 ms, on its own mission."""

from __future__ import annotations

import numpy as np

from ironbird.flight.inside import fly_lanes
from ironbird.flight.order import Weather, make_order
from ironbird.flight.prepare import fit
from ironbird.vehicles import places as at
from ironbird.vehicles.load import load_vehicle

REFERENCE = "rk4@0.0001"
BOUND_M = 2e-3  # of the position of every vehicle of the catalogue, over UNTIL_S
UNTIL_S = 40.0
WIND = Weather(speed_mps=5.0, from_deg=240.0)  # steady: turbulence would be the same noise, and say nothing more


def distance_m(vehicle: str, integration: str = "", until_s: float = UNTIL_S) -> float:
    """The largest distance between two flights on the true state: as integrated, and with the reference's steps.

    An empty `integration` is the vehicle's own.
    """
    own = integration or load_vehicle(vehicle, control="truth").integration.text()
    paths = []
    for steps in (REFERENCE, own):
        order = make_order(vehicle, control="truth", weather=WIND, until_s=until_s, integration=steps, log_s=0.1)
        paths.append(fly_lanes([order], fit(order).model, also=[at.BODY.position])[0].log[at.BODY.position])
    rows = min(len(path) for path in paths)
    return float(np.abs(paths[0][:rows] - paths[1][:rows]).max())
