"""Sensor noise from a record at rest: Allan deviation and power spectrum.

Overlapping Allan deviation; white noise N, bias instability B and random walk K by a fit of their three lines to the
whole curve, weighted by the accuracy of each point [ElSheimy]. A short record contains no slow terms: times beyond a
tenth of its length are not fitted, and a term that the curve does not show is None.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ironbird.credibility.readers import FORCE, RATES
from ironbird.credibility.record import Record
from ironbird.errors import RecordError

LEAST_SAMPLES = 100
POINTS = 40
LONGEST = 0.1  # of the record
FLOOR = math.sqrt(2 * math.log(2) / math.pi)  # of bias instability: 0.664 B


@dataclass(frozen=True)
class Allan:
    """The Allan curve and its fitted terms; units are those of the signal, per root Hz, and per root second."""

    tau_s: np.ndarray
    deviation: np.ndarray
    error: np.ndarray  # relative, one standard deviation
    white: float  # N, unit / sqrt(Hz)
    white_sigma: float
    instability: float | None  # B, unit
    walk: float | None  # K, unit / sqrt(s)
    sigma: float  # standard deviation of the samples


def allan_deviation(values: np.ndarray, step_s: float, tau_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping Allan deviation of a rate at given times; returns the times as whole steps, and the deviations."""
    angle = np.concatenate([[0.0], np.cumsum(values)]) * step_s
    found_tau, deviations = [], []
    for m in np.unique(np.round(tau_s / step_s).astype(int)):
        if m < 1 or len(angle) <= 2 * m:
            continue
        second = angle[2 * m :] - 2 * angle[m:-m] + angle[: -2 * m]
        found_tau.append(m * step_s)
        # [ElSheimy]: sigma^2 = mean(second difference of the angle ^2) / (2 tau^2)
        deviations.append(math.sqrt(float(np.mean(second**2)) / 2) / (m * step_s))
    return np.array(found_tau), np.array(deviations)


def noise_at_rest(values: np.ndarray, step_s: float) -> Allan:
    """Noise of a sensor's signal at rest."""
    values = np.asarray(values, float)
    if len(values) < LEAST_SAMPLES or not np.isfinite(values).all():
        raise RecordError(f"{len(values)} samples are too few for noise; {LEAST_SAMPLES} finite ones are needed")
    if np.ptp(values) == 0:
        raise RecordError("the signal does not move at all: it is no record of a sensor, or its steps are too coarse")
    if np.ptp(values) > 50 * np.median(np.abs(np.diff(values)) + 1e-300) * math.sqrt(len(values)):
        raise RecordError("the signal drifts or jumps far beyond its noise: the vehicle was not at rest")
    tau = np.geomspace(step_s, max(LONGEST * len(values) * step_s, 2 * step_s), POINTS)
    tau, deviation = allan_deviation(values - values.mean(), step_s, tau)
    error = 1 / np.sqrt(2 * (len(values) * step_s / tau - 1))  # [ElSheimy]: of the deviation
    # variance is a sum of terms, none negative: least squares over the active ones, relative
    basis = np.column_stack([1 / tau, np.full_like(tau, FLOOR**2), tau / 3])  # N^2, B^2, K^2
    weight = 1 / (deviation**2 * 2 * error)
    active = [0, 1, 2]
    while True:
        matrix, right = basis[:, active] * weight[:, None], deviation**2 * weight
        solution, *_ = np.linalg.lstsq(matrix, right, rcond=None)
        if (solution > 0).all() or len(active) == 1:
            break
        active.remove(active[int(np.argmin(solution))])
    terms = dict(zip(active, solution, strict=True))
    white = math.sqrt(max(terms.get(0, 0.0), 0.0))
    slow = [math.sqrt(terms[i]) if i in terms and terms[i] > 0 else None for i in (1, 2)]
    # N uses all samples: relative deviation of a standard deviation
    return Allan(
        tau, deviation, error, white, white / math.sqrt(2 * len(values)), slow[0], slow[1], float(np.std(values))
    )


def noise_table(
    record: Record, window_s: tuple[float, float] | None = None
) -> tuple[dict[str, Allan], dict[str, float]]:
    """Noise of every inertial signal of a record at rest, and the table `sensors.imu_noise` of a vehicle's file.

    Each entry is the root mean square of its axes; the file's densities are one-sided, so sqrt(2) N.
    """
    low, high = window_s or (0.0, record.length_s)
    curves: dict[str, Allan] = {}
    for name in (*RATES, *FORCE):
        if name in record.tracks:
            track = record.tracks[name]
            inside = (track.time_s >= low) & (track.time_s <= high)
            curves[name] = noise_at_rest(track.values[inside], track.step_s)
    if not curves:
        raise RecordError(f"{record.path.name} holds no rates and no specific forces")
    table: dict[str, float] = {}
    for kind, names, unit in (("gyro", RATES, "radps"), ("accel", FORCE, "mps2")):
        axes = [curves[name] for name in names if name in curves]
        for key, values, factor in (
            (f"{kind}_noise_{unit}rtHz", [a.white for a in axes], math.sqrt(2)),
            (f"{kind}_instability_{unit}", [a.instability for a in axes if a.instability], 1.0),
            (f"{kind}_walk_{unit}rts", [a.walk for a in axes if a.walk], 1.0),
        ):
            if values:
                table[key] = float(f"{factor * math.sqrt(sum(v * v for v in values) / len(values)):.4g}")
    return curves, table


def power_spectrum(values: np.ndarray, step_s: float) -> tuple[np.ndarray, np.ndarray]:
    """One-sided power density over Hz: mean of Hann windows with half overlap."""
    size = min(len(values), max(64, len(values) // 8))
    window = np.hanning(size)
    starts = range(0, len(values) - size + 1, size // 2)
    parts = [np.abs(np.fft.rfft(window * (values[i : i + size] - np.mean(values)))) ** 2 for i in starts]
    density = 2 * step_s * np.mean(parts, axis=0) / float(np.sum(window**2))
    return np.fft.rfftfreq(size, step_s), np.asarray(density)
