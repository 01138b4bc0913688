"""Small mistakes that can be planted in a file: comparisons, signs, constants, dropped terms, halves of pairs.

    python tools/mutations.py blocks/forces/wing.py     what can be planted in one file below src/ironbird

Python is read by its own parser, C by a simple tokenizer. A mutation is a place in the text and what stands there
instead. Left out is what no flight and no verdict depends on: texts, errors that are raised, assertions, annotations,
`__repr__`, words of documentation (`doc`, `unit`), preprocessor lines of C. Left out too are what declarations of
signals permit (`low`, `high`, `tunable`), `strict` of `zip`, and constants below a millionth, which guard divisions:
half as much again of them is nothing. In `blocks` values are real numbers: whether a bound itself belongs to a range is
not mutated there, as two equal reals meet by chance only.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "ironbird"
GUARD = 1e-6  # constants up to this one guard divisions and roots
REAL = ("blocks",)  # packages whose comparisons are those of real numbers
LARGE = 100  # whole numbers from this one on are taken half as much again, not one more
QUIET = {
    "doc",
    "unit",
    "low",
    "high",
    "tunable",
    "frame",
    "source",
    "strict",
}  # keywords of declarations that change no number
SILENT = {"__repr__", "__str__", "__rich__"}
OPPOSITE = {
    ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
BOUNDARY = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
OTHER_SIGN: dict[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
PAIRS = {
    "fmin": "fmax", "min": "max", "sin": "cos", "logic_and": "logic_or", "any": "all", "floor": "ceil",
    "minimum": "maximum", "first": "last",
}  # fmt: skip
PAIRS |= {other: one for one, other in PAIRS.items()}


@dataclass(frozen=True)
class Mutation:
    """A place in a file, and what is written there instead."""

    kind: str  # comparison, sign, constant, dropped, pair
    begin: int  # characters from the start of the file
    end: int
    new: str

    def line(self, text: str) -> int:
        """Number of its line, from 1."""
        return text.count("\n", 0, self.begin) + 1

    def replacement(self, text: str) -> tuple[str, str]:
        """Whole lines before and after, with as many lines around them as make them the only ones in the file."""
        first, last = text.rfind("\n", 0, self.begin) + 1, text.find("\n", self.end)
        last = last if last >= 0 else len(text)
        while text.count(text[first:last]) > 1 and first > 0:
            first = text.rfind("\n", 0, first - 1) + 1
        return text[first:last], text[first : self.begin] + self.new + text[self.end : last]


def mutations(file: str, text: str) -> list[Mutation]:
    """All of one file below src/ironbird, in the order of its text."""
    found = _Python(text, real=file.split("/")[0] in REAL).found if file.endswith(".py") else list(_of_c(text))
    return sorted(set(found), key=lambda one: (one.begin, one.end, one.kind, one.new))


class _Python(ast.NodeVisitor):
    """Collects the mutations of a module."""

    def __init__(self, text: str, *, real: bool) -> None:
        self.text, self.real, self.found = text, real, list[Mutation]()
        self.lines = text.split("\n")
        self.starts = [0]  # of lines
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.visit(ast.parse(text))

    def _at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())  # columns count bytes

    def _span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)

    def _put(self, kind: str, begin: int, end: int, new: str) -> None:
        if self.text[begin:end] != new:
            self.found.append(Mutation(kind, begin, end, new))

    def _between(self, left: ast.expr, right: ast.expr, pattern: str) -> tuple[int, int] | None:
        """Place of an operator between two operands, brackets and comments of which are passed over."""
        begin, end = self._span(left)[1], self._span(right)[0]
        found = re.search(pattern, re.sub(r"#[^\n]*", lambda note: " " * len(note[0]), self.text[begin:end]))
        return (begin + found.start(), begin + found.end()) if found else None

    # ---------------------------------------------------------------- what is passed over

    def visit_Raise(self, node: ast.Raise) -> None:
        """An error that is raised."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """An assertion."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """A text."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """The value alone, not its type."""
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Body and default values, not types and decorators."""
        if node.name not in SILENT:
            for part in (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None), *node.body):
                self.visit(part)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Body without bases and decorators; the name of an error has no behaviour."""
        for part in node.body:
            self.visit(part)

    def visit_If(self, node: ast.If) -> None:
        """All but what is for type checkers."""
        if ast.unparse(node.test) not in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Arguments, and the function if it is one of a pair."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name.endswith(("Error", "Warning")) or name == "cast":
            return
        if name in PAIRS:
            end = self._span(node.func)[1]
            self._put("pair", end - len(name), end, PAIRS[name])
        self.visit(node.func)
        for part in node.args:
            self.visit(part)
        for keyword in node.keywords:
            if keyword.arg not in QUIET:
                self.visit(keyword.value)

    # ---------------------------------------------------------------- what is mutated

    def visit_Compare(self, node: ast.Compare) -> None:
        """The other way round, and with or without the bound itself."""
        for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            if place := self._between(left, right, r"not\s+in|is\s+not|is|in|[<>=!]=|[<>]"):
                self._put("comparison", *place, OPPOSITE[type(operator)])
                if not self.real and type(operator) in BOUNDARY:
                    self._put("comparison", *place, BOUNDARY[type(operator)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """The other sign, or one operand alone."""
        new = OTHER_SIGN.get(type(node.op))
        words = [n for n in (node.left, node.right) if isinstance(n, ast.List | ast.Tuple) or _is_text(n)]
        if new and not words and (place := self._between(node.left, node.right, r"[-+*/]")):
            self._put("sign", *place, new)
            self._alone(node, node.left)
            if isinstance(node.op, ast.Add | ast.Mult):
                self._alone(node, node.right)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Without it."""
        begin, inner = self._span(node)[0], self._span(node.operand)[0]
        if isinstance(node.op, ast.USub | ast.Not) and self.text[begin:inner].strip() in ("-", "not"):
            self._put("sign" if isinstance(node.op, ast.USub) else "comparison", begin, inner, "")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """`or` for `and`, or without one of the terms."""
        is_and = isinstance(node.op, ast.And)
        for left, right in zip(node.values, node.values[1:], strict=False):
            if len(node.values) == 2 and (place := self._between(left, right, r"\b(and|or)\b")):
                self._put("pair", *place, "or" if is_and else "and")
        if len(node.values) == 2:
            for value in node.values:
                self._alone(node, value)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """The other sign."""
        new = OTHER_SIGN.get(type(node.op))
        if new and (place := self._between(node.target, node.value, r"[-+*/]")) and not _is_text(node.value):
            self._put("sign", *place, new)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """The other truth, a whole number more, half as much again of a real one."""
        begin, end = self._span(node)
        if isinstance(node.value, bool):
            self._put("constant", begin, end, str(not node.value))
        elif isinstance(node.value, int):
            self._put("constant", begin, end, str(_more(node.value)))
        elif isinstance(node.value, float) and not 0.0 < node.value <= GUARD:
            self._put("constant", begin, end, repr(1.5 * node.value if node.value else 1.0))

    def _alone(self, node: ast.expr, part: ast.expr) -> None:
        """One operand of an operation without the rest; brackets that were around the operand stay around it."""
        (begin, end), (first, last) = self._span(node), self._span(part)
        self._put("dropped", begin, end, f"({self.text[first:last]})")


def _more(number: int) -> int:
    return number + (number // 2 if number >= LARGE else 1)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


# -------------------------------------------------------------------- C

TOKEN = re.compile(
    r"""(?P<skip>/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |(?P<number>(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][-+]?\d+)?)[uUlLfF]*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>->|\+\+|--|<<=|>>=|<<|>>|[-+*/%&|^<>=!]=|&&|\|\||[^\s\w])""",
    re.S | re.M | re.X,
)
C_COMPARED = {"<": (">=", "<="), "<=": (">", "<"), ">": ("<=", ">="), ">=": ("<", ">"), "==": ("!=",), "!=": ("==",)}
C_SIGNS = {"+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+="}
C_PAIRS = {"&&": "||", "||": "&&"}
DECLARES = re.compile(r"^\s*(?:static|const|extern|typedef|struct|unsigned|int|long|double|float|char|void|\w+_t)\b")


def _of_c(text: str) -> Iterator[Mutation]:
    tokens = [found for found in TOKEN.finditer(text) if found.lastgroup != "skip"]
    for at in range(1, len(tokens) - 1):
        token, before, after = tokens[at], tokens[at - 1], tokens[at + 1]
        begin, end, said = token.start(), token.end(), token[0]
        binary = (before.lastgroup in ("number", "name") or before[0] in (")", "]")) and before[0] not in (
            "return", "case", "sizeof", "else",
        )  # fmt: skip
        declared = DECLARES.match(text[text.rfind("\n", 0, begin) + 1 : begin] + " ")
        if token.lastgroup == "number":
            if not (before[0] == "[" and after[0] == "]" and declared):
                yield Mutation("constant", begin, end, _next_number(said))
        elif said in C_COMPARED and binary:
            for new in C_COMPARED[said]:
                yield Mutation("comparison", begin, end, new)
        elif said in C_SIGNS and binary and not _is_pointer(said, before[0], after[0]):
            yield Mutation("sign", begin, end, C_SIGNS[said])
            if said in "+-" and (last := _term_end(tokens, at + 1)) is not None:
                yield Mutation("dropped", begin, last, "")
        elif said in C_PAIRS:
            yield Mutation("pair", begin, end, C_PAIRS[said])
        elif said == "!" and not binary:
            yield Mutation("comparison", begin, end, "")
        elif said == "-" and not binary and before[0] != ")":
            yield Mutation("sign", begin, end, "")


def _is_pointer(said: str, before: str, after: str) -> bool:
    """Whether `*` may be that of a declaration or a cast rather than a product."""
    types = r"void|char|int|double|float|const|unsigned|long|FILE|\w+_t|ib_f|ib_s|Ib\w+|ib_\w+"
    return said == "*" and (after in (")", ",", "*", "const") or bool(re.fullmatch(types, before)))


def _next_number(said: str) -> str:
    number = said.rstrip("uUlLfF") if not said.lower().startswith("0x") else said.rstrip("uUlL")
    suffix = said[len(number) :]
    if number.lower().startswith("0x"):
        return hex(_more(int(number, 16))) + suffix
    if re.fullmatch(r"\d+", number):
        return str(_more(int(number))) + suffix
    return repr(1.5 * float(number) if float(number) else 1.0) + suffix


def _term_end(tokens: list[re.Match[str]], at: int) -> int | None:
    """End of the term that begins here: names, members, calls and products; None if it cannot be found."""
    depth = 0
    for number in range(at, len(tokens)):
        said = tokens[number][0]
        if depth == 0 and (said in (")", "]", ",", ";", ":", "?", "+", "-", "}") or said in (*C_COMPARED, *C_PAIRS)):
            return tokens[number - 1].end() if number > at else None
        if said in ("{", "=") or (depth == 0 and said in ("&", "|", "^", "<<", ">>")):
            return None
        depth += (said in ("(", "[")) - (said in (")", "]"))
    return None


def main() -> None:
    """Show what can be planted in files."""
    for name in sys.argv[1:]:
        text = (SOURCE / name).read_text(encoding="utf-8")
        for one in mutations(name, text):
            print(f"{name}:{one.line(text)} {one.kind}: {text[one.begin : one.end]!r} -> {one.new!r}")


if __name__ == "__main__":
    main()
