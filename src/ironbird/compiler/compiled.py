"""CompiledModel: an immutable model, ready to run any number of vehicles; many run states share one."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import hashlib
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from ironbird.compiler import model_cache, native
from ironbird.compiler.flatten import Flat, flatten, lay_out
from ironbird.compiler.generate import METHODS, Source, generate
from ironbird.compiler.stability import Modes, check_step
from ironbird.errors import ModelError, UnknownNameError, shortened
from ironbird.files.work import working
from ironbird.model.diagram import Diagram, as_column
from ironbird.model.signal import Number, Signal

INDEX = re.compile(r"[0-9]{1,9}\]")  # index of an entry, after the bracket
LANES = 8  # lanes per block of the wide kernel: one AVX-512 register, two of AVX2, four of NEON

LOOK_S = 1.0  # s between two checks for the optimised library
STEP_S = 1e-3  # s, default length of a tick


@dataclass(frozen=True, eq=False)
class CompiledModel:
    """A diagram turned into native code. Holds no value that changes during a run; equal to itself alone.

    `ib.compile_model` makes one; `model.params()`, `model.signals()`, `model.states()` and `model.inputs()` are its
    names.

    Attributes
    ----------
    flat : Flat
        The diagram without nesting: states, parameters, inputs in rows.
    method : str
        Method of integration.
    source : Source
        The generated C code.
    target : str
        Instruction set of the native code; empty is the best that this machine has.
    """

    flat: Flat
    method: str
    source: Source
    target: str = ""  # instruction set of the native code; empty: the best one of this machine
    _libraries: dict[int, ctypes.CDLL] = field(default_factory=dict, repr=False)
    # time of the last check for the optimised library, by width
    _looked_s: dict[int, float] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __repr__(self) -> str:
        flat = self.flat
        sizes = f"{flat.x.size} states, {flat.xd.size} sampled states, {flat.p.size} parameters"
        return f"<CompiledModel '{self.name}': {sizes}, {self.method} at {self.step_s * 1e3:g} ms>"

    @property
    def name(self) -> str:
        """Name of the compiled diagram."""
        return self.flat.diagram.name

    @property
    def step_s(self) -> float:
        """Length of a tick of the model in s."""
        return self.flat.step_s

    @functools.cached_property
    def model_hash(self) -> str:
        """Hash of what the model computes: source and headers, independent of compiler, lane count and machine."""
        return hashlib.sha256((self.source.text + native._headers_text()).encode()).hexdigest()

    def library(self, width: int) -> ctypes.CDLL:
        """The native code for 1 lane or for LANES lanes per block, compiled at first use.

        For one lane it may be a quick build until the optimised one is ready; both give the same bytes.
        """
        with self._lock:
            if width not in self._libraries:
                what = f"the model of {self.name}{'' if width == 1 else f' for {width} flights at a time'}"
                loaded, is_optimised = native.load_quickly(self.source.text, width, self.target or None, what=what)
                self._take(width, loaded)
                if not is_optimised:
                    self._looked_s[width] = time.monotonic()
            elif width in self._looked_s and time.monotonic() > self._looked_s[width] + LOOK_S:
                self._looked_s[width] = time.monotonic()
                better = native.optimised(self.source.text, width, self.target or None)
                if better is not None:
                    self._take(width, better)
                    del self._looked_s[width]
            return self._libraries[width]

    def _take(self, width: int, library: ctypes.CDLL) -> None:
        native.check_kernel(library, width, self.flat.sizes)
        self._libraries[width] = library

    def built_for(self, target: str) -> CompiledModel:
        """The same model compiled for another instruction set of this machine (`x86_64_v2`)."""
        return CompiledModel(self.flat, self.method, self.source, target)

    def built_unoptimised(self) -> CompiledModel:
        """The same model with the quick build for one lane, which a first flight uses."""
        other = CompiledModel(self.flat, self.method, self.source, self.target)
        other._take(1, native.load_unoptimised(self.source.text, 1, self.target or None))
        return other

    def build_all(self) -> None:
        """Compile the kernels for one lane and for LANES lanes now, in parallel."""
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda width: native.build(self.source.text, width, self.target or None), (1, LANES)))

    # ------------------------------------------------------------------ names

    def signals(self) -> dict[str, Signal]:
        """All loggable signals by path."""
        return dict(self.flat.log.signals)

    def states(self) -> dict[str, Signal]:
        """All states by path, continuous ones first."""
        return {**self.flat.x.signals, **self.flat.xd.signals}

    def params(self) -> dict[str, Signal]:
        """Declarations of all parameters, by path."""
        return dict(self.flat.p.signals)

    def inputs(self) -> dict[str, Signal]:
        """All external inputs by name."""
        return dict(self.flat.u.signals)

    def param_rows(self, path: str) -> slice:
        """Row range of a parameter, or of one entry of it (`path[i]`)."""
        name, bracket, index = path.partition("[")
        rows = self.flat.p.rows(name)
        if bracket:
            if not INDEX.fullmatch(index):
                raise ModelError(f"{path}: '{index.removesuffix(']')}' is no index; write {name}[0]")
            i = int(index[:-1])
            if not 0 <= i < rows.stop - rows.start:
                raise ModelError(f"{path}: index {i} is outside 0..{rows.stop - rows.start - 1}")
            return slice(rows.start + i, rows.start + i + 1)
        return rows

    def state_at(self, row: int) -> str:
        """Name of the state in a row; continuous states come first."""
        return (self.flat.x.labels() + self.flat.xd.labels())[row]

    def find_signals(self, patterns: list[str] | None) -> list[str]:
        """Signal paths that match; a pattern is a path, a block path (all its outputs) or ends with '*'."""
        if patterns is None:
            return list(self.flat.log.signals)
        paths: list[str] = []
        for pattern in patterns:
            begin = pattern[:-1] if pattern.endswith("*") else pattern + "."
            hits = [path for path in self.flat.log.signals if path == pattern or path.startswith(begin)]
            if not hits:
                raise UnknownNameError("signal", pattern, self.flat.log.signals)
            paths += hits
        return list(dict.fromkeys(paths))

    def check_value(self, path: str, value: Number | np.ndarray) -> np.ndarray:
        """A parameter value as a column, checked against size and range."""
        rows = self.param_rows(path)
        signal = self.flat.p.signals[path.partition("[")[0]]
        if rows.stop - rows.start == signal.size:
            column = as_column(value, signal, path)
        else:
            try:
                column = np.array([float(np.asarray(value, dtype=float))])
            except (TypeError, ValueError, OverflowError):
                raise ModelError(f"{path} needs one number, got {shortened(repr(value))}") from None
        if not np.isfinite(column).all():
            raise ModelError(f"{path} = {column.tolist()} [{signal.unit}] is not finite")
        if not (column.min() >= signal.low and column.max() <= signal.high):
            worst = column.min() if column.min() < signal.low else column.max()
            raise ModelError(f"{path} = {worst:g} {signal.unit} is outside its range {signal.low:g} .. {signal.high:g}")
        return column

    @functools.cached_property
    def modes(self) -> Modes:
        """The modes of the continuous part, for any values of its parameters."""
        return Modes(self.flat)

    def check_step(self, settings: Mapping[str, Number | np.ndarray]) -> None:
        """Raise `ModelError` if the step is too long with these values of parameters in place of the model's own.

        Modes are computed only if the values differ so much that one could be too fast: none is taken to change by more
        than the product of the squared ratios. Initial values and parameters of sampled parts do not matter.
        """
        flat, ratio = self.flat, np.float64(1.0)
        values, begins = flat.values.copy(), set(flat.initial_of.values())
        for path, value in settings.items():
            name = path.partition("[")[0]
            block = flat.diagram.blocks.get(name.rpartition(".")[0])
            if name in flat.p.start and name not in begins and block is not None and not block.is_sampled:
                rows = self.param_rows(path)
                values[rows] = self.check_value(path, value)
                with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                    ratios = np.nan_to_num(np.abs(values[rows] / flat.values[rows]), nan=1.0)  # 0 for 0
                    ratio *= np.max(np.maximum(ratios, 1 / ratios)) ** 2
        if ratio > max(self.source.slack, 1.0):
            check_step(flat, self.method, values, self.modes)

    def check_values(self, path: str, values: Sequence[Number | np.ndarray]) -> np.ndarray:
        """Several values of a parameter as rows of a table, each checked as `check_value` does."""
        rows = self.param_rows(path)
        signal = self.flat.p.signals[path.partition("[")[0]]
        if all(np.ndim(value) == (rows.stop - rows.start > 1) for value in values):
            try:
                table = np.array(values, float).reshape(len(values), rows.stop - rows.start)
            except (TypeError, ValueError, OverflowError):
                pass  # one of them does not fit: the loop below reports which
            else:
                if ((table >= signal.low) & (table <= signal.high) & np.isfinite(table)).all():
                    return table
        return np.array([self.check_value(path, value) for value in values])


def compile_model(diagram: Diagram, *, step_s: float = STEP_S, method: str = "rk4") -> CompiledModel:
    """Compile a diagram to native code; the library is kept on disk, so that the next call is quick.

    Parameters
    ----------
    diagram : Diagram
        For example `ib.load_vehicle("quad_f450").diagram`.
    step_s : float, default 0.001
        Step of integration in s.
    method : str, default "rk4"
        Method of integration.

    Returns
    -------
    CompiledModel
        It holds no value that changes during a run.

    Raises
    ------
    ModelError
        If the diagram is not complete, has an algebraic loop, or units do not fit: all problems. Or if the method is
        not stable with this step, because a part is too fast.

    Examples
    --------
    >>> model = ib.compile_model(ib.load_vehicle("quad_f450", control="truth").diagram)
    >>> model.step_s
    0.001
    """
    if method not in METHODS:
        raise UnknownNameError("integration method", method, METHODS)
    described = model_cache.description(diagram)
    key = model_cache.key_of(described, step_s, method) if described else ""
    source = model_cache.read(key) if key else None
    if source is not None:  # an equal diagram was validated before
        return CompiledModel(lay_out(diagram, step_s, described), method, source)
    with without_collection(), working(f"writing the equations of {diagram.name} as C, once"):
        flat = flatten(diagram, step_s)
        slack = check_step(flat, method)
        source = replace(generate(flat, method), slack=slack)
    if key:
        model_cache.keep(key, source)
    return CompiledModel(flat, method, source)


def check_integration(diagram: Diagram, *, step_s: float = STEP_S, method: str = "rk4") -> float:
    """Raise `ModelError` if a diagram is wrong or too fast for the step, as `compile_model` does; writes no code.

    Returns how many times as long the step could be.
    """
    described = model_cache.description(diagram)
    known = model_cache.read(model_cache.key_of(described, step_s, method)) if described else None
    if known is not None:
        return known.slack
    with without_collection(), working(f"checking the equations of {diagram.name}"):
        return check_step(flatten(diagram, step_s), method)


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """No garbage collection inside the `with` block: it would take a fifth of the time although all objects stay."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
