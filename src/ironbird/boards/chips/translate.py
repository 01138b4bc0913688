"""Translation of a chip's Python source to C.

The subset: whole numbers of 64 bits, reals, fields of `self`, constants of classes and modules, `if`, `while`, `for …
in range(…)`, `return`, calls of own methods (also by `super()`) and of `ironbird.boards.chips.numbers`. Division and
remainder round down as in Python. Code outside the subset is refused with its place. A local variable's type is that of
its first value; `x: float = 0` forces a real.

Each method becomes a function of the class that defines it, for the chip that is translated, so that overriding and
`super()` mean what they mean in Python.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import sys
import textwrap
from collections.abc import Iterable
from typing import Any

from ironbird.boards.chips.chip import Chip
from ironbird.errors import ModelError

ENTRIES = (
    "power_on", "advance", "flood", "interrupt_level", "spi_begin", "spi_peek", "spi_commit", "spi_byte", "spi_end",
    "i2c_match", "i2c_begin", "i2c_byte", "i2c_peek", "i2c_commit", "i2c_done", "i2c_end", "uart_byte", "uart_next",
    "uart_baud", "uart_frame",
)  # fmt: skip
NUMBERS = {"quantise": "int", "root": "float"}
BINARY: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<",
    ast.RShift: ">>",
}  # fmt: skip
COMPARE: dict[type, str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
C_TYPE = {"int": "int64_t", "float": "double", "None": "void"}


@functools.cache
def _methods(kind: type) -> dict[str, ast.FunctionDef]:
    """Syntax trees of the methods that a class itself defines."""
    lines, first = inspect.getsourcelines(kind)
    tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    assert isinstance(tree, ast.ClassDef)
    ast.increment_lineno(tree, first - 1)  # line numbers of the file
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _number(value: float | int) -> str:
    if isinstance(value, bool | int):
        return f"INT64_C({int(value)})" if -(2**31) <= value < 2**31 else f"INT64_C({value})"
    if not math.isfinite(value):
        raise ModelError(f"a constant of a chip is {value}; only finite numbers can be written in C")
    return value.hex()


class _Function:
    """Translation of one method of one chip to C."""

    def __init__(self, chip: _Translation, owner: type, node: ast.FunctionDef) -> None:
        self.chip, self.owner, self.node = chip, owner, node
        self.locals: dict[str, str] = {}
        self.args: list[tuple[str, str]] = []
        for arg in node.args.args[1:]:
            self.args.append((arg.arg, self.type_name(arg.annotation)))
        self.types = dict(self.args)
        self.returns = self.type_name(node.returns)

    def refuse(self, node: ast.AST, what: str) -> ModelError:
        return ModelError(
            f"{self.owner.__module__}, {self.owner.__name__}.{self.node.name}, line {getattr(node, 'lineno', 0)}: "
            f"{what} is outside the subset of Python that becomes C (see ironbird.boards.chips.translate)"
        )

    def type_name(self, node: ast.expr | None) -> str:
        if isinstance(node, ast.Constant) and node.value is None:
            return "None"
        if isinstance(node, ast.Name) and node.id in ("int", "float"):
            return node.id
        raise self.refuse(node or self.node, "a type other than int, float and None")

    @property
    def name(self) -> str:
        return self.chip.function_name(self.owner, self.node.name)

    def head(self) -> str:
        args = "".join(f", {C_TYPE[kind]} {name}" for name, kind in self.args)
        return f"static {C_TYPE[self.returns]} {self.name}(void *ib_chip{args})"  # as the table declares it

    def text(self) -> str:
        body = self.block(self.node.body, 1)
        declared = "".join(f"  {C_TYPE[kind]} {name} = 0;\n" for name, kind in self.locals.items())
        return f"{self.head()} {{\n  {self.chip.structure} *self = ib_chip;\n{declared}{body}}}\n"

    # ------------------------------------------------------------------ statements

    def block(self, nodes: Iterable[ast.stmt], depth: int) -> str:
        return "".join(self.statement(node, depth) for node in nodes)

    def statement(self, node: ast.stmt, depth: int) -> str:
        pad = "  " * depth
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return ""
            case ast.Expr(value=ast.Call() as call):
                return f"{pad}{self.expression(call)[0]};\n"
            case ast.Assign(targets=[target]):
                value, kind = self.expression(node.value)
                return f"{pad}{self.target(target, kind)} = {value};\n"
            case ast.AnnAssign(target=ast.Name(), value=ast.expr() as given):
                kind = self.type_name(node.annotation)
                return f"{pad}{self.target(node.target, kind)} = {self.expression(given)[0]};\n"
            case ast.AugAssign():
                read = ast.copy_location(ast.BinOp(self.loaded(node.target), node.op, node.value), node)
                value, kind = self.expression(read)
                return f"{pad}{self.target(node.target, kind)} = {value};\n"
            case ast.If():
                other = f"{pad}}} else {{\n{self.block(node.orelse, depth + 1)}" if node.orelse else ""
                test = self.expression(node.test)[0]
                return f"{pad}if ({test}) {{\n{self.block(node.body, depth + 1)}{other}{pad}}}\n"
            case ast.While(orelse=[]):
                test = self.expression(node.test)[0]
                return f"{pad}while ({test}) {{\n{self.block(node.body, depth + 1)}{pad}}}\n"
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=args), orelse=[]):
                self.declare(name, "int")
                bounds = [self.expression(arg)[0] for arg in args]
                first, last = (bounds[0], bounds[1]) if len(bounds) > 1 else ("0", bounds[0])
                if len(bounds) > 2:
                    raise self.refuse(node, "a range with a step")
                head = f"for ({name} = {first}; {name} < {last}; {name}++)"
                return f"{pad}{head} {{\n{self.block(node.body, depth + 1)}{pad}}}\n"
            case ast.Return(value=None):
                return f"{pad}return;\n"
            case ast.Return(value=ast.expr() as given):
                return f"{pad}return {self.expression(given)[0]};\n"
            case ast.Break():
                return f"{pad}break;\n"
            case ast.Continue():
                return f"{pad}continue;\n"
        raise self.refuse(node, f"'{ast.unparse(node).splitlines()[0]}'")

    def loaded(self, node: ast.expr) -> ast.expr:
        again = ast.parse(ast.unparse(node), mode="eval").body
        return ast.copy_location(again, node)

    def declare(self, name: str, kind: str) -> None:
        if name not in self.types:
            self.types[name] = self.locals[name] = kind

    def target(self, node: ast.expr, kind: str) -> str:
        if isinstance(node, ast.Name):
            self.declare(node.id, kind)
            return node.id
        if isinstance(node, ast.Attribute | ast.Subscript):
            return self.expression(node)[0]
        raise self.refuse(node, "an assignment to this")

    # ------------------------------------------------------------------ expressions: C text and type

    def expression(self, node: ast.expr) -> tuple[str, str]:
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return _number(value), "float" if isinstance(value, float) else "int"
            case ast.Name(id=name):
                if name in self.types:
                    return name, self.types[name]
                constant = getattr(sys.modules[self.owner.__module__], name, None)
                if isinstance(constant, int | float):
                    return _number(constant), "float" if isinstance(constant, float) else "int"
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return self.chip.field(name, self, node)
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id="self"), attr=name)):
                text, kind = self.chip.field(name, self, node, indexed=True)
                return f"{text}[{self.expression(node.slice)[0]}]", kind
            case ast.BinOp():
                return self.binary(node)
            case ast.UnaryOp(operand=operand, op=ast.USub() | ast.Invert() | ast.Not() as op):
                text, kind = self.expression(operand)
                sign = {ast.USub: "-", ast.Invert: "~", ast.Not: "!"}[type(op)]
                return f"({sign}{text})", "int" if sign == "!" else kind
            case ast.BoolOp(op=op, values=values):
                word = " && " if isinstance(op, ast.And) else " || "
                return "(" + word.join(f"({self.expression(value)[0]})" for value in values) + ")", "int"
            case ast.Compare(left=left, ops=[ast.In()], comparators=[ast.Tuple(elts=others)]):
                looked = self.expression(left)[0]
                return "(" + " || ".join(f"({looked} == {self.expression(o)[0]})" for o in others) + ")", "int"
            case ast.Compare(left=left, ops=ops, comparators=others):
                terms = [left, *others]
                tests = [
                    f"({self.expression(a)[0]} {COMPARE[type(op)]} {self.expression(b)[0]})"
                    for a, op, b in zip(terms, ops, terms[1:], strict=False)
                    if type(op) in COMPARE
                ]
                if len(tests) == len(ops):
                    return "(" + " && ".join(tests) + ")", "int"
            case ast.IfExp(test=test, body=body, orelse=orelse):
                (a, kind), (b, other) = self.expression(body), self.expression(orelse)
                return f"({self.expression(test)[0]} ? {a} : {b})", "float" if "float" in (kind, other) else "int"
            case ast.Call(args=args, keywords=[]):
                return self.call(node, [self.expression(arg) for arg in args])
        raise self.refuse(node, f"'{ast.unparse(node)}'")

    def binary(self, node: ast.BinOp) -> tuple[str, str]:
        (a, left), (b, right) = self.expression(node.left), self.expression(node.right)
        real = "float" in (left, right)
        if isinstance(node.op, ast.Div):
            return f"((double)({a}) / (double)({b}))", "float"
        if isinstance(node.op, ast.FloorDiv | ast.Mod) and not real:
            return f"{'ib_floor_div' if isinstance(node.op, ast.FloorDiv) else 'ib_modulo'}({a}, {b})", "int"
        if type(node.op) not in BINARY:
            raise self.refuse(node, f"'{ast.unparse(node)}'")
        return f"({a} {BINARY[type(node.op)]} {b})", "float" if real else "int"

    def call(self, node: ast.Call, args: list[tuple[str, str]]) -> tuple[str, str]:
        arguments = [text for text, _ in args]
        match node.func:
            case ast.Name(id=name) if name in NUMBERS:
                return f"ib_{name}({', '.join(arguments)})", NUMBERS[name]
            case ast.Name(id="float"):
                return f"((double)({arguments[0]}))", "float"
            case ast.Name(id=("min" | "max") as name) if len(arguments) == 2 and all(kind == "int" for _, kind in args):
                return f"ib_{name}({', '.join(arguments)})", "int"
            case ast.Name(id="abs") if args[0][1] == "int":
                return f"ib_abs({arguments[0]})", "int"
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                called = self.chip.method(name, self, node)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name):
                called = self.chip.method(name, self, node, after=self.owner)
            case _:
                raise self.refuse(node, f"the call '{ast.unparse(node)}'")
        return f"{called.name}({', '.join(['self', *arguments])})", called.returns


class _Translation:
    """Translation of one chip to C."""

    def __init__(self, kind: type[Chip]) -> None:
        self.kind = kind
        self.structure = f"ib_{kind.id()}"
        self.fields = kind.fields()
        self.constants: dict[str, str] = {}
        self.functions: dict[tuple[type, str], _Function] = {}
        self.bodies: list[str] = []
        self.waiting: list[_Function] = []

    def function_name(self, owner: type, name: str) -> str:
        return f"{self.structure}_{owner.__name__}_{name}"

    def method(self, name: str, asker: _Function | None, node: ast.AST | None, after: type | None = None) -> _Function:
        line = self.kind.__mro__
        for owner in line[line.index(after) + 1 if after else 0 :]:
            if owner is not object and name in _methods(owner):
                key = (owner, name)
                if key not in self.functions:
                    self.functions[key] = _Function(self, owner, _methods(owner)[name])
                    self.waiting.append(self.functions[key])
                return self.functions[key]
        where = asker.refuse(node, f"the unknown method {name}") if asker and node else None
        raise where or ModelError(f"chip {self.kind.id()} has no method {name}")

    def field(self, name: str, asker: _Function, node: ast.AST, indexed: bool = False) -> tuple[str, str]:
        """C text of a field of the structure or of a constant, and the type of its elements."""
        if name in self.fields:
            value = self.fields[name]
            kind = "float" if isinstance(value, float) or (isinstance(value, list) and _real(value)) else "int"
            return f"self->{name}", kind
        value = getattr(self.kind, name, None)
        if isinstance(value, int | float) and not indexed:
            return _number(value), "float" if isinstance(value, float) else "int"
        if isinstance(value, tuple | bytes) and indexed and value:
            kind = "float" if _real(value) else "int"
            c_type = "uint8_t" if isinstance(value, bytes) else C_TYPE[kind]
            numbers = ", ".join(_number(float(v) if kind == "float" else v) for v in value)
            c_name = f"{self.structure}_{name}"
            self.constants[name] = f"static const {c_type} {c_name}[{len(value)}] = {{{numbers}}};\n"
            return c_name, kind
        raise asker.refuse(node, f"the attribute {name} of {self.kind.__name__}")

    def structure_text(self) -> str:
        lines = []
        for name, value in self.fields.items():
            match value:
                case bytearray():
                    lines.append(f"  uint8_t {name}[{len(value)}];\n")
                case list():
                    lines.append(f"  {'double' if _real(value) else 'int64_t'} {name}[{len(value)}];\n")
                case float():
                    lines.append(f"  double {name};\n")
                case int():
                    lines.append(f"  int64_t {name};\n")
                case _:
                    raise ModelError(
                        f"chip {self.kind.id()}: field {name} is {type(value).__name__}; see ironbird.boards.chips.chip"
                    )
        return f"typedef struct {self.structure} {{\n{''.join(lines)}}} {self.structure};\n"

    def initial_text(self) -> str:
        """The C function that sets every field to its declared value."""
        lines = []
        for name, value in self.fields.items():
            if isinstance(value, bytearray | list):
                for i, v in enumerate(value):
                    if v:
                        lines.append(f"  self->{name}[{i}] = {_number(v)};\n")
            elif value:
                lines.append(f"  self->{name} = {_number(value)};\n")
        head = f"static void {self.structure}_initial(void *ib_chip) {{\n  {self.structure} *self = ib_chip;\n"
        return f"{head}{''.join(lines)}}}\n"

    def text(self) -> str:
        entries = {name: self.method(name, None, None) for name in ENTRIES}
        while self.waiting:
            self.bodies.append(self.waiting.pop().text())
        heads = "".join(f"{function.head()};\n" for function in self.functions.values())
        table = ", ".join(function.name for function in entries.values())
        operations = (
            f"static const ib_operations {self.structure}_operations = "
            f"{{sizeof({self.structure}), {self.structure}_initial, {table}}};\n"
        )
        constants = "".join(self.constants.values())
        return "".join((self.structure_text(), constants, heads, *self.bodies, self.initial_text(), operations))


def _real(values: Any) -> bool:
    return any(isinstance(value, float) for value in values)


def translate(kind: type[Chip]) -> str:
    """C text of a chip: structure, functions, and its table of operations."""
    return _Translation(kind).text()


def layout(kind: type[Chip]) -> list[tuple[str, str, int]]:
    """Fields of the structure for ctypes: name, kind of entry (`byte`, `int`, `real`), and count; 0: a scalar."""
    out = []
    for name, value in kind.fields().items():
        if isinstance(value, bytearray):
            out.append((name, "byte", len(value)))
        elif isinstance(value, list):
            out.append((name, "real" if _real(value) else "int", len(value)))
        else:
            out.append((name, "real" if isinstance(value, float) else "int", 0))
    return out
