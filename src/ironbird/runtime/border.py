"""The border to native code: what the kernel is handed is checked here, because the kernel itself checks nothing."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np

from ironbird.errors import RunError

if TYPE_CHECKING:
    from ironbird.runtime.record import Log, LogPlan
    from ironbird.runtime.state import RunState

MOST_TICKS = 2**53  # a tick is exact as a double; the noise counts up to 2**56
MOST_LANES = 2**24
MOST_SEED = 2**64 - 1
FLOAT, WHOLE, SEED = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.uint64)


def whole(value: object, what: str, low: int = 0, high: int = MOST_TICKS) -> int:
    """A whole number within bounds, of Python or NumPy."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise RunError(f"{what} = {value!r} is not a whole number") from None
    if not low <= number <= high:
        raise RunError(f"{what} = {number} is outside {low} .. {high}")
    return number


def real(value: object, what: str) -> float:
    """A finite number."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise RunError(f"{what} = {str(value)[:40]!r} is not a number that fits") from None
    if not math.isfinite(number):
        raise RunError(f"{what} = {number} is not finite")
    return number


def ticks_of(time_s: object, step_s: float, what: str) -> int:
    """A time in ticks; it may be negative."""
    number = real(time_s, what) / step_s
    if not abs(number) <= MOST_TICKS:
        raise RunError(f"{what} = {time_s} s is too long: the kernel counts {MOST_TICKS * step_s:g} s at this step")
    return round(number)


def check_state(state: RunState) -> None:
    """Raise unless every array of a run state is laid out as the kernel of its model walks through it."""
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
            found = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
            raise RunError(f"{name} of a run state is {found}; the kernel takes {kind} {shape}")
        if not array.flags.carray:  # contiguous, aligned and writeable
            raise RunError(f"{name} of a run state is not one writeable piece of memory; the kernel needs that")
    if len(state.events) != lanes or len(state.fired) != lanes:
        raise RunError(f"events of {len(state.events)} lanes, not of {lanes}")


def check_plan(plan: LogPlan, state: RunState) -> None:
    """Raise unless a log's selection is of signals that the model has."""
    index, most = plan.index, state.model.flat.log.size
    if not isinstance(index, np.ndarray) or index.dtype != WHOLE or index.ndim != 1 or not index.flags.c_contiguous:
        raise RunError("the selection of a log is not a column of whole numbers; make it with LogPlan.make")
    if index.size and not (index.min() >= 0 and index.max() < most):
        raise RunError(f"the log was planned for another model: row {index.max()} of {most} signals")
    whole(plan.every, "ticks between rows of the log", 1)


def check_log(log: Log, state: RunState, first_row: int) -> None:
    """Raise unless a log has room for what the kernel writes there from a row on."""
    check_plan(log.plan, state)
    shape = (state.x.shape[0], log.data.shape[1], len(log.plan.index), state.width)
    if log.data.shape != shape or log.data.dtype != FLOAT or not log.data.flags.carray:
        raise RunError(f"a log of {log.data.shape} cannot take rows of {shape}")
    whole(first_row, "row of the log", 0, log.data.shape[1])
