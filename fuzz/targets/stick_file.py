"""Recorded sticks, and how a controller's axes are laid out: the first byte says which."""

from __future__ import annotations

from fuzz.target import Refused, attempt, file_of, text_of
from ironbird.systems.commanded.sticks.layout import load_layout
from ironbird.systems.commanded.sticks.stick_file import parse_sticks

WORDS = (
    "time_s,roll,pitch,throttle,yaw,buttons\n", "0.0,0.0,0.0,0.5,0.0,0\n", "1e9,", "nan,", "-1,", '"', "\r\n", "[axes]\n", "roll = ", "throttle = ",
    "[buttons]\n", '0 = "arm"\n', "name = ", "deadband = ", "expo = ", "inverted = true",
)  # fmt: skip
MOST = 1000


def check(data: bytes) -> bool | None:
    """Taken or refused."""
    if not data:
        return False
    if data[0] & 1:
        found = attempt(load_layout, file_of(data[1:], "layout.toml"))
        return not isinstance(found, Refused) or "cannot be read" not in str(found.error)
    rows = attempt(parse_sticks, text_of(data[1:]))
    if isinstance(rows, Refused):
        return "the first line must be" not in str(rows.error)
    times = [row[0] for row in rows]
    assert times == sorted(times), "rows are not in the order of time"
    return None
