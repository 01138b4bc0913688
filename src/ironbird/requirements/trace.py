"""What a requirement judges: columns of many flights on one time grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ironbird.errors import RequirementError, UnknownNameError


@dataclass
class Trace:
    """Many lanes, one time grid. A lane that ended early has fewer valid rows; what stands behind them is ignored."""

    time_s: np.ndarray  # [row], uniform
    values: dict[str, np.ndarray]  # signal name -> [lane, row]; `body.p_NB_N[2]` is one entry of a vector
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
        for name, column in self.values.items():
            self.values[name] = np.asarray(column, dtype=np.float64)
            if self.values[name].shape != (self.lanes, count):
                raise RequirementError(
                    f"column '{name}' of the trace has shape {self.values[name].shape}, not {(self.lanes, count)}"
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

    def lane(self, lane: int) -> Trace:
        """One flight."""
        values = {name: column[lane : lane + 1] for name, column in self.values.items()}
        return Trace(self.time_s, values, self.rows[lane : lane + 1])
