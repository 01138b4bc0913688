"""IST8310: magnetometer by I2C, in the Pixhawk 4 and its GNSS mast."""

from __future__ import annotations

from ironbird.boards.chips.chip import RegisterChip
from ironbird.boards.chips.numbers import NEVER, quantise
from ironbird.boards.chips.table import Register, run_of

WAI, STAT1, DATA, STAT2, CNTL1, CNTL2, STR, CNTL3, AVGCNTL = 0x00, 0x02, 0x03, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x41
TESLA_14 = 3.3e6  # LSB per tesla, 14 bits
TESLA_16 = 13.2e6
CONTINUOUS_NS = 5_000_000


class Ist8310(RegisterChip):
    """The magnetometer IST8310: single measurements on request or 200 Hz, averages, 14 or 16 bits per axis, self test,
    [ChipNotes] 7.

    Not modelled: the cross-axis matrix (the axes are right), temperature.
    """

    part = "IST8310"
    summary = "magnetometer, 14 or 16 bits"
    source = "[ChipNotes] 7"
    buses = ("i2c",)
    address = 0x0E
    feeds = ("field_x", "field_y", "field_z", "temperature")
    PLACES = 256
    ADDRESS = 0xFF
    BUSY_NS = 5_000_000
    CONVERSION_NS = (2_000_000, 2_300_000, 2_700_000, 3_600_000, 5_500_000, 5_500_000, 5_500_000, 5_500_000)
    registers = (
        Register(0x00, "WAI", 0x10, 0, "identity"),
        Register(0x02, "STAT1", 0, 0, ".1 data overrun, .0 data ready; reading data clears both", measured=True),
        *run_of(0x03, "DATA_X_L DATA_X_H DATA_Y_L DATA_Y_H DATA_Z_L DATA_Z_H", 0, 0, "newest sample, little endian",
                acts=True, measured=True),
        Register(0x09, "STAT2", 0, 0, ".3 interrupt", clears=True, measured=True),
        Register(0x0A, "CNTL1", 0, 0x0F, ".3:0 mode: 0 standby, 1 single, others 200 Hz", acts=True),
        Register(0x0B, "CNTL2", 0, 0x0E, ".3 ready pin on, .2 its polarity, .0 reset", acts=True, self_clearing=0x01),
        Register(0x0C, "STR", 0, 0x40, ".6 self test: axes inverted"),
        Register(0x0D, "CNTL3", 0, 0x70, ".6:4 z y x with 16 bits"),
        *run_of(0x1C, "TEMP_L TEMP_H", 0, 0, "not modelled"),
        Register(0x40, "TCCNTL", 0, 0xFF, "temperature compensation; stored"),
        Register(0x41, "AVGCNTL", 0, 0x3F, ".5:3 averages of y, .2:0 of x and z: 1, 2, 4, 8, 16"),
        Register(0x42, "PDCNTL", 0, 0xFF, ".7:6 pulse duration; stored"),
        *[Register(0x9C + i, f"CROSS_AXIS_{i}", 0, 0, "unit matrix") for i in range(18)],
    )  # fmt: skip

    def value(self, place: int) -> int:
        if place == WAI:
            return self.reg[WAI] ^ self.identity
        return self.reg[place]

    def on_read(self, place: int) -> None:
        if DATA <= place < DATA + 6:
            self.reg[STAT1] = 0
            self.interrupt = 0
        super().on_read(place)

    def on_write(self, place: int, value: int) -> None:
        if place == CNTL2 and value & 1:
            self.reset_registers(self.now)
            return
        self.store(place, value)
        if place == CNTL1:
            if value & 15 == 0:
                self.due = NEVER
            elif value & 15 == 1:
                self.due = self.now + self.CONVERSION_NS[self.reg[AVGCNTL] & 7]
            else:
                self.due = self.now + CONTINUOUS_NS

    def tick(self) -> None:
        sign = -1.0 if self.reg[STR] & 0x40 else 1.0
        for i in range(3):
            scale = TESLA_16 if self.reg[CNTL3] & (0x10 << i) else TESLA_14
            raw = quantise(sign * self.inputs[i] * scale, -32768, 32767)
            self.reg[DATA + 2 * i] = raw & 0xFF
            self.reg[DATA + 2 * i + 1] = raw >> 8 & 0xFF
        self.reg[STAT1] = 3 if self.reg[STAT1] & 1 else 1
        if self.reg[CNTL2] & 8:
            self.interrupt = 1
        if self.reg[CNTL1] & 15 == 1:
            self.reg[CNTL1] = 0
            self.due = NEVER
        else:
            self.due += CONTINUOUS_NS
