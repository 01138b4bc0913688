"""Requirements that a flight met without being put to the test.

`always (altitude < 0.5 m implies climb > -1 m/s)` holds for a flight that never came down, and `always[60, 80] (...)`
for one that ended at 40 s. Such a pass says nothing of the vehicle [Beer2001]: it is marked, not counted as shown.

Looked at: `always`, `and`, and the condition of an `implies` below them. Not looked at: what stands below `or`, `not`,
`eventually` and `until`, and an `implies` on the right of another one.
"""

from __future__ import annotations

import numpy as np

from ironbird.conditions.formula import Call, Compare, Formula, Interval, Join, Node, Span, Term, Until, Window
from ironbird.requirements.robustness import Evaluation
from ironbird.requirements.trace import Trace


def untested(formula: Formula, trace: Trace) -> list[str]:
    """For each lane what of a requirement was never put to the test; empty if all of it was."""
    found: list[list[str]] = [[] for _ in range(trace.lanes)]
    if _may_be(formula.root):
        zero = np.zeros(trace.lanes, np.int64)
        _walk(formula, formula.root, trace, zero, zero.copy(), found)
    return ["; ".join(texts) for texts in found]


def _may_be(node: Node) -> bool:
    """Whether a flight could leave it untested: most requirements have neither a condition nor a late window."""
    if isinstance(node, Join):
        return node.operator == "implies" or (node.operator == "and" and (_may_be(node.left) or _may_be(node.right)))
    return isinstance(node, Window) and node.operator == "always" and (node.interval.low_s > 0 or _may_be(node.child))


def _walk(
    formula: Formula, node: Node, trace: Trace, first: np.ndarray, last: np.ndarray, found: list[list[str]]
) -> None:
    """Rows `first` to `last` of each lane are what the requirement looks at here."""
    if isinstance(node, Window) and node.operator == "always":
        first, last = _shifted(node.interval, trace, first, last)
        for lane in np.flatnonzero(first > last):
            from_s = node.interval.low_s
            found[lane].append(f"the flight ended before {from_s:g} s, from where on it looks")
        if (first <= last).any():
            _walk(formula, node.child, trace, first, last, found)
    elif isinstance(node, Join) and node.operator == "and":
        _walk(formula, node.left, trace, first, last, found)
        _walk(formula, node.right, trace, first, last, found)
    elif isinstance(node, Join) and node.operator == "implies":
        begin, end = int(first.min()), int(last.max()) + 1
        rows = np.arange(begin, end)
        looked = (rows >= first[:, None]) & (rows <= last[:, None])
        margins = Evaluation(trace, slice(0, trace.lanes)).margins(node.left, begin, end)
        never = looked.any(axis=1) & ~((margins >= 0.0) & looked).any(axis=1)
        for lane in np.flatnonzero(never):
            found[lane].append(f"its condition never held: {_text(formula, node.left)}")


def _shifted(interval: Interval, trace: Trace, first: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows that an `always` looks at from each of the rows before."""
    ends = trace.rows - 1
    first = first + trace.steps(interval.low_s)
    if interval.last_s is not None:
        first = np.maximum(first, ends - trace.steps(interval.last_s))
    return first, np.minimum(last + trace.steps(interval.high_s), ends)


def _text(formula: Formula, node: Node) -> str:
    """A condition as the requirement's text says it."""
    spans = list(_spans(node))
    return formula.text[min(begin for begin, _ in spans) : max(end for _, end in spans)]


def _spans(node: Node | Term) -> list[Span]:
    if isinstance(node, Compare | Join | Until):
        return _spans(node.left) + _spans(node.right)
    if isinstance(node, Call):
        return [node.span, *(span for argument in node.arguments for span in _spans(argument))]
    return [node.span] if hasattr(node, "span") else _spans(node.child)
