"""Equations of single blocks: outputs, derivatives and next states as expressions, feedthrough, algebraic loops.

Feedthrough is derived from the Jacobian's sparsity; authors of blocks do not declare it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca

from ironbird.errors import LoopError, ModelError, UnknownNameError
from ironbird.model.block import Block, Expr, View, shaped
from ironbird.model.signal import Signal


def symbol(name: str, signal: Signal) -> Expr:
    """A CasADi symbol with the shape of a declaration."""
    return ca.SX.sym(name, signal.rows, signal.columns)


class BlockEquations:
    """One block with symbols put in: its outputs, derivatives and next states as expressions."""

    def __init__(self, path: str, block: Block) -> None:
        self.path = path
        self.block = block
        self._feedthrough: dict[str, list[str]] = {}
        self.x = {n: symbol(f"{path}.{n}", s) for n, s in block.states.items()}
        self.u = {n: symbol(f"{path}.{n}", s) for n, s in block.inputs.items()}
        self.p = {n: symbol(f"{path}.{n}", s) for n, s in block.params.items()}
        self.noise = {n: symbol(f"{path}.{n}", s) for n, s in block.noises.items()}
        self.time = {n: symbol(f"{path}.{n}", s) for n, s in block.clocks.items()}
        x = View(self.x, f"states of {path}")
        u = View({**self.u, **self.noise, **self.time}, f"inputs of {path}")
        p = View(self.p, f"parameters of {path}")
        self.outputs = self._results("output", block.output(x, u, p), block.outputs, complete=True)
        if block.is_sampled:
            if type(block).derivative is not Block.derivative:
                raise ModelError(f"block {path} has derivatives and is sampled; it can be one of the two")
            self.next = self._results("update", block.update(x, u, p), block.states, complete=True)
            self.rates: dict[str, Expr] = {}
            self.projected: dict[str, Expr] = {}
        else:
            if type(block).update is not Block.update:
                raise ModelError(f"block {path} has updates: give it sample_s=... when it is made")
            self.next = {}
            self.rates = self._results("derivative", block.derivative(x, u, p), block.states, complete=True)
            self.projected = self._results("project", block.project(x, p), block.states, complete=False)

    def _results(
        self, method: str, values: object, signals: Mapping[str, Signal], *, complete: bool
    ) -> dict[str, Expr]:
        if not isinstance(values, dict):
            raise ModelError(f"{method}() of block {self.path} must return a dict, not {type(values).__name__}")
        for name in values:
            if name not in signals:
                raise ModelError(str(UnknownNameError("name", name, signals, f"{method}() of block {self.path}")))
        missing = [name for name in signals if name not in values]
        if complete and missing:
            raise ModelError(f"{method}() of block {self.path} does not give {', '.join(missing)}")
        return {n: shaped(v, signals[n], f"{self.path}.{n}") for n, v in values.items()}

    def feedthrough(self, output: str) -> list[str]:
        """Names of the inputs on which an output depends directly."""
        if output not in self._feedthrough:
            expr = self.outputs[output]
            self._feedthrough[output] = [name for name, u in self.u.items() if depends(expr, u)]
        return self._feedthrough[output]


def equations_of(path: str, block: Block) -> BlockEquations:
    """Equations of a block, derived once per path: blocks do not change after they are built."""
    if path not in block.equations:
        block.equations[path] = BlockEquations(path, block)
    equations = block.equations[path]
    assert isinstance(equations, BlockEquations)
    return equations


def depends(expr: Expr, variable: Expr) -> bool:
    """Whether the Jacobian of `expr` by `variable` has a structural nonzero."""
    return bool(ca.depends_on(expr, variable))


def feedthrough_edges(blocks: Mapping[str, Block], links: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """For each output path, the output paths it needs at the same instant (sampled blocks included)."""
    edges: dict[str, list[str]] = {}
    for path, block in blocks.items():
        equations = equations_of(path, block)
        for name in block.outputs:
            edges[f"{path}.{name}"] = [
                source for u in equations.feedthrough(name) for source in links.get(f"{path}.{u}", ())
            ]
    return edges


def check_loops(edges: dict[str, list[str]]) -> None:
    """Raise `LoopError` if outputs need each other at the same instant."""
    done: set[str] = set()
    for start in edges:
        stack: list[tuple[str, int]] = [(start, 0)]
        on_path = [start]
        if start in done:
            continue
        while stack:
            node, index = stack.pop()
            if index < len(edges[node]):
                stack.append((node, index + 1))
                nxt = edges[node][index]
                if nxt in on_path:
                    chain = on_path[on_path.index(nxt) :]
                    raise LoopError([nxt, *reversed(chain[1:]), nxt] if len(chain) > 1 else [nxt, nxt])
                if nxt not in done:
                    stack.append((nxt, 0))
                    on_path.append(nxt)
            else:
                done.add(node)
                on_path.pop()
