"""BMI088, gyroscope: the other die in its package, with a select of its own."""

from __future__ import annotations

from ironbird.boards.chips.chip import RegisterChip
from ironbird.boards.chips.numbers import NEVER, quantise
from ironbird.boards.chips.table import Register, run_of

CHIP_ID, DATA, INT_STAT, FIFO_STATUS, RANGE, BANDWIDTH, LPM1, SOFTRESET = 0x00, 0x02, 0x0A, 0x0E, 0x0F, 0x10, 0x11, 0x14
INT_CTRL, IO_CONF, IO_MAP, WM_ENABLE, FIFO_0, FIFO_1, FIFO_DATA = 0x15, 0x16, 0x18, 0x1E, 0x3D, 0x3E, 0x3F
DEGREES = 57.29577951308232
SIZE, FRAMES, LENGTH = 1024, 100, 6  # size in bytes, frames that the FIFO holds, bytes of one frame


class Bmi088Gyro(RegisterChip):
    """The gyroscope BMI088: rates to 2 kHz, five ranges, FIFO of 100 frames, [ChipNotes] 22.2.

    An empty FIFO reads as frames of 0x8000. Not modelled: filters, self test, the external trigger.
    """

    part = "BMI088 (gyroscope)"
    summary = "gyroscope, FIFO 100 frames"
    source = "[ChipNotes] 22.2"
    buses = ("spi", "i2c")
    address = 0x68
    clock_hz = 10_000_000
    feeds = ("gyro_x", "gyro_y", "gyro_z")
    BUSY_NS = 30_000_000
    PERIOD_NS = (500_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 5_000_000, 10_000_000)
    registers = (
        Register(0x00, "GYRO_CHIP_ID", 0x0F, 0, "identity", acts=True),
        *run_of(0x02, "RATE_X_LSB RATE_X_MSB RATE_Y_LSB RATE_Y_MSB RATE_Z_LSB RATE_Z_MSB", 0, 0, "newest sample",
                measured=True),
        Register(0x0A, "GYRO_INT_STAT_1", 0, 0, ".7 data ready, .4 FIFO; reading clears", clears=True, acts=True,
                 measured=True),
        Register(0x0E, "FIFO_STATUS", 0, 0, ".7 overrun, .6:0 frames", acts=True, measured=True),
        Register(0x0F, "GYRO_RANGE", 0, 0x07, "2000 >> n deg/s, n to 4"),
        Register(0x10, "GYRO_BANDWIDTH", 0x80, 0x0F, "0 and 1: 2 kHz, 2: 1 kHz, 3: 400, 4 and 6: 200, 5 and 7: 100 Hz",
                 acts=True),
        Register(0x11, "GYRO_LPM1", 0, 0xA0, ".7 suspend, .5 deep suspend", acts=True),
        Register(0x13, "RATE_HBW", 0, 0xC0, "stored"),
        Register(0x14, "GYRO_SOFTRESET", 0, 0, "0xB6 resets", acts=True, self_clearing=0xFF),
        Register(0x15, "GYRO_INT_CTRL", 0, 0xC0, ".7 data ready, .6 FIFO to the pins"),
        Register(0x16, "INT3_INT4_IO_CONF", 0x0F, 0x0F, ".0 pin 3 active high"),
        Register(0x18, "INT3_INT4_IO_MAP", 0, 0xA5, ".2 FIFO, .0 data ready to pin 3"),
        Register(0x1E, "FIFO_WM_ENABLE", 0x08, 0x80, ".7 interrupt at the watermark, else when full"),
        Register(0x34, "FIFO_EXT_INT_S", 0, 0x30, "stored"),
        Register(0x3C, "GYRO_SELF_TEST", 0x10, 0x01, "stored; .4 the rate is all right"),
        Register(0x3D, "FIFO_CONFIG_0", 0, 0x7F, "watermark in frames; writing empties the FIFO", acts=True),
        Register(0x3E, "FIFO_CONFIG_1", 0, 0xC0, ".7:6 0 off, 1 stops when full, 2 streams; writing empties the FIFO",
                 acts=True),
        Register(0x3F, "FIFO_DATA", 0, 0, "takes one byte from the FIFO; frames of 0x8000 when empty", sticks=True,
                 acts=True, measured=True),
    )  # fmt: skip

    fifo: bytearray = bytearray(SIZE)
    head: int = 0
    count: int = 0  # bytes in the FIFO
    odd: int = 0  # the next byte of an empty FIFO is the upper one
    period: int = 0  # ns; 0: off

    def on_reset(self, t: int) -> None:
        self.empty()
        self.period = 0
        self.set_rate()

    def empty(self) -> None:
        self.head = 0
        self.count = 0
        self.odd = 0
        self.reg[FIFO_STATUS] = 0

    def spi_begin(self, t: int) -> None:
        super().spi_begin(t)
        self.odd = 0

    def value(self, place: int) -> int:
        if place == CHIP_ID:
            return self.reg[place] ^ self.identity
        if place == FIFO_STATUS:
            return self.reg[FIFO_STATUS] | (self.count + LENGTH - 1) // LENGTH
        if place == FIFO_DATA:
            if self.count > 0:
                return self.fifo[self.head]
            return 0x80 if self.odd else 0
        return self.reg[place]

    def on_read(self, place: int) -> None:
        if place == FIFO_DATA:
            if self.count > 0:
                self.head = (self.head + 1) & (SIZE - 1)
                self.count -= 1
            else:
                self.odd = 1 - self.odd
        elif place == INT_STAT:
            self.interrupt = 0
        super().on_read(place)

    def on_write(self, place: int, value: int) -> None:
        if place == SOFTRESET:
            if value == 0xB6:
                self.reset_registers(self.now)
            return
        self.store(place, value)
        if place in (FIFO_0, FIFO_1):
            self.empty()
        elif place in (BANDWIDTH, LPM1):
            self.set_rate()

    def set_rate(self) -> None:
        period = 0 if self.reg[LPM1] else self.PERIOD_NS[self.reg[BANDWIDTH] & 7]
        if period != self.period:
            self.period = period
            self.due = (self.now // period + 1) * period if period else NEVER

    def tick(self) -> None:
        self.due += self.period
        scale = DEGREES * 16.384 * (1 << min(4, self.reg[RANGE] & 7))
        for i in range(3):
            raw = quantise(self.inputs[i] * scale, -32768, 32767)
            self.reg[DATA + 2 * i] = raw & 0xFF
            self.reg[DATA + 2 * i + 1] = raw >> 8 & 0xFF
        self.tell(0x80, 0x80, 0x01)
        if self.reg[FIFO_1] & 0xC0:
            self.push()

    def tell(self, status: int, enabled: int, pin: int) -> None:
        self.reg[INT_STAT] = self.reg[INT_STAT] | status
        if self.reg[INT_CTRL] & enabled and self.reg[IO_MAP] & pin:
            self.interrupt = 1

    def interrupt_level(self, t: int) -> int:
        return (1 if self.interrupt else 0) ^ (1 - (self.reg[IO_CONF] & 1))

    def push(self) -> None:
        if self.count + LENGTH > FRAMES * LENGTH:
            self.reg[FIFO_STATUS] = 0x80
            if not self.reg[FIFO_1] & 0x80:
                return  # full: the new frame is dropped
            self.head = (self.head + LENGTH) & (SIZE - 1)
            self.count -= LENGTH
        for i in range(LENGTH):
            self.fifo[(self.head + self.count) & (SIZE - 1)] = self.reg[DATA + i]
            self.count += 1
        limit = self.reg[FIFO_0] if self.reg[WM_ENABLE] & 0x80 else FRAMES
        if limit > 0 and self.count >= limit * LENGTH:
            self.tell(0x10, 0x40, 0x04)

    def flood(self) -> None:
        if self.reg[FIFO_1] & 0xC0:
            for _i in range(FRAMES + 1):
                self.push()
