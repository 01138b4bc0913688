"""Traces: columns of many flights on one time grid, for requirements."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ironbird.conditions.formula import Compare, Join, Node, Term, Until
from ironbird.errors import RequirementError, UnknownNameError
from ironbird.runtime.lane_columns import sizes

GROUP = 8  # lanes that are adjacent in a log


@dataclass(frozen=True)
class Places:
    """Memory layout of some columns: addresses and strides, counted in numbers."""

    begin: np.ndarray  # address of each column
    group_size: int  # stride between groups of lanes
    lane_size: int  # stride between lanes of a group
    row_size: int
    kept: object  # object that owns the memory


class LogColumns(Mapping[str, np.ndarray]):
    """Columns of a log computed on first use, and the layout with which native code reads the log directly."""

    data: np.ndarray  # [block, row, column, place], the kernel's layout
    whole: bool  # whether the columns are of all lanes of `data`, not of one

    @abstractmethod
    def lane(self, lane: int) -> LogColumns:
        """The columns of one lane, as a trace of one flight."""

    @abstractmethod
    def column_in_log(self, name: str) -> int | None:
        """Column number in `data` of a name; None if the name is derived from others."""

    @abstractmethod
    def term(self, name: str) -> Term | None:
        """Definition of a derived name; None if it is not derived."""

    @abstractmethod
    def in_last_row(self, name: str) -> np.ndarray | None:
        """Value of each lane in its last row, for a name that is 0 before; None for other names."""

    @abstractmethod
    def fault_starts_s(self) -> np.ndarray:
        """Start time in s of each lane's first fault; infinite without one."""

    def places(self, names: Sequence[str]) -> Places | None:
        """Layout of columns in the log; None if one of them is not in the log."""
        columns = [self.column_in_log(name) for name in names]
        width = self.data.shape[3]
        if None in columns or width != GROUP or not self.whole:
            return None
        block_size, row_size, _ = sizes(self.data, self.data.shape[0] * width)
        begin = self.data.ctypes.data + 8 * width * np.array(columns, np.int64)
        return Places(begin, block_size, 1, row_size, self.data)


class Extremes(NamedTuple):
    """Least and greatest margin of a condition in the ticks from each row to before the next, [lane, row]."""

    low: np.ndarray
    high: np.ndarray


@dataclass
class Trace:
    """Columns of many lanes on one time grid. A lane that ended early has fewer valid rows; later rows are ignored."""

    time_s: np.ndarray  # [row], uniform
    values: Mapping[str, np.ndarray]  # signal name -> [lane, row]; `body.p_NB_N[2]` is one entry of a vector
    rows: np.ndarray  # [lane], number of valid rows
    between: Mapping[Node, Extremes] = field(default_factory=dict)  # of conditions: from each row to before the next

    def __post_init__(self) -> None:
        self.time_s = np.asarray(self.time_s, dtype=np.float64)
        self.rows = np.asarray(self.rows, dtype=np.int64)
        count = len(self.time_s)
        if self.time_s.ndim != 1 or count == 0 or self.rows.ndim != 1 or len(self.rows) == 0:
            raise RequirementError("a trace needs at least one lane and one row")
        steps = np.diff(self.time_s)
        uneven = 1e-6 * self.step_s + 1e-9 * abs(float(self.time_s[-1]))  # tolerance for the rounding of times
        if count > 1 and (steps.min() <= 0 or np.ptp(steps) > uneven):
            raise RequirementError(
                f"a trace needs equal steps of time: these are {steps.min():g} s to {steps.max():g} s"
            )
        if self.rows.min() < 1 or self.rows.max() > count:
            raise RequirementError(f"each lane of a trace needs 1 to {count} valid rows, not {self.rows.tolist()[:8]}")
        if isinstance(self.values, LogColumns):
            return
        self.values = {name: np.asarray(column, dtype=np.float64) for name, column in self.values.items()}
        for name, column in self.values.items():
            if column.shape != (self.lanes, count):
                raise RequirementError(
                    f"column '{name}' of the trace has shape {column.shape}, not {(self.lanes, count)}"
                )

    @property
    def lanes(self) -> int:
        """Number of flights (lanes) in the trace."""
        return len(self.rows)

    @property
    def step_s(self) -> float:
        """Time in s between rows; 0 for a trace of one row."""
        return float((self.time_s[-1] - self.time_s[0]) / max(len(self.time_s) - 1, 1))

    def column(self, name: str) -> np.ndarray:
        """One column, [lane, row]; the column `time` always exists."""
        if name in self.values:
            return self.values[name]
        if name == "time":
            return np.broadcast_to(self.time_s, (self.lanes, len(self.time_s)))
        raise RequirementError(str(UnknownNameError("column", name, self.values, "the trace")))

    def steps(self, seconds: float) -> int:
        """Number of rows in a time in s, rounded to the nearest; larger than the trace for a time beyond its end."""
        count = len(self.time_s)
        if count == 1:
            return int(seconds > 0)
        return round(min(seconds / self.step_s, 2.0 * count))

    def places(self, names: Sequence[str]) -> Places:
        """Memory layout of columns, in the log itself if they are there."""
        in_log = self.values.places(names) if isinstance(self.values, LogColumns) else None
        if in_log is not None:
            return in_log
        columns = [np.ascontiguousarray(self.column(name)) for name in names]
        begin = np.array([column.ctypes.data for column in columns], np.int64)
        count = len(self.time_s)
        return Places(begin, GROUP * count, count, 1, columns)

    def lane(self, lane: int) -> Trace:
        """The trace of one lane, with one flight."""
        one = slice(lane, lane + 1)
        between = {node: Extremes(found.low[one], found.high[one]) for node, found in self.between.items()}
        if isinstance(self.values, LogColumns):
            return Trace(self.time_s, self.values.lane(lane), self.rows[one], between)
        values = {name: column[one] for name, column in self.values.items()}
        return Trace(self.time_s, values, self.rows[one], between)


def has_extremes(node: Node, trace: Trace) -> bool:
    """Whether a trace knows the extremes between rows of a condition or of a part of it."""
    if not trace.between:
        return False
    if node in trace.between:
        return True
    if isinstance(node, Compare):
        return False
    parts = (node.left, node.right) if isinstance(node, Join | Until) else (node.child,)
    return any(has_extremes(part, trace) for part in parts)
