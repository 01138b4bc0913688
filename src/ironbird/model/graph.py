"""Equations of a whole diagram: `Assembly` resolves every output port to an expression of states, parameters, inputs,
noise, time and the held outputs of sampled blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca

from ironbird.errors import LoopError
from ironbird.model.block import Expr
from ironbird.model.diagram import Diagram, as_column
from ironbird.model.equations import BlockEquations, depends, equations_of, symbol


@dataclass
class Assembly:
    """All equations of a diagram with every connection resolved.

    `held` are the symbols of the held outputs of sampled blocks, by output path.
    """

    diagram: Diagram
    equations: dict[str, BlockEquations] = field(init=False)
    time: Expr = field(init=False)
    external: dict[str, Expr] = field(init=False)
    held: dict[str, Expr] = field(init=False)
    _values: dict[str, Expr] = field(init=False, default_factory=dict)
    _open: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.equations = {path: equations_of(path, block) for path, block in self.diagram.blocks.items()}
        self.time = ca.SX.sym("time")
        self.external = {n: symbol(n, port.signal) for n, port in self.diagram.external_inputs().items()}
        self._external_of = {port.path: self.external[n] for n, port in self.diagram.external_inputs().items()}
        self.held = {
            f"{path}.{name}": symbol(f"{path}.{name}", signal)
            for path, block in self.diagram.blocks.items()
            if block.is_sampled
            for name, signal in block.outputs.items()
        }

    def source_value(self, path: str) -> Expr:
        """Expression of an output as other blocks read it: the held value of a sampled block, else its equation."""
        if path in self.held:
            return self.held[path]
        return self.output(path)

    def output(self, path: str) -> Expr:
        """An output port's expression with all inputs resolved; a sampled block's is that at its sample."""
        if path in self._values:
            return self._values[path]
        if path in self._open:
            raise LoopError([*self._open[self._open.index(path) :], path])
        self._open.append(path)
        block, _, name = path.rpartition(".")
        equations = self.equations[block]
        [value] = self.resolve(equations, [equations.outputs[name]])
        self._open.pop()
        self._values[path] = value
        return value

    def resolve(self, equations: BlockEquations, exprs: list[Expr]) -> list[Expr]:
        """Expressions of a block with its input and clock symbols replaced; common subexpressions stay shared."""
        old: list[Expr] = []
        new: list[Expr] = []
        for name, u in equations.u.items():
            if any(depends(expr, u) for expr in exprs):
                old.append(u)
                new.append(self.input(equations.path, name))
        for t in equations.time.values():
            old.append(t)
            new.append(self.time)
        return list(ca.substitute(exprs, old, new)) if old and exprs else exprs

    def input(self, path: str, name: str) -> Expr:
        """Expression that an input port receives."""
        signal = self.diagram.blocks[path].inputs[name]
        target = f"{path}.{name}"
        if target in self._external_of:
            return self._external_of[target]
        sources = self.diagram.links.get(target, ())
        if not sources:
            column = as_column(0.0 if signal.default is None else signal.default, signal, target)
            return ca.SX(ca.reshape(ca.DM(column.tolist()), signal.rows, signal.columns))
        total = self.source_value(sources[0])
        for source in sources[1:]:
            total = total + self.source_value(source)
        return total
