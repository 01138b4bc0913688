"""Graded safety score and level of flights after the profust (probabilistic fuzzy) assessment of [RFlySimSafe].

Each error is sampled every 0.1 s from the fault on, becomes a score by bands, and the scores of the flight become a
weighted mean in which bad samples weigh more; 1 is safe, 0 a disaster. A crash is a disaster; its score follows from
the energy.

Differences from [RFlySimSafe]:
- There one column is judged, the velocity towards east against 0, though bands for angles and positions exist. Here
  all axes of position and velocity (against the mission's set-points) and all angles count; the weights of columns
  are equal unless given. So a flight to the north is judged like one to the east, and flying fast as commanded is
  no error.
- There a crash is detected by abs(z) < 1.2 m with abs(vz) > 3.5 m/s, here by the column `crashed`. The mass is the
  vehicle's, there always 1.515 kg.
- There the level is that of the largest weighted share of samples, so that a flight with a better score can have a
  worse level; here it is the band of the score. The shares are reported as well.
- There the change of an angle is that between two rows of the log after averaging, and so depends on the log's rate;
  here it is that in 0.1 s. The jump from 180 to -180 deg is no change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ironbird.errors import RequirementError
from ironbird.requirements.lane_margins import greatest_sizes
from ironbird.requirements.lane_score import Samples, jumps
from ironbird.requirements.trace import Trace
from ironbird.vehicles.places import BODY, NAVIGATOR

LEVELS = ("unaffected", "slight", "serious", "dangerous", "disaster")
SAMPLE_S = 0.1
MANY_LANES = 8  # from this number of lanes on native code is used: a single flight does not wait for its compilation
# [RFlySimSafe]: each band of error has a band of score; within it the score is interpolated geometrically.
SCORES = (0.999, 0.9, 0.7, 0.4, 0.1)  # score at the edges of the bands
EDGES = {
    "angle": (0.0, 0.0175, 0.035, 0.0525, 0.07),  # rad, change in 0.1 s
    "velocity": (0.0, 0.015, 0.04, 0.16, 0.5),  # (m/s)^2, deviation squared
    "position": (0.0, 0.0009, 0.09, 0.36, 1.0),  # m^2, deviation squared
}
WEIGHTS = (1.0, 3.0, 6.0, 9.0, 12.0)  # weight of samples by level
# [RFlySimSafe]: probability of a fatal hit by energy
ALPHA_J, BETA_J, SHELTER = 1e6, 100.0, 0.1
RISK_FACTOR, RISK_SCALE = 5e-6, 1e-8


@dataclass(frozen=True)
class Channel:
    """A column to judge, and the column with its commanded value (none for angles)."""

    kind: Literal["angle", "velocity", "position"]
    value: str
    command: str | None = None
    weight: float = 1.0


CHANNELS = (
    *(Channel("position", f"{BODY.position}[{i}]", f"{NAVIGATOR.position_set}[{i}]") for i in range(3)),
    *(Channel("velocity", f"{BODY.velocity}[{i}]", f"{NAVIGATOR.velocity_set}[{i}]") for i in range(3)),
    *(Channel("angle", f"{BODY.euler}[{i}]") for i in range(3)),
)
VELOCITIES = tuple(f"{BODY.velocity}[{i}]" for i in range(3))


@dataclass(frozen=True)
class Assessment:
    """Score of each lane, 1 (safe) to 0; `level` is an index into LEVELS; `shares` of the samples [lane, level]."""

    score: np.ndarray
    level: np.ndarray
    shares: np.ndarray


def assess(trace: Trace, *, mass_kg: float, channels: Sequence[Channel] = CHANNELS) -> Assessment:
    """Compute the safety score and level of each lane, from the start of its fault on (without a fault: all rows)."""
    if not channels:
        raise RequirementError("a safety score needs at least one channel")
    first, rows, count = _first_rows(trace), trace.rows, len(trace.time_s)
    behind = np.arange(count) >= rows[:, None] if rows.min() < count else None

    def within(column: np.ndarray) -> np.ndarray:
        return column if behind is None else np.where(behind, 0.0, column)

    greatest = greatest_sizes(VELOCITIES, trace)
    speed = np.zeros(trace.lanes) if greatest is None else greatest
    for name in VELOCITIES if greatest is None else ():
        speed = np.maximum(speed, np.abs(within(trace.column(name))).max(axis=1))
    worst = crash_score(0.5 * mass_kg * np.where(np.isnan(speed), np.inf, speed) ** 2)

    every = max(1, trace.steps(SAMPLE_S))
    grade = _grade_some if trace.lanes < MANY_LANES else _grade_many
    parts, splits = grade(trace, channels, first, every, worst)
    score, shares = np.zeros(trace.lanes), np.zeros((trace.lanes, len(LEVELS)))
    for channel, part, split in zip(channels, parts, splits, strict=True):
        score += channel.weight * part
        shares += channel.weight * split
    total = sum(channel.weight for channel in channels)
    score, shares = score / total, shares / total

    level = np.searchsorted(-np.asarray(SCORES[1:]), -score, side="right")
    crashed = within(trace.column("crashed")).max(axis=1) > 0.5
    return Assessment(np.where(crashed, worst, score), np.where(crashed, len(LEVELS) - 1, level), shares)


def _grade_some(
    trace: Trace, channels: Sequence[Channel], first: np.ndarray, every: int, worst: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean of the samples, [channel, lane], and share of each level, [channel, lane, level]."""
    rows, count = trace.rows, len(trace.time_s)
    # Rows of the samples; a sample is the mean of its row and the next one, [RFlySimSafe].
    at = first[:, None] + every * np.arange(-(-int((rows - first).max()) // every))
    used = at < rows[:, None]
    lanes = np.arange(trace.lanes)[:, None] * count  # offsets in a column as one long row
    after = np.minimum(at + 1, rows[:, None] - 1) + lanes
    at = np.minimum(at, rows[:, None] - 1) + lanes

    def sampled(column: np.ndarray) -> np.ndarray:
        flat = column.reshape(-1)
        return 0.5 * (flat.take(at) + flat.take(after))

    graded = []
    for channel in channels:
        if channel.kind == "angle":
            value = sampled(_unwrapped(trace.column(channel.value), rows))
            error = np.abs(np.diff(value, axis=1, prepend=value[:, :1]))
        else:
            commanded = sampled(trace.column(channel.command)) if channel.command is not None else 0.0
            error = (sampled(trace.column(channel.value)) - commanded) ** 2
        graded.append(band_score(error, EDGES[channel.kind], worst[:, None]))
    return _grade(np.stack(graded), used)


def _grade_many(
    trace: Trace, channels: Sequence[Channel], first: np.ndarray, every: int, worst: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The same as `_grade_some`, to the bit, in native code; worth its compilation for many lanes."""
    scores, weights = np.asarray(SCORES), np.asarray(WEIGHTS)
    names = dict.fromkeys(name for channel in channels for name in (channel.value, channel.command) if name)
    samples = Samples(trace, first, every, list(names), len(channels))
    angles = [channel.value for channel in channels if channel.kind == "angle"]
    for name, jumping in zip(angles, jumps(angles, trace) if angles else (), strict=True):
        for lane in np.flatnonzero(jumping).tolist():
            at = np.arange(first[lane], trace.rows[lane], every)
            whole = np.unwrap(trace.lane(lane).column(name)[0, : trace.rows[lane]])
            after = np.minimum(at + 1, trace.rows[lane] - 1)
            samples.values[samples.names[name], lane, : len(at)] = 0.5 * (whole[at] + whole[after])
    for number, channel in enumerate(channels):
        angle = channel.kind == "angle"
        command = None if angle else channel.command
        samples.add(number, channel.value, command, angle=angle, edges=EDGES[channel.kind], scores=scores)
    sums, counts = samples.grade(worst, scores, weights)
    shares = counts * weights
    total = shares.sum(axis=-1)
    return sums / total, shares / total[..., None]


def band_score(error: np.ndarray, edges: Sequence[float], above: np.ndarray | float) -> np.ndarray:
    """Score of an error: geometric interpolation in its band, `above` beyond the last edge."""
    edge, score = np.asarray(edges), np.asarray(SCORES)
    error = np.where(np.isnan(error), np.inf, error)
    band = _passed(error, edge[1:-1], np.greater_equal)
    inside = (np.minimum(error, edge[-1]) - edge.take(band)) / np.diff(edge).take(band)
    graded = score.take(band) * (score[1:] / score[:-1]).take(band) ** inside
    return np.where(error > edge[-1], above, graded)


def _passed(values: np.ndarray, edges: np.ndarray, compare: np.ufunc) -> np.ndarray:
    """Number of edges that each value has passed; for few edges faster than a search."""
    passed = np.zeros(values.shape, np.int8)
    for edge in edges:
        passed += compare(values, edge).view(np.int8)
    return passed


def _unwrapped(angles: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Angles of each lane unwrapped; lanes without jumps stay unchanged."""
    behind = np.arange(1, angles.shape[1]) >= rows[:, None]
    steady = np.abs(np.diff(angles, axis=1)) < np.pi  # False where a value is NaN
    jumping = np.logical_not((steady | behind).all(axis=1))
    if jumping.any():
        angles = angles.copy()
        for lane in np.flatnonzero(jumping):
            angles[lane, : rows[lane]] = np.unwrap(angles[lane, : rows[lane]])
    return angles


def _grade(score: np.ndarray, used: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean of the samples of each channel and lane, and the weighted share of each level."""
    u = np.where(score > SCORES[1], 1.0, score)
    before, after = u[..., :-1], u[..., 1:]
    h = u.copy()  # falls with the score, recovers one sample later
    h[..., 1:] = np.where(after <= before, before * (1.0 - (before - after)), before)
    level = len(SCORES) - 1 - _passed(h, np.asarray(SCORES[1:]), np.greater)
    weight = np.where(used, np.asarray(WEIGHTS).take(level), 0.0)
    counts = np.stack([np.count_nonzero((level == k) & used, axis=-1) for k in range(len(LEVELS))], axis=-1)
    shares = counts * np.asarray(WEIGHTS)  # weights are whole numbers: their sums are exact in any order
    total = shares.sum(axis=-1)
    # Summed in order: zeros after a lane's end change no bit, unlike in numpy's pairwise sum.
    return np.cumsum(weight * h, axis=-1)[..., -1] / total, shares / total[..., None]


def crash_score(energy_j: np.ndarray | float) -> np.ndarray:
    """Score of a crash by its energy in J: 0.1 for zero, towards 0 for a surely fatal one."""
    with np.errstate(divide="ignore"):
        ratio = (BETA_J / np.asarray(energy_j, dtype=np.float64)) ** (1.0 / (4.0 * SHELTER))
    probability = 1.0 / (1.0 + np.sqrt(ALPHA_J / BETA_J * ratio))
    return 0.1 - 0.1 * np.tanh(0.5 * RISK_FACTOR * probability / RISK_SCALE)


def _first_rows(trace: Trace) -> np.ndarray:
    """Row of each lane in which its fault starts; 0 without a fault."""
    if "fault_active" not in trace.values:
        return np.zeros(trace.lanes, dtype=np.int64)
    active = trace.values["fault_active"] > 0.5
    active &= np.arange(len(trace.time_s)) < trace.rows[:, None]
    return active.argmax(axis=1)
