"""Tables of a vehicle file whose keys are generated from the declarations of blocks.

    class ContactTable(BlockTable):
        points_B_m: Annotated[list[Vector3], Field(min_length=3)]
        params = params_of(GroundContact, "stiffness_Npm damping_Nspm friction")

gives the table the keys `stiffness_Npm`, `damping_Nspm` and `friction`, with the ranges and descriptions that
`GroundContact` declares, and passes the values on: `diagram.add("contact", GroundContact(), **table.params)`.

A key is the parameter's name, `_B` if it is a vector of that frame, and its unit. Keys are the format of users' files,
so they are written out here and only checked against the declaration: a unit that changes in a block is an error when
the template is imported, not a new key.
"""

from __future__ import annotations

import inspect
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, overload

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ironbird.errors import ModelError, UnknownNameError
from ironbird.model.diagram import default_value
from ironbird.model.signal import Number, Param
from ironbird.units import UNITS
from ironbird.vehicles.blocks import blocks
from ironbird.vehicles.spec import Table, VehicleSpec

SPELLED = {"1": "", "1/s": "1ps", "1/m": "1pm", "rad/s/V": "radpsV"}  # units whose suffix does not follow the rule
# Units of files that differ from those of blocks: the block's unit, and the factor to it
OUTSIDE = {
    "deg": ("rad", math.radians(1.0)),
    "deg/s": ("rad/s", math.radians(1.0)),
    "A*h": ("A*s", 3600.0),
    "m/rad": ("m", 1.0),
}


def suffix(unit: str) -> str:
    """Suffix of a key for a unit: `N*s^2/m` is `Ns2pm` (p: per); empty for dimensionless values."""
    if unit in SPELLED:
        return SPELLED[unit]
    return re.sub(r"[*^]", "", unit).removeprefix("1").replace("/", "p")


BY_SUFFIX = {suffix(unit): unit for unit in [*sorted(UNITS), *OUTSIDE]}


def unit_of_key(key: str) -> str:
    """Unit that the suffix of a key names, `1` if none; the letter of a frame is no unit."""
    name = re.sub(r"_B(?=_|$)", "", key.rpartition(".")[2])
    return BY_SUFFIX.get(name.rpartition("_")[2], "1") if "_" in name else "1"


@dataclass(frozen=True)
class Key:
    """A key of a table, and the block parameter that takes its value."""

    name: str
    parameter: str
    signal: Param
    factor: float = 1.0  # from the file's unit to the block's
    positive: bool = False
    optional: bool = False

    @property
    def unit(self) -> str:
        """Unit in the file: that of the key, or the declared one if the key names none."""
        named = unit_of_key(self.name)
        return self.signal.unit if named == "1" else named

    def annotation(self) -> Any:
        """Type of its values: a number, a list or rows of numbers within the declared range."""
        bounds: dict[str, Any] = {}
        if self.positive and self.signal.low <= 0.0:
            bounds["gt"] = 0.0
        elif self.signal.low > -math.inf:
            bounds["ge"] = self.signal.low / self.factor
        if self.signal.high < math.inf:
            bounds["le"] = self.signal.high / self.factor
        kind: Any = Annotated[float, Field(**bounds)] if bounds else float
        for size in (self.signal.columns, self.signal.rows):
            if size > 1:
                kind = Annotated[list[kind], Field(min_length=size, max_length=size)]
        return Annotated[kind, Field(description=self.signal.doc)]

    def default(self) -> Any:
        """Declared default in the file's unit and shape."""
        column = default_value(self.signal)
        if column is None:
            raise ModelError(f"key '{self.name}' may be left out, but parameter '{self.parameter}' has no default")
        rows = (column / self.factor).reshape(self.signal.rows, self.signal.columns, order="F").tolist()
        if self.signal.columns > 1:
            return rows
        values = [row[0] for row in rows]
        return values if len(values) > 1 else values[0]

    def value(self, number: Any) -> Number:
        """Value of the block's parameter from the value in the file."""
        return number if self.factor == 1.0 else (np.asarray(number, float) * self.factor).tolist()


class Params:
    """Descriptor of the keys that one block takes; read from a table it gives the values by parameter name."""

    def __init__(self, *keys: Key) -> None:
        self.keys = keys

    @overload
    def __get__(self, table: None, owner: type[Table]) -> Params: ...
    @overload
    def __get__(self, table: Table, owner: type[Table]) -> dict[str, Number]: ...
    def __get__(self, table: Table | None, owner: type[Table]) -> Params | dict[str, Number]:
        if table is None:
            return self
        pairs = [(key, getattr(table, key.name)) for key in self.keys]
        return {key.parameter: key.value(value) for key, value in pairs if value is not None}


def params_of(block: type, keys: str) -> Params:
    """Keys of a table from the parameters that a class of blocks declares.

    `KEY` is the parameter of that name (without unit and frame). `KEY=PARAMETER` maps a key to a parameter of another
    name, `KEY>0` refuses zero where the block would take it, and `KEY?` may be left out: it is then the declared
    default. A key that the class also annotates has the type, range and default that are written there.
    """
    declared: dict[str, Param] = {}
    for base in reversed(block.__mro__):
        declared |= {name: signal for name, signal in vars(base).items() if isinstance(signal, Param)}
    return Params(*(_key(block.__name__, declared, entry) for entry in keys.split()))


def _key(block: str, declared: dict[str, Param], entry: str) -> Key:
    text, optional = entry.removesuffix("?"), entry.endswith("?")
    text, positive = text.removesuffix(">0"), text.endswith(">0")
    name, _, parameter = text.partition("=")
    written = unit_of_key(name)
    if not parameter and name in declared:
        parameter, written = name, "1"
    elif not parameter:
        parameter = name.removesuffix("_" + suffix(written)).removesuffix("_B")
    if parameter not in declared:
        raise ModelError(str(UnknownNameError("parameter", parameter, declared, f"{block} (key '{name}')")))
    signal = declared[parameter]
    inside, factor = OUTSIDE.get(written, (written, 1.0))
    if inside not in (signal.unit, "1"):
        raise ModelError(f"key '{name}' says {inside}, but {block}.{parameter} is in {signal.unit}")
    return Key(name, parameter, signal, factor, positive, optional)


class BlockTable(Table):
    """A table with keys of blocks: one attribute made by `params_of` for each block."""

    model_config = ConfigDict(ignored_types=(Params,))

    if TYPE_CHECKING:  # keys of blocks are invisible to type checkers

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        written = inspect.get_annotations(cls)
        keys: dict[str, Key] = {}
        for part in vars(cls).values():
            for key in part.keys if isinstance(part, Params) else ():
                keys.setdefault(key.name, key)  # a key that two blocks take has the range of the first
        inherited = {name for base in cls.__mro__[1:] for name in getattr(base, "model_fields", {})}
        annotations = {name: kind for name, kind in written.items() if name not in keys}
        for name, key in keys.items():
            if name in written:
                annotations[name] = written[name]
            elif name not in inherited:
                annotations[name] = key.annotation()
                if key.optional:
                    setattr(cls, name, key.default())
        cls.__annotations__ = annotations


def keys_of(table: type[BaseModel]) -> dict[str, Key]:
    """Keys of a table that are declared by parameters of blocks."""
    parts = [part for base in reversed(table.__mro__) for part in vars(base).values() if isinstance(part, Params)]
    return {key.name: key for part in parts for key in part.keys}


def unit_of(spec: VehicleSpec, key: str) -> str:
    """The unit of a value of a vehicle file by its dotted key (`rotor.1.position_B_m`), `1` if it has none.

    It is declared by the block that takes the value; for other values the key names it.
    """
    *tables, name = key.split(".")
    table: Any = spec
    for part in tables:
        table = getattr(table, part) if isinstance(table, Table) else table[part if part in table else int(part) - 1]
    if tables[:1] in (["replace"], ["add"]) and tables[2:] == ["params"]:
        signal = getattr(blocks().load(getattr(spec, tables[0])[tables[1]].block), name, None)
        return signal.unit if isinstance(signal, Param) else "1"
    declared = keys_of(type(table)) if isinstance(table, Table) else {}
    return declared[name].unit if name in declared else unit_of_key(name)
