"""Faults as they are ordered on the command line."""

from __future__ import annotations

from fuzz.target import Refused, argument_of, attempt, now_and_then
from ironbird.faults.catalog import FAULTS, KEYS, parse_fault
from ironbird.faults.spec import SHAPES, Injection

WORDS = (
    *FAULTS,
    *(f",{key}=" for key in KEYS),
    *SHAPES,
    ",when=",
    ":",
    "=",
    ",",
    "altitude > 5 m",
    "1e308",
    "-0.0",
    "*",
)
MOST = 400
_again = now_and_then(4)


def check(data: bytes) -> bool | None:
    """What is accepted says itself in a text and in a table that read back to the same."""
    order = attempt(parse_fault, argument_of(data))
    if isinstance(order, Refused):
        return not (order.at == "parse_fault" and "unknown fault" in str(order.error))
    assert isinstance(order, Injection)
    assert not _again() or parse_fault(order.text()) == order, f"'{order.text()}' reads back differently"
    assert order.targets and order.witness
    return None
