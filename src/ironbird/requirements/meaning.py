"""Requirements that say less than they seem to: refused, with the text that was probably meant.

A formula is judged at the first row of a flight. `tilt < 1 deg` therefore speaks of the first row alone, and so does
the second half of `always tilt < 60 deg and height < 1 m` (`always` binds stronger than `and`). A past operator as the
root looks back from the first row, where there is no past.
"""

from __future__ import annotations

from ironbird.conditions.formula import Formula, Join, Node, Not, Until, Window, parse_formula
from ironbird.conditions.names import Names
from ironbird.errors import RequirementError
from ironbird.requirements.vacuity import PAST, text_of


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
        If a part of it would be judged at the first row of a flight alone.
    """
    formula = parse_formula(text, names)
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
