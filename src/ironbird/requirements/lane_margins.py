"""Margins of many lanes in native code (c/ib_margins.c), directly from the log in the kernel's layout.

Covers most requirements: `always` or `eventually` of a condition about one moment, over an interval. No column is
transposed, derived or stored; the numbers equal those of `robustness.py` to the bit. Other formulas are evaluated
there.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ironbird.compiler import native
from ironbird.compiler.compiled import LANES
from ironbird.conditions.formula import Formula, Interval, Signal, Window
from ironbird.conditions.margin import MarginCode, UnfitError
from ironbird.requirements.trace import LogColumns, Trace, has_extremes
from ironbird.runtime.lane_columns import sizes
from ironbird.runtime.predicate import Op

# Operations after those of triggers
PUSH_OF_LANE, PUSH_IN_LAST_ROW = range(len(Op), len(Op) + 2)
DEEPEST = 12  # most values on the stack
_SIZE, _PLACE, _NUMBER = ctypes.c_int64, ctypes.c_void_p, ctypes.c_double


def margins_text() -> str:
    """C text of the stack machine of margins, for libraries that contain it."""
    own = {"PUSH_OF_LANE": PUSH_OF_LANE, "PUSH_IN_LAST_ROW": PUSH_IN_LAST_ROW}
    numbers = {**{op.name: int(op) for op in Op}, **own}
    head = "".join(f"#define OP_{name} {number}\n" for name, number in numbers.items()) + f"#define DEEPEST {DEEPEST}\n"
    return head + (Path(__file__).parent / "c" / "ib_margins.c").read_text()


@functools.cache
def margins_library() -> ctypes.CDLL:
    """The native library, compiled or from the cache."""
    library = native.load(margins_text(), LANES, what="the code of requirements")
    library.ib_margins.restype = None
    library.ib_margins.argtypes = [
        _PLACE, *[_SIZE] * 3, *[_PLACE] * 3, _SIZE, *[_PLACE] * 2, *[_SIZE] * 4, _NUMBER, _PLACE,
    ]  # fmt: skip
    return library


def can_judge(trace: Trace) -> bool:
    """Whether the lanes of a trace have the memory layout that native code needs."""
    columns = trace.values
    return isinstance(columns, LogColumns) and columns.whole and columns.data.shape[3] == LANES


def margins_of_lanes(formula: Formula, trace: Trace) -> np.ndarray | None:
    """Margin of each lane at its first sample; None if native code cannot evaluate the formula or the trace."""
    columns, root = trace.values, formula.root
    if not (can_judge(trace) and isinstance(columns, LogColumns) and isinstance(root, Window)):
        return None
    if root.operator not in ("always", "eventually") or has_extremes(root, trace):
        return None
    program = _Program(columns, trace.lanes)
    try:
        program.margin(root.child)
    except UnfitError:
        return None
    return program.over(root.interval, trace, greatest=root.operator == "eventually")


def greatest_sizes(names: tuple[str, ...], trace: Trace) -> np.ndarray | None:
    """Largest absolute value of some signals over each lane; NaN if one is NaN; None as for `margins_of_lanes`."""
    if not (can_judge(trace) and isinstance(trace.values, LogColumns)):
        return None
    program = _Program(trace.values, trace.lanes)
    try:
        for number, name in enumerate(names):
            program.column(name)
            program.emit(Op.ABS)
            if number:
                program.emit(Op.MAXIMUM)
    except UnfitError:
        return None
    return program.over(Interval(), trace, greatest=True)


@dataclass
class _Program(MarginCode):
    """Builder of the postfix code of a margin, and the per-lane values that it refers to."""

    columns: LogColumns
    lanes: int

    def __post_init__(self) -> None:
        super().__init__()
        self.of_lanes: list[np.ndarray] = []

    def signal(self, term: Signal) -> None:
        """Append code that pushes the value of a signal, or of the definition it is derived from."""
        self.column(term.column)

    def column(self, name: str) -> None:
        """Append code that pushes the value of a column of the log."""
        at, term = self.columns.column_in_log(name), self.columns.term(name)
        if at is not None:
            self.emit(Op.PUSH_SIGNAL, LANES * at)
        elif term is not None:
            self.number(term)
        elif name == "time":
            self.emit(Op.PUSH_TIME)
        elif name == "fault_active":
            self.emit(Op.PUSH_TIME)
            self._of_lane(PUSH_OF_LANE, self.columns.fault_starts_s())
            self.emit(Op.GREATER_EQUAL)
        elif (last := self.columns.in_last_row(name)) is not None:
            self._of_lane(PUSH_IN_LAST_ROW, last)
        else:
            raise UnfitError

    def _of_lane(self, op: int, values: np.ndarray) -> None:
        self.emit(op, len(self.of_lanes))
        self.of_lanes.append(values)

    def over(self, interval: Interval, trace: Trace, *, greatest: bool) -> np.ndarray | None:
        """Minimum or maximum over an interval of each lane; None if the stack is too small."""
        if depth_of(self.code) > DEEPEST:
            return None
        data = self.columns.data
        block_size, row_size, _ = sizes(data, self.lanes)
        lanes, count = data.shape[0] * LANES, len(trace.time_s)
        rows = np.zeros(lanes, np.int64)
        rows[: self.lanes] = trace.rows
        of_lanes = np.zeros((max(1, len(self.of_lanes)), lanes))
        for number, values in enumerate(self.of_lanes):
            of_lanes[number, : self.lanes] = values
        code, constants = np.array(self.code, np.int64), np.array([*self.constants, 0.0])
        low, high = trace.steps(interval.low_s), min(trace.steps(interval.high_s), count - 1)
        last = -1 if interval.last_s is None else trace.steps(interval.last_s)
        extremes = np.empty(lanes)
        margins_library().ib_margins(
            data.ctypes.data, block_size, row_size, lanes, trace.time_s.ctypes.data, rows.ctypes.data,
            code.ctypes.data, len(code), constants.ctypes.data, of_lanes.ctypes.data, low, high, last, greatest,
            -math.inf if greatest else math.inf, extremes.ctypes.data,
        )  # fmt: skip
        return extremes[: self.lanes]


def depth_of(code: Sequence[tuple[int, int]]) -> int:
    """Most values that code holds on the stack at once."""
    deepest = present = 0
    for op, _ in code:
        present += 1 - (0 if op >= PUSH_OF_LANE else Op(op).takes)
        deepest = max(deepest, present)
    return deepest
