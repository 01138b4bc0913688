"""The time shift between two records, from the motion that both hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ironbird.credibility.record import Record, stands
from ironbird.errors import RecordError

STEP_S = 0.01  # of the search
MOST_STEPS = 200_000
LEAST_OVERLAP = 0.5  # of the shorter record
LEAST_CORRELATION = 0.3  # below it two records have nothing in common
MOVING = (  # signals that show when something happened, better than places and courses do
    "roll_rate", "pitch_rate", "yaw_rate", "roll", "pitch", "velocity_north", "velocity_east", "velocity_down",
)  # fmt: skip


@dataclass(frozen=True)
class Shift:
    """Time shift: add `seconds` to simulated times; `correlation` is that after the shift, `before` without it."""

    seconds: float
    correlation: float
    before: float
    by: list[str]  # signals
    given: bool = False

    def __str__(self) -> str:
        if self.given:
            return f"{self.seconds:+.3f} s (given)"
        return (
            f"{self.seconds:+.3f} s (correlation {self.correlation:.3f}, unshifted {self.before:.3f}; by "
            f"{', '.join(self.by)})"
        )


def find_shift(real: Record, simulated: Record, names: Sequence[str], most_s: float | None = None) -> Shift:
    """The time shift with the highest mean correlation over the common signals; raises if there is none."""
    used = [name for name in MOVING if name in names] or list(names)
    used = [name for name in used if not any(stands(record.track(name).values) for record in (real, simulated))]
    if not used:
        raise RecordError(
            f"{real.path.name} and {simulated.path.name} cannot be aligned: no common signal moves in both; "
            f"give --time-shift"
        )
    length = max(real.length_s, simulated.length_s)
    step_s = max(STEP_S, length / MOST_STEPS)
    correlations = [_correlations(*(_sampled(record, name, step_s) for record in (real, simulated))) for name in used]
    together = np.mean([whole for whole, _ in correlations], axis=0)
    overlapping = np.mean([common for _, common in correlations], axis=0)
    half = len(together) // 2
    lags = (np.arange(len(together)) - half) * step_s
    if most_s is not None:
        together = np.where(np.abs(lags) <= most_s, together, -1.0)
    best = int(np.argmax(together))
    offset = 0.0
    if 0 < best < len(together) - 1 and min(together[best - 1], together[best + 1]) > -1.0:  # top of a parabola
        left, middle, right = together[best - 1 : best + 2]
        bend = left - 2 * middle + right
        offset = 0.5 * (left - right) / bend if bend < 0 else 0.0
    shift = Shift(float(lags[best] + offset * step_s), float(overlapping[best]), float(overlapping[half]), used)
    if not shift.correlation >= LEAST_CORRELATION:
        raise RecordError(
            f"{real.path.name} and {simulated.path.name} have nothing in common: the best correlation of "
            f"{', '.join(used)} over all time shifts is {shift.correlation:.2f} (at least {LEAST_CORRELATION:g} "
            f"is needed); "
            "are they of the same vehicle and manoeuvre? --time-shift compares them all the same"
        )
    return shift


def _sampled(record: Record, name: str, step_s: float) -> np.ndarray:
    """A signal on an even time grid from zero, NaN outside its range."""
    track = record.track(name)
    time_s = np.arange(0.0, record.length_s + 0.5 * step_s, step_s)
    return np.interp(time_s, track.time_s, track.values, left=np.nan, right=np.nan)


def _correlations(real: np.ndarray, simulated: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every lag of the simulation the cross-correlation of the whole records, and Pearson's of the overlap.

    The first finds the lag: it falls where motion is shifted out of the overlap, whereas two tails of a decay always
    agree by Pearson's. Both are -1 where too little overlaps.
    """
    most = max(len(real), len(simulated))
    size = 1 << (2 * most).bit_length()
    m, s = ~np.isnan(real), ~np.isnan(simulated)
    x = np.where(m, real - np.nanmean(real), 0.0)
    y = np.where(s, simulated - np.nanmean(simulated), 0.0)

    def transform(values: np.ndarray) -> np.ndarray:
        return np.fft.rfft(values, size)

    def correlate(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        full = np.fft.irfft(a * np.conj(b), size)
        return np.concatenate([full[-(most - 1) :], full[:most]])

    fm, fs, fx, fy = transform(m.astype(float)), transform(s.astype(float)), transform(x), transform(y)
    count = np.round(correlate(fm, fs))
    sx, sy, sxy = correlate(fx, fs), correlate(fm, fy), correlate(fx, fy)
    sxx, syy = correlate(transform(x * x), fs), correlate(fm, transform(y * y))
    n = np.maximum(count, 1.0)
    vx, vy = sxx - sx * sx / n, syy - sy * sy / n
    enough = count >= LEAST_OVERLAP * min(int(m.sum()), int(s.sum()))
    still = (vx <= 1e-9 * max(float(x @ x), 1e-300)) | (vy <= 1e-9 * max(float(y @ y), 1e-300))
    with np.errstate(invalid="ignore", divide="ignore"):
        common = np.where(enough & ~still, (sxy - sx * sy / n) / np.sqrt(vx * vy), -1.0)
    whole = sxy / max(float(np.sqrt((x @ x) * (y @ y))), 1e-300)
    return np.where(enough, whole, -1.0), common
