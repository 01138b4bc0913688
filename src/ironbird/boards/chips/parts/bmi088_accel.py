"""BMI088, accelerometer: one of two dies in its package, with a select of its own."""

from __future__ import annotations

from ironbird.boards.chips.chip import RegisterChip
from ironbird.boards.chips.numbers import NEVER, quantise
from ironbird.boards.chips.table import Register, run_of

CHIP_ID, STATUS, DATA, TIME, INT_STAT, TEMP, LENGTH, FIFO_DATA = 0x00, 0x03, 0x12, 0x18, 0x1D, 0x22, 0x24, 0x26
CONF, RANGE, WATERMARK, FIFO_0, FIFO_1, INT1, MAP = 0x40, 0x41, 0x46, 0x48, 0x49, 0x53, 0x58
PWR_CONF, PWR_CTRL, SOFTRESET = 0x7C, 0x7D, 0x7E
G, KELVIN = 9.80665, 273.15
SIZE = 1024  # bytes of the FIFO
FRAME, CHANGE = 0x84, 0x48  # frame headers: a sample of six bytes, a configuration change of one byte


class Bmi088Accel(RegisterChip):
    """The accelerometer BMI088: rates to 1600 Hz, four ranges, FIFO of frames with headers, dummy byte on SPI,
    [ChipNotes] 22.1.

    It starts on I2C: the first request by SPI switches it over and is lost. Not modelled: filters, frames of sensor
    time and of skipped data, that suspend refuses most writes; the temperature is as new as the sample.
    """

    part = "BMI088 (accelerometer)"
    summary = "accelerometer, FIFO 1 KB"
    source = "[ChipNotes] 22.1"
    buses = ("spi", "i2c")
    address = 0x18
    clock_hz = 10_000_000
    feeds = ("accel_x", "accel_y", "accel_z", "temperature")
    DUMMY = 1
    BUSY_NS = 1_000_000
    registers = (
        Register(0x00, "ACC_CHIP_ID", 0x1E, 0, "identity", acts=True),
        Register(0x02, "ERR_REG", 0, 0, "no error"),
        Register(0x03, "STATUS", 0x10, 0, ".7 data ready; reading data clears it", measured=True),
        *run_of(0x12, "ACC_X_LSB ACC_X_MSB ACC_Y_LSB ACC_Y_MSB ACC_Z_LSB ACC_Z_MSB", 0, 0, "newest sample", acts=True,
                measured=True),
        *run_of(0x18, "SENSORTIME_0 SENSORTIME_1 SENSORTIME_2", 0, 0, "39.0625 us per LSB", measured=True),
        Register(0x1D, "INT_STAT_1", 0, 0, ".7 data ready, .1 watermark, .0 FIFO full; reading clears", clears=True,
                 acts=True, measured=True),
        *run_of(0x22, "TEMP_MSB TEMP_LSB", 0, 0, "11 bits, 0.125 K per LSB from 23 deg C", measured=True),
        *run_of(0x24, "FIFO_LENGTH_0 FIFO_LENGTH_1", 0, 0, "bytes in the FIFO, little endian; 0x8000 when empty",
                measured=True),
        Register(0x26, "FIFO_DATA", 0, 0, "takes one byte from the FIFO; 0x80 when empty", sticks=True, acts=True,
                 measured=True),
        Register(0x40, "ACC_CONF", 0xA8, 0xFF, ".7:4 filter, .3:0 rate: 12.5 Hz at 5, doubled each to 1600 Hz at 12",
                 acts=True),
        Register(0x41, "ACC_RANGE", 0x01, 0x03, "3, 6, 12, 24 g", acts=True),
        Register(0x45, "FIFO_DOWNS", 0x80, 0x70, "stored"),
        *run_of(0x46, "FIFO_WTM_0", 0x02, 0xFF, "watermark in bytes, low byte"),
        *run_of(0x47, "FIFO_WTM_1", 0x00, 0x1F, "high byte"),
        Register(0x48, "FIFO_CONFIG_0", 0x02, 0x01, ".0 a full FIFO drops new frames, else the oldest"),
        Register(0x49, "FIFO_CONFIG_1", 0x10, 0x4C, ".6 samples go to the FIFO"),
        Register(0x53, "INT1_IO_CONF", 0, 0x1E, ".3 output, .1 active high"),
        Register(0x54, "INT2_IO_CONF", 0, 0x1E, "stored"),
        Register(0x58, "INT_MAP_DATA", 0, 0x77, ".2 data ready, .1 watermark, .0 full to pin 1"),
        Register(0x6D, "ACC_SELF_TEST", 0, 0xFF, "stored"),
        Register(0x7C, "ACC_PWR_CONF", 0x03, 0x03, "0 active, 3 suspend", acts=True),
        Register(0x7D, "ACC_PWR_CTRL", 0, 0x04, ".2 on", acts=True),
        Register(0x7E, "ACC_SOFTRESET", 0, 0, "0xB6 resets, 0xB0 empties the FIFO", acts=True, self_clearing=0xFF),
    )  # fmt: skip

    fifo: bytearray = bytearray(SIZE)
    head: int = 0
    count: int = 0  # bytes in the FIFO
    period: int = 0  # ns; 0: off
    switched: int = 0  # an SPI request has switched the interface
    lost: int = 0  # the current request is the one that switches

    def on_reset(self, t: int) -> None:
        self.head = 0
        self.count = 0
        self.period = 0
        self.switched = 0
        self.lost = 0

    def deaf(self) -> int:
        return self.now < self.ready or self.lost

    def spi_begin(self, t: int) -> None:
        self.lost = 1 - self.switched
        super().spi_begin(t)

    def spi_end(self) -> None:
        self.switched = 1

    def i2c_begin(self, t: int, reading: int) -> int:
        self.lost = 0
        return super().i2c_begin(t, reading)

    def value(self, place: int) -> int:
        if place == CHIP_ID:
            return self.reg[place] ^ self.identity
        if TIME <= place < TIME + 3:
            return (self.now + 1_000_000_000) * 2 // 78125 >> (8 * (place - TIME)) & 0xFF
        if place == LENGTH:
            return self.count & 0xFF
        if place == LENGTH + 1:
            return self.count >> 8 if self.count > 0 else 0x80
        if place == FIFO_DATA:
            return self.fifo[self.head] if self.count > 0 else 0x80
        return self.reg[place]

    def on_read(self, place: int) -> None:
        if DATA <= place < DATA + 6:
            self.reg[STATUS] = 0x10
        elif place == FIFO_DATA:
            if self.count > 0:
                self.drop(1)
        elif place == INT_STAT:
            self.interrupt = 0
        super().on_read(place)

    def drop(self, length: int) -> None:
        self.head = (self.head + length) & (SIZE - 1)
        self.count -= length

    def on_write(self, place: int, value: int) -> None:
        if place == SOFTRESET:
            if value == 0xB6:
                self.reset_registers(self.now)
            elif value == 0xB0:
                self.head = 0
                self.count = 0
            return
        before = self.reg[place]
        self.store(place, value)
        if (place in (CONF, RANGE)) and self.reg[place] != before and self.reg[FIFO_1] & 0x40 and self.room(2):
            self.push(CHANGE)
            self.push(2 if place == CONF else 1)
        if place == CONF or place >= PWR_CONF:
            self.set_rate()

    def set_rate(self) -> None:
        rate = min(12, max(5, self.reg[CONF] & 15))
        period = 625_000 << (12 - rate)
        if self.reg[PWR_CTRL] == 0 or self.reg[PWR_CONF] != 0:
            period = 0
        if period != self.period:
            self.period = period
            self.due = (self.now // period + 1) * period if period else NEVER

    def tick(self) -> None:
        self.due += self.period
        scale = 32768.0 / (3 << (self.reg[RANGE] & 3)) / G
        for i in range(3):
            raw = quantise(self.inputs[i] * scale, -32768, 32767)
            self.reg[DATA + 2 * i] = raw & 0xFF
            self.reg[DATA + 2 * i + 1] = raw >> 8 & 0xFF
        warm = quantise((self.inputs[3] - KELVIN - 23.0) * 8.0, -1024, 1023)
        self.reg[TEMP] = warm >> 3 & 0xFF
        self.reg[TEMP + 1] = (warm & 7) << 5
        self.reg[STATUS] = 0x90
        self.tell(0x80)
        if self.reg[FIFO_1] & 0x40:
            if self.room(7):
                self.push(FRAME)
                for i in range(6):
                    self.push(self.reg[DATA + i])
            limit = self.reg[WATERMARK] | self.reg[WATERMARK + 1] << 8
            if limit > 0 and self.count >= limit:
                self.tell(2)

    def tell(self, bit: int) -> None:
        self.reg[INT_STAT] = self.reg[INT_STAT] | bit
        chosen = 4 if bit == 0x80 else bit
        if self.reg[MAP] & chosen:
            self.interrupt = 1

    def interrupt_level(self, t: int) -> int:
        high = self.reg[INT1] >> 1 & 1
        return (1 if self.interrupt else 0) ^ (1 - high)

    def room(self, size: int) -> int:
        """Whether so many bytes fit into the FIFO, after removal of the oldest frames in stream mode."""
        if self.count + size > SIZE:
            self.tell(1)
            if self.reg[FIFO_0] & 1:
                return 0
            while self.count + size > SIZE:
                self.drop(min(self.count, 7 if self.fifo[self.head] == FRAME else 2))
        return 1

    def push(self, value: int) -> None:
        self.fifo[(self.head + self.count) & (SIZE - 1)] = value
        self.count += 1

    def flood(self) -> None:
        if self.reg[FIFO_1] & 0x40:
            for _i in range(SIZE // 7 + 1):
                if self.room(7):
                    self.push(FRAME)
                    for i in range(6):
                        self.push(self.reg[DATA + i])
