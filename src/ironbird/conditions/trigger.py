"""Triggers: a condition about now, compiled to the kernel's postfix code.

    altitude > 20 m and mode == "mission"
    tilt > 30 deg or not (battery >= 50 %)

Derived signals are expanded. Time (always, until, rise, ...) is refused: a trigger fires when its condition first
holds, and the start of its fault counts from there. Where a requirement's margin is 0 the operator of the trigger
decides: `x > 3 m` does not hold at 3 m, `x >= 3 m` does. A value that is not a number makes the whole condition untrue.
"""

from __future__ import annotations

import functools
import warnings

from ironbird.conditions.formula import (
    Compare,
    Formula,
    Join,
    Node,
    Not,
    Parser,
    Signal,
    Truth,
    UnitsDifferError,
    Until,
    parse_number,
)
from ironbird.conditions.names import RUN_UNITS, Names
from ironbird.conditions.postfix import Postfix
from ironbird.errors import ConditionError, UnitsWarning
from ironbird.runtime.predicate import LONGEST, Op, Predicate

_COMPARISONS = {"<": Op.LESS, "<=": Op.LESS_EQUAL, ">": Op.GREATER, ">=": Op.GREATER_EQUAL}
LONGEST_CHAIN = 16  # limit for comparisons in a row, through which units are propagated
WHOLE = 0.5  # words and whole numbers that differ by less are equal, as in requirements
_UNKNOWN_YET = {
    "crashed": "the flight ends with a crash: nothing can be triggered by it",
    "completed": "the flight ends when its mission is completed: nothing can be triggered by it",
    "landed": "whether it landed is judged at the end of the flight: nothing can be triggered by it",
    "fault_active": "it is known only when the flight is judged: give both faults the same condition, and this one a "
    "later start",
}


def compile_trigger(text: str, names: Names) -> Predicate:
    """Compile a trigger to the kernel's predicate, for the model that the names belong to.

    A text without units is read as SI; UnitsWarning then shows it with units, once for each text.
    """
    formula, new_text = _read(text, names)
    if new_text != text:
        _warn(text, new_text)
    code = _Code(formula, names)
    code.condition(formula.root)
    return Predicate(text, tuple((Op(op), argument) for op, argument in code.code), tuple(code.constants))


def unit_advice(text: str, names: Names) -> str | None:
    """The trigger's text with the missing units added, None if none is missing; ConditionError if it cannot be read."""
    new_text = _read(text, names)[1]
    return None if new_text == text else new_text


def _read(text: str, names: Names) -> tuple[Formula, str]:
    parser = Parser(text, names, "trigger", old_form=True)
    formula, new_text = parser.parse(), parser.new_text
    # once a number has a unit, the number it is compared with needs one too
    for _ in range(LONGEST_CHAIN if new_text != text else 0):
        again = Parser(new_text, names, "trigger", old_form=True)
        try:
            again.parse()
        except UnitsDifferError:  # a number between two of different dimensions
            raise
        except ConditionError:  # the text with units is too long
            break
        if again.new_text == new_text:
            break
        new_text = again.new_text
    return formula, new_text


@functools.lru_cache(maxsize=1024)
def _warn(text: str, new_text: str) -> None:
    warnings.warn(f"trigger '{text}' is read in SI units; write '{new_text}'", UnitsWarning, stacklevel=3)


class _Code(Postfix):
    """Builder of a trigger's postfix code."""

    def __init__(self, formula: Formula, names: Names) -> None:
        super().__init__()
        self.text, self.names = formula.text, names

    def _fail(self, why: str) -> ConditionError:
        return ConditionError(f"trigger '{self.text}': {why}")

    def emit(self, op: int, argument: int = 0) -> None:
        """Append one operation; raises an error if the code exceeds the kernel's limit."""
        if len(self.code) >= LONGEST:
            raise self._fail(f"it takes more than {LONGEST} steps in the kernel; shorten it")
        super().emit(op, argument)

    def condition(self, node: Node) -> None:
        """Append code that pushes 1 (true), 0 (false) or NaN."""
        if isinstance(node, Compare):
            self._compare(node)
        elif isinstance(node, Not):
            self.condition(node.child)
            self.emit(Op.NOT)
        elif isinstance(node, Truth):
            self.condition(node.child)
        elif isinstance(node, Join):
            self.condition(node.left)
            if node.operator == "implies":
                self.emit(Op.NOT)
            self.condition(node.right)
            self.emit(Op.AND if node.operator == "and" else Op.OR)
        else:
            operator = "until" if isinstance(node, Until) else node.operator
            if operator in ("rise", "fall"):
                cure = f"write {operator}(x) as {'x' if operator == 'rise' else 'not x'}"
            else:
                cure = f"leave out '{operator}', and give the fault a start to let it wait"
            raise self._fail(
                f"'{operator}' looks at other times, a trigger only at the present; it fires when its condition first "
                f"holds: {cure}"
            )

    def _compare(self, node: Compare) -> None:
        self.number(node.left)
        self.number(node.right)
        if node.operator in _COMPARISONS:
            self.emit(_COMPARISONS[node.operator])
            return
        same = node.operator == "=="
        self.emit(Op.SUBTRACT)
        self.emit(Op.ABS)
        if node.tolerance is None:
            self.constant(WHOLE)
            self.emit(Op.LESS if same else Op.GREATER_EQUAL)
        else:
            self.constant(node.tolerance)
            self.emit(Op.LESS_EQUAL if same else Op.GREATER)

    def signal(self, term: Signal) -> None:
        """Append code that pushes the value of a model signal."""
        if term.column == "time":
            self.emit(Op.PUSH_TIME)
        elif term.column in RUN_UNITS:
            raise self._fail(f"'{term.column}' cannot be used; {_UNKNOWN_YET[term.column]}")
        elif term.column in self.names.derived:
            self.number(parse_number(self.names.derived[term.column].text, self.names))
        else:
            self.emit(Op.PUSH_SIGNAL, self.names.rows[term.column])
