"""ADS1115: four analogue inputs by I2C; on the PilotPi it measures the battery."""

from __future__ import annotations

from ironbird.boards.chips.chip import Chip
from ironbird.boards.chips.numbers import NEVER, quantise
from ironbird.boards.chips.table import Register

CONVERSION, CONFIG, LOW, HIGH = 0, 1, 2, 3
WAKE_NS = 25_000


class Ads1115(Chip):
    """The analogue-to-digital converter ADS1115: registers of 16 bits, single and continuous conversions, ranges,
    differential inputs, [ChipNotes] 28.

    Not modelled: comparator and its pin.
    """

    part = "ADS1115"
    summary = "four analogue inputs, 16 bits"
    source = "[ChipNotes] 28"
    buses = ("i2c",)
    address = 0x48
    feeds = ("voltage_0", "voltage_1", "voltage_2", "voltage_3")
    registers = (
        Register(0x00, "CONVERSION", 0, 0, "16 bits, big endian", measured=True),
        Register(0x01, "CONFIG", 0x85, 0xFF, "16 bits, reset 0x8583: .15 start / idle, .14:12 inputs, .11:9 range, "
                 ".8 single, .7:5 rate", acts=True),
        Register(0x02, "LO_THRESH", 0x80, 0xFF, "16 bits, reset 0x8000; stored"),
        Register(0x03, "HI_THRESH", 0x7F, 0xFF, "16 bits, reset 0x7FFF; stored"),
    )  # fmt: skip
    RANGE = (6.144, 4.096, 2.048, 1.024, 0.512, 0.256, 0.256, 0.256)  # V
    PERIOD_NS = (
        125_000_000, 62_500_000, 31_250_000, 15_625_000, 7_812_500, 4_000_000, 2_105_263, 1_162_791,
    )  # fmt: skip
    PLUS = (0, 0, 1, 2, 0, 1, 2, 3)
    MINUS = (1, 3, 3, 3, -1, -1, -1, -1)

    own_address: int = 0x48
    words: list[int] = [0] * 4
    pointer: int = 0
    position: int = 0
    first: int = 0

    def power_on(self, t: int) -> None:
        self.now = t
        self.words[CONVERSION] = 0
        self.words[CONFIG] = 0x8583
        self.words[LOW] = 0x8000
        self.words[HIGH] = 0x7FFF
        self.pointer = 0
        self.due = NEVER

    def tick(self) -> None:
        config = self.words[CONFIG]
        mux = config >> 12 & 7
        volts = self.inputs[self.PLUS[mux]]
        if self.MINUS[mux] >= 0:
            volts = volts - self.inputs[self.MINUS[mux]]
        self.words[CONVERSION] = quantise(volts * 32768.0 / self.RANGE[config >> 9 & 7], -32768, 32767) & 0xFFFF
        if config & 0x100:
            self.words[CONFIG] = config | 0x8000
            self.due = NEVER
        else:
            self.due += self.PERIOD_NS[config >> 5 & 7]

    def i2c_match(self, address: int) -> int:
        return 1 if address == self.own_address else 0

    def i2c_begin(self, t: int, reading: int) -> int:
        self.advance(t)
        self.position = 0
        return 1

    def i2c_byte(self, value: int) -> int:
        if self.position == 0:
            self.pointer = value & 3
        elif self.position == 1:
            self.first = value
        elif self.position == 2 and self.pointer != CONVERSION:
            self.words[self.pointer] = self.first << 8 | value
            if self.pointer == CONFIG:
                self.configure(self.first << 8 | value)
        self.position += 1
        return 1

    def configure(self, config: int) -> None:
        self.words[CONFIG] = config & 0x7FFF
        self.due = NEVER
        if not config & 0x100 or config & 0x8000:
            self.due = self.now + WAKE_NS + self.PERIOD_NS[config >> 5 & 7]
        else:
            self.words[CONFIG] = config | 0x8000

    def i2c_peek(self) -> int:
        word = self.words[self.pointer]
        return word & 0xFF if self.position & 1 else word >> 8

    def i2c_done(self) -> None:
        self.position += 1
