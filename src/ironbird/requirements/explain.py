"""Explanation of a requirement's result: the sample that decides the margin, as a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ironbird.conditions.formula import (
    Call,
    Compare,
    Edge,
    Formula,
    Join,
    Node,
    Not,
    Number,
    Signal,
    Term,
    Truth,
    Until,
    Window,
)
from ironbird.conditions.quantity import NONE, read_unit, si_text
from ironbird.requirements.robustness import CONTRARY, HIGH, LOW, NOW, Evaluation, Kind, enough, takes_row
from ironbird.requirements.trace import Trace

ROUNDING = 1e-7  # share by which the same margin may differ between the kernel's definition of a signal and a log's
MOST_TAKEN = 4  # values of a mode that a sentence names
_CONTRARY = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_WORDS = {"<": "less than ", "<=": "at most ", ">": "more than ", ">=": "at least ", "==": "", "!=": "anything but "}


@dataclass(frozen=True)
class Finding:
    """The sample that decides the margin of one flight. `margin` is in SI units, `unit` is its unit."""

    time_s: float
    margin: float
    unit: str
    sentence: str
    broken_s: float = math.nan  # s; when it was first broken: an `eventually` is at the end of its window


@dataclass(frozen=True)
class _Place:
    """Current place of the search: a condition (or its negation) at a row."""

    node: Node
    row: int
    contrary: bool = False
    # rows of which one sample had to satisfy the condition; `row` is the best of them
    span: tuple[int, int] | None = None
    kind: Kind = NOW  # the row itself, or an extreme from it to before the next
    either: bool = False  # of two conditions of which one is enough


def explain(formula: Formula, trace: Trace, lane: int, events: Mapping[str, str] | None = None) -> Finding:
    """The sample and the comparison that decide the margin of a lane.

    Of several equal ones the earliest. For `eventually` it is the sample that came nearest. `events` has a text for
    flags (signals that are 0 or 1), used instead of their values if a flag decides.
    """
    flight = trace.lane(lane)
    evaluation = Evaluation(flight, slice(0, 1))
    search = _Search(formula, flight, evaluation, events)
    finding = search.find()
    if not finding.margin < 0.0:
        return finding
    moment = search.first_bad(formula.root, 0)
    return replace(finding, broken_s=finding.time_s if moment is None else moment)


class _Search:
    """Descends from the whole requirement to the comparison that decides."""

    def __init__(
        self, formula: Formula, flight: Trace, evaluation: Evaluation, events: Mapping[str, str] | None = None
    ) -> None:
        self.formula, self.flight, self.evaluation = formula, flight, evaluation
        self.events = events or {}
        self.count = int(flight.rows[0])

    def find(self) -> Finding:
        place = _Place(self.formula.root, 0)
        margin = self._margin(place)
        while not isinstance(place.node, Compare) and not self._is_between(place):
            if place.node in self.flight.between:  # its row decides, and so do those of its parts
                place = replace(place, kind=NOW)
            below = self._below(place)
            if below is None:
                return self._nothing_to_judge(place, margin)
            place = below
        if not isinstance(place.node, Compare) or (self._is_between(place) and not _has_limit(place.node)):
            return self._between_rows(place, margin)
        sentence = self._sentence(place, place.node, met=margin >= 0)
        unit = _si_unit(place.node.left, place.node.right)
        return Finding(float(self.flight.time_s[place.row]), margin, unit, sentence)

    def first_bad(self, node: Node, row: int) -> float | None:
        """Time in s at which, or before which, a violated condition was broken; None if it is not tied to a time.

        Of an `always` that of its first bad sample, of several joined by `and` the first, of an `implies` its right
        side.
        """
        if isinstance(node, Join) and node.operator == "and":
            moments = [self.first_bad(part, row) for part in (node.left, node.right)]
            return min((moment for moment in moments if moment is not None), default=None)
        if isinstance(node, Join) and node.operator == "implies":
            return self.first_bad(node.right, row)
        if isinstance(node, Window) and node.operator == "eventually":  # it may still become true until the window ends
            last = min(row + self.flight.steps(node.interval.high_s), self.count - 1)
            return float(self.flight.time_s[last]) if self._margin(_Place(node, row)) < 0 else None
        if not (isinstance(node, Window) and node.operator == "always"):
            return None
        first = row + self.flight.steps(node.interval.low_s)
        end = row + self.flight.steps(node.interval.high_s)
        last = min(end, self.count - 1)
        if node.interval.last_s is not None:
            first = max(first, self.count - 1 - self.flight.steps(node.interval.last_s))
        bad = np.zeros(0, int)
        if first <= last:
            bad = np.flatnonzero(self._in_window(node.child, first, last, LOW, at_row=last == end) < 0.0)
        if not bad.size:
            return None
        worst = first + int(bad[0])
        moment = self.first_bad(node.child, worst)
        if moment is not None:
            return moment
        time_s = float(self.flight.time_s[worst])
        if self._margins(node.child, worst, worst + 1)[0] < 0.0:
            return time_s
        return math.nextafter(time_s + self.flight.step_s, 0.0)  # before the next row

    def _margins(self, node: Node, first: int, last: int, kind: Kind = NOW, *, either: bool = False) -> np.ndarray:
        margins = self.evaluation.margins(node, first, last, kind, either=either)[0]
        return np.where(np.isnan(margins), -np.inf, margins)

    def _in_window(self, node: Node, first: int, last: int, kind: Kind, *, at_row: bool) -> np.ndarray:
        """Margins from the row `first` to `last`, of which the last counts with its own tick alone if `at_row`."""
        margins = self._margins(node, first, last + 1, kind)
        if at_row:
            margins[-1] = self._margins(node, last, last + 1)[0]
        return margins

    def _margin(self, place: _Place) -> float:
        return float(self._margins(place.node, place.row, place.row + 1, place.kind, either=place.either)[0])

    def _is_between(self, place: _Place) -> bool:
        """Whether what decides a condition lies between its row and the next."""
        if place.kind == NOW or place.node not in self.flight.between:
            return False
        extreme, at_row = self._margin(place), self._margin(replace(place, kind=NOW))
        if math.isinf(extreme) or math.isinf(at_row):
            return extreme != at_row
        return abs(extreme - at_row) > ROUNDING * max(1.0, abs(extreme))

    def _signed(self, place: _Place) -> float:
        margin = self._margin(place)
        return -margin if place.contrary else margin

    def _below(self, place: _Place) -> _Place | None:
        """The part of a condition that decides its margin; None if its window has no samples."""
        node = place.node
        if isinstance(node, Not):
            return replace(place, node=node.child, contrary=not place.contrary, kind=CONTRARY[place.kind])
        if isinstance(node, Truth):
            return replace(place, node=node.child)
        if isinstance(node, Join):
            return self._of_two(place, node)
        if isinstance(node, Edge):
            return self._of_edge(place, node)
        if isinstance(node, Until):
            return self._of_until(place, node)
        assert isinstance(node, Window)
        return self._of_window(place, node)

    def _of_two(self, place: _Place, node: Join) -> _Place:
        kind = CONTRARY[place.kind] if node.operator == "implies" else place.kind
        second = replace(place, node=node.right, either=enough(node, place.kind))
        first = replace(second, node=node.left, contrary=place.contrary != (node.operator == "implies"), kind=kind)
        # The minimum decides for `and`, the maximum for the others; reversed for the negation.
        least = (node.operator == "and") != place.contrary
        a, b = self._signed(first), self._signed(second)
        if a == b:
            return second if node.operator == "implies" else first
        return first if (a < b) == least else second

    def _of_edge(self, place: _Place, node: Edge) -> _Place:
        now = replace(place, node=node.child, contrary=place.contrary != (node.operator == "fall"), kind=NOW)
        if place.row == 0:
            return now
        before = replace(now, row=place.row - 1, contrary=not now.contrary)
        a, b = self._signed(before), self._signed(now)
        return before if (a < b) != place.contrary else now

    def _of_window(self, place: _Place, node: Window) -> _Place | None:
        low, high = self.flight.steps(node.interval.low_s), self.flight.steps(node.interval.high_s)
        every = node.operator in ("always", "historically")
        kind: Kind = LOW if every else HIGH
        if node.operator in ("once", "historically"):
            first, last = max(place.row - high, 0), place.row - low
            at_row = low > 0 or not takes_row(place.kind, kind, place.either)
        else:
            first, last = place.row + low, min(place.row + high, self.count - 1)
            at_row = last == place.row + high
            if node.interval.last_s is not None:
                first = max(first, self.count - 1 - self.flight.steps(node.interval.last_s))
        if last < first:
            return None
        margins = self._in_window(node.child, first, last, kind, at_row=at_row)
        row = first + int(margins.argmin() if every else margins.argmax())
        span = None if every != place.contrary else (first, last)
        kind = NOW if at_row and row == last else kind
        return replace(place, node=node.child, row=row, span=span, kind=kind, either=False)

    def _of_until(self, place: _Place, node: Until) -> _Place | None:
        low, high = self.flight.steps(node.interval.low_s), self.flight.steps(node.interval.high_s)
        first, last = place.row + low, min(place.row + high, self.count - 1)
        if last < first:
            return None
        left = self._margins(node.left, place.row, last + 1, LOW)
        at_row = last == place.row + high
        right = self._in_window(node.right, first, last, HIGH, at_row=at_row)
        # margin of the left condition up to the sample before
        held = np.minimum.accumulate(np.concatenate([[np.inf], left[:-1]]))[low:]
        best = int(np.minimum(held, right).argmax())
        if right[best] <= held[best]:
            span = None if place.contrary else (first, last)
            kind = NOW if at_row and first + best == last else HIGH
            return replace(place, node=node.right, row=first + best, span=span, kind=kind, either=False)
        row = place.row + int(left[: low + best].argmin())
        return replace(place, node=node.left, row=row, span=None, kind=LOW, either=False)

    # Sentences

    def _between_rows(self, place: _Place, margin: float) -> Finding:
        """What decided between two rows: the kernel kept the margin of the condition, not the values in it."""
        signed = self._signed(place)
        units = {unit for unit in _units(place.node) if unit != "1"}
        unit = next(iter(units)) if len(units) == 1 else ""
        amount = _amount(abs(signed), unit or "1", 1.0, "")
        size = f" by {amount}" if math.isfinite(signed) else ""
        spans = [term.span for term in _terms(place.node)]
        text = self.formula.text[min(span[0] for span in spans) : max(span[1] for span in spans)]
        sentence = f"'{text}' was {'true' if place.contrary else 'violated'}{size} {self._when(place)}"
        if at_row := self._beside(place):
            sentence = at_row if f"({amount} beyond)" in at_row else f"{at_row}; {sentence}"
        return Finding(float(self.flight.time_s[place.row]), margin, unit or "1", sentence)

    def _beside(self, place: _Place) -> str:
        """The comparison that is violated in the row before or after what decided between them; else empty."""
        if place.span is not None:
            return ""
        rows = range(place.row, min(place.row + 2, self.count))
        worst = min((replace(place, row=row, kind=NOW) for row in rows), key=self._signed)
        if not self._signed(worst) < 0.0:
            return ""
        while not isinstance(worst.node, Compare):
            below = self._below(worst)
            if below is None:
                return ""
            worst = below
        return self._sentence(worst, worst.node, met=False)

    def _when(self, place: _Place) -> str:
        """Time of a place: that of its row, or from its row to the next."""
        if not self._is_between(place):
            return f"at {self._time(place.row)}"
        if place.row + 1 >= self.count:
            return f"after {self._time(place.row)}"
        return f"between {self._time(place.row)} and {self._time(place.row + 1)}"

    def _sides(self, place: _Place, left: Term, right: Term, operator: str) -> tuple[float, float]:
        """Values of the two sides of a comparison; between rows the left one follows from the margin."""
        a, b = (float(self.evaluation.values(term, place.row, place.row + 1).flat[0]) for term in (left, right))
        if not self._is_between(place):
            return a, b
        margin = self._margin(place)
        return b + (margin if operator in (">", ">=") else -margin), b

    def _nothing_to_judge(self, place: _Place, margin: float) -> Finding:
        end_s = float(self.flight.time_s[self.count - 1])
        if isinstance(place.node, Window) and place.node.operator in ("once", "historically"):
            sentence = f"at {self._time(place.row)} there was no past that the requirement could look at"
        else:
            assert isinstance(place.node, Window | Until)
            from_s = float(self.flight.time_s[place.row]) + place.node.interval.low_s
            sentence = f"the flight ended at {end_s:.2f} s; the requirement looks at the time from {from_s:.2f} s on"
        return Finding(end_s, margin, "1", sentence)

    def _time(self, row: int) -> str:
        return f"{self.flight.time_s[row]:.2f} s"

    def _sentence(self, place: _Place, node: Compare, *, met: bool) -> str:
        operator, left, right = node.operator, node.left, node.right
        if _is_constant(left) and not _is_constant(right):  # `60 m > altitude` is written as `altitude < 60 m`
            operator, left, right = _MIRRORED[operator], right, left
        a, b = self._sides(place, left, right, operator)
        if place.contrary:
            operator = _CONTRARY[operator]
        unit, size = _shown_unit(left, right)
        was, limit = (_amount(value, unit, size, self._word(right, value)) for value in (a, b))
        threshold = limit if _is_constant(right) else right.text
        when, between = self._when(place), ""
        if place.span is not None:
            between = f"from {self._time(place.span[0])} to {self._time(place.span[1])}"
        discrete = node.operator in ("==", "!=") and node.tolerance is None
        if discrete and not met and isinstance(left, Signal) and left.column in self.events:
            return self.events[left.column]
        if discrete and between and not met:
            never = "never" if operator == "==" else "always"
            return f"{left.text} was {never} {threshold} {between}" + (
                f"; it was {self._taken(left, right, place.span)}" if never == "never" else ""
            )
        sentence = f"{left.text} was {'at best ' if between and not discrete else ''}{was}"
        sentence += f" {when}" if _is_constant(right) else f" and {right.text} {limit} {when}"
        sentence += "; required: " + ("" if _is_constant(right) else f"{left.text} ")
        if node.tolerance is None:
            sentence += _WORDS[operator] + threshold
        else:
            inside = "within" if operator == "==" else "more than"
            sentence += f"{inside} {_amount(node.tolerance, unit, size, '')} of {threshold}"
        sentence += f" at some time {between}" if between else ""
        apart = abs(a - b) if node.tolerance is None else abs(node.tolerance - abs(a - b))
        if discrete or not math.isfinite(apart):
            return sentence
        return f"{sentence} ({_amount(apart, unit, size, '')} {'to spare' if met else 'beyond'})"

    def _taken(self, left: Term, right: Term, span: tuple[int, int] | None) -> str:
        """The values that a whole number took in a span, in order: `mission, then descend`."""
        first, last = span if span is not None else (0, self.count - 1)
        values = np.atleast_1d(np.ravel(self.evaluation.values(left, first, last + 1)))
        taken = dict.fromkeys(float(value) for value in values if not math.isnan(value))
        words = [_amount(value, "1", 1.0, self._word(right, value)) for value in list(taken)[:MOST_TAKEN]]
        return ", then ".join(words) + (" …" if len(taken) > MOST_TAKEN else "")

    def _word(self, other: Term, value: float) -> str:
        """The word for a value that is compared with a word (a mode's name, for example)."""
        if not (isinstance(other, Number) and other.is_word):
            return ""
        return next((word for word, number in self.formula.words.items() if number == value), "")


def unit_of(formula: Formula) -> str:
    """SI unit of a requirement's margin, if all its comparisons have the same; "1" for flags alone, else empty."""
    units = {unit for unit in _units(formula.root) if unit != "1"}
    return next(iter(units), "1") if len(units) <= 1 else ""


def _units(node: Node) -> Iterator[str]:
    if isinstance(node, Compare):
        yield _si_unit(node.left, node.right)
    elif isinstance(node, Join | Until):
        yield from (*_units(node.left), *_units(node.right))
    else:
        yield from _units(node.child)


def _terms(node: Node) -> Iterator[Term]:
    """The sides of all comparisons of a condition."""
    if isinstance(node, Compare):
        yield from (node.left, node.right)
    elif isinstance(node, Join | Until):
        yield from (*_terms(node.left), *_terms(node.right))
    else:
        yield from _terms(node.child)


def _has_limit(node: Compare) -> bool:
    """Whether a comparison is a limit by a constant, so that its margin says the value."""
    return node.operator not in ("==", "!=") and _is_constant(node.left) != _is_constant(node.right)


def _is_constant(term: Term) -> bool:
    if isinstance(term, Call):
        return all(_is_constant(argument) for argument in term.arguments)
    return isinstance(term, Number)


def _numbers(term: Term) -> list[Number]:
    if isinstance(term, Call):
        return [number for argument in term.arguments for number in _numbers(argument)]
    return [term] if isinstance(term, Number) else []


def _si_unit(left: Term, right: Term) -> str:
    """SI unit of a comparison, as declared by the signals."""
    for term in (left, right):
        if isinstance(term, Signal):
            return term.unit
    return si_text(left.dimension if left.dimension != NONE else right.dimension)


def _shown_unit(left: Term, right: Term) -> tuple[str, float]:
    """Unit used in the text of the requirement, and its size in SI."""
    dimension = left.dimension if left.dimension != NONE else right.dimension
    for number in (*_numbers(right), *_numbers(left)):
        if number.unit and number.dimension == dimension:
            return number.unit, read_unit(number.unit).size
    return _si_unit(left, right), 1.0


def _amount(value: float, unit: str, size: float, word: str) -> str:
    """A value as text: four digits, with its unit."""
    if word:
        return word
    if math.isnan(value):
        return "not a number"
    shown = value / size
    digits = f"{shown:.4g}" if abs(shown) < 1e4 or not math.isfinite(shown) else f"{shown:.0f}"
    return digits if unit == "1" else f"{digits} {unit}"
