"""HMC5883L: magnetometer by I2C, in older GNSS masts."""

from __future__ import annotations

from ironbird.boards.chips.chip import RegisterChip
from ironbird.boards.chips.numbers import NEVER, quantise
from ironbird.boards.chips.table import Register, run_of

CONFIG_A, CONFIG_B, MODE, DATA, STATUS, ID_A = 0x00, 0x01, 0x02, 0x03, 0x09, 0x0A
SINGLE_NS = 6_000_000


class Hmc5883l(RegisterChip):
    """The magnetometer HMC5883L: single or continuous measurements, gain, self-test bias, overflow mark, locked
    outputs, [ChipNotes] 8.

    A change of the gain acts on the next measurement, where the real part takes one more.
    """

    part = "HMC5883L"
    summary = "magnetometer, 12 bits"
    source = "[ChipNotes] 8"
    buses = ("i2c",)
    address = 0x1E
    feeds = ("field_x", "field_y", "field_z")
    PLACES = 16
    ADDRESS = 0x0F
    GAIN = (1370.0, 1090.0, 820.0, 660.0, 440.0, 390.0, 330.0, 230.0)  # LSB per gauss
    BIAS = (1.16, 1.16, 1.08)  # gauss
    PLACE_OF = (0, 4, 2)  # position of x, y, z in the data: the order is x, z, y
    PERIOD_NS = (
        1_333_333_333, 666_666_667, 333_333_333, 133_333_333, 66_666_667, 33_333_333, 13_333_333, 13_333_333,
    )  # fmt: skip
    registers = (
        Register(0x00, "CONFIG_A", 0x10, 0x7F, ".6:5 averages, .4:2 rate, .1:0 bias of the self test", acts=True),
        Register(0x01, "CONFIG_B", 0x20, 0xE0, ".7:5 gain: 1370 to 230 LSB per gauss"),
        Register(0x02, "MODE", 0x01, 0x03, "0 continuous, 1 single, 2 and 3 idle", acts=True),
        *run_of(0x03, "X_H X_L Z_H Z_L Y_H Y_L", 0, 0, "newest sample, big endian; -4096 is overflow", acts=True,
                measured=True),
        Register(0x09, "STATUS", 0, 0, ".1 locked until all data are read, .0 ready", measured=True),
        *[Register(0x0A + i, f"ID_{'ABC'[i]}", ord("H43"[i]), 0, "identity") for i in range(3)],
    )  # fmt: skip

    seen: int = 0  # data bytes of this sample that were read, as bits

    def on_reset(self, t: int) -> None:
        self.seen = 0

    def value(self, place: int) -> int:
        if place == ID_A:
            return self.reg[ID_A] ^ self.identity
        return self.reg[place]

    def on_read(self, place: int) -> None:
        if DATA <= place < DATA + 6:
            self.seen = self.seen | 1 << (place - DATA)
            if self.seen == 63:
                self.seen = 0
                self.reg[STATUS] = 0
            else:
                self.reg[STATUS] = self.reg[STATUS] | 2

    def on_write(self, place: int, value: int) -> None:
        self.store(place, value)
        if place in (CONFIG_A, MODE):
            self.seen = 0
            self.reg[STATUS] = self.reg[STATUS] & 1
        if place == MODE:
            mode = value & 3
            self.due = NEVER
            if mode == 0:
                self.due = self.now + self.PERIOD_NS[self.reg[CONFIG_A] >> 2 & 7]
            elif mode == 1:
                self.due = self.now + SINGLE_NS

    def tick(self) -> None:
        if not self.reg[STATUS] & 2:
            bias = self.reg[CONFIG_A] & 3
            gain = self.GAIN[self.reg[CONFIG_B] >> 5]
            for i in range(3):
                field = self.inputs[i] * 1e4
                if bias == 1:
                    field = field + self.BIAS[i]
                elif bias == 2:
                    field = field - self.BIAS[i]
                raw = quantise(field * gain, -4096, 4096)
                if raw < -2048 or raw > 2047:
                    raw = -4096
                self.reg[DATA + self.PLACE_OF[i]] = raw >> 8 & 0xFF
                self.reg[DATA + self.PLACE_OF[i] + 1] = raw & 0xFF
            self.reg[STATUS] = 1
            self.seen = 0
        if self.reg[MODE] & 3 == 1:
            self.reg[MODE] = 3
            self.due = NEVER
        else:
            self.due += self.PERIOD_NS[self.reg[CONFIG_A] >> 2 & 7]
