"""Writes docs/measured/integration.json: how far every vehicle's own integration is from steps of 0.1 ms.

python tools/write_integration.py              # all vehicles: some minutes
python tools/write_integration.py quad_f450
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from ironbird.files.whole import write_text
from ironbird.flight.inside import fly_lanes
from ironbird.flight.order import Weather, make_order
from ironbird.flight.prepare import fit
from ironbird.vehicles import places as at
from ironbird.vehicles.load import load_vehicle
from ironbird.vehicles.names import vehicle_ids

REFERENCE = "rk4@0.0001"
BOUND_M = 2e-3  # of the position of every vehicle of the catalogue, over UNTIL_S
UNTIL_S = 40.0
WIND = Weather(speed_mps=5.0, from_deg=240.0)  # steady: turbulence would be the same noise, and say nothing more
FILE = Path(__file__).parents[1] / "docs" / "measured" / "integration.json"


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


def main() -> None:
    """Measure the vehicles that are named, or all, and keep the figures."""
    found = json.loads(FILE.read_text()) if FILE.exists() else {"vehicles": {}}
    found |= {"reference": REFERENCE, "until_s": UNTIL_S, "bound_m": BOUND_M}
    for name in sys.argv[1:] or vehicle_ids():
        own = load_vehicle(name, control="truth").integration.text()
        largest = distance_m(name)
        found["vehicles"][name] = {"integration": own, "distance_m": float(f"{largest:.3g}")}
        print(f"{name}: {own}, {largest:.3g} m", flush=True)
        write_text(FILE, json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
