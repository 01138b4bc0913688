"""Checks of what is passed to the kernel, which checks nothing itself: run states, log plans, logs."""

from __future__ import annotations

import numpy as np

from ironbird.errors import RunError
from ironbird.runtime.border import FLOAT, SEED, WHOLE, whole
from ironbird.runtime.log import Log, LogPlan
from ironbird.runtime.state import RunState


def check_state(state: RunState) -> None:
    """Raise unless every array of a run state has the layout that the kernel of its model expects."""
    flat, width, lanes = state.model.flat, state.width, state.lanes
    blocks = -(-lanes // width)
    for name, array, shape, kind in (
        ("x", state.x, (blocks, flat.x.size, width), FLOAT),
        ("xd", state.xd, (blocks, flat.xd.size, width), FLOAT),
        ("held", state.held, (blocks, flat.held.size, width), FLOAT),
        ("params", state.params, (blocks, flat.p.size, width), FLOAT),
        ("inputs", state.inputs, (blocks, flat.u.size, width), FLOAT),
        ("seeds", state.seeds, (blocks, width), SEED),
        ("stop_tick", state.stop_tick, (blocks, width), WHOLE),
        ("stop_reason", state.stop_reason, (blocks, width), WHOLE),
        ("stop_row", state.stop_row, (blocks, width), WHOLE),
    ):
        if type(array) is not np.ndarray or array.shape != shape or array.dtype != kind:
            layout = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
            raise RunError(f"{name} of a run state is {layout}; the kernel takes {kind} {shape}")
        if not array.flags.carray:  # contiguous, aligned and writeable
            raise RunError(f"{name} of a run state is not one writeable piece of memory; the kernel needs that")
    if len(state.events) != lanes or len(state.fired) != lanes:
        raise RunError(
            f"events of {len(state.events)} lanes, not of {lanes}: a run state has one list of events per lane"
        )


def check_plan(plan: LogPlan, state: RunState) -> None:
    """Raise unless the signals of a log plan exist in the model."""
    index, most = plan.index, state.model.flat.log.size
    if not isinstance(index, np.ndarray) or index.dtype != WHOLE or index.ndim != 1 or not index.flags.c_contiguous:
        raise RunError("the selection of a log is not a column of whole numbers; make it with LogPlan.make")
    if index.size and not (index.min() >= 0 and index.max() < most):
        raise RunError(f"the log was planned for another model: row {index.max()} of {most} signals")
    whole(plan.every, "ticks between rows of the log", 1)


def check_log(log: Log, state: RunState, first_row: int) -> None:
    """Raise unless a log has room for the rows that the kernel writes from `first_row` on."""
    check_plan(log.plan, state)
    shape = (state.x.shape[0], log.data.shape[1], len(log.plan.index), state.width)
    if log.data.shape != shape or log.data.dtype != FLOAT or not log.data.flags.carray:
        raise RunError(f"a log of {log.data.shape} cannot take rows of {shape}")
    whole(first_row, "row of the log", 0, log.data.shape[1])
    if log.watches is not None:
        there, room = log.watches.data, (*shape[:2], 2 * log.watches.count, state.width)
        if there.shape != room or there.dtype != FLOAT or not there.flags.carray:
            raise RunError(f"extremes of {there.shape} cannot take rows of {room}")
