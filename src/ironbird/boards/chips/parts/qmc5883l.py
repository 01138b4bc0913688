"""QMC5883L: magnetometer by I2C, sold in place of the HMC5883L."""

from __future__ import annotations

from ironbird.boards.chips.chip import RegisterChip
from ironbird.boards.chips.numbers import NEVER, quantise
from ironbird.boards.chips.table import Register, run_of

DATA, STATUS, TEMP, CNTL1, CNTL2, CHIP_ID = 0x00, 0x06, 0x07, 0x09, 0x0A, 0x0D
KELVIN = 273.15


class Qmc5883l(RegisterChip):
    """The magnetometer QMC5883L: continuous measurements, two ranges, ready, overflow and skipped bits, [ChipNotes] 25.

    A sample that was not read before the next came sets the skipped bit. Not modelled: oversampling noise.
    """

    part = "QMC5883L"
    summary = "magnetometer, 16 bits"
    source = "[ChipNotes] 25"
    buses = ("i2c",)
    address = 0x0D
    feeds = ("field_x", "field_y", "field_z", "temperature")
    PLACES = 64
    ADDRESS = 0x3F
    PERIOD_NS = (100_000_000, 20_000_000, 10_000_000, 5_000_000)
    GAUSS = (12000.0, 3000.0, 3000.0, 3000.0)  # LSB
    registers = (
        *run_of(0x00, "X_L X_H Y_L Y_H Z_L Z_H", 0, 0, "newest sample, little endian", acts=True, measured=True),
        Register(0x06, "STATUS", 0, 0, ".2 a sample was skipped, .1 overflow, .0 ready; reading data clears",
                 measured=True),
        *run_of(0x07, "TOUT_L TOUT_H", 0, 0, "100 LSB per kelvin from 25 deg C", measured=True),
        Register(0x09, "CNTL1", 0, 0xFF, ".7:6 averages, .5:4 range: 2, 8 gauss, .3:2 rate, .1:0 1 is on", acts=True),
        Register(0x0A, "CNTL2", 0, 0x41, ".7 reset, .6 pointer rolls over, .0 no interrupt", acts=True,
                 self_clearing=0x80),
        Register(0x0B, "PERIOD", 0, 0xFF, "set and reset period; stored"),
        Register(0x0C, "ID_LOW", 0x01, 0, "identity"),
        Register(0x0D, "CHIP_ID", 0xFF, 0, "identity"),
        *run_of(0x20, "UNDOCUMENTED_20 UNDOCUMENTED_21", 0, 0xFF, "stored"),
    )  # fmt: skip

    def value(self, place: int) -> int:
        return self.reg[place] ^ self.identity if place == CHIP_ID else self.reg[place]

    def on_read(self, place: int) -> None:
        if place < STATUS:
            self.reg[STATUS] = 0

    def on_write(self, place: int, value: int) -> None:
        if place == CNTL2 and value & 0x80:
            self.reset_registers(self.now)
            return
        before = self.reg[place]
        self.store(place, value)
        if place == CNTL1 and before & 15 != value & 15:
            self.due = self.now + self.PERIOD_NS[value >> 2 & 3] if value & 3 == 1 else NEVER

    def tick(self) -> None:
        scale = 1e4 * self.GAUSS[self.reg[CNTL1] >> 4 & 3]
        state = 4 if self.reg[STATUS] & 1 else 0
        for i in range(3):
            raw = quantise(self.inputs[i] * scale, -32768, 32767)
            if raw == -32768 or raw == 32767:
                state = state | 2
            self.reg[DATA + 2 * i] = raw & 0xFF
            self.reg[DATA + 2 * i + 1] = raw >> 8 & 0xFF
        warm = quantise((self.inputs[3] - KELVIN - 25.0) * 100.0, -32768, 32767)
        self.reg[TEMP] = warm & 0xFF
        self.reg[TEMP + 1] = warm >> 8 & 0xFF
        self.reg[STATUS] = state | 1
        self.due += self.PERIOD_NS[self.reg[CNTL1] >> 2 & 3]
