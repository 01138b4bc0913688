"""Value graph of a model: CasADi's instruction lists joined into one graph without repetition.

CasADi gives each function as a list of scalar instructions (`n_instructions`, `instruction_id`, ...). Here they become
nodes of one graph, so that a value is computed once wherever it is used, and each node records how often it can change:
with a parameter, within a tick, or within an integration stage. So the emitter can move work out of the stages. All
rewriting happens here, once, so that every lane count and machine computes the same operations in the same order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import casadi as ca

from ironbird.errors import CompileError

PARAM, TICK, STAGE = 0, 1, 2  # how often a value can change: with a parameter, per tick, per integration stage

# Leaves: arrays of the run loop, and how often their entries can change.
LEAF_LEVEL = {"p": PARAM, "held": TICK, "u": TICK, "noise": TICK, "t": STAGE, "x": STAGE, "xd": STAGE}

_UNARY = {
    ca.OP_NEG: "neg", ca.OP_EXP: "exp", ca.OP_LOG: "log", ca.OP_SQRT: "sqrt", ca.OP_SIN: "sin",
    ca.OP_COS: "cos", ca.OP_TAN: "tan", ca.OP_ASIN: "asin", ca.OP_ACOS: "acos", ca.OP_ATAN: "atan",
    ca.OP_FLOOR: "floor", ca.OP_CEIL: "ceil", ca.OP_FABS: "fabs", ca.OP_SIGN: "sign", ca.OP_ERF: "erf",
    ca.OP_INV: "inv", ca.OP_SINH: "sinh", ca.OP_COSH: "cosh", ca.OP_TANH: "tanh", ca.OP_ASINH: "asinh",
    ca.OP_ACOSH: "acosh", ca.OP_ATANH: "atanh", ca.OP_LOG1P: "log1p", ca.OP_EXPM1: "expm1",
    ca.OP_NOT: "not", ca.OP_SQ: "sq", ca.OP_TWICE: "twice",
}  # fmt: skip
_BINARY = {
    ca.OP_ADD: "add", ca.OP_SUB: "sub", ca.OP_MUL: "mul", ca.OP_DIV: "div", ca.OP_POW: "pow",
    ca.OP_CONSTPOW: "pow", ca.OP_LT: "lt", ca.OP_LE: "le", ca.OP_EQ: "eq", ca.OP_NE: "ne",
    ca.OP_AND: "and", ca.OP_OR: "or", ca.OP_FMOD: "fmod", ca.OP_COPYSIGN: "copysign",
    ca.OP_IF_ELSE_ZERO: "if_else_zero", ca.OP_FMIN: "fmin", ca.OP_FMAX: "fmax", ca.OP_ATAN2: "atan2",
    ca.OP_HYPOT: "hypot", ca.OP_REMAINDER: "remainder",
}  # fmt: skip
COMMUTATIVE = frozenset({"add", "mul", "fmin", "fmax", "eq", "ne", "and", "or"})
MASKS = frozenset({"lt", "le", "eq", "ne", "not", "and", "or"})  # nodes whose value is a truth mask


class Node(NamedTuple):
    """One value: a constant, a leaf, or an operation on earlier nodes."""

    op: str
    args: tuple[int, ...] = ()
    value: float = 0.0  # value of a constant
    array: str = ""  # array of a leaf
    row: int = 0  # row of a leaf


@dataclass
class Graph:
    """All nodes of a model; equal nodes have the same number."""

    nodes: list[Node] = field(default_factory=list)
    level: list[int] = field(default_factory=list)
    _known: dict[tuple[object, ...], int] = field(default_factory=dict)

    def _add(self, key: tuple[object, ...], node: Node, level: int) -> int:
        number = self._known[key] = len(self.nodes)
        self.nodes.append(node)
        self.level.append(level)
        return number

    def const(self, value: float) -> int:
        """Number of the node of a constant."""
        key = ("const", float(value).hex())  # the key distinguishes zeros by their sign
        known = self._known.get(key)
        return known if known is not None else self._add(key, Node("const", value=float(value)), PARAM)

    def leaf(self, array: str, index: int) -> int:
        """Number of the node of an entry of one of the run loop's arrays."""
        key = ("leaf", array, index)
        known = self._known.get(key)
        return known if known is not None else self._add(key, Node("leaf", (), 0.0, array, index), LEAF_LEVEL[array])

    def constant_of(self, node: int) -> float | None:
        """The value of a constant node, else None."""
        return self.nodes[node].value if self.nodes[node].op == "const" else None

    def op(self, name: str, *args: int) -> int:
        """Number of the node of an operation, simplified if the result is the same bit for bit or but one rounding."""
        simpler = self._simplify(name, args)
        if simpler is not None:
            return simpler
        if name in COMMUTATIVE and args[0] > args[1]:
            args = (args[1], args[0])
        key = (name, args)
        known = self._known.get(key)
        return known if known is not None else self._add(key, Node(name, args), max([self.level[a] for a in args]))

    def _simplify(self, name: str, args: tuple[int, ...]) -> int | None:
        nodes = self.nodes
        if all([nodes[a].op == "const" for a in args]):
            folded = _fold(name, [nodes[a].value for a in args])
            if folded is not None:
                return self.const(folded)
        if name == "sq":
            return self.op("mul", args[0], args[0])
        if name == "twice":
            return self.op("add", args[0], args[0])
        if name == "inv":
            return self.op("div", self.const(1.0), args[0])
        if name == "div" and self.nodes[args[1]].op != "const" and self.level[args[1]] < self.level[args[0]]:
            # A quotient by something slower becomes a product with its reciprocal: one rounding more, but
            # the division leaves the stage.
            return self.op("mul", args[0], self.op("div", self.const(1.0), args[1]))
        if name == "div" and self.constant_of(args[1]) is not None:
            return self.op("mul", args[0], self.const(1.0 / self.nodes[args[1]].value))
        if name == "pow" and self.constant_of(args[1]) == 0.5:
            return self.op("sqrt", args[0])
        if name == "sub" and self.nodes[args[1]].op == "neg":
            return self.op("add", args[0], self.nodes[args[1]].args[0])
        if name == "add" and self.nodes[args[1]].op == "neg":
            return self.op("sub", args[0], self.nodes[args[1]].args[0])
        if name == "neg" and self.nodes[args[0]].op == "neg":
            return self.nodes[args[0]].args[0]
        if name == "add":
            return self._as_select(*args)
        return None

    def _as_select(self, a: int, b: int) -> int | None:
        """The selection that CasADi wrote as if_else_zero(c, x) + if_else_zero(!c, y), or None if it is another sum."""
        first, second = self.nodes[a], self.nodes[b]
        if first.op != "if_else_zero" or second.op != "if_else_zero":
            return None
        if self.nodes[second.args[0]].op == "not" and self.nodes[second.args[0]].args[0] == first.args[0]:
            return self.op("select", first.args[0], first.args[1], second.args[1])
        if self.nodes[first.args[0]].op == "not" and self.nodes[first.args[0]].args[0] == second.args[0]:
            return self.op("select", second.args[0], second.args[1], first.args[1])
        return None

    def import_function(self, function: ca.Function, arrays: list[str]) -> list[int]:
        """Add a function's instructions; input i reads `arrays[i]`. Returns the nodes of output 0, by row."""
        work: dict[int, int] = {}
        zero = self.const(0.0)
        result = [zero] * function.nnz_out(0)
        instruction_id, instruction_input = function.instruction_id, function.instruction_input
        instruction_output = function.instruction_output
        for k in range(function.n_instructions()):
            code = instruction_id(k)
            ins = instruction_input(k)
            outs = instruction_output(k)
            if code in _BINARY:
                work[outs[0]] = self.op(_BINARY[code], work[ins[0]], work[ins[1]])
            elif code in _UNARY:
                work[outs[0]] = self.op(_UNARY[code], work[ins[0]])
            elif code == ca.OP_OUTPUT:
                result[outs[1]] = work[ins[0]]
            elif code == ca.OP_INPUT:
                work[outs[0]] = self.leaf(arrays[ins[0]], ins[1])
            elif code == ca.OP_CONST:
                work[outs[0]] = self.const(function.instruction_constant(k))
            elif code == ca.OP_ASSIGN:
                work[outs[0]] = work[ins[0]]
            else:
                raise CompileError(f"CasADi operation {code} in '{function.name()}' has no counterpart in the kernel")
        return result

    def needed(self, roots: list[int], stop: set[int] | None = None) -> list[int]:
        """All nodes that the roots need, in order of computation; not below nodes in `stop`."""
        stop = stop or set()
        seen: set[int] = set()
        stack = [r for r in roots]
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            if node not in stop:
                stack.extend(self.nodes[node].args)
        return sorted(seen)


def _fold(name: str, v: list[float]) -> float | None:
    """The result of an operation on constants, if it uses IEEE operations only (+, *, /, sqrt, sign); else None."""
    if name == "add":
        return v[0] + v[1]
    if name == "sub":
        return v[0] - v[1]
    if name == "mul":
        return v[0] * v[1]
    if name == "div" and v[1] != 0.0:
        return v[0] / v[1]
    if name == "neg":
        return -v[0]
    if name == "sqrt" and v[0] >= 0.0:
        return math.sqrt(v[0])
    if name == "fabs":
        return abs(v[0])
    return None
