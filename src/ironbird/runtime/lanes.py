"""Rows of a run state by lane, for code outside the kernel that reads and writes them."""

from __future__ import annotations

import numpy as np

from ironbird.runtime.state import RunState


def lanes_of(state: RunState, array: np.ndarray, rows: slice) -> np.ndarray:
    """Copy of some rows of an array of a run state, as (lanes, rows)."""
    if state.width == 1:
        return array[:, rows, 0].copy()
    part = array[:, rows, :]
    return np.ascontiguousarray(part.transpose(0, 2, 1).reshape(-1, part.shape[1])[: state.lanes])


def write_lanes(state: RunState, rows: slice, values: np.ndarray) -> None:
    """Write values (lanes, rows) to some rows of the inputs of a run state."""
    blocks, width = state.inputs.shape[0], state.width
    if width == 1:
        state.inputs[:, rows, 0] = values
        return
    whole = np.zeros((blocks * width, values.shape[1]))
    whole[: state.lanes] = values
    state.inputs[:, rows, :] = whole.reshape(blocks, width, -1).transpose(0, 2, 1)
