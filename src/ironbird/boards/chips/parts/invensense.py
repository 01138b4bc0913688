"""The InvenSense family of inertial units: one register map, FIFO, interrupts, filters; chips differ in details.

Source: [ChipNotes] 1 to 3, from PX4's and ArduPilot's drivers and public data sheets. The low-pass filters are of first
order, and only those below a quarter of their sample rate are modelled: the vehicle's sensor blocks have slower
dynamics of their own. Not modelled: offset registers (stored, not added), wake on motion, the motion processor, low
power modes, FSYNC, the auxiliary bus.
"""

from __future__ import annotations

import math
from typing import ClassVar

from ironbird.boards.chips.chip import RegisterChip
from ironbird.boards.chips.numbers import NEVER, quantise
from ironbird.boards.chips.table import Register, run_of

DEGREES = 180.0 / math.pi
G = 9.80665
KELVIN = 273.15

SMPLRT_DIV, CONFIG, GYRO_CONFIG, ACCEL_CONFIG, ACCEL_CONFIG2 = 0x19, 0x1A, 0x1B, 0x1C, 0x1D
FIFO_EN, INT_PIN_CFG, INT_ENABLE, FIFO_WM_STATUS, INT_STATUS = 0x23, 0x37, 0x38, 0x39, 0x3A
ACCEL_OUT, TEMP_OUT, GYRO_OUT = 0x3B, 0x41, 0x43
WM_TH_HIGH, WM_TH_LOW, SIGNAL_PATH_RESET, USER_CTRL, PWR_MGMT_1 = 0x60, 0x61, 0x68, 0x6A, 0x6B
FIFO_COUNTH, FIFO_COUNTL, FIFO_R_W, WHO_AM_I = 0x72, 0x73, 0x74, 0x75
PULSE_NS = 50_000  # length of a pulse on the interrupt pin, if not latched


def smoothing(bandwidths_hz: tuple[float, ...], rates_hz: tuple[float, ...]) -> tuple[float, ...]:
    """Smoothing factor of a first-order filter for one sample; 1: no filter."""
    return tuple(
        1.0 if b > r / 4 else 1.0 - math.exp(-2 * math.pi * b / r) for b, r in zip(bandwidths_hz, rates_hz, strict=True)
    )


COMMON: tuple[Register, ...] = (
    *run_of(0x13, "XG_OFFS_USRH XG_OFFS_USRL YG_OFFS_USRH YG_OFFS_USRL ZG_OFFS_USRH ZG_OFFS_USRL", 0, 0xFF,
            "gyro offset; stored"),
    Register(0x19, "SMPLRT_DIV", 0, 0xFF, "rate = 1 kHz / (1 + value) while a filter of 1 kHz is chosen"),
    Register(0x1C, "ACCEL_CONFIG", 0, 0xF8, ".7:5 self test, .4:3 range: 2, 4, 8, 16 g"),
    Register(0x36, "FSYNC_INT", 0, 0, "never set", clears=True),
    Register(0x3A, "INT_STATUS", 0, 0, ".4 FIFO overflow, .0 data ready; reading clears all", clears=True, acts=True,
             measured=True),
    *run_of(0x3B, "ACCEL_XOUT_H ACCEL_XOUT_L ACCEL_YOUT_H ACCEL_YOUT_L ACCEL_ZOUT_H ACCEL_ZOUT_L TEMP_OUT_H TEMP_OUT_L "
            "GYRO_XOUT_H GYRO_XOUT_L GYRO_YOUT_H GYRO_YOUT_L GYRO_ZOUT_H GYRO_ZOUT_L", 0, 0, "newest sample",
            measured=True),
    Register(0x6C, "PWR_MGMT_2", 0, 0xFF, "standby of single axes; stored"),
    Register(0x72, "FIFO_COUNTH", 0, 0, "bytes in the FIFO; reading it latches the low byte", acts=True, measured=True),
    Register(0x73, "FIFO_COUNTL", 0, 0, "low byte as latched", acts=True, measured=True),
    Register(0x74, "FIFO_R_W", 0, 0, "takes one byte from the FIFO; 0xFF when empty", sticks=True, acts=True,
             measured=True),
)  # fmt: skip
TRIMS = (
    *run_of(0x77, "XA_OFFSET_H", 0x11, 0xFF, "factory trim"), *run_of(0x78, "XA_OFFSET_L", 0x22, 0xFF, "factory trim"),
    *run_of(0x7A, "YA_OFFSET_H", 0x33, 0xFF, "factory trim"), *run_of(0x7B, "YA_OFFSET_L", 0x44, 0xFF, "factory trim"),
    *run_of(0x7D, "ZA_OFFSET_H", 0x55, 0xFF, "factory trim"), *run_of(0x7E, "ZA_OFFSET_L", 0x66, 0xFF, "factory trim"),
)  # fmt: skip


class InvenSense(RegisterChip):
    """Base of the InvenSense family: accelerometer, gyroscope and thermometer behind one register map."""

    buses: ClassVar[tuple[str, ...]] = ("spi", "i2c")
    address: ClassVar[int] = 0x68
    source = "[ChipNotes] 1"
    feeds: ClassVar[tuple[str, ...]] = (
        "accel_x", "accel_y", "accel_z", "gyro_x", "gyro_y", "gyro_z", "temperature",
    )  # fmt: skip
    fifo_setup: ClassVar[tuple[tuple[int, int], ...]] = (
        (PWR_MGMT_1, 0x01), (CONFIG, 0x47), (ACCEL_CONFIG2, 0x08), (FIFO_EN, 0x78), (USER_CTRL, 0x50),
    )  # fmt: skip
    fifo_door: ClassVar[int] = FIFO_R_W
    GYRO_LSB = (131.0, 65.5, 32.8, 16.4)  # per deg/s
    ACCEL_LSB = (16384.0, 8192.0, 4096.0, 2048.0)  # per g
    SELF_TEST = 2620.0  # what a self-test bit adds at the finest range
    TEMP_LSB = 326.8  # per kelvin
    TEMP_ZERO = 25.0  # deg C of raw 0
    GYRO_SMOOTH = smoothing((250, 176, 92, 41, 20, 10, 5, 3281), (8e3, 1e3, 1e3, 1e3, 1e3, 1e3, 1e3, 8e3))
    ACCEL_SMOOTH = smoothing((218, 218, 99, 45, 21, 10, 5, 420), (1e3,) * 8)
    SAME_FILTER = 0  # the accelerometer has no filter register of its own
    SIZED = 0  # the FIFO's size is in ACCEL_CONFIG2
    CAPACITY = 512  # bytes of the FIFO, unless it is sized
    FIFO_ALL = 0  # one bit enables all three gyroscope axes and the temperature in the FIFO
    WATERMARK = 0

    fifo: bytearray = bytearray(4096)
    head: int = 0  # position of the oldest byte
    count: int = 0  # bytes in the FIFO
    latched: int = 0  # low byte of the count
    divided: int = 0
    period: int = 0  # ns, period of the internal clock; 0: asleep
    pulse_end: int = 0
    stale: int = 0  # the accelerometer's range has changed: a new measurement is needed
    smooth: list[float] = [0.0] * 6  # filtered inputs
    sample: bytearray = bytearray(14)

    def transfer(self, t: int, sent: bytes) -> bytes:
        """One SPI transaction; a burst from the FIFO is a slice of it."""
        if sent[0] == FIFO_R_W | 0x80 and not self.reg[INT_PIN_CFG] & 0x10:
            self.advance(t)
            if not self.deaf():
                wanted, end = len(sent) - 1, self.head + min(len(sent) - 1, self.count)
                data = self.fifo[self.head : end] + self.fifo[: max(0, end - len(self.fifo))]
                self.head, self.count = end & 4095, self.count - len(data)
                return b"\0" + data + b"\xff" * (wanted - len(data))
        return super().transfer(t, sent)

    # ------------------------------------------------------------------ behaviour, translated to C

    def on_reset(self, t: int) -> None:
        self.count = 0
        self.head = 0
        self.latched = 0
        self.period = 0
        self.pulse_end = 0
        self.set_rates()

    def is_plain(self) -> int:
        return not self.reg[INT_PIN_CFG] & 0x10

    def value(self, place: int) -> int:
        if place == WHO_AM_I:
            return self.reg[place] ^ self.identity
        if place == FIFO_COUNTH:
            return self.count >> 8
        if place == FIFO_COUNTL:
            return self.latched
        if place == FIFO_R_W:
            if self.count == 0:
                return 0xFF
            return self.fifo[self.head]
        return self.reg[place]

    def on_read(self, place: int) -> None:
        if place == FIFO_COUNTH:
            self.latched = self.count & 0xFF
        elif place == FIFO_R_W:
            if self.count > 0:
                self.head = (self.head + 1) & 4095
                self.count -= 1
        elif place == INT_STATUS:
            self.reg[INT_STATUS] = 0
            self.interrupt = 0
        else:
            super().on_read(place)
        if self.reg[INT_PIN_CFG] & 0x10:
            self.interrupt = 0

    def on_write(self, place: int, value: int) -> None:
        if place == PWR_MGMT_1 and value & 0x80:
            self.reset_registers(self.now)
            return
        self.store(place, value)
        if place == USER_CTRL:
            if value & 0x04:
                self.empty_fifo()
            if value & 0x01:
                self.clear_sample()
        elif place == SIGNAL_PATH_RESET and value & 0x07:
            self.clear_sample()
        elif place == ACCEL_CONFIG:
            self.stale = 1
        elif place <= ACCEL_CONFIG2 or place == PWR_MGMT_1:
            self.set_rates()

    def empty_fifo(self) -> None:
        self.count = 0
        self.head = 0

    def clear_sample(self) -> None:
        for i in range(14):
            self.reg[ACCEL_OUT + i] = 0

    def capacity(self) -> int:
        if self.SIZED:
            return 512 << (self.reg[ACCEL_CONFIG2] >> 6)
        return self.CAPACITY

    def fast(self) -> int:
        dlpf = self.reg[CONFIG] & 7
        return dlpf == 0 or dlpf == 7

    def set_rates(self) -> None:
        power = self.reg[PWR_MGMT_1]
        period = 125_000 if self.fast() else 1_000_000
        if self.reg[GYRO_CONFIG] & 3:
            period = 31_250
        if power & 0x40 or power & 7 == 7:
            period = 0
        if period != self.period:
            self.period = period
            self.divided = 0
            self.due = (self.now // period + 1) * period if period else NEVER  # the clock is free-running

    def accel_period(self) -> int:
        if not self.SAME_FILTER and self.reg[ACCEL_CONFIG2] & 8:
            return 250_000
        return 1_000_000

    def tick(self) -> None:
        # The accelerometer has a slower clock: its values appear in several records of the gyroscope.
        every = max(1, self.accel_period() // self.period)
        fresh = self.stale or self.due // self.period % every == 0
        self.due += self.period
        if fresh:
            self.stale = 0
            follow = 1.0
            if self.SAME_FILTER:
                follow = self.ACCEL_SMOOTH[self.reg[CONFIG] & 7]
            elif not self.reg[ACCEL_CONFIG2] & 8:
                follow = self.ACCEL_SMOOTH[self.reg[ACCEL_CONFIG2] & 7]
            span = self.reg[ACCEL_CONFIG] >> 3 & 3
            for i in range(3):
                self.smooth[i] = self.smooth[i] + follow * (self.inputs[i] - self.smooth[i])
                shown = self.smooth[i] / G * self.ACCEL_LSB[span]
                if self.reg[ACCEL_CONFIG] & (0x80 >> i):
                    shown = shown + self.SELF_TEST / (1 << span)
                self.put(2 * i, quantise(shown, -32768, 32767))
        follow = self.GYRO_SMOOTH[self.reg[CONFIG] & 7]
        if self.reg[GYRO_CONFIG] & 3:
            follow = 1.0
        span = self.reg[GYRO_CONFIG] >> 3 & 3
        for i in range(3):
            self.smooth[3 + i] = self.smooth[3 + i] + follow * (self.inputs[3 + i] - self.smooth[3 + i])
            shown = self.smooth[3 + i] * DEGREES * self.GYRO_LSB[span]
            if self.reg[GYRO_CONFIG] & (0x80 >> i):
                shown = shown + self.SELF_TEST / (1 << span)
            self.put(8 + 2 * i, quantise(shown, -32768, 32767))
        warm = (self.inputs[6] - KELVIN - self.TEMP_ZERO) * self.TEMP_LSB
        self.put(6, quantise(warm, -32768, 32767))
        if self.fast() or self.reg[GYRO_CONFIG] & 3:
            self.publish()
        elif self.divided >= self.reg[SMPLRT_DIV]:
            self.divided = 0
            self.publish()
        else:
            self.divided += 1

    def put(self, place: int, value: int) -> None:
        self.sample[place] = value >> 8 & 0xFF
        self.sample[place + 1] = value & 0xFF

    def publish(self) -> None:
        for i in range(14):
            self.reg[ACCEL_OUT + i] = self.sample[i]
        self.reg[INT_STATUS] = self.reg[INT_STATUS] | 1
        if self.reg[USER_CTRL] & 0x40:
            self.push_record()
        if self.reg[INT_ENABLE] & 1:
            self.raise_interrupt()

    def raise_interrupt(self) -> None:
        if self.reg[INT_PIN_CFG] & 0x20:
            self.interrupt = 1
        else:
            self.pulse_end = self.due - self.period + PULSE_NS

    def interrupt_level(self, t: int) -> int:
        active = self.interrupt or t < self.pulse_end
        low = self.reg[INT_PIN_CFG] >> 7
        return (1 if active else 0) ^ low

    def record_size(self) -> int:
        enabled = self.reg[FIFO_EN]
        if self.FIFO_ALL:
            both = (enabled >> 4 & 1) + (enabled >> 3 & 1)
            return 6 * both + 2 if both else 0
        size = 6 * (enabled >> 3 & 1) + 2 * (enabled >> 7)
        return size + 2 * ((enabled >> 6 & 1) + (enabled >> 5 & 1) + (enabled >> 4 & 1))

    def push_record(self) -> None:
        size = self.record_size()
        if size == 0:
            return
        full = self.capacity()
        if self.count + size > full:
            self.reg[INT_STATUS] = self.reg[INT_STATUS] | 0x10
            if self.reg[CONFIG] & 0x40:
                return  # new data are dropped, whole records only
            while self.count + size > full:
                self.head = (self.head + size) & 4095
                self.count -= size
        enabled = self.reg[FIFO_EN]
        if enabled & 0x08:
            self.push(0, 6)
        if self.FIFO_ALL:
            self.push(6, 2)
            if enabled & 0x10:
                self.push(8, 6)
        else:
            if enabled & 0x80:
                self.push(6, 2)
            for i in range(3):
                if enabled & (0x40 >> i):
                    self.push(8 + 2 * i, 2)
        if self.WATERMARK:
            threshold = (self.reg[WM_TH_HIGH] & 3) << 8 | self.reg[WM_TH_LOW]
            if threshold > 0 and self.count >= threshold:
                self.reg[FIFO_WM_STATUS] = 0x40
                self.raise_interrupt()

    def push(self, first: int, length: int) -> None:
        for i in range(length):
            self.fifo[(self.head + self.count) & 4095] = self.sample[first + i]
            self.count += 1

    def flood(self) -> None:
        size = self.record_size()
        if size > 0 and self.reg[USER_CTRL] & 0x40:
            for _i in range(self.capacity() // size + 1):
                self.push_record()
