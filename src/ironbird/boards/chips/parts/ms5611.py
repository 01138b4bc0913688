"""MS5611: barometer by SPI or I2C; commands instead of registers."""

from __future__ import annotations

from ironbird.boards.chips.chip import Chip
from ironbird.boards.chips.numbers import NEVER, quantise, root
from ironbird.boards.chips.table import Register

RESET, ADC_READ, PROM, CONVERT = 0x1E, 0x00, 0xA0, 0x40
KELVIN = 273.15
RELOAD_NS = 2_800_000


def crc4(words: tuple[int, ...]) -> int:
    """The four check bits of a coefficient memory of eight words, [MS5611] and [ChipNotes] 6."""
    remainder = 0
    for i, word in enumerate(words):
        for byte in (word >> 8, 0 if i == 7 else word & 0xFF):
            remainder ^= byte
            for _ in range(8):
                remainder = (remainder << 1) ^ (0x3000 if remainder & 0x8000 else 0)
                remainder &= 0xFFFF
    return remainder >> 12


def prom(*coefficients: int) -> tuple[int, ...]:
    """The coefficient memory: a factory word, six coefficients, and a serial number with the check bits."""
    words = (0x1234, *coefficients, 0xAB00)
    return (*words[:7], words[7] | crc4(words))


class Ms5611(Chip):
    """The barometer MS5611: conversions on command, coefficients of the data sheet's example, compensation of second
    order, [ChipNotes] 6.

    Conversions take their typical time and show the pressure at their end. Not modelled: noise of the oversampling
    settings (the vehicle's sensor block has the noise).
    """

    part = "MS5611-01BA03"
    summary = "barometer, 24 bits, commands"
    source = "[ChipNotes] 6"
    buses = ("spi", "i2c")
    address = 0x76
    clock_hz = 20_000_000
    feeds = ("pressure", "temperature")
    registers = (
        Register(0x1E, "RESET", 0, 0, "command: loads the coefficients, 2.8 ms", acts=True),
        *[Register(0xA0 + 2 * n, f"PROM_{n}", 0, 0, "command: 16 bits of the coefficient memory", acts=True)
          for n in range(8)],
        *[Register(0x40 + 2 * k, f"CONVERT_D1_{256 << k}", 0, 0, "command: converts the pressure", acts=True)
          for k in range(5)],
        *[Register(0x50 + 2 * k, f"CONVERT_D2_{256 << k}", 0, 0, "command: converts the temperature", acts=True)
          for k in range(5)],
        Register(0x00, "ADC_READ", 0, 0, "command: 24 bits; zero if there is no result or it was read", acts=True),
    )  # fmt: skip
    WORDS = prom(40127, 36924, 23317, 23282, 33464, 28312)
    CONVERSION_NS = (540_000, 1_060_000, 2_080_000, 4_130_000, 8_220_000)

    own_address: int = 0x76
    ready: int = 0  # ns from which on it answers
    result: int = 0
    finished: int = 0  # a result is available
    kind: int = 0  # running conversion: 1 pressure, 2 temperature, 0 none
    command: int = -1
    answer: int = 0
    length: int = 0
    position: int = 0

    def power_on(self, t: int) -> None:
        self.now = t
        self.reset(t)

    def reset(self, t: int) -> None:
        self.ready = t + RELOAD_NS
        self.due = NEVER
        self.finished = 0
        self.kind = 0
        self.command = -1
        self.length = 0

    def tick(self) -> None:
        self.due = NEVER
        # Coefficients by their numbers in the data sheet.
        wanted = (self.inputs[1] - KELVIN) * 100.0
        slope = self.WORDS[6] / 8388608.0
        cold = 2000.0 - wanted
        if cold <= 0.0:
            dt_wanted = -cold / slope
        else:
            dt_wanted = -2.0 * cold / (slope + root(slope * slope + 4.0 * cold / 2147483648.0))
        d2 = quantise(self.WORDS[5] * 256 + dt_wanted, 0, 16777215)
        if self.kind == 2:
            self.result = d2
        else:
            dt = d2 - self.WORDS[5] * 256
            temp = 2000 + (dt * self.WORDS[6] >> 23)
            off = (self.WORDS[2] << 16) + (self.WORDS[4] * dt >> 7)
            sens = (self.WORDS[1] << 15) + (self.WORDS[3] * dt >> 8)
            if temp < 2000:
                f = (temp - 2000) * (temp - 2000)
                off2 = 5 * f >> 1
                sens2 = 5 * f >> 2
                if temp < -1500:
                    g = (temp + 1500) * (temp + 1500)
                    off2 += 7 * g
                    sens2 += 11 * g >> 1
                off -= off2
                sens -= sens2
            self.result = quantise((self.inputs[0] * 32768.0 + off) * 2097152.0 / sens, 0, 16777215)
        self.kind = 0
        self.finished = 1

    def execute(self, value: int) -> None:
        self.command = value
        self.position = 0
        self.length = 0
        if value == RESET:
            self.reset(self.now)
        elif value & 0xF0 == PROM:
            self.answer = self.WORDS[value >> 1 & 7]
            self.length = 2
        elif value == ADC_READ:
            self.answer = self.result if self.finished else 0
            self.length = 3
        elif (value & 0xF0 == CONVERT or value & 0xF0 == CONVERT + 16) and value & 15 <= 8 and not value & 1:
            self.kind = 1 if value & 0xF0 == CONVERT else 2
            self.finished = 0
            self.due = self.now + self.CONVERSION_NS[value >> 1 & 7]

    def peek(self) -> int:
        if self.position >= self.length:
            return 0
        return self.answer >> (8 * (self.length - 1 - self.position)) & 0xFF

    def commit(self) -> None:
        if self.command == ADC_READ and self.position == 0 and self.length:
            self.finished = 0  # read once; a running conversion becomes invalid
            self.kind = 0
            self.due = NEVER

    def spi_begin(self, t: int) -> None:
        self.advance(t)
        self.command = -1
        self.length = 0
        self.position = 0

    def spi_peek(self) -> int:
        if self.now < self.ready:
            return 0
        return self.peek()

    def spi_commit(self) -> None:
        self.commit()

    def spi_byte(self, value: int) -> None:
        if self.now < self.ready:
            return
        if self.command < 0:
            self.execute(value)
        else:
            self.position += 1  # bytes after a command in the same frame are ignored

    def i2c_match(self, address: int) -> int:
        return 1 if address == self.own_address else 0

    def i2c_begin(self, t: int, reading: int) -> int:
        self.advance(t)
        if not reading:
            self.command = -1
        return 0 if self.now < self.ready else 1

    def i2c_byte(self, value: int) -> int:
        if self.command < 0:
            self.execute(value)
        return 1

    def i2c_peek(self) -> int:
        return self.peek()

    def i2c_commit(self) -> None:
        self.commit()

    def i2c_done(self) -> None:
        self.position += 1
