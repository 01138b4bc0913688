"""Requirements that say less than they seem to: refused, with the text that was probably meant.

A formula is judged at the first row of a flight. `tilt < 1 deg` therefore speaks of the first row alone, and so does
the second half of `always tilt < 60 deg and height < 1 m` (`always` binds stronger than `and`). A past operator as the
root looks back from the first row, where there is no past. A comparison that names no signal measures nothing.

Events within a row have no order: a formula that asks for one (`until`, `rise`, windows that begin or end between rows)
needs rows that are not far apart. In the row in which a fault begins, what came before it and what came after it look
the same: a formula that joins `fault_active` with another condition needs rows that are still closer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ironbird.conditions.formula import (
    Call,
    Compare,
    Edge,
    Formula,
    Interval,
    Join,
    Node,
    Not,
    Signal,
    Term,
    Until,
    Window,
    parse_formula,
)
from ironbird.conditions.names import Names
from ironbird.errors import RequirementError
from ironbird.requirements.robustness import asks_for_fault
from ironbird.requirements.vacuity import PAST, text_of

COARSE_S = 0.1  # between rows: above it formulas that ask for an order of events are refused
COARSE_FOR_FAULTS_S = 0.02  # the same for formulas that join `fault_active` with a condition
ROUNDED = 1e-6  # of a row: bounds of windows are multiples of it


def parse_requirement(text: str, names: Names) -> Formula:
    """Parse a requirement.

    Parameters
    ----------
    text : str
        Signal temporal logic with units, for example `always (altitude < 60 m)`.
    names : Names
        Signals and words that it may use.

    Raises
    ------
    ConditionError
        If the text is no formula.
    RequirementError
        If a part of it would be judged at the first row of a flight alone, or measures nothing.
    """
    formula = parse_formula(text, names)
    for node in _nodes(formula.root):
        if isinstance(node, Compare) and not (_has_signal(node.left) or _has_signal(node.right)):
            raise RequirementError(
                f"requirement '{text}': '{text_of(formula, node)}' names no signal, so it is the same for every "
                f"flight; compare a signal, as in altitude < 60 m"
            )
    part = _first_row_only(formula.root)
    if part is None:
        return formula
    words = text.strip() if part is formula.root else text_of(formula, part)
    if isinstance(part, Window):
        why = "looks back from the first row of the flight, where there is no past"
    else:
        why = "is judged at the first row of the flight alone"
    meant = f"always ({words})" if part is formula.root else f"brackets, as in always (A and {words})"
    raise RequirementError(f"requirement '{text}': '{words}' {why}; write {meant}, or eventually (…)")


def _first_row_only(node: Node) -> Node | None:
    """The first part that no operator of future time contains; None if there is none."""
    if isinstance(node, Not):
        inner = _first_row_only(node.child)
        return node if inner is node.child else inner
    if isinstance(node, Join):
        left, right = _first_row_only(node.left), _first_row_only(node.right)
        return node if left is node.left and right is node.right else left or right
    future = isinstance(node, Until) or (isinstance(node, Window) and node.operator not in PAST)
    return None if future else node


def longest_row_s(formula: Formula, log_s: float) -> float:
    """Greatest distance between rows in s with which a formula can be judged, if they are to be `log_s` apart.

    Infinite if it does not ask for an order of events.
    """
    nodes = list(_nodes(formula.root))
    if any(isinstance(node, Join) and asks_for_fault(node) for node in nodes):
        return COARSE_FOR_FAULTS_S
    ordered = any(
        isinstance(node, Edge | Until) or (isinstance(node, Window) and _between_rows(node.interval, log_s))
        for node in nodes
    )
    return COARSE_S if ordered else math.inf


def _between_rows(interval: Interval, log_s: float) -> bool:
    """Whether an interval begins or ends between two rows."""
    bounds = (interval.low_s, interval.high_s, interval.last_s or 0.0)
    return any(math.isfinite(bound) and abs(bound / log_s - round(bound / log_s)) > ROUNDED for bound in bounds)


def _nodes(node: Node) -> Iterator[Node]:
    """A condition and all conditions in it."""
    yield node
    if isinstance(node, Join | Until):
        yield from _nodes(node.left)
        yield from _nodes(node.right)
    elif not isinstance(node, Compare):
        yield from _nodes(node.child)


def _has_signal(term: Term) -> bool:
    return isinstance(term, Signal) or (isinstance(term, Call) and any(map(_has_signal, term.arguments)))
