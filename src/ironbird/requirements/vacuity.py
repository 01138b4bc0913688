"""Requirements that a flight met without being put to the test, or for a part of their time only.

`always (altitude < 0.5 m implies climb > -1 m/s)` holds for a flight that never came down, `always[60, 80] (…)` for
one that ended at 40 s, and `eventually[0, 5] always (…)` for one that ended after 0.1 s. Such a pass is no evidence
about the vehicle [Beer2001]: it is marked.

Looked for, in any nesting and also in the negated forms (`not eventually` is `always not`, `not A or B` and
`not (A and not B)` are `A implies B`): conditions that never held, windows that begin after the end of the flight,
windows of which the flight covered a part only (counted from the first time at which they apply), and an `until` that
was over at once. Not looked for: alternatives (`A or B`), of which one was always enough, and operators of the past.
A condition has also held if it did so between two rows, where the trace has its extremes: those of `implies` are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ironbird.conditions.formula import Call, Compare, Formula, Interval, Join, Node, Not, Span, Term, Until, Window
from ironbird.requirements.robustness import HIGH, NOW, Evaluation, Kind
from ironbird.requirements.trace import Trace

PAST = ("once", "historically")


def untested(formula: Formula, trace: Trace) -> list[str]:
    """For each lane the parts of a requirement that were not, or not wholly, tested; empty if all were."""
    if not _may_be(formula.root):
        return [""] * trace.lanes
    look = _Look(formula, trace)
    begin = np.zeros((trace.lanes, len(trace.time_s)), bool)
    begin[:, 0] = True
    look.walk(formula.root, begin, positive=True)
    return ["; ".join(dict.fromkeys(texts)) for texts in look.parts]


def text_of(formula: Formula, node: Node) -> str:
    """A condition as written in the requirement's text."""
    if isinstance(node, Not):
        inner = text_of(formula, node.child)
        return f"not {inner}" if isinstance(node.child, Compare) else f"not ({inner})"
    spans = _spans(node)
    text = formula.text[min(begin for begin, _ in spans) : max(end for _, end in spans)]
    depths = np.cumsum([0, *((letter == "(") - (letter == ")") for letter in text)])  # brackets that it cuts through
    return "(" * -int(depths.min()) + text + ")" * int(depths[-1] - depths.min())


def _may_be(node: Node, *, positive: bool = True) -> bool:
    """Whether a flight could leave the requirement untested; most have neither a condition nor a bounded window."""
    if isinstance(node, Until) or (isinstance(node, Join) and (node.operator != "and" or not positive)):
        return True
    if isinstance(node, Window) and (node.interval != Interval()):
        return True
    return any(_may_be(child, positive=positive != isinstance(node, Not)) for child in _children(node))


def _children(node: Node) -> Iterator[Node]:
    if isinstance(node, Join | Until):
        yield from (node.left, node.right)
    elif not isinstance(node, Compare):
        yield node.child


class _Look:
    """A walk over a requirement with the rows of each lane at which a part is evaluated."""

    def __init__(self, formula: Formula, trace: Trace) -> None:
        self.formula, self.trace = formula, trace
        self.parts: list[list[str]] = [[] for _ in range(trace.lanes)]
        self.rows = np.arange(len(trace.time_s))
        self.valid = self.rows < trace.rows[:, None]
        self.evaluation = Evaluation(trace, slice(0, trace.lanes))

    def walk(self, node: Node, active: np.ndarray, *, positive: bool) -> None:
        """Collect untested parts below a node that is evaluated at the `active` rows, [lane, row]."""
        if isinstance(node, Not):
            self.walk(node.child, active, positive=not positive)
        elif isinstance(node, Join):
            self._join(node, active, positive)
        elif isinstance(node, Until):
            self._until(node, active, positive)
        elif isinstance(node, Window) and node.operator not in PAST:
            self._window(node, active, positive)

    def _join(self, node: Join, active: np.ndarray, positive: bool) -> None:
        """Both parts of a conjunction; of `A implies B` the condition, and B where A holds."""
        left_positive = positive != (node.operator == "implies")
        if (node.operator == "and") == positive:
            self.walk(node.left, active, positive=left_positive)
            self.walk(node.right, active, positive=positive)
            return
        sides = [_unwrapped(node.left, left_positive), _unwrapped(node.right, positive)]
        number = next((number for number, (_, holds) in enumerate(sides) if not holds), None)
        if node.operator == "implies":
            condition, (rest, rest_positive) = node.left, sides[1]
        elif number is not None:
            condition, (rest, rest_positive) = sides[number][0], sides[1 - number]
        else:
            return
        held = active & (self._margins(condition, HIGH) >= 0.0)
        self._say(active.any(axis=1) & ~held.any(axis=1), f"its condition never held: {self._text(condition)}")
        self.walk(rest, held, positive=rest_positive)

    def _window(self, node: Window, active: np.ndarray, positive: bool) -> None:
        """Windows that the flight did not reach, or covered in part."""
        interval, reached = node.interval, self._shifted(node.interval, active)
        begun = active.any(axis=1)
        every = (node.operator == "always") == positive
        if every:
            text = f"the flight ended before {interval.low_s:g} s, from where on it looks"
            self._say(begun & ~reached.any(axis=1), text)
        if math.isfinite(interval.high_s) and (every or _has_box(node.child, positive)):
            first = active.argmax(axis=1)
            left_s = (self.trace.rows - 1 - first) * self.trace.step_s
            length_s = interval.high_s - interval.low_s
            for lane in np.flatnonzero(begun & reached.any(axis=1)):
                judged_s = float(left_s[lane]) - interval.low_s
                if judged_s < length_s - 1.5 * self.trace.step_s:  # the last row is judged until the flight ends
                    self.parts[lane].append(f"judged for {judged_s:.3g} of {length_s:g} s: the flight ended")
        if interval.last_s is not None and every:
            whole_s = self.trace.rows * self.trace.step_s
            text = f"its last {interval.last_s:g} s are more than the flight has"
            self._say(begun & (whole_s < interval.last_s - 0.5 * self.trace.step_s), text)
        self.walk(node.child, reached, positive=positive)

    def _until(self, node: Until, active: np.ndarray, positive: bool) -> None:
        if not positive:  # it never comes: nothing is shown if it could only have come after the end
            reached = self._shifted(node.interval, active).any(axis=1)
            held = (self._margins(node.left) >= 0.0) | ~self.valid | (self.rows < active.argmax(axis=1)[:, None])
            text = f"the flight ended before {node.interval.low_s:g} s, from where on it looks"
            self._say(active.any(axis=1) & ~reached & held.all(axis=1), text)
            return
        if node.interval.low_s > 0:
            return
        at_once = active & (self._margins(node.right) >= 0.0)
        text = f"it was over at once, before it could look at {self._text(node.left)}"
        self._say(active.any(axis=1) & (at_once == active).all(axis=1), text)

    def _shifted(self, interval: Interval, active: np.ndarray) -> np.ndarray:
        """Rows that windows from the active rows contain."""
        low, high = self.trace.steps(interval.low_s), self.trace.steps(interval.high_s)
        before = np.concatenate([np.zeros((len(active), 1), np.int64), np.cumsum(active, axis=1)], axis=1)
        until = np.clip(self.rows - low + 1, 0, None)
        since = np.clip(self.rows - high, 0, None)
        inside = before[:, until] > before[:, np.minimum(since, until)]
        if interval.last_s is not None:
            inside &= self.rows >= (self.trace.rows - 1 - self.trace.steps(interval.last_s))[:, None]
        return np.asarray(inside & self.valid)

    def _margins(self, node: Node, kind: Kind = NOW) -> np.ndarray:
        return np.where(self.valid, self.evaluation.margins(node, 0, len(self.rows), kind), -np.inf)

    def _say(self, lanes: Any, text: str) -> None:
        for lane in np.flatnonzero(lanes):
            self.parts[lane].append(text)

    def _text(self, node: Node) -> str:
        return text_of(self.formula, node)


def _unwrapped(node: Node, positive: bool) -> tuple[Node, bool]:
    """A condition without the negations around it."""
    while isinstance(node, Not):
        node, positive = node.child, not positive
    return node, positive


def _has_box(node: Node, positive: bool) -> bool:
    """Whether a condition says that something holds for a time: it may be met because the flight ended."""
    if isinstance(node, Not):
        return _has_box(node.child, not positive)
    if isinstance(node, Window) and node.operator not in PAST and (node.operator == "always") == positive:
        return True
    if isinstance(node, Join):
        return _has_box(node.left, positive != (node.operator == "implies")) or _has_box(node.right, positive)
    return any(_has_box(child, positive) for child in _children(node))


def _spans(node: Node | Term) -> list[Span]:
    if isinstance(node, Compare | Join | Until):
        return _spans(node.left) + _spans(node.right)
    if isinstance(node, Call):
        return [node.span, *(span for argument in node.arguments for span in _spans(argument))]
    return [node.span] if hasattr(node, "span") else _spans(node.child)
