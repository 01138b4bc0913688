"""RFlySimSafe's fault.db: an SQLite file."""

from __future__ import annotations

from fuzz.target import file_of
from fuzz.targets.rflysimsafe_json import _import

WORDS = (b"SQLite format 3\0", b"FaultCase", b"CaseID", b"ControlSequence", b"CREATE TABLE ", b"\0", b"2,3,0,0,-20;")
MOST = 16384


def check(data: bytes) -> None:
    """Read or refused; a damaged database is no reason to end otherwise."""
    _import(file_of(data, "fault.db"))
