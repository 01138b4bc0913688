"""Buses at the level of pins: every level of every wire, with wire faults.

Time is cut into slots, in each of which a wire has one level: two a bit on SPI, three on I2C, one on UART. A wire may
be random ([ChipLevel] Eq. 23), read wrong because its noise crosses the logic thresholds (Fig. 5), late (slow edges),
open with a pull level (Eq. 24), or shorted to a level (Eq. 25), alone or together in this order (Eq. 27). The same
models in C are in `c/ib_pins.h`; both draw the same random numbers, which depend on the wire's key and on how many
were drawn before.

Not modelled: propagation delay, contention of two drivers on SPI, analogue shapes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ironbird.boards.chips.bus import BUSY, NACK, TIMEOUT, Answer
from ironbird.boards.chips.chip import FRAME_8N1, Chip

WHOLE = 1 << 32  # scale of shares: 1
_MASK = (1 << 64) - 1
STRETCH_SLOTS = 32  # slots that a host waits for a clock that is held low
RECOVERY_CLOCKS = 9  # clocks that free a data line held by a chip
CS, SCK, MOSI, MISO = 1, 2, 4, 8  # bits of a recorded slot on SPI
SCL, SDA = 1, 2  # bits of a recorded slot on I2C


@dataclass
class Line:
    """One wire with its faults. Shares are scaled by 2**32."""

    random: int = 0  # share of slots with a random level, Eq. 23
    flip_low: int = 0  # share of low slots that are read as high
    flip_high: int = 0  # share of high slots that are read as low
    hold: int = 0  # share of changes that are one slot late
    open: int = 0
    pull: int = 1  # level of an open wire
    short: int = 0
    level: int = 1  # level to which it is shorted
    key: int = 0
    counter: int = 0
    before: int = 1

    def healthy(self) -> bool:
        """Whether the wire has no fault."""
        return not (self.random or self.flip_low or self.flip_high or self.hold or self.open or self.short)

    def seen(self, x: int) -> int:
        """The level that the receiver reads when `x` is sent."""
        if self.random or self.flip_low or self.flip_high or self.hold:
            z = (self.key + self.counter * 0x9E3779B97F4A7C15) & _MASK  # splitmix64
            self.counter += 1
            z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & _MASK
            z = ((z ^ z >> 27) * 0x94D049BB133111EB) & _MASK
            z ^= z >> 31
            draw = z & 0xFFFFFFFF
            sent, was = x, self.before
            self.before = sent
            if sent != was and draw < self.hold:
                x = was
            if draw < self.random:
                x = z >> 63
            elif draw < (self.flip_high if x else self.flip_low):
                x ^= 1
        if self.open:
            x = self.pull
        if self.short:
            x = self.level
        return x

    def set_noise(self, deviation_V: float, *, supply_V: float = 3.3, low_V: float = 0.8, high_V: float = 2.0) -> None:
        """Set shares from Gaussian noise: below `low_V` is 0, above `high_V` is 1, between is random, Fig. 5."""

        def above(limit_V: float, level_V: float) -> float:
            if deviation_V <= 0.0:
                return float(level_V > limit_V)
            return 0.5 * math.erfc((limit_V - level_V) / (deviation_V * math.sqrt(2.0)))

        wrong_low = 0.5 * (above(low_V, 0.0) + above(high_V, 0.0))
        wrong_high = 1.0 - 0.5 * (above(low_V, supply_V) + above(high_V, supply_V))
        self.flip_low, self.flip_high = share(wrong_low), share(wrong_high)


def share(part: float) -> int:
    """A share from 0 to 1 as an integer of 2**32."""
    return min(WHOLE, max(0, round(part * WHOLE)))


@dataclass
class SpiPins:
    """The four wires between a host and one SPI chip, mode 0."""

    chip: Chip
    cs: Line = field(default_factory=Line)
    sck: Line = field(default_factory=Line)
    mosi: Line = field(default_factory=Line)
    miso: Line = field(default_factory=Line)
    was_cs: int = 1
    was_sck: int = 0
    bits: int = 0
    shift: int = 0
    out: int = 0
    ahead: int = 0
    time: int = 0
    broken: bool = False
    record: bytearray | None = None

    def lines(self) -> dict[str, Line]:
        """All wires of the SPI connection, by name."""
        return {"cs": self.cs, "sck": self.sck, "mosi": self.mosi, "miso": self.miso}

    def transfer(self, t: int, sent: bytes) -> Answer:
        """One transaction, slot by slot; the host samples at the rising clock."""
        if not sent:
            return Answer(b"")
        self.time = t
        self.broken = not all(line.healthy() for line in self.lines().values())
        got = bytearray(len(sent))
        self._slot(0, 0, sent[0] >> 7)
        for i, value in enumerate(sent):
            byte = 0
            for bit in range(7, -1, -1):
                self._slot(0, 0, value >> bit & 1)
                byte = byte << 1 | self._slot(0, 1, value >> bit & 1)
            got[i] = byte
        self._slot(0, 0, sent[-1] & 1)
        self._slot(1, 0, sent[-1] & 1)
        return Answer(bytes(got))

    def _slot(self, cs: int, sck: int, mosi: int) -> int:
        """Process one slot: levels at the chip, its reaction, and the level that the host then reads."""
        if self.broken:
            cs, sck, mosi = self.cs.seen(cs), self.sck.seen(sck), self.mosi.seen(mosi)
        chip = self.chip
        if self.was_cs and not cs:
            chip.spi_begin(self.time)
            self.bits = self.shift = 0
            self.out = self.ahead = chip.spi_peek()
        elif cs and not self.was_cs:
            chip.spi_end()
        if not cs:
            if sck and not self.was_sck:
                if self.bits == 0:
                    chip.spi_commit()
                self.shift = (self.shift << 1 | mosi) & 0xFF
                self.bits += 1
                if self.bits == 8:
                    chip.spi_byte(self.shift)
                    self.bits = 0
                    self.ahead = chip.spi_peek()
            elif self.was_sck and not sck:
                self.out = self.ahead if self.bits == 0 else self.out << 1 & 0xFF
        self.was_cs, self.was_sck = cs, sck
        miso = 1 if cs else self.out >> 7  # not driven while the chip is not selected
        if self.broken:
            miso = self.miso.seen(miso)
        if self.record is not None:
            self.record.append(CS * cs + SCK * sck + MOSI * mosi + MISO * miso)
        return miso


@dataclass
class _Front:
    """State of one chip's I2C interface."""

    state: int = 0  # 0 idle, 1 address, 2 receiving, 3 acknowledging, 4 sending, 5 waiting for the host's acknowledge
    bits: int = 0
    shift: int = 0
    out: int = 0
    drive: int = 1
    reading: int = 0
    active: int = 0
    more: int = 0
    stretch: int = 0  # slots for which the chip holds the clock low after each byte
    held: int = 0  # slots left of them


@dataclass
class I2cPins:
    """Two wires with a pull-up, a host and some chips."""

    chips: Sequence[Chip]
    scl: Line = field(default_factory=Line)
    sda: Line = field(default_factory=Line)
    was_scl: int = 1
    was_sda: int = 1
    time: int = 0
    broken: bool = False
    record: bytearray | None = None

    def __post_init__(self) -> None:
        self.fronts = [_Front() for _ in self.chips]

    def lines(self) -> dict[str, Line]:
        """All wires of the I2C bus, by name."""
        return {"scl": self.scl, "sda": self.sda}

    def transfer(self, t: int, address: int, sent: bytes, length: int) -> Answer:
        """Write, then read after a repeated start, slot by slot; `QUICK_READ` ends after the address."""
        self.time = t
        self.broken = not (self.scl.healthy() and self.sda.healthy())
        self._slot(1, 1)
        clocks = 0
        while not self.was_sda and clocks < RECOVERY_CLOCKS:
            self._slot(0, 1)
            self._slot(0, 1)
            self._slot(1, 1)
            clocks += 1
        if not self.was_sda:
            return Answer(b"", BUSY)
        if not self.was_scl and not self._raise(1):
            return Answer(b"", TIMEOUT)
        data = bytearray()
        error = self._run(address, sent, length, data)
        if error in ("", NACK):
            self._slot(0, 0)
            self._slot(0, 0)
            if self._raise(0):
                self._slot(1, 1)
            elif not error:
                error = TIMEOUT
        self._slot(1, 1)
        return Answer(bytes(data) if not error else b"", error)

    def _run(self, address: int, sent: bytes, length: int, data: bytearray) -> str:
        self._slot(1, 0)  # start
        if sent or not length:
            for value in (address << 1, *sent):
                error = self._write(value)
                if error:
                    return error
            if length:
                self._slot(0, 1)
                self._slot(0, 1)
                if not self._raise(1):
                    return TIMEOUT
                self._slot(1, 0)  # repeated start
        if length:
            error = self._write(address << 1 | 1)
            for i in range(0 if error else length):
                value = 0
                for _ in range(8):
                    self._slot(0, 1)
                    self._slot(0, 1)
                    if not self._raise(1):
                        return TIMEOUT
                    value = value << 1 | self.was_sda
                data.append(value)
                last = int(i == length - 1)
                self._slot(0, last)
                self._slot(0, last)
                if not self._raise(last):
                    return TIMEOUT
            return error
        return ""

    def _write(self, value: int) -> str:
        for bit in range(7, -1, -1):
            level = value >> bit & 1
            self._slot(0, level)
            self._slot(0, level)
            if not self._raise(level):
                return TIMEOUT
            if level and not self.was_sda:
                return BUSY  # another device holds the line: arbitration is lost
        self._slot(0, 1)
        self._slot(0, 1)
        if not self._raise(1):
            return TIMEOUT
        return NACK if self.was_sda else ""

    def _raise(self, sda: int) -> bool:
        """Release the clock and wait until it is high; False if it stays low."""
        for _ in range(STRETCH_SLOTS):
            self._slot(1, sda)
            if self.was_scl:
                return True
        return False

    def _slot(self, scl: int, sda: int) -> None:
        for front in self.fronts:
            sda &= front.drive
            if front.held:
                scl, front.held = 0, front.held - 1
        if self.broken:
            scl, sda = self.scl.seen(scl), self.sda.seen(sda)
        for chip, front in zip(self.chips, self.fronts, strict=True):
            self._chip(chip, front, scl, sda)
        self.was_scl, self.was_sda = scl, sda
        if self.record is not None:
            self.record.append(SCL * scl + SDA * sda)

    def _chip(self, chip: Chip, f: _Front, scl: int, sda: int) -> None:
        if scl and self.was_scl:
            if self.was_sda and not sda:  # start
                f.state, f.bits, f.shift, f.drive = 1, 0, 0, 1
            elif sda and not self.was_sda:  # stop
                if f.active:
                    chip.i2c_end()
                f.active, f.state, f.drive = 0, 0, 1
        elif scl:
            if f.state in (1, 2):
                f.shift = (f.shift << 1 | sda) & 0xFF
                f.bits += 1
            elif f.state == 4:
                if f.bits == 0:
                    chip.i2c_commit()
                f.bits += 1
            elif f.state == 5:
                f.more = 1 - sda
        elif self.was_scl:
            self._falls(chip, f)

    def _falls(self, chip: Chip, f: _Front) -> None:
        if f.state == 1 and f.bits == 8:
            f.reading = f.shift & 1
            if chip.i2c_match(f.shift >> 1) and chip.i2c_begin(self.time, f.reading):
                f.state, f.drive, f.active, f.held = 3, 0, 1, f.stretch
            else:
                f.state = 0
        elif f.state == 2 and f.bits == 8:
            f.drive = 0 if chip.i2c_byte(f.shift) else 1
            f.state, f.held = 3, f.stretch
        elif (f.state == 3 and f.reading) or (f.state == 5 and f.more):
            f.out = chip.i2c_peek()
            f.state, f.bits, f.drive = 4, 0, f.out >> 7
        elif f.state == 3:
            f.state, f.bits, f.shift, f.drive = 2, 0, 0, 1
        elif f.state == 4:
            if f.bits == 8:
                f.state, f.drive, f.held = 5, 1, f.stretch
                chip.i2c_done()
            else:
                f.drive = f.out >> (7 - f.bits) & 1
        elif f.state == 5:
            f.state = 0


def uart_frames(
    line: Line,
    data: bytes,
    sender_baud: int,
    receiver_baud: int,
    record: bytearray | None = None,
    *,
    sends: int = FRAME_8N1,
    hears: int = FRAME_8N1,
) -> bytes:
    """Bytes as received at the far end of a serial line; those with wrong parity or stop bit are dropped.

    `sends` and `hears` are the frames of both ends (`chip.frame_bits`); of two stop bits a receiver checks the first.
    """
    levels = bytearray()
    for value in data:
        levels.append(line.seen(0))
        for bit in range(8):
            levels.append(line.seen(value >> bit & 1))
        if sends & 3:
            levels.append(line.seen(value.bit_count() + (sends & 3) & 1))
        for _ in range(1 + (sends >> 2)):
            levels.append(line.seen(1))
    if record is not None:
        record.extend(levels)
    got = bytearray()
    at = 0
    idle = line.level if line.short else line.pull if line.open else 1
    while at < len(levels):
        if levels[at]:
            at += 1
            continue
        value = 0
        parity = hears & 3
        stop = 0
        index = at
        for i in range(10 if hears & 3 else 9):
            # A slot is `receiver_baud` long and the receiver's bit `sender_baud`, in units of one over both.
            index = (2 * at * receiver_baud + sender_baud * (3 + 2 * i)) // (2 * receiver_baud)
            level = levels[index] if index < len(levels) else idle
            if i < 8:
                value |= level << i
                parity += level
            elif i == 8 and hears & 3:
                parity += level
            else:
                stop = level
        if stop and not (hears & 3 and parity & 1):
            got.append(value)
        at = max(index, at + 1)
    return bytes(got)
