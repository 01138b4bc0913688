"""Declarations of a block: inputs, outputs, states, parameters, noise streams, the clock.

Each is written as a class attribute of a block (`speed = Out(unit="rad/s")`) or added to one block instance with
`Block.declare`. A declaration has unit, shape, frame, range and a description; it holds no value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from ironbird.errors import ModelError
from ironbird.frames import FRAMES
from ironbird.units import UNITS

Number = float | Sequence[float] | Sequence[Sequence[float]]
Shape = int | tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Signal:
    """Base class of declarations: unit, shape, frame, range and text; `shape` is 1, n (a column) or (rows, columns)."""

    unit: str
    shape: Shape = 1
    frame: str | None = None
    low: float = -float("inf")
    high: float = float("inf")
    doc: str = ""

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ModelError(f"unit '{self.unit}' is not in ironbird.units.UNITS; add it there or correct it")
        if self.frame is not None and self.frame not in FRAMES:
            raise ModelError(f"frame '{self.frame}' is not defined in ironbird.frames")

    @property
    def rows(self) -> int:
        """Number of rows of the shape."""
        return self.shape if isinstance(self.shape, int) else self.shape[0]

    @property
    def columns(self) -> int:
        """Number of columns of the shape."""
        return 1 if isinstance(self.shape, int) else self.shape[1]

    @property
    def size(self) -> int:
        """Number of scalars; matrices are stored column by column."""
        return self.rows * self.columns

    def describe(self) -> str:
        """Unit, and shape and frame unless trivial, as shown in error messages."""
        text = self.unit
        if self.size > 1:
            text += f" x{self.size}" if self.columns == 1 else f" {self.rows}x{self.columns}"
        if self.frame:
            text += f" in {self.frame}"
        return f"[{text}]"


def entry_names(path: str, size: int) -> list[str]:
    """The names of a signal's scalars in formulas, logs and tables: `path`, or `path[i]` where there are several."""
    return [path] if size == 1 else [f"{path}[{i}]" for i in range(size)]


@dataclass(frozen=True, kw_only=True)
class In(Signal):
    """An input port of a block.

    Parameters
    ----------
    unit : str
        Unit, for example "m/s"; "1" if it has none.
    shape : int or tuple of int, default 1
        1 is one number, n a column of n numbers, (rows, columns) a matrix.
    frame : str or None, default None
        Axes in which a vector is expressed, for example "B" or "N".
    low, high : float, default -inf and inf
        Range.
    doc : str, default ""
        What it is, in a few words.
    default : number or list, optional
        Value if nothing is connected; without one a connection is needed.
    gather : bool, default False
        Take any number of connections and add them (forces on a body); with none it is zero.
    """

    default: Number | None = None
    gather: bool = False


@dataclass(frozen=True, kw_only=True)
class Out(Signal):
    """An output port of a block.

    Parameters
    ----------
    unit : str
        Unit, for example "m/s"; "1" if it has none.
    shape : int or tuple of int, default 1
        1 is one number, n a column of n numbers, (rows, columns) a matrix.
    frame : str or None, default None
        Axes in which a vector is expressed, for example "B" or "N".
    low, high : float, default -inf and inf
        Range.
    doc : str, default ""
        What it is, in a few words.
    """


@dataclass(frozen=True, kw_only=True)
class State(Signal):
    """A state of a block.

    Parameters
    ----------
    unit : str
        Unit, for example "rad"; "1" if it has none.
    shape : int or tuple of int, default 1
        1 is one number, n a column of n numbers, (rows, columns) a matrix.
    frame : str or None, default None
        Axes in which a vector is expressed, for example "B" or "N".
    low, high : float, default -inf and inf
        Range.
    doc : str, default ""
        What it is, in a few words.
    init : number, list or str, default 0.0
        Value at time zero, or the name of a parameter that has it.
    """

    init: Number | str = 0.0


@dataclass(frozen=True, kw_only=True)
class Param(Signal):
    """A parameter of a block; without `default` the vehicle file must give it.

    Parameters
    ----------
    unit : str
        Unit, for example "kg"; "1" if it has none.
    shape : int or tuple of int, default 1
        1 is one number, n a column of n numbers, (rows, columns) a matrix.
    frame : str or None, default None
        Axes in which a vector is expressed, for example "B" or "N".
    low, high : float, default -inf and inf
        Range.
    doc : str, default ""
        What it is, in a few words.
    default : number or list, optional
        Value if none is given.
    tunable : bool, default False
        Whether it may change during a run.
    """

    default: Number | None = None
    tunable: bool = False


@dataclass(frozen=True, kw_only=True)
class Noise(Signal):
    """A stream of independent random numbers, one draw per tick, or per sample of a sampled block.

    Parameters
    ----------
    unit : str, default "1"
        Unit.
    shape : int or tuple of int, default 1
        1 is one number, n a column of n numbers, (rows, columns) a matrix.
    frame : str or None, default None
        Axes in which a vector is expressed, for example "B" or "N".
    low, high : float, default -inf and inf
        Range.
    doc : str, default ""
        What it is, in a few words.
    kind : str, default "normal"
        normal (mean 0, deviation 1) or uniform (0 to 1).
    """

    unit: str = "1"
    kind: Literal["normal", "uniform"] = "normal"


@dataclass(frozen=True, kw_only=True)
class Clock(Signal):
    """Simulation time, read like an input.

    Parameters
    ----------
    unit : str, default "s"
        Unit.
    shape : int or tuple of int, default 1
        1 is one number, n a column of n numbers, (rows, columns) a matrix.
    frame : str or None, default None
        Axes in which a vector is expressed, for example "B" or "N".
    low, high : float, default -inf and inf
        Range.
    doc : str, default ""
        What it is, in a few words.
    """

    unit: str = field(default="s")
