"""Block: declarations plus equations, [Dai] Eq. 1: (state, parameters, inputs) -> (derivatives, outputs).

A block is independent of files, clocks and autopilots, holds no values, and is written in CasADi's SX.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, TypeVar

import casadi as ca
import numpy as np

from ironbird.errors import ModelError, UnknownNameError
from ironbird.model.signal import Clock, In, Noise, Out, Param, Signal, State

Expr = ca.SX
Values = Mapping[str, "Expr | float"]
Rates = Values

Role = Literal["plant", "controller", "estimator", "transform"]

_S = TypeVar("_S", bound=Signal)


class View:
    """Values by name that a block's functions get: `x.omega`, `u.throttle`, `p.slope`.

    Parameters
    ----------
    values : mapping of str to expression
        The values.
    where : str
        What messages call it.
    """

    def __init__(self, values: Mapping[str, Expr], where: str) -> None:
        self._values = dict(values)
        self._where = where

    def __getattr__(self, name: str) -> Expr:
        try:
            return self._values[name]
        except KeyError:
            raise ModelError(str(UnknownNameError("name", name, self._values, self._where))) from None

    def __getitem__(self, name: str) -> Expr:
        return self.__getattr__(name)


class Block:
    """Base of all parts of a model.

    A continuous block gives `derivative` (if it has states) and `output`. A sampled block is made with `sample_s=…` and
    gives `update` (next states) and `output`; its outputs are held between samples. A continuous block without states
    may also be made with `sample_s`: it is then evaluated at that rate and held, which is how slow things run slowly.
    `project` may return states to their manifold after each step (a quaternion to unit length). `u` carries inputs,
    noise streams and the clock. Ports, states and parameters are class attributes: `In`, `Out`, `State`, `Param`,
    `Noise`, `Clock`.

    `role` says on which side of the loop a block stands: `plant` (vehicle, surroundings, sensors), `controller` or
    `estimator` (the control system), or `transform` (axes or mixing: it stands on the side whose signals it reads).

    Parameters
    ----------
    sample_s : float, optional
        Time between samples in s; a continuous block by default.
    offset_s : float, default 0.0
        Time of the first sample in s.
    """

    source: ClassVar[str] = ""  # where the equations come from: a key of docs/references.bib and a place in it
    role: ClassVar[Role] = "plant"

    def __init__(self, *, sample_s: float | None = None, offset_s: float = 0.0) -> None:
        self.sample_s = sample_s
        self.offset_s = offset_s
        self.signals: dict[str, Signal] = {}
        self.equations: dict[str, object] = {}  # cache of ironbird.model.equations, by path
        for cls in reversed(type(self).__mro__):
            for name, value in vars(cls).items():
                if isinstance(value, Signal):
                    self.signals[name] = value

    def __getstate__(self) -> dict[str, object]:
        """State for copies and pickles: without the cached equations, which are derived again."""
        return {**self.__dict__, "equations": {}}

    def declare(self, name: str, signal: Signal) -> None:
        """Add (or replace) a declaration of this instance; for blocks whose number of ports is an argument."""
        self.signals[name] = signal
        self.equations.clear()

    def of_kind(self, kind: type[_S]) -> dict[str, _S]:
        """The declarations of one kind by name, in order of declaration."""
        return {name: signal for name, signal in self.signals.items() if isinstance(signal, kind)}

    @property
    def inputs(self) -> dict[str, In]:
        """Declared input ports by name."""
        return self.of_kind(In)

    @property
    def outputs(self) -> dict[str, Out]:
        """Declared output ports by name."""
        return self.of_kind(Out)

    @property
    def states(self) -> dict[str, State]:
        """Declared states of the block, by name."""
        return self.of_kind(State)

    @property
    def params(self) -> dict[str, Param]:
        """Declared parameters by name."""
        return self.of_kind(Param)

    @property
    def noises(self) -> dict[str, Noise]:
        """Declared noise streams by name."""
        return self.of_kind(Noise)

    @property
    def clocks(self) -> dict[str, Clock]:
        """Declared clocks of the block, by name."""
        return self.of_kind(Clock)

    @property
    def is_sampled(self) -> bool:
        """Whether outputs are computed at samples and held."""
        return self.sample_s is not None

    def engaged(
        self, inputs: Mapping[str, np.ndarray], params: Mapping[str, np.ndarray]
    ) -> Sequence[Mapping[str, np.ndarray]]:
        """Values of inputs and states with which the block acts, if it does nothing at the start, as feet in the air.

        The step of integration is checked with each of them (`ironbird.compiler.stability`); there are none by default.
        Matrices come column by column; of inputs only those with a source are there. An input that another block
        computes can be asked to be zero, as a velocity.
        """
        return ()

    def derivative(self, x: View, u: View, p: View) -> Rates:
        """Time derivative of each state of a continuous block."""
        return {}

    def update(self, x: View, u: View, p: View) -> Values:
        """Next value of each state of a sampled block."""
        return {}

    def output(self, x: View, u: View, p: View) -> Values:
        """Value of each output port, as expressions by name."""
        return {}

    def project(self, x: View, p: View) -> Values:
        """States projected back to their manifold after a step; states that are not returned stay unchanged."""
        return {}


def shaped(value: Expr | float, signal: Signal, what: str) -> Expr:
    """Check the shape of an equation's result against its declaration and return it dense."""
    expr = ca.SX(value) if not isinstance(value, ca.SX) else value
    if (expr.rows(), expr.columns()) != (signal.rows, signal.columns):
        raise ModelError(
            f"{what} is declared {signal.rows}x{signal.columns} but its equation gives {expr.rows()}x{expr.columns()}"
        )
    return ca.densify(expr)
