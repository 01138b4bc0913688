"""How often do the 95 % bounds of an identification hold the truth? Plain flights of the F450, of known mass.

    python bench/identification_bounds.py [--flights 40] [--log-step 0.02] [--method output-error]

The air is calm. Every flight has another mass, mission and seed; the fit begins at the catalogue's mass of 1.4 kg.
Nothing is added to the flights for the identification: no excitation, no noise, no window.
"""

from __future__ import annotations

import argparse

import numpy as np

from ironbird.credibility.readers import record_of
from ironbird.errors import RecordError
from ironbird.flight.flight import fly
from ironbird.identification.equation_error import equation_error
from ironbird.identification.output_error import Fit, identify
from ironbird.vehicles.load import vehicle_path

VEHICLE = "quad_f450"
MISSIONS = ("square", "hover")
UNTIL_S = 22.0


def fitted(number: int, log_s: float, method: str) -> tuple[float, Fit]:
    """The true mass of one flight, and what its log says."""
    random = np.random.default_rng(number)
    mass = float(random.uniform(1.2, 1.7))
    flight = fly(
        VEHICLE, mission=MISSIONS[number % 2], settings={"body.mass": mass}, seed=number, until_s=UNTIL_S, log_s=log_s
    )
    record = record_of(flight.log, vehicle_path(VEHICLE))
    return mass, (equation_error if method == "equation-error" else identify)(record, VEHICLE, ["mass"])


def main() -> None:
    """Fly, identify, count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flights", type=int, default=40)
    parser.add_argument("--log-step", type=float, default=0.02)
    parser.add_argument("--method", default="output-error")
    asked = parser.parse_args()
    inside, off = 0, []
    for number in range(asked.flights):
        try:
            mass, fit = fitted(number, asked.log_step, asked.method)
        except RecordError as error:
            print(f"{number}: {error}")
            continue
        (estimate,) = fit.estimates
        low, high = estimate.interval()
        inside += low <= mass <= high
        off.append((estimate.value - mass) / estimate.sigma)
        print(f"{number}: {mass:.4f} kg, found {estimate.value:.4f} ± {estimate.sigma:.2g}, {off[-1]:+.2f} deviations")
    print(f"{inside} of {len(off)} intervals hold the mass; deviations rms {np.sqrt(np.mean(np.square(off))):.2f}")


if __name__ == "__main__":
    main()
