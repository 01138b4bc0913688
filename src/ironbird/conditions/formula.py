"""Conditions as text: signal temporal logic that people can read, [Maler2004].

    always[0, 30] (altitude < 60 m)
    always (fault_active == 1 implies eventually[0, 5 s] (mode == return))
    always[end - 5 s, end] (norm(body.v_NB_N[0], body.v_NB_N[1], body.v_NB_N[2]) < 0.2 m/s)

Numbers
    60 m, 3 m/s, 30 deg, 20 %: a number with a unit. A unit is written without spaces inside. Inside everything is SI
    and radians; units are checked. A number without unit has dimension 1; only 0 fits everything.
    altitude, body.p_NB_N[2], rotor/1/motor.speed: a signal by its path (one entry of a vector by index), or by an
    alias. Because of paths a division needs spaces: `altitude / 2`.
    land, "take-off": a word, such as the name of a mode; in quotes if it is no plain name.
    + - * /, abs(x) sqrt(x) cos(x) sin(x) acos(x) min(x, y, ...) max(x, y, ...) hypot(x, y) norm(x, y, ...).
Conditions
    < <= > >=, also as a chain: `10 m < altitude < 60 m`. Equality makes no difference: < and <= have the same margin.
    x == 3 m within 0.1 m, x != 3 m within 0.1 m: equality with its tolerance.
    mode == land, item != 3: equality with a word or a whole number; it has no degrees: its margin is +inf or -inf.
    The landing of a mission is one of its items, in the mode `mission`; `land` is a landing that was ordered by itself.
    not, and, or, implies (of two `implies` the right one binds first).
    rise(f), fall(f): f has just become true, untrue; at the first sample also if it is so from the start.
    truth(f): f without degrees, +inf or -inf: for conditions whose own margin shall not count.
Time
    always[a, b] f, eventually[a, b] f: all samples, one sample, from a to b after now.
    f until[a, b] g: g holds at a sample from a to b after now, f at all samples from now to the one before.
    historically[a, b] f, once[a, b] f: all samples, one sample, from b to a before now.
    Bounds are in seconds (`20`, `20 s`, `500 ms`), both included, rounded to samples. `end` as second bound is the
    end of the run (for the past: its start), and so is a missing interval. `[end - 5 s, end]` of always and
    eventually is the last 5 s of the run, as far as it lies ahead.
How tightly they bind, from loose to tight: implies, or, and, until, then not and the operators of time, then
comparisons, + -, * /, minus. So `always x < 3 m and y < 3 m` is `(always (x < 3 m)) and (y < 3 m)`: write brackets.

A trigger is a condition about now (`trigger.py`): without operators of time, rise and fall. Old triggers without units
are read as SI (`old_form`), and `Parser.new_text` rewrites them with units.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, NoReturn, TypeAlias

from ironbird.conditions.names import RUN_UNITS, Names
from ironbird.conditions.quantity import NONE, SYMBOLS, Dimension, multiply, raise_to, read_unit, si_text, written_unit
from ironbird.errors import ConditionError, UnknownNameError, shortened

DEEPEST = 100  # limit for nested brackets and for operators in a row
LONGEST = 100_000  # characters of one text
WIDEST = 160  # characters of a line shown in a message

Span: TypeAlias = tuple[int, int]  # first and last offset of a part in the text


@dataclass(frozen=True)
class Number:
    """A constant in SI, or the number of a word (a mode's name); `unit` is empty for a plain number."""

    value: float
    dimension: Dimension
    text: str
    unit: str = ""
    is_word: bool = False
    span: Span = field(default=(0, 0), compare=False)


@dataclass(frozen=True)
class Signal:
    """A signal: one column of a trace."""

    column: str
    dimension: Dimension
    text: str
    unit: str
    span: Span = field(default=(0, 0), compare=False)


@dataclass(frozen=True)
class Call:
    """A function or an arithmetic operator with its arguments."""

    function: str
    arguments: tuple[Term, ...]
    dimension: Dimension
    text: str
    span: Span = field(default=(0, 0), compare=False)


Term: TypeAlias = Number | Signal | Call


@dataclass(frozen=True)
class Compare:
    """A comparison of two numbers. `==` and `!=` have a tolerance, or None for whole numbers and words."""

    operator: str
    left: Term
    right: Term
    tolerance: float | None = None


@dataclass(frozen=True)
class Not:
    """Negation of a condition: `not f`."""

    child: Node


@dataclass(frozen=True)
class Join:
    """Two conditions joined by `and`, `or` or `implies`."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Edge:
    """`rise(f)` or `fall(f)`: the condition has just become true, or untrue."""

    operator: str
    child: Node


@dataclass(frozen=True)
class Truth:
    """`truth(f)`: the condition with a margin of only +inf or -inf."""

    child: Node


@dataclass(frozen=True)
class Interval:
    """Interval in seconds from now, bounds included; with `last_s` the last seconds of the run instead."""

    low_s: float = 0.0
    high_s: float = math.inf
    last_s: float | None = None


@dataclass(frozen=True)
class Window:
    """`always`, `eventually`, `historically` or `once` over an interval."""

    operator: str
    interval: Interval
    child: Node


@dataclass(frozen=True)
class Until:
    """`f until[a, b] g`: the right condition holds at a sample of the interval, the left one at all samples before."""

    interval: Interval
    left: Node
    right: Node


Node: TypeAlias = Compare | Not | Join | Edge | Truth | Window | Until


@dataclass(frozen=True)
class Formula:
    """A parsed condition: its tree, its text and the signals it reads."""

    text: str
    root: Node
    signals: tuple[str, ...]  # signals that a trace must contain
    horizon_s: float  # s, how far after the first sample it looks; inf if to the end of the run
    words: Mapping[str, float]


_NAME = re.compile(r"[A-Za-z_]\w*(?:[/.]\w+)*(?:\[\d+\])?", re.ASCII)
_TOKEN = re.compile(
    r"(?u:\s*)(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<word>\"[^\"]*\"|'[^']*')"
    rf"|(?P<name>{_NAME.pattern})|(?P<sign><=|>=|==|!=|[<>+\-*/()\[\],]))",
    re.ASCII,
)
_UNIT = re.compile(r" *([A-Za-z]\w*|%)")
_POWER = re.compile(r"\^-?\d+")
_UNIT_FACTOR = re.compile(r"[*/]([A-Za-z]+)(?:\^-?\d+)?(?![\w.(\[])")

_STRENGTH = {
    "implies": 1, "or": 2, "and": 3, "until": 4, "<": 6, "<=": 6, ">": 6, ">=": 6, "==": 6, "!=": 6,
    "+": 7, "-": 7, "*": 8, "/": 8,
}  # fmt: skip
_PREFIX, _SUM, _MINUS = 5, 7, 9
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_WINDOWS = ("always", "eventually", "historically", "once")
_SLIPS = {  # operators of other languages that users write by habit
    "=": "'==' to compare", "&": "'and'", "|": "'or'", "!": "'not', or '!=' to compare", "²": "'^2' in a unit",
    "°": "'deg'", "≤": "'<='", "≥": "'>='", "≠": "'!='", "^": "x * x: a power stands in a unit alone",
}  # fmt: skip
_KEYWORDS = ("and", "or", "implies", "until", "not", "within", "end", *_WINDOWS)
_OF_NUMBERS = {  # minimum number of arguments
    "abs": 1, "sqrt": 1, "cos": 1, "sin": 1, "acos": 1, "min": 2, "max": 2, "hypot": 2, "norm": 2,
}  # fmt: skip
_OF_CONDITIONS = ("rise", "fall", "truth")
_ANGLE = read_unit("rad").dimension


class UnitsDifferError(ConditionError):
    """Two numbers that are compared or added have different dimensions."""


class _Token(NamedTuple):
    """One token of the text, beginning at offset `at`."""

    kind: str
    text: str
    at: int
    unit: str = ""

    @property
    def end(self) -> int:
        return self.at + len(self.text)


class Parser:
    """Parser of one text by precedence climbing; `kind` is the noun for the text in messages.

    With `old_form`, triggers written before units were required are accepted: a plain number next to one with a unit
    is in SI, `==` without a tolerance is exact, a number as a condition means that it is not zero.
    """

    def __init__(self, text: str, names: Names, kind: str = "requirement", *, old_form: bool = False) -> None:
        self.text, self.names, self.kind, self.old_form = text, names, kind, old_form
        self.units = {**RUN_UNITS, **names.units}
        self.used: dict[str, None] = {}  # signals in the order of the text
        self.level = 0
        if len(text) > LONGEST:
            raise ConditionError(f"a {kind} of {len(text)} signs is too long; the most is {LONGEST}")
        self.missing: list[tuple[int, str]] = []  # offset and text of the units to insert
        self.tokens = self._tokens()
        self.place = 0

    def _fail(self, why: str, at: int, kind: type[ConditionError] = ConditionError) -> NoReturn:
        before = self.text[:at]
        line, column = before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1
        lines = self.text.split("\n")
        shown = lines[line - 1] if self.text.strip() else ""
        if len(shown) > WIDEST:  # the part of the text around the place
            begin = max(0, min(column - WIDEST // 2, len(shown) - WIDEST))
            shown, column_shown = f"…{shown[begin : begin + WIDEST]}…", column - begin + 1
        else:
            column_shown = column
        raise kind(f"{self.kind}, line {line}, column {column}: {why}\n    {shown}\n    {' ' * (column_shown - 1)}^")

    # Tokens

    def _tokens(self) -> list[_Token]:
        tokens: list[_Token] = []
        text, at = self.text, 0
        while match := _TOKEN.match(text, at):
            kind = match.lastgroup
            assert kind is not None
            begin, at = match.span(kind)
            unit = ""
            if kind == "number":
                unit, at = self._unit(at)
            tokens.append(_Token(kind, text[begin:at], begin, unit))
        if rest := text[at:].lstrip():
            at = len(text) - len(rest)
            if rest[0] in _SLIPS:
                self._fail(f"cannot read '{rest[0]}'; write {_SLIPS[rest[0]]}", at)
            self._fail(f"cannot read '{shortened(rest.split()[0])}'", at)
        return [*tokens, _Token("end of text", "", len(self.text.rstrip()))]

    def _unit(self, at: int) -> tuple[str, int]:
        """The unit after a number, and the offset of its end."""
        match = _UNIT.match(self.text, at)
        if match is None or match[1] in _KEYWORDS:
            return "", at
        begin = match.start(1)
        if match[1] not in SYMBOLS:
            self._fail(str(UnknownNameError("unit", match[1], SYMBOLS)), begin)
        at = match.end()
        if power := _POWER.match(self.text, at):
            at = power.end()
        while (factor := _UNIT_FACTOR.match(self.text, at)) is not None and factor[1] in SYMBOLS:
            at = factor.end()
        return self.text[begin:at], at

    @property
    def _next(self) -> _Token:
        return self.tokens[self.place]

    def _take(self, expected: str = "") -> _Token:
        token = self._next
        if expected and token.text != expected:
            self._fail(f"'{expected}' is missing{self._instead(token)}", token.at)
        if token.kind == "end of text":
            self._fail("it ends too early", token.at)
        self.place += 1
        return token

    def _instead(self, token: _Token) -> str:
        return f" before '{token.text}'" if token.text else ""

    def _since(self, at: int) -> tuple[str, Span]:
        """The text from an offset to the last token taken, and its span."""
        span = at, self.tokens[self.place - 1].end
        return " ".join(self.text[slice(*span)].split()), span

    # Grammar

    def parse(self) -> Formula:
        """Parse the whole text as a condition."""
        root = self._condition(self._whole(), 0, f"a {self.kind}")
        return Formula(self.text, root, tuple(self.used), max(_horizon(root), 0.0), dict(self.names.words))

    def parse_number(self) -> Term:
        """Parse the whole text as a number."""
        return self._term(self._whole(), 0, self.kind)

    @property
    def new_text(self) -> str:
        """The parsed text, rewritten with units."""
        text = self.text
        for at, more in reversed(sorted(self.missing, key=lambda part: part[0])):
            after = text[at:]
            blank = " " if after and more[-1].isalnum() and (after[0].isalnum() or after[0] in "_*/^%") else ""
            text = text[:at] + more + blank + after
        return text

    def _whole(self) -> Term | Node:
        whole = self._expression(0)
        if self._next.text:
            self._unexpected(self._next)
        return whole

    def _unexpected(self, token: _Token) -> NoReturn:
        near = difflib.get_close_matches(token.text, _KEYWORDS, n=1, cutoff=0.6) if token.kind == "name" else []
        meant = f"; did you mean '{near[0]}'?" if near and near[0] != token.text else ""
        self._fail(f"'{shortened(token.text)}' is not expected here{meant}", token.at)

    def _expression(self, lowest: int) -> Term | Node:
        at, level = self._next.at, self.level
        self._deeper()
        left = self._operand()
        while _STRENGTH.get(self._next.text, -1) >= lowest:
            self._deeper()
            token = self._take()
            strength = _STRENGTH[token.text]
            if token.text in _COMPARISONS:
                left = self._comparison(left, token, at)
                continue
            interval = self._interval(token) if token.text == "until" else Interval()
            right_at = self._next.at
            right = self._expression(strength + (token.text != "implies"))
            if token.text in "+-*/":
                terms = (self._term(left, at, token.text), self._term(right, right_at, token.text))
                left = self._arithmetic(token, terms, at)
            else:
                conditions = (self._condition(left, at, token.text), self._condition(right, right_at, token.text))
                left = Until(interval, *conditions) if token.text == "until" else Join(token.text, *conditions)
        self.level = level
        return left

    def _deeper(self) -> None:
        self.level += 1
        if self.level > DEEPEST:
            self._fail(f"more than {DEEPEST} brackets in brackets or operators in a row", self._next.at)

    def _operand(self) -> Term | Node:
        token = self._take()
        if token.text == "(":
            inner = self._expression(0)
            self._take(")")
            return inner
        if token.text == "-":
            term = self._term(self._expression(_MINUS), token.end, "-")
            text, span = self._since(token.at)
            if isinstance(term, Number):
                return replace(term, value=-term.value, text=text, span=span)
            return Call("minus", (term,), term.dimension, text, span)
        if token.text == "not":
            at = self._next.at
            return Not(self._condition(self._expression(_PREFIX), at, "not"))
        if token.text in _WINDOWS:
            interval = self._interval(token)
            at = self._next.at
            return Window(token.text, interval, self._condition(self._expression(_PREFIX), at, token.text))
        if token.kind == "number":
            return self._number(token)
        if token.kind == "word":
            word = token.text[1:-1]
            if word not in self.names.words:
                self._fail(str(UnknownNameError("word", word, self.names.words)), token.at)
            return Number(self.names.words[word], NONE, word, is_word=True)
        if token.kind == "name" and token.text not in _KEYWORDS:
            return self._call(token) if self._next.text == "(" else self._named(token)
        self._unexpected(token)

    def _number(self, token: _Token) -> Number:
        value, dimension = self._quantity(token, "1")
        return Number(value, dimension, token.text, token.unit, span=(token.at, token.end))

    def _quantity(self, token: _Token, usual: str) -> tuple[float, Dimension]:
        """Value in SI and dimension of a number token; `usual` is the unit assumed for one without a unit."""
        try:
            unit = read_unit(token.unit or usual)
        except ConditionError as error:
            self._fail(str(error), token.at)
        value = float(token.text.removesuffix(token.unit)) * unit.size
        if math.isinf(value):
            self._fail(f"'{shortened(token.text)}' is too large a number", token.at)
        return value, unit.dimension

    def _call(self, token: _Token) -> Term | Node:
        if token.text not in _OF_NUMBERS and token.text not in _OF_CONDITIONS:
            known = [*_OF_NUMBERS, *_OF_CONDITIONS, *_WINDOWS, "not"]
            self._fail(str(UnknownNameError("function", token.text, known)), token.at)
        self._take("(")
        places = [self._next.at]
        arguments = [self._expression(0)]
        while self._next.text == ",":
            self._take()
            places.append(self._next.at)
            arguments.append(self._expression(0))
        self._take(")")
        if token.text in _OF_CONDITIONS:
            if len(arguments) > 1:
                self._fail(f"{token.text} takes one condition", places[1])
            child = self._condition(arguments[0], places[0], token.text)
            return Truth(child) if token.text == "truth" else Edge(token.text, child)
        least = _OF_NUMBERS[token.text]
        if len(arguments) < least or (len(arguments) > least and token.text not in ("min", "max", "norm")):
            more = " or more" if token.text in ("min", "max", "norm") else ""
            self._fail(
                f"{token.text} takes {least} number{'s' if least > 1 else ''}{more}, here are {len(arguments)}",
                token.at,
            )
        terms = [self._term(a, place, token.text) for a, place in zip(arguments, places, strict=True)]
        for number in range(1, len(terms)):
            verb = f"{token.text} of"
            terms[0], terms[number] = self._common(terms[0], terms[number], verb, "and", places[number])
        dimension = _dimension(*terms)
        if token.text == "sqrt":
            dimension = raise_to(dimension, 0.5)
        elif token.text == "acos":
            if dimension != NONE:
                self._fail(f"acos takes a number without unit, '{terms[0].text}' has {_unit_of(terms[0])}", places[0])
            dimension = _ANGLE
        elif token.text in ("cos", "sin"):
            if dimension not in (_ANGLE, NONE) or (dimension == NONE and not _is_zero(terms[0])):
                self._fail(f"{token.text} takes an angle, '{terms[0].text}' has {_unit_of(terms[0])}", places[0])
            dimension = NONE
        return Call(token.text, tuple(terms), dimension, *self._since(token.at))

    def _comparison(self, first: Term | Node, token: _Token, at: int) -> Node:
        """Parse one comparison, or a chain such as `10 m < altitude < 60 m`."""
        left = self._term(first, at, token.text)
        parts: list[Node] = []
        while True:
            right_at = self._next.at
            right = self._term(self._expression(_SUM), right_at, token.text)
            left, right = self._common(left, right, "cannot compare", "with", token.at)
            parts.append(Compare(token.text, left, right, self._tolerance(token, left, right)))
            if self._next.text not in _COMPARISONS:
                break
            self._deeper()
            left, token = right, self._take()
        joined = parts[0]
        for part in parts[1:]:
            joined = Join("and", joined, part)
        return joined

    def _tolerance(self, token: _Token, left: Term, right: Term) -> float | None:
        if token.text not in ("==", "!="):
            return None
        if self._next.text == "within":
            self._take()
            at = self._next.at
            tolerance = self._term(self._expression(_SUM), at, "within")
            if not isinstance(tolerance, Number) or tolerance.value < 0:
                self._fail("a tolerance is a number, not negative", at)
            self._common(left, tolerance, "cannot compare", "within", at)
            return tolerance.value
        if any(isinstance(t, Number) and t.dimension == NONE and t.value == round(t.value) for t in (left, right)):
            return None
        if self.old_form:
            self.missing.append((self.tokens[self.place - 1].end, " within 0"))  # after its brackets
            return 0.0
        self._fail(
            f"'{token.text}' needs a tolerance, except for words and whole numbers: write "
            f"'{left.text} {token.text} {right.text} within ...'",
            token.at,
        )

    def _arithmetic(self, token: _Token, terms: tuple[Term, Term], at: int) -> Term:
        left, right = terms
        if token.text in "+-":
            verb, link = ("cannot add", "and") if token.text == "+" else ("cannot subtract from", "the number")
            left, right = self._common(left, right, verb, link, token.at)
            dimension = _dimension(left, right)
        else:
            dimension = multiply(left.dimension, raise_to(right.dimension, 1 if token.text == "*" else -1))
        return Call(token.text, (left, right), dimension, *self._since(at))

    def _interval(self, operator: _Token) -> Interval:
        if self._next.text != "[":
            return Interval()
        self._take()
        at = self._next.at
        last_s: float | None = None
        low_s = 0.0
        if self._next.text == "end":
            self._take()
            last_s = 0.0
            if self._next.text == "-":
                self._take()
                last_s = self._seconds(operator)
            if operator.text not in ("always", "eventually"):
                self._fail(f"an interval of '{operator.text}' cannot begin at the end", at)
        else:
            low_s = self._seconds(operator)
        if self._next.text == "]":
            self._fail(f"'{operator.text}' needs two bounds: [from, to]", self._next.at)
        self._take(",")
        high_at = self._next.at
        if self._next.text == "end":
            self._take()
            high_s = math.inf
            if self._next.text == "-":
                self._fail("only the first bound may be a time before the end", self._next.at)
        else:
            high_s = self._seconds(operator)
        if last_s is not None and high_s != math.inf:
            self._fail("an interval that begins before the end must go to 'end'", high_at)
        if high_s < low_s:
            self._fail(f"the interval ends before it begins: {high_s:g} s, {low_s:g} s", high_at)
        self._take("]")
        return Interval(low_s, high_s, last_s)

    def _seconds(self, operator: _Token) -> float:
        token = self._take()
        if token.kind != "number":
            self._fail(f"a bound of '{operator.text}' is a time such as '20 s', or 'end'; not '{token.text}'", token.at)
        seconds, dimension = self._quantity(token, "s")
        if dimension != read_unit("s").dimension:
            self._fail(f"a bound of '{operator.text}' is a time; '{token.text}' is not", token.at)
        return seconds

    # Names and kinds

    def _named(self, token: _Token) -> Term:
        """The term of a name: a signal, an alias or a word."""
        name = token.text
        base, bracket, index = name.partition("[")
        aliases, words = self.names.aliases, self.names.words
        path = aliases.get(name) or aliases.get(base, base) + bracket + index
        vector = path.partition("[")[0]
        if path == f"{vector}[0]" and vector in self.names.rows:
            path = vector  # the only entry of the signal
        unit = self.units.get(path, self.units.get(vector) if "[" in path and not self.names.rows else None)
        if unit is not None:
            self.used[path] = None
            return Signal(path, read_unit(unit).dimension, name, unit, (token.at, token.end))
        if name in words:
            return Number(words[name], NONE, name, is_word=True)
        if base in (*_WINDOWS, "until"):
            self._fail(f"'{base}' needs two bounds: [from, to]", token.at)
        head = f"{vector}["
        entries = [known[len(head) : -1] for known in self.units if known.startswith(head) and known[-1] == "]"]
        size = max((int(entry) + 1 for entry in entries if entry.isdecimal()), default=0)
        if vector in self.units:
            self._fail(f"{vector} is a single number: write it without an index", token.at)
        if size:
            self._fail(f"{vector} has {size} entries: write {vector}[0] to {vector}[{size - 1}]", token.at)
        if "/" in name and self._is_known(name.rpartition("/")[0]):
            self._fail(f"unknown name '{name}'; a division needs spaces around '/'", token.at)
        known = [*self.units, *aliases, *words, *_WINDOWS]
        self._fail(str(UnknownNameError("name", name, known)), token.at)

    def _is_known(self, name: str) -> bool:
        return name in self.units or name in self.names.aliases

    def _term(self, part: Term | Node, at: int, user: str) -> Term:
        if not isinstance(part, Number | Signal | Call):
            self._fail(f"'{user}' works on numbers, this is a condition", at)
        return part

    def _condition(self, part: Term | Node, at: int, user: str) -> Node:
        if isinstance(part, Number | Signal | Call):
            whole = user == f"a {self.kind}"
            if self.old_form and not whole and not _is_word(part):
                self.missing.append((part.span[1], " != 0 within 0"))
                return Compare("!=", part, Number(0.0, part.dimension, "0"), 0.0)
            name = user if whole else f"'{user}'"
            self._fail(f"{name} needs a condition, but '{part.text}' is a number: compare it with something", at)
        return part

    def _common(self, left: Term, right: Term, verb: str, link: str, at: int) -> tuple[Term, Term]:
        """Both terms converted to one dimension (a plain 0 fits all); raises an error if their dimensions differ."""
        if left.dimension == right.dimension or _is_zero(left) or _is_zero(right):
            return left, right
        if self.old_form and _lacks_unit(left):
            return self._in_si(left, right), right
        if self.old_form and _lacks_unit(right):
            return left, self._in_si(right, left)
        for plain, other in ((left, right), (right, left)):
            if isinstance(plain, Number) and not plain.unit and not plain.is_word:
                unit = _unit_of(other)
                hint = " or deg" if unit == "rad" else " or deg/s" if unit == "rad/s" else ""
                cure = f"{plain.text} {unit}"
                if unit.startswith("1/") or not written_unit(other.dimension):  # this character cannot follow a number
                    cure = f"{plain.text} * {_one(other.dimension)}"
                self._fail(f"{plain.text} has no unit, {other.text} has {unit}: write '{cure}'{hint}", at)
        why = f"{verb} {left.text} [{_unit_of(left)}] {link} {right.text} [{_unit_of(right)}]: the units differ"
        self._fail(why, at, UnitsDifferError)

    def _in_si(self, plain: Term, other: Term) -> Term:
        """A number without unit, interpreted in the SI unit of the other term."""
        unit = written_unit(other.dimension)
        begin, end = plain.span
        if isinstance(plain, Number) and not plain.unit and unit:
            self.missing.append((end, f" {unit}"))
            return replace(plain, dimension=other.dimension, unit=unit, text=f"{plain.text} {unit}")
        self.missing += [(begin, "("), (end, f") * {_one(other.dimension)}")]
        return replace(plain, dimension=other.dimension)


def _one(dimension: Dimension) -> str:
    """The number 1 with the SI unit of a dimension, as text: `1 m/s`; for half powers a square root, `sqrt(1 m)`."""
    unit = written_unit(dimension)
    return f"1 {unit}" if unit else f"sqrt({_one(raise_to(dimension, 2))})"


def _is_zero(term: Term) -> bool:
    return isinstance(term, Number) and not term.unit and not term.is_word and term.value == 0


def _is_word(term: Term) -> bool:
    return isinstance(term, Number) and term.is_word


def _lacks_unit(term: Term) -> bool:
    """Whether a term is a plain number or built from plain numbers; per cent counts as a unit."""
    return term.dimension == NONE and not (isinstance(term, Number) and (term.unit or term.is_word))


def _dimension(*terms: Term) -> Dimension:
    """The common dimension of several terms; a plain 0 fits any."""
    return next((term.dimension for term in terms if not _is_zero(term)), NONE)


def _unit_of(term: Term) -> str:
    """Unit of a term as readable text."""
    return (term.unit if isinstance(term, Number | Signal) else "") or si_text(term.dimension)


def _horizon(node: Node) -> float:
    """How many seconds after now a condition needs to look."""
    if isinstance(node, Compare):
        return 0.0
    if isinstance(node, Join):
        return max(_horizon(node.left), _horizon(node.right))
    if isinstance(node, Until):
        return node.interval.high_s + max(_horizon(node.left), _horizon(node.right))
    if isinstance(node, Window):
        past = node.operator in ("once", "historically")
        return _horizon(node.child) + (-node.interval.low_s if past else node.interval.high_s)
    return _horizon(node.child)


def parse_formula(text: str, names: Names) -> Formula:
    """Parse a requirement: text and the names of a model to a `Formula`."""
    return Parser(text, names).parse()


def parse_number(text: str, names: Names) -> Term:
    """Parse a number with units, such as the definition of a derived signal."""
    return Parser(text, names, "definition").parse_number()
