"""ArduPilot's logs."""

from __future__ import annotations

from fuzz.files import refilled
from fuzz.target import Refused, attempt
from fuzz.targets.ulog import HOME, look
from ironbird.protocols.autopilot_log import ARDUPILOT_RECORDS, read_autopilot_log

WORDS = (
    b"\xa3\x95",
    b"\xa3\x95\x80",
    *(name.encode() for name in ARDUPILOT_RECORDS),
    b"TimeUS",
    b"QBffff",
    b"a",
    b"Z",
    b"\0",
)
MOST = 4096


def check(data: bytes) -> None:
    """What is accepted has series in the order of time."""
    log = attempt(read_autopilot_log, refilled(data, "log.BIN"), HOME)
    if not isinstance(log, Refused):
        look(log)
