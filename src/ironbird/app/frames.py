"""Poses of vehicles as plain numbers for the 3D view: of a running flight, of a log, of a recorded flight.

A frame is FLOATS numbers: time; position north, east, down (m); the rotation matrix body to navigation frame, column by
column; wind (m/s) in the direction it blows to; the values of up to 16 joints, in the order of the vehicle's shape
(`ironbird.vehicles.shape`); of a record, the speeds of its rotors (rad/s).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ironbird import rotations
from ironbird.credibility.readers import read_record
from ironbird.credibility.record import Record
from ironbird.runtime.log import Log
from ironbird.runtime.parquet_log import read_log
from ironbird.vehicles import places as at

JOINTS = 16
FLOATS = 1 + 3 + 9 + 3 + JOINTS
REPLAY_ROWS = 20_000  # of a whole log in one piece; longer ones are thinned
REPLAY_S = 0.05  # s between frames of a recorded flight


class Poser:
    """Converts rows of a log to frames."""

    def __init__(self, log: Log, signals: Sequence[str] = ()) -> None:
        self._columns = np.array(_columns(log, signals), np.int64)
        self._there = self._columns >= 0

    def frame(self, log: Log, row: int) -> np.ndarray:
        """One row of a log as a frame."""
        frame = np.zeros(FLOATS, np.float32)
        frame[0] = log.time_s[row]
        frame[1:][self._there] = log.data[0, row, self._columns[self._there], 0]
        return frame

    def frames(self, log: Log, rows: slice | np.ndarray) -> np.ndarray:
        """Several rows of a log as frames, [row, FLOATS]."""
        times = log.time_s[rows]
        frames = np.zeros((len(times), FLOATS), np.float32)
        frames[:, 0] = times
        frames[:, 1:][:, self._there] = log.data[0, rows][:, self._columns[self._there], 0]
        return frames


def _columns(log: Log, signals: Sequence[str]) -> list[int]:
    """The log's column of each number of a frame except its time; -1 where the log has none."""
    columns: list[int] = []
    for path, size in ((at.BODY.position, 3), (at.BODY.attitude, 9), (at.AIR.wind, 3)):
        start = log.plan.start.get(path, -1)
        columns += range(start, start + size) if start >= 0 else [-1] * size
    joints = list(signals) or [at.rotor(number).motor("speed") for number in range(1, JOINTS + 1)]
    for path in joints[:JOINTS]:
        name, _, entry = path.partition("[")
        start = log.plan.start.get(name, -1)
        columns.append(start + int(entry.rstrip("]") or 0) if start >= 0 else -1)
    return columns + [-1] * (FLOATS - 1 - len(columns))


def replay_frames(path: Path) -> np.ndarray:
    """Frames of a whole record: a flight's Parquet, PX4's ULog, ArduPilot's .BIN or a CSV file."""
    if path.suffix.lower() == ".parquet":
        log = read_log(path)
        if at.BODY.position in log:
            return log_frames(log)
    return record_frames(read_record(path, salvage=True))


def log_frames(log: Log, signals: Sequence[str] = ()) -> np.ndarray:
    """Frames of a whole log, thinned to REPLAY_ROWS; a campaign's log has Euler angles in place of the matrix."""
    rows = np.arange(0, log.rows(), max(1, -(-log.rows() // REPLAY_ROWS)))
    frames = Poser(log, signals).frames(log, rows)
    if at.BODY.attitude not in log and at.BODY.euler in log:
        _turn(frames, log[at.BODY.euler][rows])
    return frames


def record_frames(record: Record) -> np.ndarray:
    """Frames of a record: position and attitude as the control system estimated them."""
    tracks = [record.track(name) for name in ("north", "east", "down", "roll", "pitch", "yaw")]
    begin = max(track.time_s[0] for track in tracks)
    end = min(track.time_s[-1] for track in tracks)
    time_s = np.arange(begin, end, max(REPLAY_S, (end - begin) / REPLAY_ROWS))
    values = np.stack([track.at(time_s) for track in tracks], axis=1)
    frames = np.zeros((len(time_s), FLOATS), np.float32)
    frames[:, 0] = time_s - begin
    frames[:, 1:4] = values[:, :3]
    _turn(frames, values[:, 3:])
    return frames


def _turn(frames: np.ndarray, rpy: np.ndarray) -> None:
    """Fill the frames' rotation matrices from roll, pitch and yaw; each column is an axis of the body."""
    q = rotations.from_euler(rpy)
    for number, axis in enumerate(np.eye(3)):
        frames[:, 4 + 3 * number : 7 + 3 * number] = rotations.rotate(q, np.broadcast_to(axis, (len(q), 3)))
