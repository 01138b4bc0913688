"""LSM303D: accelerometer and magnetometer by SPI, in the Pixhawk 1."""

from __future__ import annotations

from ironbird.boards.chips.numbers import NEVER, quantise
from ironbird.boards.chips.parts.st_motion import StMotion
from ironbird.boards.chips.table import Register, run_of

TEMP, STATUS_M, OUT_M, CTRL0, CTRL1, CTRL2, CTRL5, CTRL6, CTRL7 = 0x05, 0x07, 0x08, 0x1F, 0x20, 0x21, 0x24, 0x25, 0x26
STATUS_A, OUT_A = 0x27, 0x28
G = 9.80665
KELVIN = 273.15
TURN_ON_NS = 1_000_000


class Lsm303d(StMotion):
    """The accelerometer and magnetometer LSM303D: two sample clocks, status and overrun bits that reading clears,
    ranges, temperature, [ChipNotes] 4.

    Switching the magnetometer to continuous mode measures after 1 ms. Not modelled: FIFO (bypass only), anti-alias and
    high-pass filters, interrupt generators, clicks.
    """

    part = "LSM303D"
    summary = "accelerometer and magnetometer"
    source = "[ChipNotes] 4"
    address = 0x1D
    feeds = ("accel_x", "accel_y", "accel_z", "field_x", "field_y", "field_z", "temperature")
    ACCEL_NS = (
        0, 320_000_000, 160_000_000, 80_000_000, 40_000_000, 20_000_000, 10_000_000, 5_000_000, 2_500_000, 1_250_000,
        625_000, 0, 0, 0, 0, 0,
    )  # fmt: skip
    MAG_NS = (
        320_000_000, 160_000_000, 80_000_000, 40_000_000, 20_000_000, 10_000_000, 10_000_000, 10_000_000,
    )  # fmt: skip
    ACCEL_MG = (0.061, 0.122, 0.183, 0.244, 0.732, 0.732, 0.732, 0.732)  # per LSB
    MAG_MGA = (0.080, 0.160, 0.320, 0.479)
    registers = (
        Register(0x02, "UNDOCUMENTED_02", 0, 0xFF, "drivers switch I2C off with it; stored"),
        *run_of(0x05, "TEMP_OUT_L TEMP_OUT_H", 0, 0, "8 LSB per kelvin from 25 deg C", measured=True),
        Register(0x07, "STATUS_M", 0, 0, ".7:4 overrun, .3:0 data available; reading data clears it", measured=True),
        *run_of(0x08, "OUT_X_L_M OUT_X_H_M OUT_Y_L_M OUT_Y_H_M OUT_Z_L_M OUT_Z_H_M", 0, 0, "field, little endian",
                acts=True, measured=True),
        Register(0x0F, "WHO_AM_I", 0x49, 0, "identity"),
        Register(0x12, "INT_CTRL_M", 0xE8, 0xFF, "stored"),
        Register(0x13, "INT_SRC_M", 0, 0, "zero"),
        *run_of(0x14, "INT_THS_L_M INT_THS_H_M OFFSET_X_L_M OFFSET_X_H_M OFFSET_Y_L_M OFFSET_Y_H_M OFFSET_Z_L_M "
                "OFFSET_Z_H_M REFERENCE_X REFERENCE_Y REFERENCE_Z", 0, 0xFF, "stored"),
        Register(0x1F, "CTRL0", 0, 0x67, ".7 reboot, .6 FIFO", acts=True, self_clearing=0x80),
        Register(0x20, "CTRL1", 0x07, 0xFF, ".7:4 rate of the accelerometer, .3 block update, .2:0 axes", acts=True),
        Register(0x21, "CTRL2", 0, 0xFB, ".7:6 filter, .5:3 range: 2, 4, 6, 8, 16 g"),
        *run_of(0x22, "CTRL3 CTRL4", 0, 0xFF, "interrupt pins; stored"),
        Register(0x24, "CTRL5", 0x18, 0xFF, ".7 thermometer, .6:5 resolution, .4:2 magnetometer rate", acts=True),
        Register(0x25, "CTRL6", 0x20, 0x60, ".6:5 range: 2, 4, 8, 12 gauss"),
        Register(0x26, "CTRL7", 0x01, 0xE7, ".1:0 magnetometer: 0 continuous, 1 single, 2 and 3 off", acts=True),
        Register(0x27, "STATUS_A", 0, 0, ".7:4 overrun, .3:0 data available; reading data clears it", measured=True),
        *run_of(0x28, "OUT_X_L_A OUT_X_H_A OUT_Y_L_A OUT_Y_H_A OUT_Z_L_A OUT_Z_H_A", 0, 0, "specific force",
                acts=True, measured=True),
        Register(0x2E, "FIFO_CTRL", 0, 0xFF, "stored"),
        Register(0x2F, "FIFO_SRC", 0x20, 0, "empty"),
        *[Register(a, f"CONFIG_{a:02X}", 0, 0xFF, "interrupts and clicks; stored") for a in range(0x30, 0x40)],
    )  # fmt: skip

    accel_due: int = NEVER
    mag_due: int = NEVER

    def on_reset(self, t: int) -> None:
        self.accel_due = NEVER
        self.mag_due = NEVER

    def on_read(self, place: int) -> None:
        self.taken(place, OUT_A, STATUS_A)
        self.taken(place, OUT_M, STATUS_M)

    def on_write(self, place: int, value: int) -> None:
        if place == CTRL0 and value & 0x80:
            self.reset_registers(self.now)
            return
        before = self.reg[place]
        self.store(place, value)
        if place == CTRL1 and before >> 4 != value >> 4:
            period = self.ACCEL_NS[value >> 4]
            self.accel_due = self.now + period if period else NEVER
        elif place == CTRL7:
            if value & 3 == 0 and before & 3:
                self.mag_due = self.now + TURN_ON_NS
            elif value & 3:
                self.mag_due = NEVER
        self.due = min(self.accel_due, self.mag_due)

    def tick(self) -> None:
        if self.accel_due <= self.mag_due:
            scale = 1000.0 / G / self.ACCEL_MG[self.reg[CTRL2] >> 3 & 7]
            for i in range(3):
                self.put(OUT_A + 2 * i, quantise(self.inputs[i] * scale, -32768, 32767))
            self.mark(STATUS_A)
            self.accel_due += self.ACCEL_NS[self.reg[CTRL1] >> 4]
        else:
            scale = 1e7 / self.MAG_MGA[self.reg[CTRL6] >> 5 & 3]
            for i in range(3):
                self.put(OUT_M + 2 * i, quantise(self.inputs[3 + i] * scale, -32768, 32767))
            if self.reg[CTRL5] & 0x80:
                self.put(TEMP, quantise((self.inputs[6] - KELVIN - 25.0) * 8.0, -2048, 2047) & 0xFFF)
            self.mark(STATUS_M)
            self.mag_due += self.MAG_NS[self.reg[CTRL5] >> 2 & 7]
        self.due = min(self.accel_due, self.mag_due)
