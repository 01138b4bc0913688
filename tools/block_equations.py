"""Equations of blocks as LaTeX, made from the symbolic expressions that are compiled: they cannot differ from the code.

Printed are equations that people can read: those of scalars and of vectors up to three components whose expressions
are short and share no parts. The rest is in the block's docstring and at the lines of its source.
"""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

import casadi as ca

from ironbird.model.block import Block, View

TELLS = re.compile(r"frac|\\,|[+]| - |sqrt|left")  # more than a name or a number
LONGEST = 150  # signs of an expression of CasADi that is printed
MOST = 6  # equations of a block
GREEK = set(
    [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "zeta",
        "eta",
        "theta",
        "kappa",
        "lambda",
        "mu",
        "nu",
        "xi",
        "rho",
        "sigma",
        "tau",
        "phi",
        "chi",
        "psi",
        "omega",
    ]
)
FUNCTIONS = {"sqrt": r"\sqrt{%s}", "fabs": r"\left|%s\right|", "exp": r"e^{%s}", "sq": r"{\left(%s\right)}^{2}"}
NAMED = {"sin", "cos", "tan", "log", "tanh", "atan", "atan2", "asin", "acos", "fmin", "fmax", "sign"}
PLAIN = {"fmin": r"\min", "fmax": r"\max", "atan": r"\arctan", "asin": r"\arcsin", "acos": r"\arccos", "log": r"\ln"}
OPERATORS: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Lt: "<", ast.LtE: r"\le", ast.Eq: "=", ast.NotEq: r"\ne"}


def equations(kind: type[Block]) -> list[str]:
    """The readable equations of a block, outputs first; none if it needs more than its defaults to be made."""
    try:
        block = _made(kind)
        given = [
            View({name: ca.SX.sym(name, signal.size) for name, signal in signals.items()}, kind.__name__)
            for signals in (block.states, {**block.inputs, **block.noises, **block.clocks}, block.params)
        ]
        values = [("{}", dict(block.output(*given)))]
        step = block.update(*given) if block.sample_s is not None and block.states else block.derivative(*given)
        values.append(("{}[k+1]" if block.sample_s is not None else r"\dot{{{}}}", dict(step)))
    except Exception:  # it needs other arguments, or shapes
        return []
    found: list[str] = []
    for form, named in values:
        for name, value in named.items():
            column = ca.SX(value)
            texts = [str(column[i]) for i in range(column.numel())]
            alike = {re.sub(rf"_{i}\b", "_i", text) for i, text in enumerate(texts)}
            if len(texts) > 1 and len(alike) == 1 and "_i" in (text := next(iter(alike))):
                texts, name = [text], f"{name}_i"
            lines = [_latex(text) for text in texts] if len(texts) <= 3 else [None]
            if any(line is None for line in lines) or not any(TELLS.search(str(line)) for line in lines):
                continue
            left = form.replace("{}", _name(name)) if "k+1" in form else form.format(_name(name))
            right = (
                lines[0] if len(lines) == 1 else r"\begin{bmatrix}" + r" \\ ".join(map(str, lines)) + r"\end{bmatrix}"
            )
            found.append(f"{left} = {right}")
    return found[:MOST]


def _made(kind: type[Block]) -> Block:
    parameters = inspect.signature(kind).parameters
    return kind(**({"sample_s": 0.01} if "sample_s" in parameters else {}))


def _name(name: str) -> str:
    words = name.split("_")
    index = words.pop() if len(words) > 1 and (words[-1].isdigit() or words[-1] in "iBN") else ""
    below = (
        words.pop() + "," + index if index in ("i", "0", "1", "2") and len(words) > 1 and words[-1] in "BN" else index
    )
    plain = r"\,".join(words)
    symbol = f"\\{plain}" if plain in GREEK else plain if len(plain) == 1 else rf"\mathrm{{{plain}}}"
    return f"{symbol}_{{{below}}}" if below else symbol


def _latex(text: str) -> str | None:
    """An expression as CasADi prints it; none if it is long or has shared parts."""
    if len(text) > LONGEST or "@" in text:
        return None
    text = re.sub(r"\|\|", " or ", re.sub(r"&&", " and ", text)).replace("!", " not ").replace(" not =", "!=")
    text = re.sub(r"\(([^()?]+|\([^()]*\))\?([^:]+):0\)", r"_if(\1, \2)", text)
    try:
        return _printed(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, KeyError, ValueError):
        return None


def _printed(node: Any, within: int = 0) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        mantissa, _, power = f"{node.value:g}".partition("e")
        return rf"{mantissa} \cdot 10^{{{int(power)}}}" if power else mantissa
    if isinstance(node, ast.Name):
        return _name(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return f"-{_printed(node.operand, 2)}"
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Div):
            return rf"\frac{{{_printed(node.left)}}}{{{_printed(node.right)}}}"
        if isinstance(node.op, ast.Mult):
            return rf"{_printed(node.left, 2)}\,{_printed(node.right, 2)}"
        text = f"{_printed(node.left, 1)} {OPERATORS[type(node.op)]} {_printed(node.right, 2)}"
        return rf"\left({text}\right)" if within > 1 else text
    if isinstance(node, ast.Compare):
        left, right = _printed(node.left), _printed(node.comparators[0])
        return rf"\left[{left} {OPERATORS[type(node.ops[0])]} {right}\right]"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        arguments = [_printed(argument) for argument in node.args]
        if node.func.id == "_if":
            return rf"\left[{arguments[0]}\right]\,{_printed(node.args[1], 2)}"
        if node.func.id in FUNCTIONS:
            return FUNCTIONS[node.func.id] % arguments[0]
        if node.func.id in NAMED:
            if node.func.id == "atan2":
                return rf"\operatorname{{atan2}}\left({', '.join(arguments)}\right)"
            return rf"{PLAIN.get(node.func.id, chr(92) + node.func.id)}\left({', '.join(arguments)}\right)"
    raise ValueError(ast.dump(node))
