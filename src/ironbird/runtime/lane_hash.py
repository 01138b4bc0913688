"""Hashes of the lanes of a log in the kernel's layout, several at once in native code (c/ib_lane_hash.c)."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ironbird.compiler.native_text import load_texts
from ironbird.errors import RunError
from ironbird.runtime.border import FLOAT, WHOLE
from ironbird.runtime.lane_columns import sizes

_SIZE, _PLACE = ctypes.c_int64, ctypes.c_void_p


@functools.cache
def hash_library() -> ctypes.CDLL:
    """The native library, compiled or from the cache."""
    library = load_texts(Path(__file__).parent / "c" / "ib_lane_hash.c")
    library.ib_hash_lanes.restype = None
    library.ib_hash_lanes.argtypes = [_PLACE, *[_SIZE] * 4, *[_PLACE] * 6]
    return library


def hashes_of_lanes(
    data: np.ndarray, time_s: np.ndarray, rows: Sequence[int], columns: Sequence[Sequence[int]]
) -> list[str]:
    """SHA-256 of each lane: the times of its first `rows` rows, then its `columns` row by row.

    `data` is [block, row, column, place].
    """
    block_size, row_size, width = sizes(data, len(rows))
    count = np.array(rows, WHOLE)
    if not (count.min() >= 0 and count.max() <= min(data.shape[1], len(time_s))):
        raise RunError(
            f"cannot hash lanes of up to {count.max()} rows in a log of {data.shape[1]} rows and {len(time_s)} times"
        )
    where: dict[tuple[int, ...], tuple[int, int]] = {}  # place of each list of columns in the joined list
    index: list[int] = []
    for own in dict.fromkeys(map(tuple, columns)):
        where[own] = len(index), len(index) + len(own)
        index += own
    if len(columns) != len(count) or (index and not (min(index) >= 0 and max(index) < data.shape[2])):
        raise RunError(
            f"cannot hash {len(count)} lanes by {len(columns)} lists of columns: their indices must fit a log of "
            f"{data.shape[2]} columns"
        )
    first, last = (np.array([where[tuple(own)][i] for own in columns], WHOLE) for i in (0, 1))
    place = np.array(index, WHOLE) * width  # offset in numbers from the lane's place
    times = np.ascontiguousarray(time_s, FLOAT)
    digests = np.empty((len(count), 8), np.uint32)
    hash_library().ib_hash_lanes(
        data.ctypes.data, block_size, row_size, width, len(count), times.ctypes.data, count.ctypes.data,
        place.ctypes.data, first.ctypes.data, last.ctypes.data, digests.ctypes.data,
    )  # fmt: skip
    return [digest.tobytes().hex() for digest in digests.byteswap()]
