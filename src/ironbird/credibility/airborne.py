"""The part of a record in which the vehicle flies: models that a record drives know nothing of the ground."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ironbird.credibility.record import Record, Track

CLEAR_M = 3.0  # above the ground: below, its effect on the rotors is more than a ten-thousandth of the thrust
STANDS_S, STANDS_M = 0.3, 0.05  # so long, and within this height, a vehicle on the ground stands at its first place
AT_REST = 0.5  # of the command that is exceeded for a tenth of the record: with less a multicopter does not fly


def airborne(record: Record, commands: Sequence[Track]) -> tuple[float, float]:
    """First and last second between take-off and landing, or all of the record if it begins and ends in the air.

    On the ground is what comes before the vehicle has risen `CLEAR_M`, or half of its greatest height, above its first
    place, if it stands there and the motors hardly turn for the first samples; and the same backwards for the end.
    """
    first, last = (max(t.time_s[0] for t in commands), min(t.time_s[-1] for t in commands))
    height = _height(record)
    if height is None:
        return float(first), float(last)
    inside = (height.time_s >= first) & (height.time_s <= last)
    times, values = height.time_s[inside], height.values[inside]
    if len(times) < 2:
        return float(first), float(last)
    command = np.mean([track.held(times) for track in commands], axis=0)
    least = AT_REST * float(np.percentile(command, 90))
    if _stands(times - times[0], values, command, least):
        first = times[_clear(values)]
    if _stands(times[-1] - times[::-1], values[::-1], command[::-1], least):
        last = times[len(times) - 1 - _clear(values[::-1])]
    return float(first), float(last)


def _stands(after_s: np.ndarray, height: np.ndarray, command: np.ndarray, least: float) -> bool:
    """Whether the first samples have a small command and one height."""
    begin = after_s <= STANDS_S
    return bool(np.max(command[begin]) < least and np.ptp(height[begin]) < STANDS_M)


def _clear(height: np.ndarray) -> int:
    """First row that is clear of the place of the first one."""
    risen = height - height[0]
    return int(np.argmax(risen >= min(CLEAR_M, 0.5 * float(np.max(risen)))))


def _height(record: Record) -> Track | None:
    """Height above any level: as recorded, or by the vertical speed."""
    if "down" in record.tracks:
        down = record.tracks["down"]
        return Track(down.time_s, -down.values, "m")
    if "velocity_down" not in record.tracks:
        return None
    sink = record.tracks["velocity_down"]
    fallen = np.concatenate([[0.0], np.cumsum(0.5 * (sink.values[1:] + sink.values[:-1]) * np.diff(sink.time_s))])
    return Track(sink.time_s, -fallen, "m")
