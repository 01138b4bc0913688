"""Numbers of the language of conditions compiled to postfix code (`runtime/predicate.py`), for triggers and margins."""

from __future__ import annotations

from abc import abstractmethod

from ironbird.conditions.formula import Number, Signal, Term
from ironbird.runtime.predicate import Op

_UNARY = {
    "minus": Op.NEGATE, "abs": Op.ABS, "sqrt": Op.SQRT, "cos": Op.COS, "sin": Op.SIN, "acos": Op.ACOS,
}  # fmt: skip
_BINARY = {
    "+": Op.ADD, "-": Op.SUBTRACT, "*": Op.MULTIPLY, "/": Op.DIVIDE, "min": Op.MINIMUM, "max": Op.MAXIMUM,
    "hypot": Op.HYPOT,
}  # fmt: skip


class Postfix:
    """Builder of postfix code; subclasses define how a signal is pushed on the stack."""

    def __init__(self) -> None:
        self.code: list[tuple[int, int]] = []
        self.constants: list[float] = []

    def emit(self, op: int, argument: int = 0) -> None:
        """Append one operation with its argument to the code."""
        self.code.append((op, argument))

    def constant(self, value: float) -> None:
        """Append code that pushes a constant."""
        self.emit(Op.PUSH_CONSTANT, len(self.constants))
        self.constants.append(value)

    @abstractmethod
    def signal(self, term: Signal) -> None:
        """Append code that pushes the value of a signal."""

    def number(self, term: Term) -> None:
        """Append code that pushes the value of a number (any term)."""
        if isinstance(term, Number):
            self.constant(term.value)
        elif isinstance(term, Signal):
            self.signal(term)
        elif term.function in _UNARY:
            self.number(term.arguments[0])
            self.emit(_UNARY[term.function])
        else:
            for count, argument in enumerate(term.arguments):
                self.number(argument)
                if term.function == "norm":
                    self.emit(Op.SQUARE)
                if count:
                    self.emit(Op.ADD if term.function == "norm" else _BINARY[term.function])
            if term.function == "norm":
                self.emit(Op.SQRT)
