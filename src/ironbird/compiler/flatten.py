"""A diagram as a few CasADi functions on flat columns: the form that the emitter and the analyses share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from ironbird.compiler.describe import description_of
from ironbird.errors import ModelError, UnknownNameError
from ironbird.model.block import Expr
from ironbird.model.diagram import Diagram, as_column
from ironbird.model.graph import Assembly
from ironbird.model.rates import Group, schedule
from ironbird.model.signal import In, Noise, Signal, entry_names

# Inputs of every function, in this order; the names are those of the run loop's arrays.
ARRAYS = ["t", "x", "xd", "held", "u", "p", "noise"]
SHORTEST_STEP_S, LONGEST_STEP_S = 1e-6, 60.0


@dataclass
class Column:
    """Named signals stacked into one column."""

    kind: str
    signals: dict[str, Signal] = field(default_factory=dict)
    start: dict[str, int] = field(default_factory=dict)
    size: int = 0

    def append(self, path: str, signal: Signal) -> None:
        """Append a signal at the end of the column."""
        self.signals[path] = signal
        self.start[path] = self.size
        self.size += signal.size

    def rows(self, path: str) -> slice:
        """Rows of a signal in the column, as a slice."""
        if path not in self.start:
            raise UnknownNameError(self.kind, path, self.start)
        return slice(self.start[path], self.start[path] + self.signals[path].size)

    def labels(self) -> list[str]:
        """One name per row of the column."""
        return [name for path, signal in self.signals.items() for name in entry_names(path, signal.size)]


@dataclass
class SampleGroup:
    """Sampled blocks that run together: their function, and the destination of its results."""

    group: Group
    function: ca.Function
    targets: list[tuple[str, int, str]]  # (array, row, name) of each row of the function's result
    noises: list[str]


@dataclass
class Functions:
    """The equations of a diagram as CasADi functions of the columns in ARRAYS."""

    rates: ca.Function  # derivatives of x
    project: ca.Function  # x on its manifold after a step
    outputs: ca.Function  # all loggable signals
    stops: ca.Function
    groups: list[SampleGroup]


@dataclass
class Flat:
    """Columns and equations of a diagram, for compiler and analyses; equations are assembled when first used."""

    diagram: Diagram
    step_s: float
    x: Column
    xd: Column
    held: Column
    u: Column
    p: Column
    noise: Column
    log: Column
    stop_names: list[str]
    tick_noises: list[str]  # noise streams of continuous blocks
    initial_x: np.ndarray
    initial_xd: np.ndarray
    values: np.ndarray  # parameter values as set in the diagram
    inputs: np.ndarray  # default values of the external inputs
    initial_of: dict[str, str] = field(default_factory=dict)  # state path -> parameter with its initial value
    description: str | None = None  # hash of the diagram at the time of flattening

    @functools.cached_property
    def functions(self) -> Functions:
        """The equations as CasADi functions; assembled at first use."""
        if self.description is not None and description_of(self.diagram) != self.description:
            raise ModelError(
                f"a block of '{self.diagram.name}' was changed after the diagram was compiled; compile it again"
            )
        return assemble(self)

    @property
    def rates(self) -> ca.Function:
        """Function of the derivatives of the continuous states."""
        return self.functions.rates

    @property
    def project(self) -> ca.Function:
        """Function of the continuous states after a step, projected to their manifold."""
        return self.functions.project

    @property
    def outputs(self) -> ca.Function:
        """Function of all loggable signals."""
        return self.functions.outputs

    @property
    def stops(self) -> ca.Function:
        """Function of the stop conditions."""
        return self.functions.stops

    @property
    def groups(self) -> list[SampleGroup]:
        """Sampled blocks in the order in which they run."""
        return self.functions.groups

    @property
    def sizes(self) -> dict[str, int]:
        """Number of rows of the kernel's arrays, by their names in the C source."""
        return {
            "IB_NX": self.x.size, "IB_NXD": self.xd.size, "IB_NHELD": self.held.size, "IB_NU": self.u.size,
            "IB_NP": self.p.size, "IB_NLOG": self.log.size, "IB_NSTOP": len(self.stop_names),
        }  # fmt: skip


def flatten(diagram: Diagram, step_s: float) -> Flat:
    """Validate a diagram and write its equations on flat columns."""
    _check_step(step_s)
    diagram.validate()
    return lay_out(diagram, step_s)


def _check_step(step_s: float) -> None:
    if not (isinstance(step_s, int | float) and SHORTEST_STEP_S <= step_s <= LONGEST_STEP_S):
        raise ModelError(f"step {step_s} s is outside {SHORTEST_STEP_S:g} s .. {LONGEST_STEP_S:g} s")


def lay_out(diagram: Diagram, step_s: float, description: str | None = None) -> Flat:
    """Columns of a validated diagram, and the values at the start; without equations."""
    _check_step(step_s)
    diagram = diagram.subset(diagram.blocks)  # a copy: later changes of the diagram do not affect the model
    x, xd, held, u, p, noise, log = (
        Column(k) for k in ("state", "state", "held output", "input", "parameter", "noise stream", "signal")
    )
    initial: dict[str, list[np.ndarray]] = {"x": [], "xd": [], "p": []}
    initial_of: dict[str, str] = {}
    tick_noises: list[str] = []
    for path, block in diagram.blocks.items():
        column, array = (xd, "xd") if block.is_sampled else (x, "x")
        for name, state in block.states.items():
            column.append(f"{path}.{name}", state)
            initial[array].append(diagram.initial(path, name))
            if isinstance(state.init, str):
                initial_of[f"{path}.{name}"] = f"{path}.{state.init}"
        for name, param in block.params.items():
            p.append(f"{path}.{name}", param)
            value = diagram.value(f"{path}.{name}")
            if not np.isfinite(value).all():
                raise ModelError(f"parameter {path}.{name} = {value.tolist()} [{param.unit}] is not finite")
            initial["p"].append(value)
        for name, stream in block.noises.items():
            noise.append(f"{path}.{name}", stream)
            if not block.is_sampled:
                tick_noises.append(f"{path}.{name}")
        for name, signal in block.outputs.items():
            log.append(f"{path}.{name}", signal)
            if block.is_sampled:
                held.append(f"{path}.{name}", signal)
    defaults: list[np.ndarray] = []
    for name, port in diagram.external_inputs().items():
        u.append(name, port.signal)
        assert isinstance(port.signal, In)
        defaults.append(as_column(0.0 if port.signal.default is None else port.signal.default, port.signal, name))
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
        stop_names=list(diagram.stops),
        tick_noises=tick_noises,
        initial_x=join(initial["x"]),
        initial_xd=join(initial["xd"]),
        values=join(initial["p"]),
        inputs=join(defaults),
        initial_of=initial_of,
        description=description,
    )


def assemble(flat: Flat) -> Functions:
    """Equations of a diagram as functions of its flat columns."""
    diagram = flat.diagram
    assembly = Assembly(diagram)
    eqs = assembly.equations

    def symbols(kind: str, column: Column) -> list[Expr]:
        places = (path.rpartition(".") for path in column.signals)
        return [getattr(eqs[block], kind)[name] for block, _, name in places]

    columns = [
        stack(parts)
        for parts in (
            [assembly.time],
            symbols("x", flat.x),
            symbols("x", flat.xd),
            [assembly.held[path] for path in flat.held.signals],
            [assembly.external[name] for name in flat.u.signals],
            symbols("p", flat.p),
            symbols("noise", flat.noise),
        )
    ]

    def function(name: str, results: Iterable[Expr]) -> ca.Function:
        return ca.Function(name, columns, [ca.densify(stack(list(results)))], {"allow_free": False})

    continuous = [path for path, block in diagram.blocks.items() if not block.is_sampled]
    return Functions(
        rates=function(
            "rates", (e for b in continuous for e in assembly.resolve(eqs[b], [eqs[b].rates[n] for n in eqs[b].x]))
        ),
        project=function("project", (eqs[b].projected.get(n, eqs[b].x[n]) for b in continuous for n in eqs[b].x)),
        outputs=function("outputs", (assembly.source_value(path) for path in flat.log.signals)),
        stops=function("stops", (assembly.source_value(path) for path in diagram.stops.values())),
        groups=[
            _sample_group(assembly, group, flat.xd, flat.held, function) for group in schedule(diagram, flat.step_s)
        ],
    )


def _sample_group(
    assembly: Assembly, group: Group, xd: Column, held: Column, function: Callable[[str, list[Expr]], ca.Function]
) -> SampleGroup:
    """Function of one group: outputs first, each reading the current outputs of those before it, then updates."""
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
        exprs = assembly.resolve(equations, list(equations.next.values()))
        if path in assembly.diagram.resets:
            exprs = _or_start(assembly, path, exprs)
        exprs = substitute(exprs, old, new)
        for name, expr in zip(equations.next, exprs, strict=True):
            _collect(expr, "xd", xd, f"{path}.{name}", results, targets)
    noises = [
        f"{path}.{name}"
        for path in dict.fromkeys([*group.outputs, *group.updates])
        for name in assembly.equations[path].noise
    ]
    return SampleGroup(group, function("samples", results), targets, noises)


def _or_start(assembly: Assembly, path: str, exprs: list[Expr]) -> list[Expr]:
    """Next states of a block, or its initial states while the output that resets it is below 0.5."""
    block, equations = assembly.diagram.blocks[path], assembly.equations[path]
    runs = assembly.source_value(assembly.diagram.resets[path]) > 0.5
    result = []
    for name, expr in zip(equations.next, exprs, strict=True):
        signal = block.states[name]
        if isinstance(signal.init, str):
            start = equations.p[signal.init]
        else:
            column = assembly.diagram.initial(path, name).tolist()
            start = ca.SX(ca.reshape(ca.DM(column), signal.rows, signal.columns))
        result.append(ca.if_else(runs, expr, ca.reshape(start, signal.rows, signal.columns)))
    return result


def substitute(exprs: list[Expr], old: list[Expr], new: list[Expr]) -> list[Expr]:
    """The expressions with symbols replaced."""
    return list(ca.substitute(exprs, old, new)) if exprs and old else exprs


def _collect(
    expr: Expr, array: str, column: Column, path: str, results: list[Expr], targets: list[tuple[str, int, str]]
) -> None:
    rows = column.rows(path)
    results.append(ca.vec(expr))
    size = rows.stop - rows.start
    targets += [(array, rows.start + i, path if size == 1 else f"{path}[{i}]") for i in range(size)]


def stack(parts: list[Expr]) -> Expr:
    """The expressions stacked into one column, matrices column by column."""
    return ca.vertcat(*[ca.vec(part) for part in parts]) if parts else ca.SX(0, 1)


def join(parts: list[np.ndarray]) -> np.ndarray:
    """The arrays joined into one column; an empty list gives an empty column."""
    return np.concatenate(parts) if parts else np.zeros(0)


def noise_rows(flat: Flat, path: str) -> tuple[Noise, int]:
    """Declaration of a noise stream, and its first row."""
    signal = flat.noise.signals[path]
    assert isinstance(signal, Noise)
    return signal, flat.noise.start[path]
