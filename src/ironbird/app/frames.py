"""Where vehicles are, as plain numbers for the 3D view: of a running flight, of a log, of a recorded flight.

A frame is FLOATS numbers: time; position north, east, down (m); the rotation matrix body to navigation frame, column by
column; wind (m/s) where it blows to; speeds of up to eight rotors (rad/s).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ironbird import rotations
from ironbird.credibility.readers import read_record
from ironbird.credibility.record import Record
from ironbird.runtime.log import Log
from ironbird.runtime.parquet_log import read_log
from ironbird.vehicles import places as at

ROTORS = 8
FLOATS = 1 + 3 + 9 + 3 + ROTORS
REPLAY_ROWS = 20_000  # of a whole log in one piece; longer ones are thinned
REPLAY_S = 0.05  # between frames that are made of a recorded flight


class Poser:
    """Takes frames out of the rows of a log."""

    def __init__(self, log: Log) -> None:
        self._columns = np.array(_columns(log), np.int64)
        self._there = self._columns >= 0

    def frame(self, log: Log, row: int) -> np.ndarray:
        """One row as a frame."""
        found = np.zeros(FLOATS, np.float32)
        found[0] = log.time_s[row]
        found[1:][self._there] = log.data[0, row, self._columns[self._there], 0]
        return found

    def frames(self, log: Log, rows: slice | np.ndarray) -> np.ndarray:
        """Many rows: [row, FLOATS]."""
        times = log.time_s[rows]
        found = np.zeros((len(times), FLOATS), np.float32)
        found[:, 0] = times
        found[:, 1:][:, self._there] = log.data[0, rows][:, self._columns[self._there], 0]
        return found


def _columns(log: Log) -> list[int]:
    """The log's column of each number of a frame but its time; -1 where the log has none."""
    wanted = [(at.BODY.position, 3), (at.BODY.attitude, 9), (at.AIR.wind, 3)]
    wanted += [(at.rotor(number).motor("speed"), 1) for number in range(1, ROTORS + 1)]
    found: list[int] = []
    for path, size in wanted:
        start = log.plan.start.get(path, -1)
        found += range(start, start + size) if start >= 0 else [-1] * size
    return found


def replay_frames(path: Path) -> np.ndarray:
    """A whole record for the replay: a flight's Parquet, PX4's ULog, ArduPilot's .BIN or a CSV file."""
    if path.suffix.lower() == ".parquet":
        log = read_log(path)
        if at.BODY.position in log:
            return log_frames(log)
    return record_frames(read_record(path, salvage=True))


def log_frames(log: Log) -> np.ndarray:
    """A whole log, thinned to REPLAY_ROWS; a campaign's has Euler angles in place of the matrix."""
    rows = np.arange(0, log.rows(), max(1, -(-log.rows() // REPLAY_ROWS)))
    found = Poser(log).frames(log, rows)
    if at.BODY.attitude not in log and at.BODY.euler in log:
        _turn(found, log[at.BODY.euler][rows])
    return found


def record_frames(record: Record) -> np.ndarray:
    """The motion in a record: position and attitude as the control system estimated them."""
    tracks = [record.track(name) for name in ("north", "east", "down", "roll", "pitch", "yaw")]
    begin = max(track.time_s[0] for track in tracks)
    end = min(track.time_s[-1] for track in tracks)
    time_s = np.arange(begin, end, max(REPLAY_S, (end - begin) / REPLAY_ROWS))
    values = np.stack([track.at(time_s) for track in tracks], axis=1)
    found = np.zeros((len(time_s), FLOATS), np.float32)
    found[:, 0] = time_s - begin
    found[:, 1:4] = values[:, :3]
    _turn(found, values[:, 3:])
    return found


def _turn(frames: np.ndarray, rpy: np.ndarray) -> None:
    """Rotation matrices of roll, pitch and yaw: each column is an axis of the body."""
    q = rotations.from_euler(rpy)
    for number, axis in enumerate(np.eye(3)):
        frames[:, 4 + 3 * number : 7 + 3 * number] = rotations.rotate(q, np.broadcast_to(axis, (len(q), 3)))
