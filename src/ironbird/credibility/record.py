"""A record of a flight as plain signals with uniform names, from any file format.

Names are `north`, `east`, `down`, `velocity_north` … (m, m/s), `roll`, `pitch`, `yaw` (rad), `roll_rate` … (rad/s),
`specific_force_x` … (m/s^2), `battery_voltage`, `motor_1` … (share of full command); other signals of a file keep their
names. A record that cannot be trusted is a `RecordError`: no index is computed from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ironbird.errors import RecordError, UnknownNameError

UNITS = {
    "north": "m", "east": "m", "down": "m",
    "velocity_north": "m/s", "velocity_east": "m/s", "velocity_down": "m/s",
    "roll": "rad", "pitch": "rad", "yaw": "rad",
    "roll_rate": "rad/s", "pitch_rate": "rad/s", "yaw_rate": "rad/s",
    "specific_force_x": "m/s^2", "specific_force_y": "m/s^2", "specific_force_z": "m/s^2",
    "battery_voltage": "V",
}  # fmt: skip
ANGLES = ("roll", "pitch", "yaw")
LEAST_SAMPLES = 16
LONGEST_GAP_S = 1.0  # and GAP_STEPS of the usual distance: a longer gap is not due to sampling
GAP_STEPS = 20.0
CONSTANT = 1e-9  # span over size of a signal that does not move
IMPOSSIBLE = {  # magnitude that no vehicle reaches: the unit is another
    "roll": 2 * math.pi, "pitch": math.pi, "roll_rate": 150.0, "pitch_rate": 150.0, "yaw_rate": 150.0,
    "velocity_north": 1000.0, "velocity_east": 1000.0, "velocity_down": 1000.0,
    "specific_force_x": 1000.0, "specific_force_y": 1000.0, "specific_force_z": 1000.0, "battery_voltage": 1000.0,
}  # fmt: skip


@dataclass(frozen=True)
class Track:
    """One signal over time; times are increasing."""

    time_s: np.ndarray
    values: np.ndarray
    unit: str

    @property
    def step_s(self) -> float:
        """Median distance of samples, s."""
        return float(np.median(np.diff(self.time_s)))

    def at(self, time_s: np.ndarray) -> np.ndarray:
        """Values at times, by linear interpolation."""
        return np.interp(time_s, self.time_s, self.values)

    def held(self, time_s: np.ndarray) -> np.ndarray:
        """Values at times by holding the last sample, as for a command."""
        rows = np.clip(np.searchsorted(self.time_s, time_s + 1e-9, side="right") - 1, 0, None)
        return np.asarray(self.values[rows])


@dataclass(frozen=True)
class Record:
    """Signals of one vehicle from one file; time counts from the first sample."""

    path: Path
    kind: str  # ulog, dataflash, parquet, csv
    tracks: dict[str, Track]
    notes: list[str] = field(default_factory=list)

    def track(self, name: str) -> Track:
        """The signal with this name; raises UnknownNameError."""
        if name not in self.tracks:
            raise UnknownNameError("signal", name, self.tracks, self.path.name)
        return self.tracks[name]

    @property
    def length_s(self) -> float:
        """Time of the last sample, s."""
        return max((float(track.time_s[-1]) for track in self.tracks.values()), default=0.0)

    def without(self, names: Sequence[str]) -> Record:
        """The record without some signals."""
        return replace(self, tracks={name: track for name, track in self.tracks.items() if name not in names})

    def moved(self, by_s: float) -> Record:
        """The record with its times shifted by `by_s`."""
        moved = {n: Track(t.time_s + by_s, t.values, t.unit) for n, t in self.tracks.items()}
        return replace(self, tracks=moved)


def stands(values: np.ndarray) -> bool:
    """Whether a signal is constant."""
    return float(np.ptp(values)) <= CONSTANT * max(1.0, float(np.max(np.abs(values))))


def make_record(path: Path, kind: str, raw: dict[str, tuple[np.ndarray, np.ndarray, str]], notes: list[str]) -> Record:
    """A record from raw signals (times, values, unit); raises an error where they cannot be trusted."""
    tracks: dict[str, Track] = {}
    for name, (time_s, values, unit) in raw.items():
        good = np.isfinite(values)
        if not np.isfinite(time_s).all():
            raise RecordError(f"{path.name}: {name} has times that are no numbers; the record is broken")
        if good.mean() < 0.5 or good.sum() < LEAST_SAMPLES:
            notes.append(f"{name} is left out: {int(good.sum())} of {len(good)} samples are numbers")
            continue
        time_s, values = np.asarray(time_s, float)[good], np.asarray(values, float)[good]
        back = np.flatnonzero(np.diff(time_s) < 0)
        if len(back):
            raise RecordError(
                f"{path.name}: the clock of {name} jumps back from {time_s[back[0]]:.3f} to "
                f"{time_s[back[0] + 1]:.3f} s; "
                "times must rise: cut the record there"
            )
        first = np.concatenate([[True], np.diff(time_s) > 0])
        time_s, values = time_s[first], values[first]
        if len(time_s) < LEAST_SAMPLES:
            notes.append(f"{name} is left out: {len(time_s)} samples, {LEAST_SAMPLES} are needed")
            continue
        most = IMPOSSIBLE.get(name)
        if most is not None and float(np.max(np.abs(values))) > most:
            raise RecordError(
                f"{path.name}: {name} reaches {np.max(np.abs(values)):.4g} {unit}, more than {most:.4g}: its "
                f"unit is another; "
                f"give the column's unit in the tests file, for example unit = 'deg'"
            )
        tracks[name] = Track(time_s, np.unwrap(values) if name in ANGLES else values, unit)
    if not tracks:
        why = "; ".join(notes) or "it holds none of the signals that are looked for"
        raise RecordError(f"{path.name} cannot be compared: {why}")
    zero = min(float(track.time_s[0]) for track in tracks.values())
    return Record(path, kind, tracks, notes).moved(-zero)


def check_whole(record: Record, names: Sequence[str], window_s: tuple[float, float]) -> None:
    """Raise an error where a signal has a gap, or does not cover a window."""
    for name in names:
        track = record.track(name)
        inside = (track.time_s >= window_s[0]) & (track.time_s <= window_s[1])
        times = track.time_s[inside]
        if len(times) < LEAST_SAMPLES:
            raise RecordError(
                f"{record.path.name}: {name} has {len(times)} samples from {window_s[0]:.2f} to {window_s[1]:.2f} s, "
                f"{LEAST_SAMPLES} are needed; choose another window"
            )
        gaps = np.diff(np.concatenate([[window_s[0]], times, [window_s[1]]]))
        longest = int(np.argmax(gaps))
        if gaps[longest] > max(LONGEST_GAP_S, GAP_STEPS * track.step_s):
            at = float(np.concatenate([[window_s[0]], times])[longest])
            raise RecordError(
                f"{record.path.name}: {name} has a hole of {gaps[longest]:.2f} s at {at:.2f} s (usual step "
                f"{track.step_s * 1e3:.3g} ms): the clock jumps or the log lost pieces; compare a window "
                f"without it (--window)"
            )
