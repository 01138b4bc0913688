"""Predicates on signals, for triggers: text in, postfix code for the kernel out.

    body.height > 60 and navigator.mode == "mission"
    abs(body.w_NB_B[2]) > 3 or not (battery.remaining >= 0.5)

Grammar: signals by path (one entry of a vector by index), numbers, words that the caller knows; + - * abs;
< <= > >= == !=; not, and, or; brackets. Comparison binds tighter than not, and, or.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ironbird.compiler.compiled import CompiledModel
from ironbird.errors import RunError, UnknownNameError

(
    PUSH_SIGNAL, PUSH_CONSTANT, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, NOT_EQUAL, AND, OR, NOT, ADD, SUBTRACT,
    MULTIPLY, ABS,
) = range(15)  # fmt: skip
_OPERATORS = {
    "or": (1, OR), "and": (2, AND), "<": (4, LESS), "<=": (4, LESS_EQUAL), ">": (4, GREATER), ">=": (4, GREATER_EQUAL),
    "==": (4, EQUAL), "!=": (4, NOT_EQUAL), "+": (5, ADD), "-": (5, SUBTRACT), "*": (6, MULTIPLY),
}  # fmt: skip
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)|(?P<word>\"[^\"]*\"|'[^']*')"
    r"|(?P<name>[A-Za-z_][\w/.\[\]]*)|(?P<sign><=|>=|==|!=|[<>+\-*()]))"
)
DEEPEST = 30  # of the kernel's stack


@dataclass(frozen=True)
class Predicate:
    """A predicate in the kernel's form."""

    text: str
    code: tuple[tuple[int, int], ...]
    constants: tuple[float, ...]


class _Parser:
    """Precedence climbing over the tokens of one predicate."""

    def __init__(self, text: str, model: CompiledModel, words: Mapping[str, float], aliases: Mapping[str, str]) -> None:
        self.text, self.model, self.words, self.aliases = text, model, words, aliases
        self.tokens = self._tokens()
        self.place = 0
        self.code: list[tuple[int, int]] = []
        self.constants: list[float] = []

    def _fail(self, why: str) -> RunError:
        return RunError(f"predicate '{self.text}': {why}")

    def _tokens(self) -> list[tuple[str, str]]:
        found = []
        at = 0
        while at < len(self.text.rstrip()):
            match = _TOKEN.match(self.text, at)
            if match is None:
                rest = self.text[at:].lstrip()
                raise self._fail(f"cannot read '{rest.rstrip()}' (column {len(self.text) - len(rest) + 1})")
            assert match.lastgroup is not None
            found.append((match.lastgroup, match.group(match.lastgroup)))
            at = match.end()
        return found

    def _peek(self) -> str:
        return self.tokens[self.place][1] if self.place < len(self.tokens) else ""

    def _take(self) -> tuple[str, str]:
        if self.place >= len(self.tokens):
            raise self._fail("it ends too early")
        self.place += 1
        return self.tokens[self.place - 1]

    def parse(self) -> Predicate:
        self._expression(0)
        if self.place != len(self.tokens):
            raise self._fail(f"'{self._peek()}' is not expected here")
        if not any(op in range(LESS, NOT + 1) for op, _ in self.code):
            raise self._fail("it compares nothing")
        return Predicate(self.text, tuple(self.code), tuple(self.constants))

    def _expression(self, lowest: int) -> None:
        self._operand()
        while self._peek() in _OPERATORS and _OPERATORS[self._peek()][0] >= lowest:
            strength, op = _OPERATORS[self._take()[1]]
            self._expression(strength + 1)
            self.code.append((op, 0))
            if len(self.code) > 4 * DEEPEST:
                raise self._fail("it is too long")

    def _operand(self) -> None:
        kind, token = self._take()
        if token == "(":
            self._expression(0)
            self._close()
        elif token == "not":
            self._expression(3)
            self.code.append((NOT, 0))
        elif token == "-":
            self._constant(0.0)
            self._expression(6)
            self.code.append((SUBTRACT, 0))
        elif token == "abs" and self._peek() == "(":
            self._take()
            self._expression(0)
            self._close()
            self.code.append((ABS, 0))
        elif kind == "number":
            self._constant(float(token))
        elif kind == "word":
            word = token[1:-1]
            if word not in self.words:
                raise self._fail(str(UnknownNameError("word", word, self.words)))
            self._constant(self.words[word])
        elif kind == "name" and token not in ("and", "or"):
            self.code.append((PUSH_SIGNAL, self._row(token)))
        else:
            raise self._fail(f"'{token}' is not expected here")

    def _close(self) -> None:
        if self._take()[1] != ")":
            raise self._fail("a bracket is not closed")

    def _constant(self, value: float) -> None:
        self.code.append((PUSH_CONSTANT, len(self.constants)))
        self.constants.append(value)

    def _row(self, name: str) -> int:
        path, _, index = self.aliases.get(name, name).partition("[")
        log = self.model.flat.log
        if path not in log.start:
            raise self._fail(str(UnknownNameError("signal", path, [*log.start, *self.aliases])))
        rows = log.rows(path)
        size = rows.stop - rows.start
        entry = int(index.rstrip("]")) if index.rstrip("]").isdigit() else (0 if not index else -1)
        if not 0 <= entry < size or (size > 1 and not index):
            raise self._fail(f"{path} has {size} entries: write {path}[0] to {path}[{size - 1}]")
        return rows.start + entry


def parse_predicate(
    text: str, model: CompiledModel, words: Mapping[str, float] | None = None, aliases: Mapping[str, str] | None = None
) -> Predicate:
    """Read a predicate; signals must exist in the model."""
    return _Parser(text, model, words or {}, aliases or {}).parse()
