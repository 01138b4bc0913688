"""Consistency of the reference autopilot's filter on the sensors as flown: NEES and NIS against chi-square bounds.

    python bench/filter_consistency.py [VEHICLE] [--runs 200] [--first 0] [--wind 5]

Missions in wind with turbulence and no fault, every product with its own errors: white, turn-on, wandering, shared from
fix to fix, vibration. At times 5 s apart the squared errors of position, velocity and attitude, normalised by their
3 x 3 block of the covariance, are averaged over the runs; of a filter whose models hold, that times the number of runs
is chi-square with 3 degrees of freedom per run ([BarShalom2001] 5.4.2). Innovations the same, source by source. Both
sides of the band count: above is optimistic, below is cautious. A mean over times says less than its number of
samples: the error of a position lasts for minutes.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from ironbird.blocks.estimators.ekf import TH, P, V
from ironbird.flight.order import Weather, make_order
from ironbird.flight.prepare import fit, prepare
from ironbird.proofs.estimators import attitude_error_B
from ironbird.runtime.state import RunState
from ironbird.runtime.step import run
from ironbird.vehicles import places as at

RUNS = 200
LOOKS_S = tuple(np.arange(10.0, 46.0, 5.0))  # after the take-off, before the first touch-down of the F450
BLOCKS = {"position": P, "velocity": V, "attitude": TH}
SOURCES = {"GNSS position": 3, "GNSS velocity": 3, "compass": 1, "barometer": 1}  # components of a sample
NIS = ("nis_gnss_position", "nis_gnss_velocity", "nis_mag", "nis_baro")
OWN = ("p_NB_N", "v_NB_N", "R_NB")
TRUTH = (at.BODY.position, at.BODY.velocity, at.BODY("R_NB"))
FIX_S = 0.2


@dataclass(frozen=True)
class Consistency:
    """Means over the runs, 1 expected: `nees[name][look]`, `nis[source][time]`."""

    runs: int
    nees: dict[str, np.ndarray]
    nis: dict[str, np.ndarray]

    def rows(self) -> list[tuple[str, np.ndarray, int]]:
        """Everything: what, its means over the runs, components."""
        errors = [(f"NEES of {name}", values, 3) for name, values in self.nees.items()]
        return [*errors, *((f"NIS of {name}", values, SOURCES[name]) for name, values in self.nis.items())]

    def band(self, components: int, share: float = 0.95) -> tuple[float, float]:
        """Where a mean over the runs lies with this probability."""
        freedom = self.runs * components
        low, high = chi2.ppf([(1 - share) / 2, (1 + share) / 2], freedom) / freedom
        return float(low), float(high)

    def inside(self, values: np.ndarray, components: int, share: float = 0.95) -> float:
        """Share of the times at which a mean lies in its band."""
        low, high = self.band(components, share)
        return float(np.mean((values > low) & (values < high)))


def measure(vehicle: str = "quad_f450", runs: int = RUNS, wind_mps: float = 5.0, first_seed: int = 0) -> Consistency:
    """Fly and look; one run for each seed from the first on."""
    wind = Weather(speed_mps=wind_mps, from_deg=270.0, turbulence_mps=7.7 if wind_mps else 0.0)
    end_s = LOOKS_S[-1] + 1.0
    orders = [
        make_order(vehicle, control="reference", weather=wind, seed=seed, until_s=end_s, log_s=FIX_S)
        for seed in range(first_seed, first_seed + runs)
    ]
    state = prepare(fit(orders[0]).model, orders)
    paths = [*(at.ESTIMATOR(name) for name in (*NIS, *OWN)), *TRUTH]
    logs, covariances = [], []
    for look_s in LOOKS_S:
        logs.append(run(state, float(look_s), log=paths, log_s=FIX_S, threads=1))
        covariances.append(_covariance(state))  # that of the output at the sample that comes next
    logs.append(run(state, end_s, log=paths, log_s=FIX_S, threads=1))
    time_s = np.concatenate([log.time_s for log in logs])
    seen = {path: np.concatenate([log.all_lanes(path) for log in logs], axis=1) for path in paths}
    nees: dict[str, list[float]] = {name: [] for name in BLOCKS}
    for look_s, full in zip(LOOKS_S, covariances, strict=True):
        row = int(np.flatnonzero(np.abs(time_s - look_s) < FIX_S / 4)[-1])
        errors = _errors({path: values[:, row] for path, values in seen.items()})
        for name, place in BLOCKS.items():
            e, block = errors[name], full[:, place : place + 3, place : place + 3]
            nees[name].append(
                float(np.mean(np.einsum("li,li->l", e, np.linalg.solve(block, e[..., None])[..., 0])) / 3)
            )
    settled = time_s > LOOKS_S[0]
    nis = {}
    for source, path in zip(SOURCES, paths, strict=False):
        nis[source] = seen[path].reshape(runs, time_s.size)[:, settled].mean(axis=0)
    return Consistency(runs, {name: np.array(values) for name, values in nees.items()}, nis)


def _errors(row: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """True less estimated, of attitude in B."""
    position, velocity, attitude = (row[at.ESTIMATOR(name)] for name in OWN)
    true_position, true_velocity, true_attitude = (row[path] for path in TRUTH)
    return {
        "position": true_position - position,
        "velocity": true_velocity - velocity,
        "attitude": attitude_error_B(attitude, true_attitude),
    }


def _covariance(state: RunState) -> np.ndarray:
    array, rows = state.place(at.ESTIMATOR("covariance"))
    part = array[:, rows, :]
    packed = part.transpose(0, 2, 1).reshape(-1, part.shape[1])[: state.lanes]
    size = round(np.sqrt(2 * packed.shape[1] + 0.25) - 0.5)
    full = np.zeros((state.lanes, size, size))
    columns, lines = np.tril_indices(size)  # the upper triangle, column by column
    full[:, lines, columns] = packed
    full[:, columns, lines] = packed
    return full


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vehicle", nargs="?", default="quad_f450")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--wind", type=float, default=5.0)
    given = parser.parse_args()
    found = measure(given.vehicle, given.runs, given.wind, given.first)
    for what, values, components in found.rows():
        low, high = found.band(components)
        print(
            f"{what:20s} {values.mean():.3f}, from {values.min():.2f} to {values.max():.2f}; 95 % band "
            f"{low:.2f} to {high:.2f}, inside at {found.inside(values, components):.0%} of {values.size} times"
        )


if __name__ == "__main__":
    main()
