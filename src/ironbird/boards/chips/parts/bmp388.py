"""BMP388: barometer by I2C or SPI."""

from __future__ import annotations

import struct

from ironbird.boards.chips.chip import RegisterChip
from ironbird.boards.chips.numbers import NEVER, quantise, root
from ironbird.boards.chips.table import Register, run_of

CHIP_ID, ERR, STATUS, DATA, PWR_CTRL, OSR, ODR, CMD = 0x00, 0x02, 0x03, 0x04, 0x1B, 0x1C, 0x1D, 0x7E
KELVIN = 273.15
# Factory coefficients of a fictitious part, T1 to T3 and P1 to P11.
COEFFICIENTS = (27504, 26435, -7, 1009, -1229, 35, 0, 25000, 30000, 3, -6, 12000, 20, -50)
NVM = struct.pack("<HHbhhbbHHbbhbb", *COEFFICIENTS)


def crc8(data: bytes) -> int:
    """Check byte of the coefficients: polynomial 0x1D, start 0xFF, inverted, [ChipNotes] 23."""
    value = 0xFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value << 1 ^ (0x1D if value & 0x80 else 0)) & 0xFF
    return value ^ 0xFF


class Bmp388(RegisterChip):
    """The barometer BMP388: forced and normal mode, oversampling times, coefficients with check byte, [ChipNotes] 23.

    Raw values are the inverse of the data sheet's compensation, by Newton's method. Not modelled: FIFO, the IIR filter
    (stored), interrupts.
    """

    part = "BMP388"
    summary = "barometer, 24 bits"
    source = "[ChipNotes] 23"
    buses = ("spi", "i2c")
    address = 0x76
    clock_hz = 10_000_000
    feeds = ("pressure", "temperature")
    DUMMY = 1
    BUSY_NS = 1_500_000
    PAR_T = tuple(float(c) for c in COEFFICIENTS[:3])
    PAR_P = tuple(float(c) for c in COEFFICIENTS[3:])
    registers = (
        Register(0x00, "CHIP_ID", 0x50, 0, "identity"),
        Register(0x01, "REV_ID", 0x01, 0, "revision"),
        Register(0x02, "ERR_REG", 0, 0, "no error", clears=True),
        Register(0x03, "STATUS", 0x10, 0, ".6 temperature ready, .5 pressure ready, .4 takes commands", measured=True),
        *run_of(0x04, "PRESS_XLSB PRESS_LSB PRESS_MSB TEMP_XLSB TEMP_LSB TEMP_MSB", 0, 0, "24 bits, little endian",
                acts=True, measured=True),
        *run_of(0x0C, "SENSORTIME_0 SENSORTIME_1 SENSORTIME_2", 0, 0, "not modelled"),
        *run_of(0x15, "FIFO_WTM_0 FIFO_WTM_1 FIFO_CONFIG_1 FIFO_CONFIG_2 INT_CTRL IF_CONF", 0, 0xFF, "stored"),
        Register(0x1B, "PWR_CTRL", 0, 0x33, ".5:4 0 sleep, 1 forced, 3 normal, .1 temperature, .0 pressure", acts=True),
        Register(0x1C, "OSR", 0x02, 0x3F, ".5:3 oversampling of temperature, .2:0 of pressure"),
        Register(0x1D, "ODR", 0, 0x1F, "200 Hz >> n"),
        Register(0x1F, "CONFIG", 0, 0x0E, "filter; stored"),
        Register(0x30, "TRIM_CRC", crc8(NVM), 0, "check byte of the coefficients"),
        *[Register(0x31 + i, f"NVM_PAR_{i}", NVM[i], 0, "coefficients T1 to P11") for i in range(21)],
        Register(0x7E, "CMD", 0, 0, "0xB6 resets", acts=True, self_clearing=0xFF),
    )  # fmt: skip

    def value(self, place: int) -> int:
        return self.reg[place] ^ self.identity if place == CHIP_ID else self.reg[place]

    def on_read(self, place: int) -> None:
        if DATA <= place < DATA + 6:
            self.reg[STATUS] = 0x10
        super().on_read(place)

    def on_write(self, place: int, value: int) -> None:
        if place == CMD:
            if value == 0xB6:
                self.reset_registers(self.now)
            return
        self.store(place, value)
        if place == PWR_CTRL:
            mode = value >> 4 & 3
            self.due = NEVER
            if mode == 3:
                self.due = self.now + self.period()
            elif mode:
                self.due = self.now + self.conversion()

    def conversion(self) -> int:
        """Duration of one measurement in ns: 234 us, and 392 + 2020 2^n us for each quantity."""
        osr = self.reg[OSR]
        return 1_018_000 + 2_020_000 * ((1 << (osr & 7)) + (1 << (osr >> 3 & 7)))

    def period(self) -> int:
        return max(5_000_000 << (self.reg[ODR] & 31), self.conversion())

    def tick(self) -> None:
        warm = self.inputs[1] - KELVIN
        slope = self.PAR_T[1] / 1073741824.0
        bend = self.PAR_T[2] / 281474976710656.0
        x = 2.0 * warm / (slope + root(slope * slope + 4.0 * bend * warm))
        raw = quantise(x + 256.0 * self.PAR_T[0], 0, 16777215)
        self.put(DATA + 3, raw)
        part = raw - 256.0 * self.PAR_T[0]
        t = part * slope + part * part * bend
        base = self.PAR_P[4] * 8.0 + self.PAR_P[5] / 64.0 * t + self.PAR_P[6] / 256.0 * t * t
        base = base + self.PAR_P[7] / 32768.0 * t * t * t
        first = (self.PAR_P[0] - 16384.0) / 1048576.0 + (self.PAR_P[1] - 16384.0) / 536870912.0 * t
        first = first + self.PAR_P[2] / 4294967296.0 * t * t + self.PAR_P[3] / 137438953472.0 * t * t * t
        second = self.PAR_P[8] / 281474976710656.0 + self.PAR_P[9] / 281474976710656.0 * t
        third = self.PAR_P[10] / 36893488147419103232.0
        p = 6e6
        for _i in range(6):
            error = base + p * (first + p * (second + p * third)) - self.inputs[0]
            gradient = first + p * (2.0 * second + 3.0 * p * third)
            if gradient < -1e-6:
                p = p - error / gradient
        self.put(DATA, quantise(p, 0, 16777215))
        self.reg[STATUS] = 0x10 | (self.reg[PWR_CTRL] & 1) << 5 | (self.reg[PWR_CTRL] & 2) << 5
        if self.reg[PWR_CTRL] >> 4 & 3 == 3:
            self.due += self.period()
        else:
            self.due = NEVER
            self.reg[PWR_CTRL] = self.reg[PWR_CTRL] & 0x0F

    def put(self, place: int, raw: int) -> None:
        self.reg[place] = raw & 0xFF
        self.reg[place + 1] = raw >> 8 & 0xFF
        self.reg[place + 2] = raw >> 16 & 0xFF
