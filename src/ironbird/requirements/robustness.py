"""Robustness margins of flights for a requirement: semantics of signal temporal logic, [Donze2010].

The margin of `altitude < 60 m` is 60 m - altitude; `and` and `always` take the least of margins, `or` and
`eventually` the greatest, `not` changes the sign. At least 0 is met, below 0 is not. Margins are in SI; a formula
that joins metres with radians compares their numbers as they are.

On samples and with finite flights this is what RTAMT computes offline in discrete time [Nickovic2020]:
- A window is cut at the lane's last valid row (for the past: at its first row). A window without any sample (the
  flight ended before it begins) gives +inf for `always` and `historically`, -inf for `eventually`, `once` and `until`.
- `f until[a, b] g` requires f at all samples before that of g, not at that sample itself; and for f from now on,
  not only from a on.
Beyond RTAMT: bounds are rounded to samples (there they must be multiples), `==` has a tolerance or is +inf or -inf
(there its margin is never above 0), intervals may count from the end. A NaN among the values that a
requirement reads gives -inf.

Between rows: where the trace has the extremes of a condition in the ticks from one row to the next (`Trace.between`,
kept by the kernel), `always` takes the least and `eventually` the greatest of them, so that a margin does not depend on
the distance between rows. A window that ends within the flight takes its last row at that row's own tick. Bounds of
windows are rounded to rows; so are the times at which conditions joined with operators of time or with `fault_active`
meet. Where one of two conditions is enough, `once` and `historically` count the row of now with its extremes: so
`A implies once A` holds although A begins between two rows.

Speed: all lanes at once, in groups that fit the cache; only those rows are computed that the first sample needs.
Sliding windows are built by doubling (log2 of the width passes of one vector operation each, faster here than the
single-pass method of van Herk, whose running minimum cannot use vector instructions); a window to the end takes one
pass. `until` splits into untimed until, always and eventually [Donze2013], and untimed until is a doubling as well.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np

from ironbird.conditions import evaluate
from ironbird.conditions.formula import (
    Compare,
    Edge,
    Formula,
    Interval,
    Join,
    Node,
    Not,
    Signal,
    Term,
    Truth,
    Until,
    Window,
)
from ironbird.requirements.lane_margins import margins_of_lanes
from ironbird.requirements.trace import Trace, has_extremes

GROUP_VALUES = 2**17  # values of one column processed at once: 1 MB
FAULT = "fault_active"
Kind: TypeAlias = Literal["now", "low", "high"]
NOW: Kind = "now"
LOW: Kind = "low"
HIGH: Kind = "high"
CONTRARY: dict[Kind, Kind] = {NOW: NOW, LOW: HIGH, HIGH: LOW}
_ALL: tuple[np.ufunc, float, Kind] = (np.minimum, math.inf, LOW)
_ANY: tuple[np.ufunc, float, Kind] = (np.maximum, -math.inf, HIGH)
_EXTREMES = {"always": _ALL, "historically": _ALL, "eventually": _ANY, "once": _ANY}


def robustness(formula: Formula, trace: Trace) -> np.ndarray:
    """Margin of each lane at its first sample; [lane], in SI units."""
    margins = margins_of_lanes(formula, trace)
    if margins is None:
        return _in_groups(formula, trace, 1)[:, 0]
    return _judged(margins)


def robustness_over_time(formula: Formula, trace: Trace) -> np.ndarray:
    """Margin at each row, [lane, row]; NaN after a lane's last valid row."""
    margins = _in_groups(formula, trace, len(trace.time_s))
    margins[np.arange(len(trace.time_s)) >= trace.rows[:, None]] = np.nan
    return margins


def _in_groups(formula: Formula, trace: Trace, rows: int) -> np.ndarray:
    size = max(1, GROUP_VALUES // len(trace.time_s))
    margins = np.empty((trace.lanes, rows))
    for begin in range(0, trace.lanes, size):
        group = slice(begin, begin + size)
        margins[group] = Evaluation(trace, group).margins(formula.root, 0, rows)
    return _judged(margins)


def _judged(margins: np.ndarray) -> np.ndarray:
    """Margins with NaN replaced by -inf, and -0 by 0 (its sign would depend on the order of equal values)."""
    return np.where(np.isnan(margins), -np.inf, margins + 0.0)


class Evaluation:
    """Margins of conditions for a group of lanes, at rows from `first` to before `last`."""

    def __init__(self, trace: Trace, lanes: slice) -> None:
        self.trace, self.lanes = trace, lanes
        self.valid = trace.rows[lanes, None]
        self.count = len(trace.time_s)

    def margins(self, node: Node, first: int, last: int, kind: Kind = NOW, *, either: bool = False) -> np.ndarray:
        """Margins [lane, row] of a condition; entries after a lane's end are undefined.

        They are those at the rows (NOW), or the least (LOW) or greatest (HIGH) from each row to before the next.
        `either`: of two conditions of which one is enough (`enough`).
        """
        if kind != NOW and (extremes := self.trace.between.get(node)) is not None:
            return (extremes.low if kind == LOW else extremes.high)[self.lanes, first:last]
        if isinstance(node, Compare):
            shape = (len(self.valid), last - first)
            return np.broadcast_to(self._compare(node, first, last), shape)
        if isinstance(node, Not):
            return -self.margins(node.child, first, last, CONTRARY[kind], either=either)
        if isinstance(node, Join):
            return self._join(node, first, last, kind)
        if isinstance(node, Truth):
            inner = self.margins(node.child, first, last, kind)
            return np.where(np.isnan(inner), np.nan, np.where(inner >= 0, np.inf, -np.inf))
        if isinstance(node, Edge):
            return self._edge(node, first, last)
        if isinstance(node, Until):
            return self._until(node, first, last)
        if node.operator in ("once", "historically"):
            return self._past(node, first, last, kind, either)
        return self._future(node.operator, node.interval, node.child, first, last)

    def _join(self, node: Join, first: int, last: int, kind: Kind) -> np.ndarray:
        of_left = CONTRARY[kind] if node.operator == "implies" else kind
        either = enough(node, kind)
        left = self.margins(node.left, first, last, of_left, either=either)
        right = self.margins(node.right, first, last, kind, either=either)
        if node.operator == "and":
            margins = np.minimum(left, right)
        else:
            margins = np.maximum(left if node.operator == "or" else -left, right)
        if kind == NOW or not asks_for_fault(node):
            return margins
        # a fault that begins between two rows: the ticks before it and after it look the same there
        flag = self.trace.column(FAULT)[self.lanes]
        begins = np.zeros(flag.shape, bool)
        begins[:, :-1] = flag[:, :-1] != flag[:, 1:]
        begins = begins[:, first:last]
        return np.where(begins, self._join(node, first, last, NOW), margins) if begins.any() else margins

    # Numbers

    def values(self, term: Term, first: int, last: int) -> np.ndarray:
        """Values of a number, [lane, row] or a scalar."""
        return evaluate.values(term, lambda name: self.trace.column(name)[self.lanes, first:last])

    def _compare(self, node: Compare, first: int, last: int) -> np.ndarray:
        left, right = self.values(node.left, first, last), self.values(node.right, first, last)
        with np.errstate(all="ignore"):
            if node.operator in ("<", "<="):
                return right - left
            if node.operator in (">", ">="):
                return left - right
            apart = np.abs(left - right)
        if node.tolerance is not None:
            same = node.tolerance - apart
        else:
            same = np.where(np.isnan(apart), np.nan, np.where(apart < 0.5, np.inf, -np.inf))
        return same if node.operator == "==" else -same

    # Time

    def _edge(self, node: Edge, first: int, last: int) -> np.ndarray:
        rises = node.operator == "rise"
        now = self.margins(node.child, max(first - 1, 0), last)
        most = self.margins(node.child, max(first - 1, 0), last, HIGH if rises else LOW)
        now, most = (now, most) if rises else (-now, -most)
        if first == 0:  # false before the first sample
            before = np.full((len(now), 1), -np.inf)
            now, most = np.concatenate([before, now], axis=1), np.concatenate([before, most], axis=1)
        at_row = np.minimum(-most[:, :-1], now[:, 1:])
        between = np.minimum(-now[:, 1:], most[:, 1:])  # it was not at the row, but before the next
        return np.where(between > 0.0, np.maximum(at_row, between), at_row)

    def _until_end(self, node: Node, first: int, last: int, empty: float, kind: Kind) -> np.ndarray:
        """Margins of a condition, with `empty` after the end of each lane."""
        inner = self.margins(node, first, last, kind)
        if last <= self.valid.min():
            return inner
        return np.where(np.arange(first, last) < self.valid, inner, empty)

    def _future(self, operator: str, interval: Interval, child: Node, first: int, last: int) -> np.ndarray:
        best, empty, kind = _EXTREMES[operator]
        low, most = self.trace.steps(interval.low_s), self.trace.steps(interval.high_s)
        high = min(most, self.count - 1 - first)
        if low > high:
            return np.full((len(self.valid), last - first), empty)
        stop, count = min(last + high, self.count), last - first
        inner = self._until_end(child, first + low, stop, empty, kind)
        if interval.last_s is not None:
            early = np.arange(first, stop) < self.valid - 1 - self.trace.steps(interval.last_s)
            inner = np.where(early, empty, inner)
        if most > high or not has_extremes(child, self.trace):
            return _sliding(best, inner, 0, high - low + 1, count, empty)
        ends = np.full((len(self.valid), count), empty)
        at_end = self._until_end(child, first + low, stop, empty, NOW)[:, high - low : high - low + count]
        ends[:, : at_end.shape[1]] = at_end
        return ends if high == low else best(_sliding(best, inner, 0, high - low, count, empty), ends)

    def _past(self, node: Window, first: int, last: int, asked: Kind, either: bool) -> np.ndarray:
        best, empty, kind = _EXTREMES[node.operator]
        low = self.trace.steps(node.interval.low_s)
        high = min(self.trace.steps(node.interval.high_s), last - 1)
        if low > high:
            return np.full((len(self.valid), last - first), empty)
        begin, count = max(first - high, 0), last - first
        missing = begin - (first - high)
        inner = self.margins(node.child, begin, last - low, kind)
        if not has_extremes(node.child, self.trace) or (low == 0 and takes_row(asked, kind, either)):
            return _sliding(best, inner, missing, high - low + 1, count, empty)
        ends = np.full((len(self.valid), count), empty)  # the row of now counts with its own tick
        known = max(0, low - first)
        ends[:, known:] = self.margins(node.child, max(first - low, 0), last - low)
        return ends if high == low else best(_sliding(best, inner, missing, high - low, count, empty), ends)

    def _until(self, node: Until, first: int, last: int) -> np.ndarray:
        # [Donze2013]: f until[a, b] g = always[0, a) f and, a later, (eventually[0, b - a] g and f until g)
        low = self.trace.steps(node.interval.low_s)
        high = min(self.trace.steps(node.interval.high_s), self.count - 1 - first)
        if low > high:
            return np.full((len(self.valid), last - first), -math.inf)
        stop = min(last + high, self.count)
        left = self._until_end(node.left, first, stop, math.inf, LOW)
        right = self._until_end(node.right, first + low, stop, -math.inf, HIGH)
        count = last - first
        ever = self._future("eventually", node.interval, node.right, first, last)
        untimed = _untimed_until(left[:, low:], right)[:, :count]
        if untimed.shape[1] < count:
            rest = np.full((len(untimed), count - untimed.shape[1]), -math.inf)
            untimed = np.concatenate([untimed, rest], axis=1)
        margins = np.minimum(ever, untimed)
        if low > 0:
            margins = np.minimum(margins, _sliding(np.minimum, left, 0, low, count, math.inf))
        return margins


def asks_for_fault(node: Node) -> bool:
    """Whether a comparison of a condition reads `fault_active`, outside operators of time."""
    if isinstance(node, Compare):
        return any(isinstance(side, Signal) and side.column == FAULT for side in (node.left, node.right))
    if isinstance(node, Join):
        return asks_for_fault(node.left) or asks_for_fault(node.right)
    return isinstance(node, Not | Truth) and asks_for_fault(node.child)


def enough(node: Join, kind: Kind) -> bool:
    """Whether one of two joined conditions is enough for the extreme of both, so that their order in a row counts."""
    return kind == (HIGH if node.operator == "and" else LOW)


def takes_row(asked: Kind, kind: Kind, either: bool) -> bool:
    """Whether `once` (of kind HIGH) or `historically` (LOW) counts the row of now with its extremes, not its tick."""
    return asked == kind or (either and asked != NOW)


def _sliding(best: np.ufunc, inner: np.ndarray, before: int, width: int, count: int, empty: float) -> np.ndarray:
    """Minimum or maximum of `width` entries from each of `count` places; `before` entries are missing in front."""
    lanes, length = inner.shape
    if count == 1:
        return best.reduce(inner[:, : width - before], axis=1, initial=empty, keepdims=True)
    if before == 0 and width >= length:  # each window reaches the end: one pass backwards
        inner = best.accumulate(inner[:, ::-1], axis=1)[:, ::-1]
        width = 1
    table = np.full((lanes, count + width - 1), empty)
    used = min(length, table.shape[1] - before)
    table[:, before : before + used] = inner[:, :used]
    reach = 1  # entry i holds the best of i to i + reach - 1
    while 2 * reach <= width:
        table = best(table[:, :-reach], table[:, reach:])
        reach *= 2
    return best(table[:, :count], table[:, width - reach : width - reach + count])


def _untimed_until(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """until[0, end] by doubling.

    One sample maps the margin x of what follows to max(right, min(left, x)); two such steps are again one:
    max(max(right1, min(left1, right2)), min(min(left1, left2), x)). After the end x is -inf.
    """
    left, right = left.copy(), right.copy()
    reach, length = 1, right.shape[1]
    while reach < length:
        ahead = np.minimum(left[:, :-reach], right[:, reach:])
        np.maximum(right[:, :-reach], ahead, out=right[:, :-reach])
        left[:, :-reach] = np.minimum(left[:, :-reach], left[:, reach:])
        reach *= 2
    return right
