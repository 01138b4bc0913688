"""What a requirement judges: columns of many flights on one time grid."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ironbird.conditions.formula import Term
from ironbird.errors import RequirementError, UnknownNameError
from ironbird.runtime.lane_columns import sizes

GROUP = 8  # lanes that lie together in a log


@dataclass(frozen=True)
class Places:
    """Where the values of some columns stand in memory, in numbers from the beginning of each column on."""

    begin: np.ndarray  # addresses of the columns
    group_size: int  # from a group of lanes to the next one
    lane_size: int  # from a lane to the next one in its group
    row_size: int
    kept: object  # what must stay alive


class LogColumns(Mapping[str, np.ndarray]):
    """Columns of a log that are made when they are asked for, and what native code needs to do without them."""

    data: np.ndarray  # [block, row, column, place], as the kernel writes it
    whole: bool  # whether the columns are of all lanes of `data`, and not of one

    @abstractmethod
    def lane(self, lane: int) -> LogColumns:
        """The same of one lane."""

    @abstractmethod
    def column_in_log(self, name: str) -> int | None:
        """The column of `data` that a name is; None if it is made from others."""

    @abstractmethod
    def term(self, name: str) -> Term | None:
        """How a name is made from others; None if it is not."""

    @abstractmethod
    def in_last_row(self, name: str) -> np.ndarray | None:
        """Of each lane the value in its last row of a name that is 0 before; None if it is no such."""

    @abstractmethod
    def fault_starts_s(self) -> np.ndarray:
        """When the first fault of each lane starts; infinite without one."""

    def places(self, names: Sequence[str]) -> Places | None:
        """Where columns stand in the log; None if one of them does not."""
        columns = [self.column_in_log(name) for name in names]
        width = self.data.shape[3]
        if None in columns or width != GROUP or not self.whole:
            return None
        block_size, row_size, _ = sizes(self.data, self.data.shape[0] * width)
        begin = self.data.ctypes.data + 8 * width * np.array(columns, np.int64)
        return Places(begin, block_size, 1, row_size, self.data)


@dataclass
class Trace:
    """Many lanes, one time grid. A lane that ended early has fewer valid rows; what stands behind them is ignored."""

    time_s: np.ndarray  # [row], uniform
    values: Mapping[str, np.ndarray]  # signal name -> [lane, row]; `body.p_NB_N[2]` is one entry of a vector
    rows: np.ndarray  # [lane], number of valid rows

    def __post_init__(self) -> None:
        self.time_s = np.asarray(self.time_s, dtype=np.float64)
        self.rows = np.asarray(self.rows, dtype=np.int64)
        count = len(self.time_s)
        if self.time_s.ndim != 1 or count == 0 or self.rows.ndim != 1 or len(self.rows) == 0:
            raise RequirementError("a trace needs at least one lane and one row")
        steps = np.diff(self.time_s)
        uneven = 1e-6 * self.step_s + 1e-9 * abs(float(self.time_s[-1]))  # rounding of the times
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
        """Number of flights."""
        return len(self.rows)

    @property
    def step_s(self) -> float:
        """Time between rows; 0 for a trace of one row."""
        return float((self.time_s[-1] - self.time_s[0]) / max(len(self.time_s) - 1, 1))

    def column(self, name: str) -> np.ndarray:
        """One column, [lane, row]; `time` is always there."""
        if name in self.values:
            return self.values[name]
        if name == "time":
            return np.broadcast_to(self.time_s, (self.lanes, len(self.time_s)))
        raise RequirementError(str(UnknownNameError("column", name, self.values, "the trace")))

    def steps(self, seconds: float) -> int:
        """Number of rows in a time, rounded to the nearest; more than there are for a time behind the end."""
        count = len(self.time_s)
        if count == 1:
            return int(seconds > 0)
        return round(min(seconds / self.step_s, 2.0 * count))

    def places(self, names: Sequence[str]) -> Places:
        """Where columns stand in memory, in the log itself if they are there."""
        found = self.values.places(names) if isinstance(self.values, LogColumns) else None
        if found is not None:
            return found
        columns = [np.ascontiguousarray(self.column(name)) for name in names]
        begin = np.array([column.ctypes.data for column in columns], np.int64)
        count = len(self.time_s)
        return Places(begin, GROUP * count, count, 1, columns)

    def lane(self, lane: int) -> Trace:
        """One flight."""
        if isinstance(self.values, LogColumns):
            return Trace(self.time_s, self.values.lane(lane), self.rows[lane : lane + 1])
        values = {name: column[lane : lane + 1] for name, column in self.values.items()}
        return Trace(self.time_s, values, self.rows[lane : lane + 1])
