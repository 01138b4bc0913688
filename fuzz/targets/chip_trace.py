"""Recorded bus traffic."""

from __future__ import annotations

from fuzz.target import Refused, attempt, text_of
from ironbird.boards.chips.catalog import chip_class
from ironbird.boards.chips.page import explain
from ironbird.boards.chips.trace import read_trace
from ironbird.boards.chips.vcd import vcd

WORDS = ("    0.000 ms  SPI f5 00 (2)  -> 98\n", " ms  I2C 0x0e W[00] R1[10]\n", "UART gps TX[b5 62] RX[]", "NACK", "..", "(241)")  # fmt: skip
MOST = 2048


def check(data: bytes) -> bool | None:
    """A trace reads back from its own text, and can be shown."""
    lines = attempt(read_trace, text_of(data))
    if isinstance(lines, Refused):
        return " ms" in str(lines.error)  # a line that begins like one
    whole = [line for line in lines if not line.cut and (line.bus != "SPI" or len(line.sent) == line.length)]
    assert read_trace("\n".join(line.line() for line in whole)) == whole
    for line in lines:
        explain(line, chip_class("icm20689"))
    if sum(line.length + len(line.sent) for line in lines) < 2000:
        vcd(lines)
    return None
