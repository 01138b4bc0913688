"""Margins of conditions about one moment as programs, for the kernel (at every tick) and for judging rows of a log.

The margin of `altitude < 60 m` is 60 m - altitude; `and` takes the least, `or` the greatest, `not` changes the sign
(`requirements.robustness`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ironbird.conditions.formula import Compare, Edge, Join, Node, Not, Signal, Truth, Until, Window, parse_number
from ironbird.conditions.names import RUN_UNITS, Names
from ironbird.conditions.postfix import Postfix
from ironbird.errors import ConditionError, RunError
from ironbird.runtime.predicate import LONGEST, STACK, Op, Predicate


class UnfitError(Exception):
    """A condition that a program cannot evaluate: about other times, or about how a flight ended."""


class MarginCode(Postfix):
    """Builder of the postfix code of a margin; subclasses define how a signal is pushed on the stack."""

    def margin(self, node: Node) -> None:
        """Append code that pushes the margin of a condition about one moment."""
        if isinstance(node, Compare):
            self._compare(node)
        elif isinstance(node, Not):
            self.margin(node.child)
            self.emit(Op.NEGATE)
        elif isinstance(node, Truth):
            self.margin(node.child)
            self.emit(Op.SIGN_OF_MARGIN)
        elif isinstance(node, Join):
            self.margin(node.left)
            if node.operator == "implies":
                self.emit(Op.NEGATE)
            self.margin(node.right)
            self.emit(Op.MINIMUM if node.operator == "and" else Op.MAXIMUM)
        else:
            raise UnfitError

    def _compare(self, node: Compare) -> None:
        left, right = (node.right, node.left) if node.operator in ("<", "<=") else (node.left, node.right)
        self.number(left)
        self.number(right)
        self.emit(Op.SUBTRACT)
        if node.operator not in ("==", "!="):
            return
        self.emit(Op.ABS)
        if node.tolerance is None:
            self.emit(Op.ALL_OR_NOTHING)
        else:
            self.emit(Op.NEGATE)
            self.constant(node.tolerance)
            self.emit(Op.ADD)
        if node.operator == "!=":
            self.emit(Op.NEGATE)


class _KernelCode(MarginCode):
    """Margins from the loggable signals of a model."""

    def __init__(self, names: Names) -> None:
        super().__init__()
        self.names = names

    def signal(self, term: Signal) -> None:
        """Append code that pushes the value of a signal of the model."""
        if term.column == "time":
            self.emit(Op.PUSH_TIME)
        elif term.column in RUN_UNITS:
            raise UnfitError
        elif term.column in self.names.derived:
            definition = self.names.derived[term.column]
            quick = definition.quick if all(path in self.names.rows for path in definition.quick_sources) else ""
            self.number(parse_number(quick or definition.text, self.names))
        else:
            self.emit(Op.PUSH_SIGNAL, self.names.rows[term.column])


def programs_of(root: Node, names: Names, text: str) -> dict[Node, Predicate]:
    """The largest parts of a requirement that are about one moment and about the model alone, as programs.

    The conditions of `implies` in them are programs as well: a requirement whose condition never held was not tested.

    Parameters
    ----------
    root : Node
        Of the requirement's formula.
    names : Names
        Of the model.
    text : str
        The requirement as it was written, for errors.
    """
    found: dict[Node, Predicate] = {}
    for part in _parts(root):
        _collect(part, names, text, found)
    return found


def _parts(node: Node) -> Iterator[Node]:
    """Conditions right below an operator of time."""
    if isinstance(node, Window | Edge):
        yield node.child
    elif isinstance(node, Until):
        yield from (node.left, node.right)
    elif isinstance(node, Join):
        yield from (*_parts(node.left), *_parts(node.right))
    elif isinstance(node, Not | Truth):
        yield from _parts(node.child)


def _collect(node: Node, names: Names, text: str, found: dict[Node, Predicate]) -> None:
    code = _KernelCode(names)
    try:
        code.margin(node)
    except UnfitError:
        for child in _children(node):
            _collect(child, names, text, found)
        return
    if not any(op == Op.PUSH_SIGNAL for op, _ in code.code):  # about constants and the time alone
        return
    try:
        found[node] = Predicate("margin", tuple((Op(op), at) for op, at in code.code), tuple(code.constants))
    except RunError:
        raise ConditionError(
            f"requirement '{text}': a condition of it is too long or nested too deeply for the kernel, which allows "
            f"{LONGEST} steps and {STACK} values at once; make two requirements of it"
        ) from None
    for condition in _antecedents(node):
        _collect(condition, names, text, found)


def _antecedents(node: Node) -> Iterator[Node]:
    """The conditions A of every `A implies B` in a condition, without those inside of an A."""
    if isinstance(node, Join) and node.operator == "implies":
        yield node.left
        yield from _antecedents(node.right)
    else:
        for child in _children(node):
            yield from _antecedents(child)


def _children(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Compare):
        return ()
    return (node.left, node.right) if isinstance(node, Join | Until) else (node.child,)
