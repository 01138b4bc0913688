"""RFlySimSafe's fault.db: an SQLite file."""

from __future__ import annotations

from fuzz.target import Refused, attempt, file_of
from fuzz.targets.rflysimsafe_json import look
from ironbird.campaign.imports.rflysimsafe import read_rows

WORDS = (b"SQLite format 3\0", b"FaultCase", b"CaseID", b"ControlSequence", b"CREATE TABLE ", b"\0", b"2,3,0,0,-20;")
MOST = 16384


def check(data: bytes) -> bool | None:
    """Read or refused; a damaged database is no reason to end otherwise."""
    rows = attempt(read_rows, file_of(data, "fault.db"))
    if isinstance(rows, Refused):
        return "not a database" not in str(rows.error)
    look(rows, "ABC", written=True)
    return None
