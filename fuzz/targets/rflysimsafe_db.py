"""RFlySimSafe's fault.db: an SQLite file, and the rows that SQLite reads in it."""

from __future__ import annotations

import functools
import random
from typing import Any

from fuzz.files import refilled
from fuzz.target import CORPUS, Refused, attempt, now_and_then
from fuzz.targets.rflysimsafe_json import look
from ironbird.campaign.imports.rflysimsafe import read_rows, rows_of

WORDS = (b"SQLite format 3\0", b"FaultCase", b"CaseID", b"ControlSequence", b"CREATE TABLE ", b"\0", b"2,3,0,0,-20;")
MOST = 16384
PIECES = (
    b"0", b"1", b"2", b"5", b"9", b",", b";", b".", b"-", b"e9", b"2,6,", b"1,2,", b"123540", b"nan", b"inf", b"x", b" ", b"\xff",
    b"\0", b"\x01", b"\x07", b"\x08", b"\x0c", b"\x0d",
)  # fmt: skip
FORMAT = "sqlite"
CELLS = frozenset((str, int, float, bytes, type(None)))  # kinds of values that SQLite gives
MOST_WHOLE = 2**63
_look = now_and_then(64)


@functools.cache
def _whole() -> tuple[bytes, list[int], list[int]]:
    """A small database, where it says something, and where this is in rows."""
    data = (CORPUS / "rflysimsafe_db" / "01").read_bytes()
    places = [place for place in range(100, len(data)) if data[place]]
    return data, places, [place for place in places if place > 512 + 16]


def make(draw: random.Random) -> bytes:
    """The small database with other bytes in some of its places: a shift would make its pages unreadable."""
    whole, places, in_rows = _whole()
    data = bytearray(whole)
    places = places if draw.random() < 0.125 else in_rows
    for _ in range(1 + int(draw.random() * 6)):
        at, piece = places[int(draw.random() * len(places))], PIECES[int(draw.random() * len(PIECES))]
        data[at : at + len(piece)] = piece
    return bytes(data[: len(whole)])


def check(data: bytes) -> bool | None:
    """Read or refused; a damaged database is no reason to end otherwise."""
    rows = attempt(read_rows, refilled(data, "fault.db"))
    if isinstance(rows, Refused):
        return "not a database" not in str(rows.error)
    look(rows, "ABC"[len(data) % 3], written=_look())
    return None


def check_table(table: Any) -> bool | None:
    """The same below SQLite, which gives rows of cells and nothing else."""
    if type(table) is not list or not all(type(row) is dict and _is_row(row) for row in table):
        return False
    rows = attempt(rows_of, table, "fault.db")
    if not isinstance(rows, Refused):
        look(rows, "ABC"[len(rows[0]) % 3], written=_look())
    return None


def _is_row(row: dict[str, Any]) -> bool:
    values = row.values()
    return CELLS.issuperset(map(type, values)) and all(
        -MOST_WHOLE <= value < MOST_WHOLE for value in values if type(value) is int
    )
