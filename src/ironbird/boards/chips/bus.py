"""Buses at the level of transactions: chips behind chip selects, addresses and ports.

A transaction carries its time; the chips on a bus advance to it. Buses with broken wires are in
`ironbird.boards.chips.pins`, which has the same interface.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ironbird.boards.chips.chip import FRAME_8N1, Chip, frame_bits
from ironbird.errors import LinkError

NACK, TIMEOUT, BUSY = "NACK", "TIMEOUT", "BUSY"
QUICK_READ = -1  # length for I2C: send the read address, and clock no byte


@dataclass(frozen=True)
class Answer:
    """Data and error of a transaction: none, NACK, TIMEOUT (clock held low) or BUSY (data held low)."""

    data: bytes
    error: str = ""


@dataclass
class SpiBus:
    """SPI bus with chips by their selects."""

    chips: dict[str, Chip] = field(default_factory=dict)

    def transfer(self, t: int, device: str, sent: bytes) -> Answer:
        """Send bytes to a chip and return as many; without a chip all bits read as one."""
        if not sent:
            return Answer(b"")
        chip = self.chips.get(device)
        return Answer(chip.transfer(t, sent) if chip is not None else b"\xff" * len(sent))


@dataclass
class I2cBus:
    """I2C bus with chips on one pair of wires, by the addresses that they answer."""

    chips: Sequence[Chip] = ()

    def transfer(self, t: int, address: int, sent: bytes, length: int) -> Answer:
        """Write bytes, then after a repeated start read some; either may be empty. Both empty is a probe by write,
        with `QUICK_READ` a probe by read: its stop comes with the first bit that the chip sends.

        Several chips may answer one address: all of them take what is written, and reading gives the AND of them.
        """
        chips = [chip for chip in self.chips if chip.i2c_match(address)]
        written: list[Chip] = []
        if sent or not length:
            chips = written = [chip for chip in chips if chip.i2c_begin(t, 0)]
            if not chips:
                return Answer(b"", NACK)
            for value in sent:
                taken = [chip.i2c_byte(value) for chip in chips]
                if not any(taken):
                    self._end(chips)
                    return Answer(b"", NACK)
        data = bytearray()
        if length:
            chips = [chip for chip in chips if chip.i2c_begin(t, 1)]
            if not chips:
                self._end(written)
                return Answer(b"", NACK)
            for _ in range(length):
                value = 0xFF
                for chip in chips:
                    value &= chip.i2c_peek()
                    chip.i2c_commit()
                    chip.i2c_done()
                data.append(value)
            for chip in chips if length == QUICK_READ else ():
                value = chip.i2c_peek()
                chip.i2c_commit()
                if not value:  # the chip holds the data line until the next request has clocked its byte out
                    chip.i2c_done()
        self._end(chips)
        return Answer(bytes(data))

    def _end(self, chips: Sequence[Chip]) -> None:
        for chip in chips:
            chip.i2c_end()


BAUD_MISMATCH = 0.03  # relative difference of both ends' rates: half a bit in ten, with margin for edges


@dataclass
class Uart:
    """A chip on a serial line. Bytes at a wrong rate are lost: the receiver gets broken frames."""

    chip: Chip
    baud: int = 9600  # rate of the host
    frame: int = FRAME_8N1  # frame of the host
    free: int = 0  # ns: when the line from the chip is free again
    asked: int = 0  # ns: time of the last read

    def send(self, t: int, data: bytes) -> None:
        """Send bytes from the host, one after the other, from time `t` in ns on."""
        if self.baud <= 0:
            raise LinkError(f"a serial line needs a rate above 0 Bd, got {self.baud}")
        step = frame_bits(self.frame) * 1_000_000_000 // self.baud
        for value in data:
            t += step
            if self.fits():
                self.chip.uart_byte(t, value)
            else:
                self.chip.advance(t)

    def take(self, t: int) -> bytes:
        """Bytes that have completely left the chip by time `t` in ns, at the chip's rate."""
        self.chip.advance(t)
        out = bytearray()
        at = max(self.free, self.asked)
        while True:
            step = frame_bits(self.chip.uart_frame()) * 1_000_000_000 // max(1, self.chip.uart_baud())
            if at + step > t:  # the next byte is still on the line
                self.free = at
                return bytes(out)
            value = self.chip.uart_next(t)
            if value < 0:
                self.free, self.asked = at, t
                return bytes(out)
            at += step
            out.append(value)

    def receive(self, t: int) -> bytes:
        """Bytes received at the host by time `t` in ns; none if rates or frames differ."""
        data = self.take(t)
        return data if self.fits() else b""

    def fits(self) -> bool:
        """Whether both ends have nearly the same rate, and the same frames."""
        return self.frame == self.chip.uart_frame() and self.near(self.chip.uart_baud())

    def near(self, baud: int) -> bool:
        """Whether a rate is nearly that of the host."""
        return abs(self.baud - baud) <= BAUD_MISMATCH * self.baud
