"""Behaviour shared by the two STMicroelectronics chips of the Pixhawk 1: sample clocks, status bits, outputs."""

from __future__ import annotations

from typing import ClassVar

from ironbird.boards.chips.chip import RegisterChip


class StMotion(RegisterChip):
    """A chip whose first SPI byte has a read bit and an address-increment bit."""

    buses: ClassVar[tuple[str, ...]] = ("spi", "i2c")
    clock_hz: ClassVar[int] = 10_000_000
    PLACES = 64
    ADDRESS = 0x3F
    INCREMENT = 0x40
    I2C_INCREMENT = 0x80
    WHO_AM_I = 0x0F

    readers: int = 0  # outputs that were read since power-up, as bits

    def value(self, place: int) -> int:
        if place == self.WHO_AM_I:
            return self.reg[place] ^ self.identity
        return self.reg[place]

    def put(self, place: int, raw: int) -> None:
        self.reg[place] = raw & 0xFF
        self.reg[place + 1] = raw >> 8 & 0xFF

    def mark(self, status: int) -> None:
        """Set the status of a new sample: data available; overrun if the last one was not read (and any ever was)."""
        self.reg[status] = 0xFF if self.reg[status] & 8 and self.readers & 1 << (status >> 5) else 0x0F

    def taken(self, place: int, first: int, status: int) -> None:
        """Mark the sample of an output register as read."""
        if first <= place < first + 6:
            self.reg[status] = 0
            self.readers = self.readers | 1 << (status >> 5)
