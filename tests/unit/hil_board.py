"""A board in memory and a clock that stands still between steps, for tests of hardware in the loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ironbird.files.trust import Trust
from ironbird.flight.flight import Flight, fly
from ironbird.flight.order import Order
from ironbird.host.realtime import WallClock
from ironbird.protocols.mavlink import dialect
from ironbird.protocols.mavlink.codec import Packer, Parser
from ironbird.protocols.mavlink.dialect import HIL_ACTUATOR_CONTROLS
from ironbird.transport.cable import Cable


class StillClock(WallClock):
    """Time is where one waits for it; `stalls` adds seconds at given numbers of waits."""

    def __init__(self, stalls: dict[int, float] | None = None) -> None:
        self.moment = 100.0
        self.waits = 0
        self.stalls = stalls or {}

    def now(self) -> float:
        return self.moment

    def wait_until(self, moment: float) -> None:
        self.waits += 1
        self.moment = max(self.moment, moment) + self.stalls.get(self.waits, 0.0)


class BoardCable(Cable):
    """Answers each write with controls; `spoil` makes of the n-th answer what comes over the cable instead."""

    name = "board in memory"

    def __init__(self, baud: int | None = None, spoil: Callable[[int, bytes], bytes] | None = None) -> None:
        self.baud = baud
        self.room: int | None = None  # bytes that a write takes; None: all
        self.spoil = spoil or (lambda _, frame: frame)
        self.per_write = 1.0  # controls for each write
        self.own_clock_us: int | None = None  # added to the stamps
        self.armed = True
        self.throttle = 0.25
        self.writes = 0
        self.got: list[tuple[int, bytes]] = []  # messages
        self.closed = False
        self._parser, self._packer = Parser(), Packer()
        self._owed = 0.0
        self._time_us = 0
        self._waiting = b""

    def open(self) -> None:
        self.closed = False

    def write(self, data: memoryview) -> int:
        self.writes += 1
        taken = len(data) if self.room is None else min(self.room, len(data))
        for number, payload, _, _ in self._parser.feed(bytes(data[:taken])):
            self.got.append((number, payload))
            if number == dialect.HIL_SENSOR.id:
                self._time_us = dialect.HIL_SENSOR.unpack(payload)[0]
        self._owed += self.per_write
        while self._owed >= 1.0:
            self._owed -= 1.0
            stamp = self._time_us + (self.own_clock_us or 0)
            self._packer.add(HIL_ACTUATOR_CONTROLS, stamp, 0, *[self.throttle] * 16, 129 if self.armed else 1)
            self._waiting += self.spoil(self.writes, bytes(self._packer.take()))
        return taken

    def read(self) -> bytes:
        data, self._waiting = self._waiting, b""
        return data

    def wait(self, seconds: float) -> None:
        pass

    def close(self) -> None:
        self.closed = True


def fly_by_hand(what: Order | str, **how: Any) -> Flight:
    """Fly as whoever has named the cable by hand."""
    if isinstance(what, Order):
        how.setdefault("trust", Trust.by_hand(what.options))
    return fly(what, **how)
