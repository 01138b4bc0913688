"""Messages of MAVLink by name and number: layouts, units and checksum seeds from one table, messages.csv [MAVLink2].

`dialect.HEARTBEAT` is the message of that name, `MESSAGES[0]` the one of that number: all of `ardupilotmega` and the
dialects that it includes (`common` among them), `development`, and what PX4 adds. A message is parsed on first use.
tools/write_mavlink_table.py writes the table.
"""

from __future__ import annotations

import functools
import struct
from collections import namedtuple
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ironbird.errors import UnknownNameError

TABLE = Path(__file__).with_name("messages.csv")
STAGE = "IBBH"  # header of a staged payload: id, length, CRC_EXTRA, spare


class Field(NamedTuple):
    """A field of a message: `layout` in the notation of `struct`, a count before the letter for arrays and texts."""

    name: str
    layout: str
    unit: str  # in MAVLink's notation; "" if none is defined

    @property
    def names(self) -> list[str]:
        """Names of the field's values: one per entry of an array, one for a text."""
        many = self.layout[:-1] if self.layout[-1] != "s" else ""
        return [f"{self.name}{place}" for place in range(int(many))] if many else [self.name]


@dataclass(frozen=True, eq=False)
class Message:
    """Definition of a message: id, checksum seed, and fields in wire order (by size, extensions last)."""

    name: str
    id: int
    crc_extra: int
    fields: tuple[Field, ...]

    @functools.cached_property
    def layout(self) -> str:
        """Layout of the payload in the notation of `struct`."""
        return "".join(field.layout for field in self.fields)

    @functools.cached_property
    def payload(self) -> struct.Struct:
        return struct.Struct("<" + self.layout)

    @functools.cached_property
    def staged(self) -> struct.Struct:
        """Layout of a message before framing: the header of STAGE, then the payload."""
        return struct.Struct("<" + STAGE + self.layout)

    @functools.cached_property
    def head(self) -> tuple[int, int, int, int]:
        return self.id, self.payload.size, self.crc_extra, 0

    @functools.cached_property
    def record(self) -> Any:
        """Named tuple of the fields, arrays expanded; omitted fields are zero."""
        names = [name for field in self.fields for name in field.names]
        return namedtuple(self.name, names, defaults=self.unpack(b""))

    @functools.cached_property
    def units(self) -> dict[str, str]:
        """Unit by field name, for the fields that have one."""
        return {field.name: field.unit for field in self.fields if field.unit}

    def unpack(self, payload: bytes) -> tuple[Any, ...]:
        """Field values in wire order; truncated ones are zero, fields added by a newer dialect are dropped."""
        size = self.payload.size
        if len(payload) < size:
            payload = payload + bytes(size - len(payload))
        return self.payload.unpack_from(payload)

    def read(self, payload: bytes) -> Any:
        """The payload as a named tuple (`record`)."""
        return self.record._make(self.unpack(payload))


@functools.cache
def _rows() -> dict[int, list[str]]:
    """Raw rows of the table (name, number, seed, fields) by message number."""
    lines = (line.split(",") for line in TABLE.read_text().splitlines() if not line.startswith("#"))
    return {int(line[1]): line for line in lines}


@functools.cache
def _ids() -> dict[str, int]:
    return {row[0]: number for number, row in _rows().items()}


@functools.cache
def _message(number: int) -> Message:
    name, _, extra, fields = _rows()[number]
    parts = (part.split(":") for part in fields.split() if part != "+")
    return Message(name, number, int(extra), tuple(Field(*part, *[""] * (3 - len(part))) for part in parts))


@functools.cache
def crc_extras() -> dict[int, int]:
    """CRC_EXTRA of all messages by number, in order."""
    return {number: int(row[2]) for number, row in _rows().items()}


class _Messages(Mapping[int, Message]):
    """All messages by number, parsed on first use."""

    def __getitem__(self, number: int) -> Message:
        return _message(number)

    def __contains__(self, number: object) -> bool:
        return number in _rows()

    def __iter__(self) -> Iterator[int]:
        return iter(_rows())

    def __len__(self) -> int:
        return len(_rows())


MESSAGES = _Messages()


def is_message(name: str) -> bool:
    """Whether a message of the table has this name."""
    return name in _ids()


def message_of(name: str, where: str = "") -> Message:
    """The message with a name; an unknown name is refused with the nearest known ones, `where` is for the error."""
    if name not in _ids():
        raise UnknownNameError("message of MAVLink", name, _ids(), where)
    return _message(_ids()[name])


def __getattr__(name: str) -> Message:
    if not name[0].isupper():
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    try:
        return globals().setdefault(name, message_of(name))
    except UnknownNameError as error:
        raise AttributeError(str(error)) from None
