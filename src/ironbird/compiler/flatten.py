"""A diagram as a handful of CasADi functions on flat columns: the form that the emitter and the analyses share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from ironbird.errors import ModelError, UnknownNameError
from ironbird.model.block import Expr
from ironbird.model.diagram import Diagram, as_column
from ironbird.model.graph import Assembly
from ironbird.model.rates import Group, schedule
from ironbird.model.signal import In, Noise, Signal

# Inputs of every function, in this order; the names are those of the run loop's arrays.
ARRAYS = ["t", "x", "xd", "held", "u", "p", "noise"]


@dataclass
class Column:
    """Named signals stacked into one column."""

    kind: str
    signals: dict[str, Signal] = field(default_factory=dict)
    start: dict[str, int] = field(default_factory=dict)
    size: int = 0

    def append(self, path: str, signal: Signal) -> None:
        """Add a signal at the end."""
        self.signals[path] = signal
        self.start[path] = self.size
        self.size += signal.size

    def rows(self, path: str) -> slice:
        """Where a signal sits."""
        if path not in self.start:
            raise UnknownNameError(self.kind, path, self.start)
        return slice(self.start[path], self.start[path] + self.signals[path].size)

    def labels(self) -> list[str]:
        """One name per row."""
        names: list[str] = []
        for path, signal in self.signals.items():
            names += [path] if signal.size == 1 else [f"{path}[{i}]" for i in range(signal.size)]
        return names


@dataclass
class SampleGroup:
    """Sampled blocks that run together: the function, and where its results go."""

    group: Group
    function: ca.Function
    targets: list[tuple[str, int, str]]  # (array, row, name) of each row of the function's result
    noises: list[str]


@dataclass
class Flat:
    """Everything about a diagram that the compiler and the analyses need."""

    diagram: Diagram
    step_s: float
    x: Column
    xd: Column
    held: Column
    u: Column
    p: Column
    noise: Column
    log: Column
    rates: ca.Function  # derivatives of x
    project: ca.Function  # x after a step
    outputs: ca.Function  # all loggable signals
    stops: ca.Function
    stop_names: list[str]
    groups: list[SampleGroup]
    tick_noises: list[str]  # noise of continuous blocks
    initial_x: np.ndarray
    initial_xd: np.ndarray
    values: np.ndarray  # parameters as set in the diagram
    inputs: np.ndarray  # defaults of the external inputs
    initial_of: dict[str, str] = field(default_factory=dict)  # state path -> parameter that starts it


def flatten(diagram: Diagram, step_s: float) -> Flat:
    """Validate a diagram and put its equations on flat columns."""
    if not step_s > 0:
        raise ModelError(f"step {step_s} s must be positive")
    diagram.validate()
    assembly = Assembly(diagram)
    x, xd, held, u, p, noise, log = (
        Column(k) for k in ("state", "state", "held output", "input", "parameter", "noise stream", "signal")
    )
    symbols: dict[str, list[Expr]] = {name: [] for name in ARRAYS}
    symbols["t"] = [assembly.time]
    initial: dict[str, list[np.ndarray]] = {"x": [], "xd": [], "p": []}
    initial_of: dict[str, str] = {}
    for path, block in diagram.blocks.items():
        equations = assembly.equations[path]
        column, array = (xd, "xd") if block.is_sampled else (x, "x")
        for name, state in block.states.items():
            column.append(f"{path}.{name}", state)
            symbols[array].append(equations.x[name])
            initial[array].append(diagram.initial(path, name))
            if isinstance(state.init, str):
                initial_of[f"{path}.{name}"] = f"{path}.{state.init}"
        for name, param in block.params.items():
            p.append(f"{path}.{name}", param)
            symbols["p"].append(equations.p[name])
            initial["p"].append(diagram.value(f"{path}.{name}"))
        for name, stream in block.noises.items():
            noise.append(f"{path}.{name}", stream)
            symbols["noise"].append(equations.noise[name])
        for name, signal in block.outputs.items():
            log.append(f"{path}.{name}", signal)
            if block.is_sampled:
                held.append(f"{path}.{name}", signal)
                symbols["held"].append(assembly.held[f"{path}.{name}"])
    defaults: list[np.ndarray] = []
    for name, port in diagram.external_inputs().items():
        u.append(name, port.signal)
        symbols["u"].append(assembly.external[name])
        assert isinstance(port.signal, In)
        defaults.append(as_column(0.0 if port.signal.default is None else port.signal.default, port.signal, name))
    columns = [stack(symbols[name]) for name in ARRAYS]

    def function(name: str, results: Iterable[Expr]) -> ca.Function:
        return ca.Function(name, columns, [ca.densify(stack(list(results)))], {"allow_free": False})

    continuous = [path for path, block in diagram.blocks.items() if not block.is_sampled]
    eqs = assembly.equations
    return Flat(
        diagram=diagram,
        step_s=step_s,
        x=x,
        xd=xd,
        held=held,
        u=u,
        p=p,
        noise=noise,
        log=log,
        rates=function("rates", (assembly.resolve(eqs[b], eqs[b].rates[n]) for b in continuous for n in eqs[b].x)),
        project=function("project", (eqs[b].projected.get(n, eqs[b].x[n]) for b in continuous for n in eqs[b].x)),
        outputs=function("outputs", (assembly.source_value(path) for path in log.signals)),
        stops=function("stops", (assembly.source_value(path) for path in diagram.stops.values())),
        stop_names=list(diagram.stops),
        groups=[_sample_group(assembly, group, xd, held, function) for group in schedule(diagram, step_s)],
        tick_noises=[f"{path}.{name}" for path in continuous for name in diagram.blocks[path].noises],
        initial_x=join(initial["x"]),
        initial_xd=join(initial["xd"]),
        values=join(initial["p"]),
        inputs=join(defaults),
        initial_of=initial_of,
    )


def _sample_group(
    assembly: Assembly, group: Group, xd: Column, held: Column, function: Callable[[str, list[Expr]], ca.Function]
) -> SampleGroup:
    """One group's function: outputs first, each seeing this instant's outputs of those before it, then updates."""
    results: list[Expr] = []
    targets: list[tuple[str, int, str]] = []
    old: list[Expr] = []
    new: list[Expr] = []
    for path in group.outputs:
        paths = [f"{path}.{name}" for name in assembly.equations[path].outputs]
        fresh = substitute([assembly.output(output) for output in paths], old, new)
        for output, expr in zip(paths, fresh, strict=True):
            _collect(expr, "held", held, output, results, targets)
        old += [assembly.held[output] for output in paths]
        new += fresh
    for path in group.updates:
        equations = assembly.equations[path]
        exprs = substitute([assembly.resolve(equations, e) for e in equations.next.values()], old, new)
        for name, expr in zip(equations.next, exprs, strict=True):
            _collect(expr, "xd", xd, f"{path}.{name}", results, targets)
    noises = [
        f"{path}.{name}"
        for path in dict.fromkeys([*group.outputs, *group.updates])
        for name in assembly.equations[path].noise
    ]
    return SampleGroup(group, function("samples", results), targets, noises)


def substitute(exprs: list[Expr], old: list[Expr], new: list[Expr]) -> list[Expr]:
    """Expressions with symbols replaced."""
    return list(ca.substitute(exprs, old, new)) if exprs and old else exprs


def _collect(
    expr: Expr, array: str, column: Column, path: str, results: list[Expr], targets: list[tuple[str, int, str]]
) -> None:
    rows = column.rows(path)
    results.append(ca.vec(expr))
    size = rows.stop - rows.start
    targets += [(array, rows.start + i, path if size == 1 else f"{path}[{i}]") for i in range(size)]


def stack(parts: list[Expr]) -> Expr:
    """Expressions stacked into one column, matrices column by column."""
    return ca.vertcat(*[ca.vec(part) for part in parts]) if parts else ca.SX(0, 1)


def join(parts: list[np.ndarray]) -> np.ndarray:
    """Columns joined; an empty list gives an empty column."""
    return np.concatenate(parts) if parts else np.zeros(0)


def noise_rows(flat: Flat, path: str) -> tuple[Noise, int]:
    """A noise stream's declaration and first row."""
    signal = flat.noise.signals[path]
    assert isinstance(signal, Noise)
    return signal, flat.noise.start[path]
