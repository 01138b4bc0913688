"""Triggers: a condition about now, compiled to the kernel's postfix code.

    altitude > 20 m and mode == "mission"
    tilt > 30 deg or not (battery >= 50 %)

Derived signals are expanded. Time (always, until, rise, ...) is refused: a trigger fires when its condition first
holds, and the start of its fault counts from there. Where a requirement's margin is 0 the trigger goes by its operator:
`x > 3 m` does not hold at 3 m, `x >= 3 m` does. A value that is not a number makes the whole condition untrue.
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
    Number,
    Parser,
    Signal,
    Term,
    Truth,
    Until,
    parse_number,
)
from ironbird.conditions.names import RUN_UNITS, Names
from ironbird.errors import ConditionError, UnitsWarning
from ironbird.runtime.predicate import LONGEST, Op, Predicate

_COMPARISONS = {"<": Op.LESS, "<=": Op.LESS_EQUAL, ">": Op.GREATER, ">=": Op.GREATER_EQUAL}
_UNARY = {
    "minus": Op.NEGATE, "abs": Op.ABS, "sqrt": Op.SQRT, "cos": Op.COS, "sin": Op.SIN, "acos": Op.ACOS,
}  # fmt: skip
_BINARY = {
    "+": Op.ADD, "-": Op.SUBTRACT, "*": Op.MULTIPLY, "/": Op.DIVIDE, "min": Op.MINIMUM, "max": Op.MAXIMUM,
    "hypot": Op.HYPOT,
}  # fmt: skip
LONGEST_CHAIN = 16  # comparisons in a row, through which units are handed on
WHOLE = 0.5  # words and whole numbers that differ by less are equal, as in requirements
_UNKNOWN_YET = {
    "crashed": "the flight ends with a crash: nothing can be triggered by it",
    "completed": "the flight ends when its mission is completed: nothing can be triggered by it",
    "fault_active": "it is known only when the flight is judged: give both faults the same condition, and this one a "
    "later start",
}


def compile_trigger(text: str, names: Names) -> Predicate:
    """The kernel's form of a trigger on the model that the names are of.

    A text without units is read as SI; UnitsWarning then shows it with units, once for each text.
    """
    formula, new_text = _read(text, names)
    if new_text != text:
        _warn(text, new_text)
    code = _Code(formula, names)
    code.condition(formula.root)
    return Predicate(text, tuple(code.code), tuple(code.constants))


def unit_advice(text: str, names: Names) -> str | None:
    """The text of a trigger with units if it lacks some, else None; one that cannot be read raises ConditionError."""
    new_text = _read(text, names)[1]
    return None if new_text == text else new_text


def _read(text: str, names: Names) -> tuple[Formula, str]:
    parser = Parser(text, names, "trigger", old_form=True)
    formula, new_text = parser.parse(), parser.new_text
    for _ in range(LONGEST_CHAIN if new_text != text else 0):  # a number that got a unit asks for one beside it
        again = Parser(new_text, names, "trigger", old_form=True)
        try:
            again.parse()
        except ConditionError:  # too long now
            break
        if again.new_text == new_text:
            break
        new_text = again.new_text
    return formula, new_text


@functools.lru_cache(maxsize=1024)
def _warn(text: str, new_text: str) -> None:
    warnings.warn(f"trigger '{text}' is read in SI units; write '{new_text}'", UnitsWarning, stacklevel=3)


class _Code:
    """Postfix code under construction."""

    def __init__(self, formula: Formula, names: Names) -> None:
        self.text, self.names = formula.text, names
        self.code: list[tuple[Op, int]] = []
        self.constants: list[float] = []

    def _fail(self, why: str) -> ConditionError:
        return ConditionError(f"trigger '{self.text}': {why}")

    def _emit(self, op: Op, argument: int = 0) -> None:
        if len(self.code) >= LONGEST:
            raise self._fail(f"it takes more than {LONGEST} steps in the kernel; shorten it")
        self.code.append((op, argument))

    def condition(self, node: Node) -> None:
        """Leaves 1 (true), 0 or NaN."""
        if isinstance(node, Compare):
            self._compare(node)
        elif isinstance(node, Not):
            self.condition(node.child)
            self._emit(Op.NOT)
        elif isinstance(node, Truth):
            self.condition(node.child)
        elif isinstance(node, Join):
            self.condition(node.left)
            if node.operator == "implies":
                self._emit(Op.NOT)
            self.condition(node.right)
            self._emit(Op.AND if node.operator == "and" else Op.OR)
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
            self._emit(_COMPARISONS[node.operator])
            return
        same = node.operator == "=="
        self._emit(Op.SUBTRACT)
        self._emit(Op.ABS)
        if node.tolerance is None:
            self._constant(WHOLE)
            self._emit(Op.LESS if same else Op.GREATER_EQUAL)
        else:
            self._constant(node.tolerance)
            self._emit(Op.LESS_EQUAL if same else Op.GREATER)

    def number(self, term: Term) -> None:
        """Leaves a number."""
        if isinstance(term, Number):
            self._constant(term.value)
        elif isinstance(term, Signal):
            self._signal(term)
        elif term.function in _UNARY:
            self.number(term.arguments[0])
            self._emit(_UNARY[term.function])
        else:
            for count, argument in enumerate(term.arguments):
                self.number(argument)
                if term.function == "norm":
                    self._emit(Op.SQUARE)
                if count:
                    self._emit(Op.ADD if term.function == "norm" else _BINARY[term.function])
            if term.function == "norm":
                self._emit(Op.SQRT)

    def _signal(self, term: Signal) -> None:
        if term.column == "time":
            self._emit(Op.PUSH_TIME)
        elif term.column in RUN_UNITS:
            raise self._fail(f"'{term.column}' cannot be used; {_UNKNOWN_YET[term.column]}")
        elif term.column in self.names.derived:
            self.number(parse_number(self.names.derived[term.column].text, self.names))
        else:
            self._emit(Op.PUSH_SIGNAL, self.names.rows[term.column])

    def _constant(self, value: float) -> None:
        self._emit(Op.PUSH_CONSTANT, len(self.constants))
        self.constants.append(value)
