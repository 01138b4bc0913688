"""Recorded bus traffic as text, one transaction a line, as a logic analyser would list it.

      0.000 ms  SPI f5 00 (2)  -> 98                  command and data sent, how many; what came back after the command
    100.000 ms  I2C 0x0e W[0a 01] R0[]                bytes written, bytes read
     13.000 ms  I2C 0x76 W[00] R3[82 c1 3e] NACK      what went wrong, if anything
      0.100 ms  UART gps TX[b5 62 06] RX[]            as the host sees it

`..` after some bytes means that more followed which were not recorded. A name in brackets before SPI's bytes is the
chip select: `SPI[imu] f5 00 (2)  -> 98`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ironbird.errors import LinkError, shortened

MOST_BYTES = 65536  # limit of one transaction
_HEX = r"[0-9a-fA-F]{2}(?: [0-9a-fA-F]{2})*"
_LINE = re.compile(
    r"\s*(-?\d{1,12}(?:\.\d{1,6})?) ms\s+(SPI|I2C|UART)(?:\[(\w*)\])?\s?(.*?)(?:\s+(NACK|TIMEOUT|BUSY))?\s*"
)
_SPI = re.compile(rf"({_HEX})?(\.\.)?\s*\((\d{{1,6}})\)\s*->\s*({_HEX})?(\.\.)?")
_I2C = re.compile(rf"0x([0-9a-fA-F]{{2}})\s+W\[({_HEX})?\]\s+R(\d{{1,6}})\[({_HEX})?(\.\.)?\]")
_UART = re.compile(rf"(\w+)\s+TX\[({_HEX})?\]\s+RX\[({_HEX})?\]")
ERRORS = ("", "NACK", "TIMEOUT", "BUSY")


@dataclass(frozen=True)
class Transaction:
    """One bus transaction from start to stop, or while a chip is selected."""

    time_ns: int
    bus: str  # SPI, I2C, UART
    sent: bytes
    length: int  # bytes clocked (SPI), read (I2C), or received (UART)
    received: bytes  # SPI: after the first byte; shorter than `length` if it was truncated
    device: str = ""  # chip select or port
    address: int = 0
    error: str = ""  # NACK, TIMEOUT, BUSY
    cut: bool = False
    note: str = field(default="", compare=False)

    def line(self) -> str:
        """The transaction as a line of text; `read_trace` is the inverse."""
        head = f"{self.time_ns / 1e6:10.6f} ms  {self.bus}"
        error = f" {self.error}" if self.error else ""
        if self.bus == "SPI":
            name = f"[{self.device}]" if self.device else ""
            return f"{head}{name} {self.sent.hex(' ')} ({self.length})  -> {self.received.hex(' ')}{error}"
        if self.bus == "I2C":
            return (
                f"{head} 0x{self.address:02x} W[{self.sent.hex(' ')}] R{self.length}[{self.received.hex(' ')}]{error}"
            )
        return f"{head} {self.device} TX[{self.sent.hex(' ')}] RX[{self.received.hex(' ')}]{error}"


def read_trace(text: str) -> list[Transaction]:
    """Parse transactions from text; empty lines and comments (#) are skipped."""
    return list(_transactions(text.splitlines()))


def _transactions(lines: Iterable[str]) -> Iterator[Transaction]:
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        whole = _LINE.fullmatch(line) if len(line) < 4 * MOST_BYTES else None
        transaction = _transaction(whole) if whole else None
        if transaction is None:
            raise LinkError(
                f"line {number} of the trace is no transaction: '{shortened(line.strip())}'; "
                "see the head of ironbird.boards.chips.trace for the three forms"
            )
        yield transaction


def _transaction(whole: re.Match[str]) -> Transaction | None:
    time_ns, bus, device, rest, error = round(float(whole[1]) * 1e6), whole[2], whole[3] or "", whole[4], whole[5] or ""
    if device and bus != "SPI":
        return None
    if bus == "SPI" and (m := _SPI.fullmatch(rest)):
        sent, length, got = bytes.fromhex(m[1] or ""), int(m[3]), bytes.fromhex(m[4] or "")
        if not 1 <= length <= MOST_BYTES or len(sent) > length or len(got) > length or not sent:
            return None
        sent += bytes(length - len(sent)) if m[2] else b""
        return Transaction(time_ns, bus, sent, length, got, device, error=error, cut=bool(m[5]))
    if bus == "I2C" and (m := _I2C.fullmatch(rest)):
        length, got = int(m[3]), bytes.fromhex(m[4] or "")
        if length > MOST_BYTES or len(got) > length or int(m[1], 16) > 0x7F:
            return None
        return Transaction(
            time_ns, bus, bytes.fromhex(m[2] or ""), length, got, device, int(m[1], 16), error, bool(m[5])
        )
    if bus == "UART" and (m := _UART.fullmatch(rest)):
        got = bytes.fromhex(m[3] or "")
        return Transaction(time_ns, bus, bytes.fromhex(m[2] or ""), len(got), got, m[1], error=error)
    return None
