"""PX4's logs."""

from __future__ import annotations

from fuzz.files import refilled
from fuzz.target import Refused, attempt
from ironbird.protocols.autopilot_log import AutopilotLog, read_autopilot_log
from ironbird.vehicles.spec import Home

WORDS = (
    b"ULog\x01\x12\x35",
    b"vehicle_attitude",
    b"vehicle_local_position",
    b"double[4] q;",
    b"uint64_t timestamp;",
    b"F",
    b"A",
    b"D",
)
MOST = 8192
HOME = Home()


def check(data: bytes) -> None:
    """What is accepted has series in the order of time."""
    log = attempt(read_autopilot_log, refilled(data, "log.ulg"), HOME)
    if not isinstance(log, Refused):
        look(log)


def look(log: AutopilotLog) -> None:
    """Refuse series that a page cannot show."""
    for series in (*log.estimated.values(), *log.received.values()):
        assert len(series.time_s) == len(series.values)
        assert (series.time_s[1:] > series.time_s[:-1]).all()
    assert log.span_s[0] <= log.span_s[1]
