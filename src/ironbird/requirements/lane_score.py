"""Steps of the graded score for many lanes in native code (c/ib_score.c), with the bits of NumPy's."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ironbird.compiler.native_text import load_texts

_SIZE, _PLACE, _NUMBER = ctypes.c_int64, ctypes.c_void_p, ctypes.c_double
BANDS = 4  # of errors, as in the native code


@functools.cache
def _library() -> ctypes.CDLL:
    library = load_texts(Path(__file__).parent / "c", "ib_score.c")
    library.ib_jumps.argtypes = [_PLACE, _SIZE, _SIZE, _PLACE, _NUMBER, _PLACE]
    library.ib_score_bands.argtypes = [_PLACE, _PLACE, *[_SIZE] * 3, *[_PLACE] * 2, *[_SIZE] * 2, *[_PLACE] * 5]
    library.ib_score_grade.argtypes = [*[_PLACE] * 3, *[_SIZE] * 3, *[_PLACE] * 5]
    for name in ("ib_jumps", "ib_score_bands", "ib_score_grade"):
        getattr(library, name).restype = None
    return library


def jumps(angles: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Of each lane: whether its first `rows` angles ever change by half a turn or more, or are not numbers."""
    angles, found = np.ascontiguousarray(angles), np.empty(len(rows), np.bool_)
    _library().ib_jumps(angles.ctypes.data, *angles.shape, rows.ctypes.data, np.pi, found.ctypes.data)
    return found


class Samples:
    """Samples of channels from a row of each lane on, `every` so many rows, as long as the longest lane has some."""

    def __init__(self, first: np.ndarray, rows: np.ndarray, every: int, channels: int) -> None:
        self.first, self.rows = np.ascontiguousarray(first, np.int64), np.ascontiguousarray(rows, np.int64)
        self.every, self.channels = every, channels
        self.used = -(-(self.rows - self.first) // every)  # of each lane
        if not (len(self.first) == len(self.rows) and self.first.min() >= 0 and self.used.min() > 0 and every > 0):
            raise ValueError("each lane needs a row to begin with, before its last one")
        shape = channels, len(self.rows), int(self.used.max())
        self.ratio, self.inside, self.factor = np.empty(shape), np.empty(shape), np.empty(shape)

    def add(
        self,
        channel: int,
        value: np.ndarray,
        asked: np.ndarray | None,
        *,
        angle: bool,
        edges: Sequence[float],
        scores: np.ndarray,
    ) -> None:
        """The bands of a channel's errors, from columns [lane, row]."""
        value = np.ascontiguousarray(value)
        wanted = None if asked is None else np.ascontiguousarray(asked)
        limits = np.array(edges, np.float64)
        count = value.shape[1]
        if not (len(limits) == len(scores) == BANDS + 1 and len(value) == len(self.rows) and self.rows.max() <= count):
            raise ValueError(f"{len(limits)} edges and {len(scores)} scores; columns of {value.shape}")
        if wanted is not None and wanted.shape != value.shape:
            raise ValueError(f"columns of {value.shape} and {wanted.shape}")
        _library().ib_score_bands(
            value.ctypes.data, None if wanted is None else wanted.ctypes.data, angle, *value.shape,
            self.first.ctypes.data, self.rows.ctypes.data, self.every, self.factor.shape[2], limits.ctypes.data,
            scores.ctypes.data, *(part[channel].ctypes.data for part in (self.ratio, self.inside, self.factor)),
        )  # fmt: skip

    def grade(self, worst: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weighted sums [channel, lane], and how many samples are of each level [channel, lane, level]."""
        lanes, samples = self.factor.shape[1:]
        power = np.power(self.ratio, self.inside, out=self.inside)
        worst = np.ascontiguousarray(worst, np.float64)
        if not (len(worst) == lanes and len(scores) == len(weights) == BANDS + 1):
            raise ValueError(f"{len(scores)} scores, {len(weights)} weights, {len(worst)} of {lanes} lanes")
        sums, counts = np.empty((self.channels, lanes)), np.empty((self.channels, lanes, BANDS + 1), np.int64)
        _library().ib_score_grade(
            self.factor.ctypes.data, power.ctypes.data, worst.ctypes.data, self.channels, lanes, samples,
            self.used.ctypes.data, scores.ctypes.data, weights.ctypes.data, sums.ctypes.data, counts.ctypes.data,
        )  # fmt: skip
        return sums, counts
