"""Transposition of log columns from the kernel's layout to contiguous values per lane (c/ib_lane_columns.c)."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

import numpy as np

from ironbird.compiler.native_text import load_texts
from ironbird.errors import RunError
from ironbird.runtime.border import FLOAT

_SIZE, _PLACE = ctypes.c_int64, ctypes.c_void_p
BLOCK = 8  # lanes per block in the native code


@functools.cache
def columns_library() -> ctypes.CDLL:
    """The native library, compiled or from the cache."""
    library = load_texts(Path(__file__).parent / "c" / "ib_lane_columns.c")
    library.ib_turn_columns.restype = None
    library.ib_turn_columns.argtypes = [_PLACE, *[_SIZE] * 5, _PLACE]
    return library


def lane_columns(data: np.ndarray, first: int, count: int) -> np.ndarray:
    """Columns `first` to `first + count` of [block, row, column, place] as a new array [column, lane, row].

    Other widths than that of native code, as that of a single flight, are left to NumPy.
    """
    blocks, rows, columns, width = data.shape
    if width != BLOCK:
        return data[:, :, first : first + count].transpose(2, 0, 3, 1).reshape(count, blocks * width, rows)
    if not 0 <= first <= first + count <= columns:
        raise RunError(f"columns {first} to {first + count} of a log of {columns} columns")
    block_size, row_size, _ = sizes(data, blocks * width)
    result = np.empty((count, blocks * width, rows))
    begin = data.ctypes.data + first * width * FLOAT.itemsize
    columns_library().ib_turn_columns(begin, block_size, row_size, blocks, rows, count, result.ctypes.data)
    return result


def sizes(data: np.ndarray, lanes: int) -> tuple[int, int, int]:
    """Strides (in numbers) between blocks and between rows, and lanes per block; raises for another layout."""
    blocks, rows, columns, width = data.shape
    block_size, row_size = data.strides[0] // FLOAT.itemsize, columns * width
    laid_out = (row_size * FLOAT.itemsize, width * FLOAT.itemsize, FLOAT.itemsize)
    if data.dtype != FLOAT or not data.flags.aligned or (data.size and data.strides[1:] != laid_out):
        raise RunError(f"a log of {data.dtype} with strides {data.strides} is not laid out as the kernel writes it")
    if not 0 < lanes <= blocks * width or (blocks > 1 and block_size < rows * row_size):
        raise RunError(f"a log cannot have {lanes} lanes in {blocks} blocks of {width}")
    return block_size, row_size, width
