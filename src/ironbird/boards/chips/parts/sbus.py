"""A radio receiver with SBUS output: sixteen stick channels by a serial line."""

from __future__ import annotations

from ironbird.boards.chips.chip import FRAME_8E2, Chip
from ironbird.boards.chips.numbers import quantise

FRAME_NS = 14_000_000
CENTRE, SPAN = 992.0, 800.0  # counts of 11 bits: -1 is 192, +1 is 1792


class Sbus(Chip):
    """An SBUS radio receiver: frames of 25 bytes every 14 ms (0x0F, sixteen channels, flags, 0x00), of this project.

    Channels have 11 bits. 100000 Bd with even parity and two stop bits (8E2). `lost` above 0.5 sets the flags of a lost
    frame and of the failsafe. Not modelled: the inverted levels of the line, which boards turn round before their
    processor.
    """

    part = "SBUS receiver"
    summary = "radio receiver, 16 channels"
    source = "of this project, from the frames that autopilots read"
    buses = ("uart",)
    clock_hz = 100_000
    feeds = (*(f"channel_{n}" for n in range(1, 16)), "lost")

    waiting: bytearray = bytearray(32)
    sent: int = 25  # bytes of the frame already sent

    def power_on(self, t: int) -> None:
        self.now = t
        self.due = (t // FRAME_NS + 1) * FRAME_NS
        self.sent = 25

    def tick(self) -> None:
        self.due += FRAME_NS
        for i in range(25):
            self.waiting[i] = 0
        self.waiting[0] = 0x0F
        for n in range(16):
            raw = 992
            if n < 15:
                raw = quantise(CENTRE + SPAN * self.inputs[n], 0, 2047)
            for bit in range(11):
                place = 11 * n + bit
                self.waiting[1 + (place >> 3)] = self.waiting[1 + (place >> 3)] | (raw >> bit & 1) << (place & 7)
        self.waiting[23] = 0x0C if self.inputs[15] > 0.5 else 0
        self.sent = 0

    def uart_baud(self) -> int:
        return 100_000

    def uart_frame(self) -> int:
        return FRAME_8E2

    def uart_next(self, t: int) -> int:
        self.advance(t)
        if self.sent >= 25:
            return -1
        value = self.waiting[self.sent]
        self.sent += 1
        return value
