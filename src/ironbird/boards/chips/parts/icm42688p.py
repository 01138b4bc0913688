"""ICM-42688-P: inertial unit by SPI with register banks, on modern flight controllers and the PilotPi."""

from __future__ import annotations

from ironbird.boards.chips.chip import RegisterChip
from ironbird.boards.chips.numbers import NEVER, quantise
from ironbird.boards.chips.table import BANK, Register, run_of

DEVICE_CONFIG, FIFO_CONFIG, TEMP_DATA, ACCEL_DATA, GYRO_DATA, INT_STATUS = 0x11, 0x16, 0x1D, 0x1F, 0x25, 0x2D
FIFO_COUNTH, FIFO_COUNTL, FIFO_DATA, SIGNAL_PATH_RESET, INTF_CONFIG0, PWR_MGMT0 = 0x2E, 0x2F, 0x30, 0x4B, 0x4C, 0x4E
GYRO_CONFIG0, ACCEL_CONFIG0, TMST_CONFIG, FIFO_CONFIG1, FIFO_WM, INT_SOURCE0 = 0x4F, 0x50, 0x54, 0x5F, 0x60, 0x65
WHO_AM_I, BANK_SEL = 0x75, 0x76
G, DEGREES, KELVIN = 9.80665, 57.29577951308232, 273.15
SIZE = 2048  # bytes of the FIFO


class Icm42688p(RegisterChip):
    """The inertial unit ICM-42688-P: five banks, output rates to 32 kHz, FIFO of 2 KB with 16 and 20 byte records and
    time stamps, [ChipNotes] 20.

    The clock runs 32/30 slow as PX4 sees it: 8 kHz gives time stamps of 7, 7, 8 ticks. Not modelled: filters, self
    test, FSYNC, the motion processor; accelerometer and gyroscope share the gyroscope's rate.
    """

    part = "ICM-42688-P"
    summary = "inertial unit, FIFO 2 KB, 20 bits"
    source = "[ChipNotes] 20"
    buses = ("spi",)
    clock_hz = 24_000_000
    feeds = ("accel_x", "accel_y", "accel_z", "gyro_x", "gyro_y", "gyro_z", "temperature")
    fifo_setup = (
        (PWR_MGMT0, 0x0F),
        (GYRO_CONFIG0, 0x03),
        (ACCEL_CONFIG0, 0x03),
        (FIFO_CONFIG, 0x80),
        (FIFO_CONFIG1, 0x17),
    )
    fifo_door = FIFO_DATA
    PLACES = 5 * BANK
    BUSY_NS = 500_000
    PERIOD_NS = (
        0, 31_250, 62_500, 125_000, 250_000, 500_000, 1_000_000, 5_000_000, 10_000_000, 20_000_000, 40_000_000,
        80_000_000, 0, 0, 0, 2_000_000,
    )  # fmt: skip
    registers = (
        Register(0x11, "DEVICE_CONFIG", 0, 0x10, ".0 reset", acts=True, self_clearing=0x01),
        Register(0x13, "DRIVE_CONFIG", 0x05, 0x3F, "slew rate; stored"),
        Register(0x14, "INT_CONFIG", 0, 0x3F, "interrupt pins: .2 latched, .1 push-pull, .0 active high"),
        Register(0x16, "FIFO_CONFIG", 0, 0xC0, ".7:6 0 bypass, 1 stream, 2 and 3 stop when full", acts=True),
        *run_of(0x1D, "TEMP_DATA1 TEMP_DATA0", 0, 0, "132.48 LSB per kelvin from 25 deg C", measured=True),
        *run_of(0x1F, "ACCEL_DATA_X1 ACCEL_DATA_X0 ACCEL_DATA_Y1 ACCEL_DATA_Y0 ACCEL_DATA_Z1 ACCEL_DATA_Z0 "
                "GYRO_DATA_X1 GYRO_DATA_X0 GYRO_DATA_Y1 GYRO_DATA_Y0 GYRO_DATA_Z1 GYRO_DATA_Z0", 0, 0, "newest sample",
                measured=True),
        Register(0x2D, "INT_STATUS", 0x10, 0, ".4 reset done, .3 data, .2 watermark, .1 FIFO full; reading clears",
                 clears=True, acts=True, measured=True),
        Register(0x2E, "FIFO_COUNTH", 0, 0, "bytes or records in the FIFO", acts=True, measured=True),
        Register(0x2F, "FIFO_COUNTL", 0, 0, "other byte of it", acts=True, measured=True),
        Register(0x30, "FIFO_DATA", 0, 0, "takes one byte from the FIFO; 0xFF when empty", sticks=True, acts=True,
                 measured=True),
        Register(0x4B, "SIGNAL_PATH_RESET", 0, 0, ".1 empty the FIFO", acts=True, self_clearing=0x0E),
        Register(0x4C, "INTF_CONFIG0", 0x30, 0xF3, ".6 count records, .5 count big endian, .4 data big endian"),
        Register(0x4D, "INTF_CONFIG1", 0x91, 0xCF, "stored"),
        Register(0x4E, "PWR_MGMT0", 0, 0x3F, ".3:2 gyro, .1:0 accelerometer: 3 is on", acts=True),
        Register(0x4F, "GYRO_CONFIG0", 0x06, 0xEF, ".7:5 range: 2000 >> n deg/s, .3:0 rate", acts=True),
        Register(0x50, "ACCEL_CONFIG0", 0x06, 0xEF, ".7:5 range: 16 >> n g, .3:0 rate", acts=True),
        Register(0x51, "GYRO_CONFIG1", 0x16, 0xFF, "filter; stored"),
        Register(0x52, "GYRO_ACCEL_CONFIG0", 0x11, 0xFF, "filters; stored"),
        Register(0x53, "ACCEL_CONFIG1", 0x0D, 0xFF, "filter; stored"),
        Register(0x54, "TMST_CONFIG", 0x23, 0x3F, ".3 ticks of 16 us, .2 time since the last record"),
        Register(0x5F, "FIFO_CONFIG1", 0, 0x7F, ".4 20 bits, .2 temperature, .1 gyro, .0 accelerometer", acts=True),
        *run_of(0x60, "FIFO_CONFIG2 FIFO_CONFIG3", 0, 0xFF, "watermark, low byte first"),
        Register(0x63, "INT_CONFIG0", 0, 0x3F, "how interrupts clear; stored"),
        Register(0x64, "INT_CONFIG1", 0x10, 0x70, ".4 must be cleared; stored"),
        Register(0x65, "INT_SOURCE0", 0x10, 0x7F, ".2 watermark to the pin"),
        Register(0x70, "SELF_TEST_CONFIG", 0, 0x7F, "stored"),
        Register(0x75, "WHO_AM_I", 0x47, 0, "identity", acts=True),
        Register(0x76, "REG_BANK_SEL", 0, 0x07, "bank, in every bank", acts=True),
        *[Register(0x0B + i, f"GYRO_CONFIG_STATIC{2 + i}", (0xA0, 0x0D, 0xAA, 0x80)[i], 0xFF, "filters; stored", bank=1)
          for i in range(4)],
        Register(0x7A, "INTF_CONFIG4", 0x83, 0xFF, "stored", bank=1),
        Register(0x7B, "INTF_CONFIG5", 0, 0x06, "pin 9; stored", bank=1),
        *[Register(0x03 + i, f"ACCEL_CONFIG_STATIC{2 + i}", (0x30, 0x40, 0x62)[i], 0xFF, "filters; stored", bank=2)
          for i in range(3)],
    )  # fmt: skip

    bank: int = 0
    fifo: bytearray = bytearray(SIZE)
    head: int = 0
    count: int = 0  # bytes in the FIFO
    period: int = 0
    stamped: int = 0  # ticks at the last record
    record: bytearray = bytearray(20)

    def on_reset(self, t: int) -> None:
        self.bank = 0
        self.head = 0
        self.count = 0
        self.period = 0

    def is_plain(self) -> int:
        return self.bank == 0

    def place(self, address: int) -> int:
        if address == BANK_SEL or self.bank > 4:
            return address
        return self.bank * BANK + address

    def fifo_number(self) -> int:
        size = self.record_size()
        return self.count // size if self.reg[INTF_CONFIG0] & 0x40 and size else self.count

    def value(self, place: int) -> int:
        if place == WHO_AM_I:
            return self.reg[place] ^ self.identity
        if place in (FIFO_COUNTH, FIFO_COUNTL):
            high = (place == FIFO_COUNTH) == (self.reg[INTF_CONFIG0] & 0x20 != 0)
            return self.fifo_number() >> 8 if high else self.fifo_number() & 0xFF
        if place == FIFO_DATA:
            return self.fifo[self.head] if self.count > 0 else 0xFF
        return self.reg[place]

    def on_read(self, place: int) -> None:
        if place == FIFO_DATA:
            if self.count > 0:
                self.head = (self.head + 1) & (SIZE - 1)
                self.count -= 1
        elif place == INT_STATUS:
            self.reg[INT_STATUS] = 0
            self.interrupt = 0

    def on_write(self, place: int, value: int) -> None:
        if place == DEVICE_CONFIG and value & 1:
            self.reset_registers(self.now)
            return
        self.store(place, value)
        if place == BANK_SEL:
            self.bank = value & 7
        elif (place == SIGNAL_PATH_RESET and value & 2) or place in (FIFO_CONFIG, FIFO_CONFIG1):
            self.count = 0
            self.head = 0
        elif PWR_MGMT0 <= place <= ACCEL_CONFIG0:
            period = self.PERIOD_NS[self.reg[GYRO_CONFIG0] & 15]
            if self.reg[PWR_MGMT0] & 0x0C == 0:
                period = self.PERIOD_NS[self.reg[ACCEL_CONFIG0] & 15] if self.reg[PWR_MGMT0] & 3 else 0
            if period != self.period:
                self.period = period
                self.due = (self.now // period + 1) * period if period else NEVER

    def record_size(self) -> int:
        chosen = self.reg[FIFO_CONFIG1]
        if chosen & 0x10:
            return 20
        if chosen & 3 == 3:
            return 16
        return 8 if chosen & 3 else 0

    def pair(self, place: int, value: int) -> None:
        if self.reg[INTF_CONFIG0] & 0x10:
            self.record[place] = value >> 8 & 0xFF
            self.record[place + 1] = value & 0xFF
        else:
            self.record[place] = value & 0xFF
            self.record[place + 1] = value >> 8 & 0xFF

    def show(self, place: int, value: int) -> None:
        swap = 0 if self.reg[INTF_CONFIG0] & 0x10 else 1
        self.reg[place + swap] = value >> 8 & 0xFF
        self.reg[place + 1 - swap] = value & 0xFF

    def tick(self) -> None:
        fine = self.reg[FIFO_CONFIG1] & 0x10
        size = self.record_size()
        warm = (self.inputs[6] - KELVIN - 25.0) * 132.48
        self.show(TEMP_DATA, quantise(warm, -32768, 32767))
        coarse = 2048.0 * (1 << (self.reg[ACCEL_CONFIG0] >> 5))
        turning = 16.384 * (1 << (self.reg[GYRO_CONFIG0] >> 5))
        for i in range(3):
            force = self.inputs[i] / G
            rate = self.inputs[3 + i] * DEGREES
            a = quantise(force * coarse, -32768, 32767)
            w = quantise(rate * turning, -32768, 32767)
            self.show(ACCEL_DATA + 2 * i, a)
            self.show(GYRO_DATA + 2 * i, w)
            if fine:
                a = quantise(force * 8192.0, -131072, 131071) * 4
                w = quantise(rate * 131.072, -262144, 262143) * 2
                self.record[17 + i] = (a & 15) << 4 | w & 15
                a = a >> 4
                w = w >> 4
            if size >= 16 or self.reg[FIFO_CONFIG1] & 1:
                self.pair(1 + 2 * i, a)
            if size >= 16:
                self.pair(7 + 2 * i, w)
            elif not self.reg[FIFO_CONFIG1] & 1:
                self.pair(1 + 2 * i, w)
        # A tick of the time stamp is 16 us or 1 us, and 32/30 of it as the host sees it.
        ticks = self.due * 3 // (51_200 if self.reg[TMST_CONFIG] & 8 else 3_200)
        stamp = ticks - self.stamped if self.reg[TMST_CONFIG] & 4 else ticks
        self.stamped = ticks
        if fine:
            self.record[0] = 0x78
            self.pair(13, quantise(warm, -32768, 32767))
            self.pair(15, stamp & 0xFFFF)
        elif size == 16:
            self.record[0] = 0x68
            self.record[13] = quantise(warm / 64.0, -128, 127) & 0xFF
            self.pair(14, stamp & 0xFFFF)
        elif size == 8:
            self.record[0] = 0x40 if self.reg[FIFO_CONFIG1] & 1 else 0x20
            self.record[7] = quantise(warm / 64.0, -128, 127) & 0xFF
        self.reg[INT_STATUS] = self.reg[INT_STATUS] | 8
        self.due += self.period
        if size and self.reg[FIFO_CONFIG] & 0xC0:
            self.push(size)

    def push(self, size: int) -> None:
        if self.count + size > SIZE:
            self.reg[INT_STATUS] = self.reg[INT_STATUS] | 2
            if self.reg[FIFO_CONFIG] & 0x80:
                return  # full: the new record is dropped
            self.head = (self.head + size) & (SIZE - 1)
            self.count -= size
        for i in range(size):
            self.fifo[(self.head + self.count) & (SIZE - 1)] = self.record[i]
            self.count += 1
        limit = self.reg[FIFO_WM] | (self.reg[FIFO_WM + 1] & 15) << 8
        if limit > 0 and self.fifo_number() >= limit:
            self.reg[INT_STATUS] = self.reg[INT_STATUS] | 4
            if self.reg[INT_SOURCE0] & 4:
                self.interrupt = 1

    def flood(self) -> None:
        size = self.record_size()
        if size and self.reg[FIFO_CONFIG] & 0xC0:
            for _i in range(SIZE // size + 1):
                self.push(size)
