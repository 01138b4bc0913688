"""Equations of blocks as LaTeX, made from the expressions that are compiled: they cannot differ from the code.

A block's equations are evaluated once with CasADi's matrix expressions, so that vectors and matrices stay what they
are. Parts of them get the names that the source gives to them: while the block's methods run, every local variable that
holds an expression is noted. What is used twice or is long and has no name is called `a_1`, `a_2`, … Functions of
`ironbird.symbolic` (limits, quaternions) and choices are kept as such. Indices count from 1.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import casadi as ca

from ironbird.blocks.estimators.ekf import ErrorStateEkf
from ironbird.model.block import Block, View

TELLS = re.compile(r"frac|\\,|[+]| - |sqrt|left|begin|\(|\\cdot|\\times|\^")  # more than a name or a number
STEPS = re.compile(r"\[k\+1\]|\\dot")  # left sides of states
HIGH = re.compile(r"frac|begin|sqrt|\^")
LONGEST = 170  # signs of a right side, above which its largest parts get names
SHORT = 26  # signs of a part that is never named for being used twice
BLOCKS = str(Path(sys.modules["ironbird.model.block"].__file__ or "").parents[1] / "blocks")
USUAL = {  # arguments of blocks that need some: the smallest that show the equations
    "inputs": ["aileron", "elevator"], "outputs": ["left", "right"], "unit": "1", "items": 2, "thrusters": 4,
    "rotors": 4, "surfaces": ["aileron", "elevator", "rudder"], "pusher": None, "points": 3, "balls": 1, "slots": 1,
    "wheels": [1, 2], "driven": [2], "sample_s": 0.01,
}  # fmt: skip
GREEK = {
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "kappa", "lambda", "mu", "nu", "xi", "rho",
    "sigma", "tau", "phi", "chi", "psi", "omega",
}  # fmt: skip
WITHOUT = (ErrorStateEkf,)  # of 22 states with a covariance: its docstring and source say more than 500 lines would
UNARY = {
    ca.OP_SIN: r"\sin", ca.OP_COS: r"\cos", ca.OP_TAN: r"\tan", ca.OP_ASIN: r"\arcsin", ca.OP_ACOS: r"\arccos",
    ca.OP_ATAN: r"\arctan", ca.OP_TANH: r"\tanh", ca.OP_SINH: r"\sinh", ca.OP_COSH: r"\cosh", ca.OP_LOG: r"\ln",
    ca.OP_SIGN: r"\mathrm{sign}", ca.OP_FLOOR: r"\mathrm{floor}", ca.OP_CEIL: r"\mathrm{ceil}",
    ca.OP_ERF: r"\mathrm{erf}", ca.OP_DETERMINANT: r"\det", ca.OP_MMAX: r"\max", ca.OP_MMIN: r"\min",
}  # fmt: skip
BINARY = {
    ca.OP_FMIN: r"\min", ca.OP_FMAX: r"\max", ca.OP_ATAN2: r"\mathrm{atan2}", ca.OP_FMOD: r"\mathrm{mod}",
    ca.OP_REMAINDER: r"\mathrm{remainder}", ca.OP_COPYSIGN: r"\mathrm{copysign}",
    ca.OP_HYPOT: r"\mathrm{hypot}",
}  # fmt: skip
RELATIONS = {
    ca.OP_LT: "<", ca.OP_LE: r"\le", ca.OP_EQ: "=", ca.OP_NE: r"\ne", ca.OP_AND: r"\land", ca.OP_OR: r"\lor",
}  # fmt: skip
SIZES = (ca.OP_NORMF, ca.OP_NORM2)
CASES = r"\begin{cases}"  # always on a line of their own
RELATION, SUM, PRODUCT, FRACTION, ATOM = range(5)  # how tightly a text holds together


@dataclass
class Kept:
    """A function that is printed as a call (or a choice): the symbol that stands for it, and what it was made of."""

    function: str
    arguments: tuple[Any, ...]
    value: ca.MX


@dataclass
class Traced:
    """The equations of a block as expressions: left sides with what they are, and names of parts."""

    given: list[str] = field(default_factory=list)  # states, inputs, parameters
    sides: list[tuple[str, ca.MX]] = field(default_factory=list)  # LaTeX of the left side, expression
    kept: dict[str, Kept] = field(default_factory=dict)  # by the name of the symbol
    names: dict[int, str] = field(default_factory=dict)  # of parts, by node
    seen: set[int] = field(default_factory=set)  # values that were noted
    alive: list[ca.MX] = field(default_factory=list)  # so that nodes keep their identity

    def note(self, name: str, value: object) -> None:
        """A local variable."""
        if isinstance(value, ca.MX) and id(value) not in self.seen:
            self.seen.add(id(value))
            self.alive.append(value)
            if _has_text(value, self.kept):
                self.names.setdefault(value.__hash__(), name)


def equations(kind: type[Block]) -> list[str]:
    """The equations of a block with the parts that they use before them; none if they say no more than a name."""
    if kind in WITHOUT:
        return []
    lines = Printer(traced(kind)).lines()
    return lines if any(TELLS.search(line.partition(" = ")[2]) for line in lines) else []


def traced(kind: type[Block]) -> Traced:
    """The expressions of a block, and the names that its source gives to parts of them."""
    block, found = made(kind), Traced()
    with _matrices(found), _noting(found):
        symbol: Any = ca.MX.sym
        given = [
            View({name: symbol(name, signal.rows, signal.columns) for name, signal in signals.items()}, "")
            for signals in (block.states, {**block.inputs, **block.noises, **block.clocks}, block.params)
        ]
        found.given = [*block.states, *block.inputs, *block.noises, *block.clocks, *block.params]
        outputs = dict(block.output(*given))
        sampled = block.sample_s is not None and bool(block.states)
        steps = dict(block.update(*given) if sampled else block.derivative(*given))
        for form, values in (("{}", outputs), ("{}[k+1]" if sampled else r"\dot{{{}}}", steps)):
            for name, value in values.items():
                left = form.replace("{}", named(name)) if "k+1" in form else form.format(named(name))
                found.sides.append((left, _matrix(value)))
    return found


def _matrix(value: Any) -> ca.MX:
    return ca.MX(value)


def made(kind: type[Block]) -> Block:
    """A block with the least that it needs."""
    needed: dict[str, Any] = {
        name: USUAL[name]
        for name, parameter in inspect.signature(kind).parameters.items()
        if name in USUAL and (parameter.default is parameter.empty or (name == "sample_s" and _is_sampled(kind)))
    }
    return kind(**needed)


def _is_sampled(kind: type[Block]) -> bool:
    return kind.update is not Block.update


@contextlib.contextmanager
def _matrices(found: Traced) -> Iterator[None]:
    """While it lasts blocks compute with matrix expressions, and known functions stay calls."""
    before: list[tuple[Any, str, Any]] = [(ca, "SX", ca.SX)]
    calls: dict[tuple[Any, str], Any] = {(ca, "cross"): ca.cross, (ca, "if_else"): ca.if_else}
    for name, module in list(sys.modules.items()):
        if name.startswith("ironbird.blocks") or name.startswith("ironbird.symbolic."):
            for key, value in vars(module).items():
                if inspect.isfunction(value) and value.__module__.startswith("ironbird.symbolic."):
                    calls[(module, key)] = value
    before += [(place, key, function) for (place, key), function in calls.items()]
    try:
        setattr(ca, "SX", ca.MX)  # noqa: B010
        for (place, key), function in calls.items():
            setattr(place, key, _keeping(found, function))
        yield
    finally:
        for place, key, value in before:
            setattr(place, key, value)


def _keeping(found: Traced, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose result is a symbol that remembers the call; results that are no matrix are as they are."""

    def call(*arguments: Any, **options: Any) -> Any:
        value = function(*arguments, **options)
        if not isinstance(value, ca.MX) or value.is_constant() or value.is_symbolic():
            return value
        symbol = ca.MX.sym(f"kept {len(found.kept)}", *value.shape)
        kind = function.__module__.rpartition(".")[2]
        name = f"{kind}_{function.__name__}" if kind == "quaternion" else function.__name__
        found.kept[symbol.name()] = Kept(name, arguments, value)
        found.alive.append(symbol)
        return symbol

    return call


@contextlib.contextmanager
def _noting(found: Traced) -> Iterator[None]:
    """While it lasts local variables of the blocks' code are noted, line by line."""

    def local(frame: Any, event: str, _: Any) -> Any:
        for name, value in frame.f_locals.items():
            found.note(name, value)
        return local

    def called(frame: Any, event: str, _: Any) -> Any:
        return local if frame.f_code.co_filename.startswith(BLOCKS) else None

    before = sys.gettrace()
    sys.settrace(called)
    try:
        yield
    finally:
        sys.settrace(before)


def _has_text(value: ca.MX, kept: Mapping[str, Kept]) -> bool:
    """Whether an expression is more than an input, a constant or an entry of either."""
    if value.is_symbolic():
        return value.name() in kept
    if value.is_constant():
        return False
    return value.op() not in (ca.OP_GETNONZEROS, ca.OP_RESHAPE) or _has_text(value.dep(0), kept)


def named(name: str) -> str:
    """A name of the source as LaTeX: `p_NB_N` with subscripts, Greek letters by their sign."""
    words = [word for word in name.split("_") if word]
    if not words:
        return r"\mathrm{value}"
    below: list[str] = []
    while len(words) > 1 and (words[-1].isdigit() or re.fullmatch(r"[A-Z]{1,2}|i", words[-1])):
        below.insert(0, words.pop())
    plain = r"\_".join(words)
    symbol = f"\\{plain}" if plain in GREEK else plain if len(plain) == 1 else rf"\mathrm{{{plain}}}"
    return f"{symbol}_{{{','.join(below)}}}" if below else symbol


class Printer:
    """Writes the expressions of a block, each part that has a name or needs one on a line of its own."""

    def __init__(self, block: Traced) -> None:
        self.block, self.kept = block, block.kept
        self.uses: dict[int, int] = {}
        self.texts: dict[int, tuple[str, int]] = {}  # of parts, as they stand where they are used
        self.written: list[str] = []
        self.taken: dict[str, int] = {}
        self.unnamed = 0
        self.outputs: dict[int, str] = {}  # parts that are an output
        for left, side in block.sides:
            if not STEPS.search(left):
                self.outputs.setdefault(side.__hash__(), left)
        for _, side in block.sides:
            self._count(side)
        self.known: dict[str, str] = {}  # right side -> left side
        for name in [*(named(name) for name in block.given), *(left for left, _ in block.sides)]:
            self.taken.setdefault(name, 1)

    def lines(self) -> list[str]:
        """All lines, parts before what uses them."""
        for left, side in self.block.sides:
            text = self._text(side)[0]
            text = self.known.get(text, text)
            if side.numel() and text != left:
                self.written.append(f"{left} = {text}")
        return self.written

    def _count(self, root: ca.MX) -> None:
        waiting = [root]
        while waiting:
            part = waiting.pop()
            node = part.__hash__()
            self.uses[node] = self.uses.get(node, 0) + 1
            if self.uses[node] == 1:
                waiting += self._parts(part)

    def _parts(self, part: ca.MX) -> list[ca.MX]:
        if part.is_symbolic():
            call = self.kept.get(part.name())
            return [ca.MX(a) for a in call.arguments if isinstance(a, ca.MX)] if call else []
        found = [part.dep(i) for i in range(part.n_dep())]
        self.block.alive += [*found, part]
        return found

    # ------------------------------------------------------------------ lines and names

    def _text(self, part: ca.MX) -> tuple[str, int]:
        """How a part stands in a line: by its name, which is then defined on a line before, or written out."""
        node = part.__hash__()
        if node not in self.texts:
            text = self._written_short(part)
            self.texts[node] = text
            many = self.uses.get(node, 0) > 1
            if _has_text(part, self.kept):
                name = self.block.names.get(node)
                if node in self.outputs:
                    self._define(part, None)
                elif (len(text[0]) > SHORT and (name is not None or many)) or text[0].startswith(CASES):
                    self._define(part, name)
        return self.texts[node]

    def _written_short(self, part: ca.MX) -> tuple[str, int]:
        """A part written out; while that is too long, the longest of what it is made of gets a name."""
        while len((text := self._written(part))[0]) > LONGEST:
            inside = [p for p in self._parts(part) if _has_text(p, self.kept)]
            longest = max(inside, key=lambda p: len(self._text(p)[0]), default=None)
            if longest is None or len(self._text(longest)[0]) <= SHORT:
                break
            self._define(longest, self.block.names.get(longest.__hash__()))
        return text

    def _define(self, part: ca.MX, name: str | None) -> None:
        """A line for a part, and its name wherever it is used from now on; the same text has one name."""
        node = part.__hash__()
        text = self.texts[node][0]
        if text in self.known and node not in self.outputs:
            self.texts[node] = (self.known[text], ATOM)
            return
        if node in self.outputs:
            left, text = self.outputs[node], self.known.get(text, text)
        elif name is None:
            self.unnamed += 1
            left = f"a_{{{self.unnamed}}}"
        else:
            left = named(name)
            count = self.taken[left] = self.taken.get(left, 0) + 1
            left += "'" * (count - 1) if count <= 3 else f"^{{({count})}}"
        self.written.append(f"{left} = {text}")
        if len(text) > SHORT:
            self.known.setdefault(text, left)
        self.texts[node] = (left, ATOM)

    # ------------------------------------------------------------------ writing out

    def _held(self, part: Any, least: int) -> str:
        """A part with brackets if it would fall apart."""
        if not isinstance(part, ca.MX):
            return _number(float(part))
        text, holds = self._text(part)
        if holds == RELATION and least > RELATION:
            return rf"\left[{text}\right]"
        return _bracketed(text) if holds < least else text

    def _written(self, part: ca.MX) -> tuple[str, int]:
        if part.is_symbolic():
            call = self.kept.get(part.name())
            return self._call(call) if call else (named(part.name()), ATOM)
        if part.is_constant():
            return _constant(part)
        if part.is_output():
            inner = part.dep(0).dep(0)
            return rf"{self._held(inner, ATOM)}_{{[{part.which_output() + 1}]}}", ATOM
        op, parts = part.op(), [part.dep(i) for i in range(part.n_dep())]
        self.block.alive += [part, *parts]
        if op == ca.OP_ADD and (choice := self._choice(*parts)):
            return choice
        if op in (ca.OP_ADD, ca.OP_SUB):
            sign = "+" if op == ca.OP_ADD else "-"
            right = self._held(parts[1], SUM if op == ca.OP_ADD else PRODUCT)
            left = self._held(parts[0], SUM)
            return (f"{left} - {right[1:]}" if right.startswith("-") and sign == "+" else f"{left} {sign} {right}"), SUM
        if op == ca.OP_MUL:
            return rf"{self._held(parts[0], PRODUCT)}\,{self._held(parts[1], PRODUCT)}", PRODUCT
        if op == ca.OP_TWICE:
            return rf"2\,{self._held(parts[0], PRODUCT)}", PRODUCT
        if op == ca.OP_DIV:
            return rf"\frac{{{self._text(parts[0])[0]}}}{{{self._text(parts[1])[0]}}}", FRACTION
        if op == ca.OP_INV:
            return rf"\frac{{1}}{{{self._text(parts[0])[0]}}}", FRACTION
        if op == ca.OP_NEG:
            return f"-{self._held(parts[0], PRODUCT)}", SUM
        if op == ca.OP_MTIMES:
            product = rf"{self._held(parts[1], PRODUCT)}\,{self._held(parts[2], PRODUCT)}"
            return (product, PRODUCT) if parts[0].is_zero() else (f"{self._held(parts[0], SUM)} + {product}", SUM)
        if op == ca.OP_DOT:
            return rf"{self._held(parts[0], PRODUCT)} \cdot {self._held(parts[1], PRODUCT)}", PRODUCT
        if op == ca.OP_SQ:
            return f"{{{self._held(parts[0], ATOM)}}}^{{2}}", ATOM
        if op in (ca.OP_POW, ca.OP_CONSTPOW):
            return f"{{{self._held(parts[0], ATOM)}}}^{{{self._text(parts[1])[0]}}}", ATOM
        if op == ca.OP_SQRT:
            return rf"\sqrt{{{self._text(parts[0])[0]}}}", ATOM
        if op == ca.OP_EXP:
            return rf"e^{{{self._text(parts[0])[0]}}}", ATOM
        if op == ca.OP_FABS:
            return rf"\left|{self._text(parts[0])[0]}\right|", ATOM
        if op in SIZES:
            return rf"\left\|{self._text(parts[0])[0]}\right\|", ATOM
        if op in (ca.OP_TRANSPOSE,):
            return rf"{{{self._held(parts[0], ATOM)}}}^{{\mathsf{{T}}}}", ATOM
        if op == ca.OP_INVERSE:
            return rf"{{{self._held(parts[0], ATOM)}}}^{{-1}}", ATOM
        if op == ca.OP_SOLVE:
            return rf"{{{self._held(parts[1], ATOM)}}}^{{-1}}\,{self._held(parts[0], PRODUCT)}", PRODUCT
        if op == ca.OP_NOT:
            return rf"\neg {self._held(parts[0], ATOM)}", PRODUCT
        if op in RELATIONS:
            least = SUM if op not in (ca.OP_AND, ca.OP_OR) else PRODUCT
            left, right = (self._logic(part, least) for part in parts)
            return f"{left} {RELATIONS[op]} {right}", RELATION
        if op == ca.OP_IF_ELSE_ZERO:
            return rf"{self._held(parts[0], SUM)}\,{self._held(parts[1], PRODUCT)}", PRODUCT
        if op in (ca.OP_RESHAPE, ca.OP_SPARSITY_CAST, ca.OP_PROJECT):
            return self._text(parts[0])
        if op == ca.OP_GETNONZEROS:
            return self._entries(part, parts[0]), ATOM
        if op in (ca.OP_VERTCAT, ca.OP_HORZCAT):
            between = r" \\ " if op == ca.OP_VERTCAT else " & "
            return rf"\begin{{bmatrix}}{between.join(self._text(p)[0] for p in parts)}\end{{bmatrix}}", ATOM
        if op in (ca.OP_SETNONZEROS, ca.OP_ADDNONZEROS):
            return rf"\mathrm{{with}}\left({', '.join(self._text(p)[0] for p in parts)}\right)", ATOM
        name = UNARY.get(op) or BINARY.get(op) or r"\mathrm{f}"
        return f"{name}{_bracketed(', '.join(self._text(p)[0] for p in parts))}", ATOM

    def _logic(self, part: ca.MX, least: int) -> str:
        """One side of a relation, or of and and or: a comparison there needs no square brackets."""
        text, holds = self._text(part)
        return _bracketed(text) if holds < min(least, SUM) else text

    def _choice(self, first: ca.MX, second: ca.MX) -> tuple[str, int] | None:
        """`c ? a : 0` + `not c ? b : 0` as two cases."""
        if first.is_constant() or second.is_constant() or first.is_symbolic() or second.is_symbolic():
            return None
        if first.op() != ca.OP_IF_ELSE_ZERO or second.op() != ca.OP_IF_ELSE_ZERO:
            return None
        condition, otherwise = first.dep(0), second.dep(0)
        if otherwise.is_symbolic() or otherwise.is_constant() or otherwise.op() != ca.OP_NOT:
            return None
        return self._cases(condition, first.dep(1), second.dep(1))

    def _cases(self, condition: Any, yes: Any, no: Any) -> tuple[str, int]:
        texts = [self._held(part, RELATION) for part in (yes, condition, no)]
        return rf"\begin{{cases}}{texts[0]} & {texts[1]} \\ {texts[2]} & \text{{otherwise}}\end{{cases}}", ATOM

    def _call(self, call: Kept) -> tuple[str, int]:
        if call.function == "if_else":
            return self._cases(*call.arguments[:3])
        if call.function == "cross":
            return rf"{self._held(call.arguments[0], ATOM)} \times {self._held(call.arguments[1], ATOM)}", SUM
        if call.function == "norm":
            return rf"\left\|{self._held(call.arguments[0], RELATION)}\right\|", ATOM
        if call.function == "inverse_3x3":
            return rf"{{{self._held(call.arguments[0], ATOM)}}}^{{-1}}", ATOM
        texts = [
            rf"\{{{', '.join(self._held(part, RELATION) for part in a)}\}}"
            if isinstance(a, list | tuple)
            else self._held(a, RELATION)
            for a in call.arguments
        ]
        name = call.function.replace("_", r"\_")
        return rf"\mathrm{{{name}}}{_bracketed(', '.join(texts))}", ATOM

    def _entries(self, part: ca.MX, whole: ca.MX) -> str:
        """Entries of a vector or matrix, counted from 1."""
        rows, columns = whole.shape
        entries = [int(i) for i in ca.DM(part.mapping()).nonzeros()]
        of = whole.sparsity().get_triplet()
        places = [(of[0][i] + 1, of[1][i] + 1) for i in entries]
        held = self._held(whole, ATOM)
        if "_{" in held and held.endswith("}") and held.count("_{") == 1 and "^" not in held:
            base, below = held[:-1], ","  # a second subscript joins the first
        else:
            base, below = f"{held}_{{", ""

        def counted(numbers: list[int], most: int) -> str:
            one = sorted(set(numbers))
            if len(one) == 1:
                return str(one[0])
            if one == list(range(1, most + 1)):
                return ":"
            return f"{one[0]}:{one[-1]}" if one == list(range(one[0], one[-1] + 1)) else ",".join(map(str, one))

        down, across = counted([r for r, _ in places], rows), counted([c for _, c in places], columns)
        return f"{base}{below}{down if columns == 1 else f'{down},{across}'}}}"


def _bracketed(text: str) -> str:
    """Round brackets, as high as what they hold."""
    return rf"\left({text}\right)" if HIGH.search(text) else f"({text})"


def _constant(part: ca.MX) -> tuple[str, int]:
    value = ca.DM(part.to_DM())
    if value.is_zero() or value.nnz() == 0:
        return "0", ATOM
    if value.shape == (1, 1):
        return _number(float(value)), ATOM
    if value.is_square() and (value - ca.DM.eye(value.shape[0])).is_zero():
        return f"I_{{{value.shape[0]}}}", ATOM
    if ca.DM(value - float(value[0, 0])).is_zero():
        return _number(float(value[0, 0])), ATOM
    if value.numel() > 9:
        return r"\mathrm{constants}", ATOM
    rows = [" & ".join(_number(float(value[i, j])) for j in range(value.shape[1])) for i in range(value.shape[0])]
    return rf"\begin{{bmatrix}}{(chr(92) * 2 + ' ').join(rows)}\end{{bmatrix}}", ATOM


def _number(value: float) -> str:
    if math.isinf(value):
        return r"\infty" if value > 0 else r"-\infty"
    if math.isclose(value, math.pi, rel_tol=1e-12):
        return r"\pi"
    mantissa, _, power = f"{value:.6g}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}" if power else mantissa
