"""A serial line between two pseudo-terminals of this computer, limited to its baud rate.

A pseudo-terminal alone has no baud rate. This relay between two of them sends bytes one after the other, ten bits
each, in both directions at once; when the transmit buffer is full, writes find no room, as with a real port.
Not modelled: noise, loss, and the latency of USB.
`python -m ironbird.transport.serial_wire [BAUD]` prints the names of both ends and works until its input ends or
Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import pty
import select
import sys
import time
import tty
from collections import deque

from ironbird.host.realtime import undisturbed
from ironbird.transport.cable import BITS_PER_BYTE, LOOK_S, waiting

BUFFER = 4096  # bytes of the transmit buffer, as in a driver
PIECE = 32  # bytes forwarded at a time


class OneWay:
    """Bytes in transit in one direction of the line."""

    def __init__(self, baud: int) -> None:
        self.byte_s = BITS_PER_BYTE / baud
        self.waiting = 0  # bytes in transit
        self._free_at = 0.0  # time at which the last byte will have left
        self._pieces: deque[tuple[float, bytes]] = deque()

    @property
    def room(self) -> int:
        """How many bytes are accepted now."""
        return BUFFER - self.waiting

    @property
    def next_at(self) -> float | None:
        """Time at which the next piece arrives; None if nothing is in transit."""
        return self._pieces[0][0] if self._pieces else None

    def put(self, data: bytes, now: float) -> None:
        """Accept bytes for sending, after those still in transit."""
        self._free_at = max(self._free_at, now)
        for start in range(0, len(data), PIECE):
            piece = data[start : start + PIECE]
            self._free_at += len(piece) * self.byte_s
            self._pieces.append((self._free_at, piece))
        self.waiting += len(data)

    def take(self, now: float) -> bytes:
        """Bytes that have arrived by now."""
        parts = []
        while self._pieces and self._pieces[0][0] <= now:
            parts.append(self._pieces.popleft()[1])
        data = b"".join(parts)
        self.waiting -= len(data)
        return data


def relay(ends: tuple[int, int], baud: int, stop: int) -> None:
    """Forward bytes between two terminals until `stop` is readable."""
    ways = {ends[0]: (OneWay(baud), ends[1]), ends[1]: (OneWay(baud), ends[0])}
    held = {end: b"" for end in ends}  # arrived bytes for which the terminal has no room
    for end in ends:
        os.set_blocking(end, False)
    while not select.select([stop], [], [], 0.0)[0]:
        for end, (way, other) in ways.items():
            count = min(waiting(end), way.room)
            if count:
                way.put(os.read(end, count), time.monotonic())
            held[other] += way.take(time.monotonic())
            if held[other]:
                with contextlib.suppress(BlockingIOError):
                    held[other] = held[other][os.write(other, held[other]) :]
        time.sleep(LOOK_S)


def main() -> None:
    """Create a line, print the names of its ends and forward bytes."""
    baud = int(sys.argv[1]) if len(sys.argv) > 1 else 921_600
    # one side of each far end is kept open, so that programs may connect and disconnect
    pairs = [pty.openpty() for _ in range(2)]
    for _, near in pairs:
        tty.setraw(near)
    print(*(os.ttyname(near) for _, near in pairs), flush=True)
    with contextlib.suppress(KeyboardInterrupt), undisturbed():
        relay((pairs[0][0], pairs[1][0]), baud, sys.stdin.fileno())


if __name__ == "__main__":
    main()
