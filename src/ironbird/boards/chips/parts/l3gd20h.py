"""L3GD20H: gyroscope by SPI, in the Pixhawk 1."""

from __future__ import annotations

from ironbird.boards.chips.numbers import NEVER, quantise
from ironbird.boards.chips.parts.st_motion import StMotion
from ironbird.boards.chips.table import Register, run_of

CTRL1, CTRL4, CTRL5, TEMP, STATUS, OUT, LOW_ODR = 0x20, 0x23, 0x24, 0x26, 0x27, 0x28, 0x39
DEGREES = 57.29577951308232
KELVIN = 273.15


class L3gd20h(StMotion):
    """The gyroscope L3GD20H: sample clock, ranges, status and overrun bits that reading clears, temperature,
    [ChipNotes] 5.

    Not modelled: FIFO (bypass only), filters, interrupt generators.
    """

    part = "L3GD20H"
    summary = "gyroscope"
    source = "[ChipNotes] 5"
    address = 0x6B
    feeds = ("gyro_x", "gyro_y", "gyro_z", "temperature")
    PERIOD_NS = (10_559_662, 5_279_831, 2_639_916, 1_319_958)  # 94.7 to 757.6 Hz
    MDPS = (8.75, 17.5, 70.0, 70.0)  # per LSB
    registers = (
        Register(0x05, "UNDOCUMENTED_05", 0, 0xFF, "drivers set bit 5 and read it back"),
        Register(0x0F, "WHO_AM_I", 0xD7, 0, "identity"),
        Register(0x20, "CTRL1", 0x07, 0xFF, ".7:6 rate, .5:4 filter, .3 on, .2:0 axes", acts=True),
        *run_of(0x21, "CTRL2 CTRL3", 0, 0xFF, "stored"),
        Register(0x23, "CTRL4", 0, 0xFF, ".7 block update, .5:4 range: 245, 500, 2000 deg/s"),
        Register(0x24, "CTRL5", 0, 0x7F, ".7 reboot, .6 FIFO", acts=True, self_clearing=0x80),
        Register(0x25, "REFERENCE", 0, 0xFF, "stored"),
        Register(0x26, "OUT_TEMP", 0, 0, "40 deg C minus the value", measured=True),
        Register(0x27, "STATUS", 0, 0, ".7:4 overrun, .3:0 data available; reading data clears it", measured=True),
        *run_of(0x28, "OUT_X_L OUT_X_H OUT_Y_L OUT_Y_H OUT_Z_L OUT_Z_H", 0, 0, "rates, little endian", acts=True,
                measured=True),
        Register(0x2E, "FIFO_CTRL", 0, 0xFF, ".7:5 mode; stored"),
        Register(0x2F, "FIFO_SRC", 0x20, 0, "empty"),
        *[Register(a, f"IG_{a:02X}", 0, 0xFF, "interrupt generator; stored") for a in range(0x30, 0x39)],
        Register(0x39, "LOW_ODR", 0, 0x29, ".3 I2C off, .2 reset", acts=True, self_clearing=0x04),
    )  # fmt: skip

    def on_read(self, place: int) -> None:
        self.taken(place, OUT, STATUS)

    def on_write(self, place: int, value: int) -> None:
        if (place == CTRL5 and value & 0x80) or (place == LOW_ODR and value & 0x04):
            self.reset_registers(self.now)
            return
        before = self.reg[place]
        self.store(place, value)
        if place == CTRL1 and before & 0xC8 != value & 0xC8:
            self.due = self.now + self.PERIOD_NS[value >> 6] if value & 8 else NEVER

    def tick(self) -> None:
        scale = DEGREES * 1000.0 / self.MDPS[self.reg[CTRL4] >> 4 & 3]
        for i in range(3):
            self.put(OUT + 2 * i, quantise(self.inputs[i] * scale, -32768, 32767))
        self.reg[TEMP] = quantise(40.0 - (self.inputs[3] - KELVIN), -128, 127) & 0xFF
        self.mark(STATUS)
        self.due += self.PERIOD_NS[self.reg[CTRL1] >> 6]
