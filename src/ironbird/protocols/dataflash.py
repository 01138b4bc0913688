"""ArduPilot's DataFlash logs (.BIN): records that describe themselves, read into one table per kind of record.

A record is 0xA3 0x95, its number, its values; the records FMT (number 128) give name, length, form and columns of all
others [ArduPilotDev]. Bytes that are no record are skipped and counted, so a truncated or damaged file yields its
intact records. Values are as in ArduPilot's tools: the factors of the format (centi, 1e-7 degrees) are applied.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

HEAD = b"\xa3\x95"
FMT, FMT_BODY = 128, struct.Struct("<BB4s16s64s")  # number, length, name, format, columns
FORMS: dict[str, tuple[str, float]] = {  # letter of a format: numpy's type, factor
    "a": ("32<i2", 1), "b": ("<i1", 1), "B": ("<u1", 1), "h": ("<i2", 1), "H": ("<u2", 1), "i": ("<i4", 1),
    "I": ("<u4", 1), "f": ("<f4", 1), "d": ("<f8", 1), "g": ("<f2", 1), "n": ("S4", 1), "N": ("S16", 1),
    "Z": ("S64", 1), "M": ("<u1", 1), "q": ("<i8", 1), "Q": ("<u8", 1),
    "c": ("<i2", 0.01), "C": ("<u2", 0.01), "e": ("<i4", 0.01), "E": ("<u4", 0.01), "L": ("<i4", 1e-7),
}  # fmt: skip
AT_ONCE = 1 << 16  # rows that are taken out of the file together: their indices take eight times their own memory
SIZES = {letter: np.dtype(kind).itemsize for letter, (kind, _) in FORMS.items()}

Table = dict[str, np.ndarray]  # column name: values


@dataclass(frozen=True)
class DataFlash:
    """Tables of a log by record name, and the number of bytes that belong to no record."""

    tables: dict[str, Table]
    skipped: int
    places: dict[str, np.ndarray] = field(default_factory=dict)  # where in the file each row of a table stands


@dataclass(frozen=True)
class _Form:
    """Content of a FMT record: name, size, format and columns of one kind of record."""

    name: str
    size: int  # bytes, with the three header bytes
    kinds: str
    columns: list[str]

    @functools.cached_property
    def dtype(self) -> np.dtype:
        """The values of a record as a numpy record type."""
        return np.dtype([(column, FORMS[kind][0]) for column, kind in zip(self.columns, self.kinds, strict=True)])


def _form_of(body: bytes) -> tuple[int, _Form] | None:
    """Number and form of a FMT record; None if it is inconsistent."""
    number, size, *texts = FMT_BODY.unpack(body)
    try:
        name, kinds, columns = (text.split(b"\0")[0].decode("ascii") for text in texts)
        form = _Form(name, size, kinds, columns.split(",") if columns else [])
        whole = sum(SIZES[kind] for kind in kinds) + len(HEAD) + 1
    except (UnicodeDecodeError, KeyError):
        return None
    complete = len(set(form.columns)) == len(kinds) == len(form.columns) and all(form.columns)
    return (number, form) if complete and whole == size else None


def read_dataflash(path: Path, wanted: Collection[str] | None) -> DataFlash:
    """Read the wanted records of a file; None: all."""
    data = path.read_bytes()
    forms = {FMT: _Form("FMT", FMT_BODY.size + 3, "BBnNZ", ["Type", "Length", "Name", "Format", "Columns"])}
    places: dict[int, list[int]] = {}
    place, skipped, end = 0, 0, len(data)
    while place < end:
        form = forms.get(data[place + 2]) if data.startswith(HEAD, place) and place + 2 < end else None
        if form is None or place + form.size > end:
            following = data.find(HEAD, place + 1)
            following = end if following < 0 else following
            skipped += following - place
            place = following
            continue
        number = data[place + 2]
        if number == FMT:
            described = _form_of(data[place + 3 : place + form.size])
            if described is not None:
                forms.setdefault(*described)
        elif form.columns and (wanted is None or form.name in wanted):
            places.setdefault(number, []).append(place)
        place += form.size
    raw = np.frombuffer(data, np.uint8)
    tables = {forms[n].name: _table(raw, forms[n], np.array(at)) for n, at in places.items()}
    return DataFlash(tables, skipped, {forms[n].name: np.array(at) for n, at in places.items()})


def _table(raw: np.ndarray, form: _Form, places: np.ndarray) -> Table:
    inside = np.arange(3, form.size)
    pieces = [raw[places[row : row + AT_ONCE, None] + inside] for row in range(0, len(places), AT_ONCE)]
    body = np.ascontiguousarray(np.concatenate(pieces))
    rows = body.view(form.dtype)[:, 0]
    table = {}
    for column, kind in zip(form.columns, form.kinds, strict=True):
        factor = FORMS[kind][1]
        table[column] = rows[column] if factor == 1 else rows[column] * factor
    return table


def with_times(found: DataFlash) -> DataFlash:
    """All tables with TimeUS, which logs before 2015 lack: from milliseconds, or the time of the record before."""
    tables: dict[str, Table] = {}
    bare: list[str] = []
    for name, table in found.tables.items():
        stamp: str | None = next((column for column in ("TimeUS", "TimeMS") if column in table), None)
        if name == "GPS" and "T" in table and "TimeMS" in table:  # TimeMS is then the time of the week
            stamp = "T"
        if stamp is None or table[stamp].dtype.kind not in "iuf" or table[stamp].ndim != 1:
            bare.append(name)
        else:
            tables[name] = {**table, "TimeUS": table[stamp].astype(float) * (1.0 if stamp == "TimeUS" else 1e3)}
    places = [found.places[name] for name in tables]
    if not places:
        return DataFlash({}, found.skipped)
    where, when = np.concatenate(places), np.concatenate([table["TimeUS"] for table in tables.values()])
    order = np.argsort(where)
    where, when = where[order], when[order]
    for name in bare:
        rows = np.clip(np.searchsorted(where, found.places[name]) - 1, 0, None)
        tables[name] = {**found.tables[name], "TimeUS": when[rows]}
    return DataFlash(tables, found.skipped, found.places)
