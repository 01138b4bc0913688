"""Whether a method of integration follows a model with its step: the fastest modes of a model, from exact derivatives.

An explicit method follows a mode that decays only if the step is short against its time constant; with a longer step
the mode grows, and a vehicle on stiff legs is thrown up by its own gear. The modes are the eigenvalues of the
continuous part of the model at the start, and once more with each part acting that says how (`Block.engaged`): feet in
the air are no springs. A vehicle that starts in flight is judged standing on its feet; friction of feet that slide fast
is not. Not seen: modes that are faster at other speeds, and values that change in flight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np

from ironbird.compiler.flatten import ARRAYS, Flat
from ironbird.compiler.point import OperatingPoint, point_at_start
from ironbird.errors import ModelError

FACTORIALS = {"euler": (1, 1), "rk2": (1, 1, 2), "rk4": (1, 1, 2, 6, 24)}  # of the powers in the growth of a step
# 1/s; a method adds energy to a light oscillation, and removes that of another: less than this is an error, no danger
HARMLESS_GROWTH_PER_S = 1.0
LEAST_STEPS = 5  # in a period of an oscillation; with fewer, feet come out of the ground faster than they went in
# added to the states, since the derivative of an airspeed does not exist at exactly zero; below it, so that feet that
# stand are just free
OFF_CENTRE = -1e-6
CURES = (("rk4", 1e-3), ("rk4", 5e-4), ("rk4", 2e-4), ("rk4", 1e-4))  # in the order in which they are tried
REACH = 10.0  # |root| times the step: no explicit method is stable so far out
HALVINGS = 30  # of the interval in which the longest step is looked for
CHANGE = 1.01  # factor that shows on which parameter a mode depends


Acting = tuple[str, int]  # path of a part that acts, and the number of the way, from 1
NOTHING: Acting = ("", 0)


@dataclass(frozen=True)
class Mode:
    """A mode of the continuous part of a model: its eigenvalue in 1/s, its main state, and what must act for it."""

    root: complex
    state: str
    acting: Acting

    @property
    def place(self) -> str:
        """The path of the part that must act, or of the block with the main state."""
        return self.acting[0] or self.state.rpartition(".")[0]

    def text(self) -> str:
        """How fast it is, in words."""
        swing = abs(self.root.imag) / (2 * math.pi)
        decay = f"a time constant of {1e3 / abs(self.root.real):.3g} ms" if self.root.real else ""
        return " and ".join(filter(None, [decay, f"a frequency of {swing:.3g} Hz" if swing else ""]))


def growth(root: complex | np.ndarray, step_s: float | np.ndarray, method: str) -> np.ndarray:
    """Factor by which a step multiplies the amplitude of modes with these eigenvalues (1/s)."""
    z = np.asarray(root) * step_s
    with np.errstate(over="ignore", invalid="ignore"):
        return np.abs(sum(z**power / factorial for power, factorial in enumerate(FACTORIALS[method])))


def follows(root: complex | np.ndarray, step_s: float | np.ndarray, method: str) -> np.ndarray:
    """Whether a method with this step lets no mode grow faster than the model does, and resolves its oscillation."""
    allowed = np.maximum(np.real(root), 0.0) + HARMLESS_GROWTH_PER_S
    grows = growth(root, step_s, method) > np.exp(np.minimum(allowed * step_s, 700.0))
    return ~grows & (np.abs(np.imag(root)) * step_s <= 2 * math.pi / LEAST_STEPS)


def longest_steps_s(roots: np.ndarray, method: str) -> np.ndarray:
    """The longest step in s with which a method follows each of these modes."""
    low, high = np.zeros(len(roots)), REACH / np.maximum(np.abs(roots), 1e-6)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        good = follows(roots, middle, method)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return low


class Modes:
    """The modes of a flat model at the start, for any values of its parameters."""

    def __init__(self, flat: Flat) -> None:
        symbols = flat.rates.sx_in()
        jacobian = ca.jacobian(flat.rates.call(symbols)[0], symbols[ARRAYS.index("x")])
        self._jacobian = ca.Function("jacobian", symbols, [ca.densify(jacobian)])
        self._flat = flat

    def points(self, values: np.ndarray | None = None) -> Iterator[tuple[Acting, OperatingPoint]]:
        """The start, and the start with each part acting in each of its ways, for these values of all parameters."""
        flat = self._flat
        start = point_at_start(flat, values)
        start.x += OFF_CENTRE
        yield NOTHING, start
        links = flat.diagram.links
        for path, block in flat.diagram.blocks.items():
            sources = {name: (links.get(f"{path}.{name}") or [""])[0] for name in block.inputs}
            known = {name: start[source] for name, source in sources.items() if source in flat.log.start}
            params = {name: start[f"{path}.{name}"] for name in block.params}
            states = {name: f"{path}.{name}" for name in block.states}
            for number, changes in enumerate(block.engaged(known, params), start=1):
                targets: dict[str, np.ndarray] = {}
                for name, value in changes.items():
                    targets |= self._targets(start, (states | sources)[name], value)
                if all(start.holds(target) for target in targets):
                    yield (path, number), start.changed(targets)

    def _targets(self, start: OperatingPoint, path: str, value: np.ndarray) -> dict[str, np.ndarray]:
        """What to set for this value: itself; for an output that shall be zero the states that it consists of.

        They are those of its block with its unit and shape: the velocity of a body is zero in all axes or in none.
        """
        if start.holds(path) or value.any():
            return {path: value}
        place, _, name = path.rpartition(".")
        block = self._flat.diagram.blocks[place]
        kind = (block.outputs[name].unit, block.outputs[name].shape)
        states = [state for state, signal in block.states.items() if (signal.unit, signal.shape) == kind]
        return {f"{place}.{state}": value + OFF_CENTRE for state in states} or {path: value}

    def roots(self, point: OperatingPoint) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues in 1/s at a point, and the row of the main state of each."""
        matrix = np.array(self._jacobian(*point.columns()))
        rows = np.isfinite(matrix).all(axis=1)  # a state without derivatives has no mode here
        roots, vectors = np.linalg.eig(np.where(np.outer(rows, rows), matrix, 0.0))
        return roots, np.argmax(np.abs(vectors), axis=0)

    def all(self, values: np.ndarray | None = None) -> list[Mode]:
        """The modes at all points."""
        labels = self._flat.x.labels()
        found: list[Mode] = []
        for acting, point in self.points(values):
            roots, rows = self.roots(point)
            found += [Mode(root, labels[row], acting) for root, row in zip(roots.tolist(), rows.tolist(), strict=True)]
        return found

    def cause(self, mode: Mode, values: np.ndarray | None = None) -> str:
        """The parameter of the mode's part, or of the block of its main state, that makes it faster most; or empty."""
        flat = self._flat
        usual = flat.values if values is None else values
        block = mode.place
        found: list[tuple[float, str]] = []
        for name, signal in flat.diagram.blocks[block].params.items():
            path = f"{block}.{name}"
            if signal.size > 1 or path in flat.initial_of.values():
                continue
            other = usual.copy()
            other[flat.p.rows(path)] *= CHANGE
            before, after = (self.roots(dict(self.points(p))[mode.acting])[0] for p in (usual, other))
            moved = after[np.abs(after - mode.root) < 10 * (CHANGE - 1) * abs(mode.root)]
            found.append((max((float(np.abs(before - root).min()) for root in moved), default=0.0), path))
        most, path = max(found, default=(0.0, ""))
        if most < 0.1 * (CHANGE - 1) * abs(mode.root):
            return ""
        return f"{path} = {usual[flat.p.rows(path)][0]:g} {flat.p.signals[path].unit}"


def check_step(flat: Flat, method: str, values: np.ndarray | None = None, modes: Modes | None = None) -> float:
    """Raise `ModelError` if a mode of a flat model is too fast for the method and its step.

    Parameters
    ----------
    flat : Flat
        The model with its step.
    method : str
        Method of integration.
    values : array, optional
        Those of all parameters; by default those of the diagram.
    modes : Modes, optional
        Those of the same model, if they are there already.

    Returns
    -------
    float
        How many times as long the step could be. A model without continuous states has no limit.
    """
    if not flat.x.size:
        return math.inf
    modes = modes or Modes(flat)
    every = modes.all(values)
    longest = longest_steps_s(np.array([mode.root for mode in every]), method)
    least = int(np.argmin(longest))
    if longest[least] < flat.step_s:
        mode = every[least]
        raise ModelError(_refusal(flat, method, every, mode, float(longest[least]), modes.cause(mode, values)))
    return float(longest[least] / flat.step_s)


def _refusal(flat: Flat, method: str, every: list[Mode], mode: Mode, longest_s: float, cause: str) -> str:
    """What is too fast, with its time constant, the step, the longest one, and the cures."""
    fits, roots = _fits(flat), np.array([each.root for each in every])
    shorter = ((m, s) for m, s in CURES if s <= flat.step_s and fits(s))
    cure = next((f"{m}@{s:g}" for m, s in shorter if follows(roots, s, m).all()), "")
    change = f"change {cause}" if cause else f"make {mode.place} slower"
    where = f"--integration {cure}, or [integration] of the vehicle's file"
    integrate = f"integrate with {cure} ({where}), or " if cure else ""
    acting = f", while {mode.acting[0]} acts" if mode.acting[0] else ""
    return (
        f"'{flat.diagram.name}' cannot be integrated with {method} in steps of {flat.step_s * 1e3:g} ms: {mode.state} "
        f"has a mode with {mode.text()}{acting}, for which {method} needs steps of at most {longest_s * 1e3:.3g} ms; "
        f"{integrate}{change}"
    )


def _fits(flat: Flat) -> Callable[[float], bool]:
    blocks = flat.diagram.blocks.values()
    times = [t for b in blocks if b.sample_s is not None for t in (b.sample_s, b.offset_s)]
    return lambda step_s: all(abs(t / step_s - round(t / step_s)) < 1e-6 for t in times)
