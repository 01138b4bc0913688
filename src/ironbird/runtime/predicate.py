"""Predicates: the compiled form of a trigger's condition, or of a margin, run by the kernel's stack machine.

They are compiled from text by `ironbird.conditions.trigger` and `ironbird.conditions.margin`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from ironbird.errors import RunError

STACK = 32  # most values on the kernel's stack
LONGEST = 500  # most operations of one predicate: it runs every 10 ms for each waiting event
MOST_ARGUMENT = 2**31  # limit of an operation's argument


class Op(IntEnum):
    """Operations of the stack machine: `IB_OP_*` of c/ib_loop.h."""

    PUSH_SIGNAL = 0  # argument: row of the loggable signals
    PUSH_CONSTANT = 1  # argument: number of the constant
    PUSH_TIME = 2
    NEGATE = 3
    ABS = 4
    SQUARE = 5
    SQRT = 6
    COS = 7
    SIN = 8
    ACOS = 9
    NOT = 10
    ADD = 11
    SUBTRACT = 12
    MULTIPLY = 13
    DIVIDE = 14
    MINIMUM = 15
    MAXIMUM = 16
    HYPOT = 17
    LESS = 18
    LESS_EQUAL = 19
    GREATER = 20
    GREATER_EQUAL = 21
    AND = 22
    OR = 23
    ALL_OR_NOTHING = 24  # of a distance: an infinite margin with the sign of equality
    SIGN_OF_MARGIN = 25  # infinite, with the sign of a margin

    @property
    def takes(self) -> int:
        """Number of values that the operation pops from the stack; it pushes one."""
        return 0 if self <= Op.PUSH_TIME else 1 if self <= Op.NOT or self >= Op.ALL_OR_NOTHING else 2


@dataclass(frozen=True)
class Predicate:
    """A condition on the loggable signals of one model as postfix code; `text` is its source.

    Code that the kernel's stack cannot hold is refused here, so that none can reach the kernel.
    """

    text: str
    code: tuple[tuple[Op, int], ...]
    constants: tuple[float, ...]

    def __post_init__(self) -> None:
        odd = [entry for entry in self.code if not isinstance(entry[0], Op) or not 0 <= entry[1] < MOST_ARGUMENT]
        if odd:
            raise RunError(f"trigger '{self.text}' has an operation that the kernel does not know: {odd[0]}")
        if len(self.code) > LONGEST:
            raise RunError(f"trigger '{self.text}' takes {len(self.code)} steps, the kernel allows {LONGEST}")
        if self.depth > STACK:
            raise RunError(
                f"trigger '{self.text}' is nested too deeply: it needs {self.depth} places on the kernel's stack, "
                f"there are {STACK}; write what is nested first, or with fewer brackets"
            )
        wrong = [i for op, i in self.code if op == Op.PUSH_CONSTANT and not 0 <= i < len(self.constants)]
        if wrong:
            raise RunError(f"trigger '{self.text}' has {len(self.constants)} constants, its code asks for {wrong[0]}")

    @staticmethod
    def read(data: Mapping[str, Any]) -> Predicate:
        """Make a predicate from plain data as given by `dataclasses.asdict`, with the usual checks."""
        code = tuple((Op(op), int(argument)) for op, argument in data["code"])
        return Predicate(str(data["text"]), code, tuple(float(value) for value in data["constants"]))

    @property
    def depth(self) -> int:
        """Stack places that the predicate needs."""
        deepest = present = 0
        for op, _ in self.code:
            if op.takes > present:
                raise RunError(f"trigger '{self.text}': {op.name} finds {present} values on the stack")
            present += 1 - op.takes
            deepest = max(deepest, present)
        if present != 1:
            raise RunError(f"trigger '{self.text}' leaves {present} values on the stack, not one")
        return deepest

    def check_rows(self, count: int) -> None:
        """Raise unless every signal is one of the `count` rows of a model."""
        wrong = [i for op, i in self.code if op == Op.PUSH_SIGNAL and not 0 <= i < count]
        if wrong:
            raise RunError(f"trigger '{self.text}' was compiled for another model: it has {count} rows, not {wrong[0]}")
