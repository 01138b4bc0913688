"""Requirements that a flight met without being put to the test.

`always (altitude < 0.5 m implies climb > -1 m/s)` holds for a flight that never came down, and `always[60, 80] (...)`
for one that ended at 40 s. Such a pass is no evidence about the vehicle [Beer2001]: it is marked as untested.

Examined: `always`, `and`, and the condition of an `implies` below them. Not examined: conditions below `or`, `not`,
`eventually` and `until`, and an `implies` on the right of another one.
"""

from __future__ import annotations

import numpy as np

from ironbird.conditions.formula import Call, Compare, Formula, Interval, Join, Node, Span, Term, Until, Window
from ironbird.requirements.robustness import Evaluation
from ironbird.requirements.trace import Trace


def untested(formula: Formula, trace: Trace) -> list[str]:
    """For each lane the parts of a requirement that were never tested; empty if all were."""
    parts: list[list[str]] = [[] for _ in range(trace.lanes)]
    if _may_be(formula.root):
        zero = np.zeros(trace.lanes, np.int64)
        _walk(formula, formula.root, trace, zero, zero.copy(), parts)
    return ["; ".join(texts) for texts in parts]


def _may_be(node: Node) -> bool:
    """Whether a flight could leave the requirement untested; most have neither a condition nor a late window."""
    if isinstance(node, Join):
        return node.operator == "implies" or (node.operator == "and" and (_may_be(node.left) or _may_be(node.right)))
    return isinstance(node, Window) and node.operator == "always" and (node.interval.low_s > 0 or _may_be(node.child))


def _walk(
    formula: Formula, node: Node, trace: Trace, first: np.ndarray, last: np.ndarray, parts: list[list[str]]
) -> None:
    """Collect untested parts; `first` and `last` are the rows of each lane at which this part is evaluated."""
    if isinstance(node, Window) and node.operator == "always":
        first, last = _shifted(node.interval, trace, first, last)
        for lane in np.flatnonzero(first > last):
            from_s = node.interval.low_s
            parts[lane].append(f"the flight ended before {from_s:g} s, from where on it looks")
        if (first <= last).any():
            _walk(formula, node.child, trace, first, last, parts)
    elif isinstance(node, Join) and node.operator == "and":
        _walk(formula, node.left, trace, first, last, parts)
        _walk(formula, node.right, trace, first, last, parts)
    elif isinstance(node, Join) and node.operator == "implies":
        begin, end = int(first.min()), int(last.max()) + 1
        rows = np.arange(begin, end)
        looked = (rows >= first[:, None]) & (rows <= last[:, None])
        margins = Evaluation(trace, slice(0, trace.lanes)).margins(node.left, begin, end)
        never = looked.any(axis=1) & ~((margins >= 0.0) & looked).any(axis=1)
        for lane in np.flatnonzero(never):
            parts[lane].append(f"its condition never held: {_text(formula, node.left)}")


def _shifted(interval: Interval, trace: Trace, first: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows that an `always` reads from each of the given rows."""
    ends = trace.rows - 1
    first = first + trace.steps(interval.low_s)
    if interval.last_s is not None:
        first = np.maximum(first, ends - trace.steps(interval.last_s))
    return first, np.minimum(last + trace.steps(interval.high_s), ends)


def _text(formula: Formula, node: Node) -> str:
    """A condition as written in the requirement's text."""
    spans = list(_spans(node))
    return formula.text[min(begin for begin, _ in spans) : max(end for _, end in spans)]


def _spans(node: Node | Term) -> list[Span]:
    if isinstance(node, Compare | Join | Until):
        return _spans(node.left) + _spans(node.right)
    if isinstance(node, Call):
        return [node.span, *(span for argument in node.arguments for span in _spans(argument))]
    return [node.span] if hasattr(node, "span") else _spans(node.child)
