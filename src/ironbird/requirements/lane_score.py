"""Graded score of many lanes in native code (c/ib_score.c), with the same bits as NumPy."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ironbird.compiler.native_text import load_texts
from ironbird.requirements.trace import Trace

_SIZE, _PLACE, _NUMBER = ctypes.c_int64, ctypes.c_void_p, ctypes.c_double
BANDS = 4  # number of error bands, as in the native code


@functools.cache
def score_library() -> ctypes.CDLL:
    """The native library, compiled or from the cache."""
    library = load_texts(Path(__file__).parent / "c" / "ib_score.c")
    library.ib_jumps.argtypes = [_PLACE, *[_SIZE] * 5, _PLACE, _NUMBER, _PLACE]
    library.ib_samples.argtypes = [_PLACE, *[_SIZE] * 5, *[_PLACE] * 2, *[_SIZE] * 2, _PLACE]
    library.ib_score_bands.argtypes = [*[_PLACE] * 2, *[_SIZE] * 3, *[_PLACE] * 6]
    library.ib_score_grade.argtypes = [*[_PLACE] * 3, *[_SIZE] * 3, *[_PLACE] * 5]
    for name in ("ib_jumps", "ib_samples", "ib_score_bands", "ib_score_grade"):
        getattr(library, name).restype = None
    return library


def jumps(names: Sequence[str], trace: Trace) -> np.ndarray:
    """[column, lane]: whether the angles of a lane ever change by half a turn or more, or are not finite."""
    at, flags = trace.places(names), np.empty((len(names), trace.lanes), np.bool_)
    score_library().ib_jumps(
        at.begin.ctypes.data, len(names), at.group_size, at.lane_size, at.row_size, trace.lanes,
        trace.rows.ctypes.data, np.pi, flags.ctypes.data,
    )  # fmt: skip
    return flags


class Samples:
    """Values of some trace columns every `every` rows, for each lane from its row in `first` to its end.

    Arrays are [column, lane, sample], as long as the longest lane. `channels` is the number of scored channels that
    `add` fills.
    """

    def __init__(self, trace: Trace, first: np.ndarray, every: int, names: Sequence[str], channels: int) -> None:
        self.first, self.rows = np.ascontiguousarray(first, np.int64), np.ascontiguousarray(trace.rows, np.int64)
        self.names, self.channels = {name: i for i, name in enumerate(names)}, channels
        self.used = -(-(self.rows - self.first) // every)  # number of samples of each lane
        if not (len(self.first) == len(self.rows) and self.first.min() >= 0 and self.used.min() > 0 and every > 0):
            raise ValueError("each lane needs a row to begin with, before its last one")
        samples, at = int(self.used.max()), trace.places(names)
        self.values = np.empty((len(names), trace.lanes, samples))
        score_library().ib_samples(
            at.begin.ctypes.data, len(names), at.group_size, at.lane_size, at.row_size, trace.lanes,
            self.first.ctypes.data, self.rows.ctypes.data, every, samples, self.values.ctypes.data,
        )  # fmt: skip
        shape = channels, trace.lanes, samples
        self.ratio, self.inside, self.factor = np.empty(shape), np.empty(shape), np.empty(shape)

    def add(
        self, channel: int, name: str, command: str | None, *, angle: bool, edges: Sequence[float], scores: np.ndarray
    ) -> None:
        """Add a channel: bands of the errors of a column, compared with the column of its command."""
        value, limits = self.values[self.names[name]], np.array(edges, np.float64)
        address = None if command is None else self.values[self.names[command]].ctypes.data
        if not len(limits) == len(scores) == BANDS + 1:
            raise ValueError(f"{name}: {len(limits)} edges and {len(scores)} scores; give {BANDS + 1} of each")
        score_library().ib_score_bands(
            value.ctypes.data, address, angle, *value.shape, self.used.ctypes.data, limits.ctypes.data,
            scores.ctypes.data, *(part[channel].ctypes.data for part in (self.ratio, self.inside, self.factor)),
        )  # fmt: skip

    def grade(self, worst: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weighted sums [channel, lane], and the number of samples of each level [channel, lane, level]."""
        lanes, samples = self.factor.shape[1:]
        power = np.power(self.ratio, self.inside, out=self.inside)
        worst = np.ascontiguousarray(worst, np.float64)
        if not (len(worst) == lanes and len(scores) == len(weights) == BANDS + 1):
            raise ValueError(f"{len(scores)} scores, {len(weights)} weights, {len(worst)} of {lanes} lanes")
        sums, counts = np.empty((self.channels, lanes)), np.empty((self.channels, lanes, BANDS + 1), np.int64)
        score_library().ib_score_grade(
            self.factor.ctypes.data, power.ctypes.data, worst.ctypes.data, self.channels, lanes, samples,
            self.used.ctypes.data, scores.ctypes.data, weights.ctypes.data, sums.ctypes.data, counts.ctypes.data,
        )  # fmt: skip
        return sums, counts
