"""Writes docs/measured/integration.json: how far every vehicle's own integration is from steps of 0.1 ms.

python tools/write_integration.py              # all vehicles: some minutes
python tools/write_integration.py quad_f450
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ironbird.files.whole import write_text
from ironbird.proofs.integration import BOUND_M, REFERENCE, UNTIL_S, distance_m
from ironbird.vehicles.load import load_vehicle, vehicle_ids

FILE = Path(__file__).parents[1] / "docs" / "measured" / "integration.json"


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
