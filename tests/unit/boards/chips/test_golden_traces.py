"""What PX4's own drivers did on the bus, replayed byte for byte."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from ironbird.boards.chips.bus import I2cBus, SpiBus
from ironbird.boards.chips.catalog import make_chip
from ironbird.boards.chips.trace import Transaction, read_trace

TRACES = Path(__file__).parents[3] / "data" / "chip_traces"
G, DEGREES, KELVIN = 9.80665, 180 / math.pi, 273.15
Feed = dict[str, float]


def _words(data: bytes, form: str) -> tuple[int, ...]:
    return struct.unpack(form, data[: struct.calcsize(form)])


def _imu(lsb: float, zero: float) -> Callable[[Transaction], Feed]:
    def feed(line: Transaction) -> Feed:
        first = line.sent[0] & 0x7F
        if first == 0x41:
            return {"temperature": KELVIN + zero + _words(line.received, ">h")[0] / lsb}
        if first == 0x74 or (first == 0x72 and line.length > 3):
            data = line.received[2:] if first == 0x72 else line.received
            data += b"\x80"[: 6 - len(data)]  # cut in the middle of the last value
            if len(data) < 6:
                return {}
            names = ("accel_x", "accel_y", "accel_z")
            return {name: raw / 2048 * G for name, raw in zip(names, _words(data, ">3h"), strict=True)}
        return {}

    return feed


def _st_accel(line: Transaction) -> Feed:
    data = line.received
    if line.sent[0] == 0xE7 and data[0] & 8:
        names = ("accel_x", "accel_y", "accel_z")
        return {n: raw * 0.732e-3 * G for n, raw in zip(names, _words(data[1:], "<3h"), strict=True)}
    if line.sent[0] == 0xC5:
        warm, _, x, y = _words(data, "<hBhh")
        return {"temperature": KELVIN + 25 + warm / 8, "field_x": x * 0.08e-7, "field_y": y * 0.08e-7}
    return {}


def _st_gyro(line: Transaction) -> Feed:
    if line.sent[0] == 0xE6 and line.received[1] & 8:
        warm, _, x, y = _words(line.received, "<bBhh")
        high = line.received[7] << 8 if len(line.received) > 7 else 0  # the trace is cut here
        rates = dict(zip(("gyro_x", "gyro_y", "gyro_z"), (x, y, line.received[6] + high), strict=True))
        return {"temperature": KELVIN + 40 - warm} | {name: raw * 0.07 / DEGREES for name, raw in rates.items()}
    return {}


def _ist8310(line: Transaction) -> Feed:
    if line.sent == b"\x02":
        return dict(
            zip(("field_x", "field_y", "field_z"), (r / 13.2e6 for r in _words(line.received[1:], "<3h")), strict=True)
        )
    return {}


def _hmc5883l(line: Transaction) -> Feed:
    if line.sent == b"\x03":
        return dict(
            zip(("field_x", "field_z", "field_y"), (r / 820e4 for r in _words(line.received, ">3h")), strict=True)
        )
    return {}


def _ms4525do(line: Transaction) -> Feed:
    if line.length and not line.received[0] & 0x80:
        counts = _words(line.received, ">H")[0] & 0x3FFF
        return {"differential_pressure": 6894.757 * (1 - (counts - 1638.3) * 2 / 13106.4),
                "temperature": KELVIN - 50 + (line.received[2] << 3) * 200 / 2047}  # fmt: skip
    return {}


def _nothing(line: Transaction) -> Feed:
    return {}


# The data sheet's example: D1 = 9085466 and D2 = 8569150 are 20.07 deg C and 100009 Pa, here with their fractions.
C1, C2, C3, C4, C5, C6 = 40127, 36924, 23317, 23282, 33464, 28312
DT = 8569150 - C5 * 256
OFF, SENS = (C2 << 16) + (C4 * DT >> 7), (C1 << 15) + (C3 * DT >> 8)
BARO = {"pressure": (9085466 * SENS / 2**21 - OFF) / 2**15, "temperature": KELVIN + 20 + DT * C6 / 2**23 / 100}
TUBE = {"differential_pressure": 6894.757 * (1 - (0x1EB7 - 1638.3) * 2 / 13106.4), "temperature": KELVIN + 25.04}
CHIPS: dict[str, tuple[str, Callable[[Transaction], Feed], Feed]] = {
    "icm20689": ("icm20689", _imu(326.8, 25.0), {"temperature": KELVIN + 35}),
    "icm20602": ("icm20602", _imu(326.8, 25.0), {"temperature": KELVIN + 35}),
    "mpu6000": ("mpu6000", _imu(340.0, 36.53), {"temperature": KELVIN + 35}),
    "lsm303d": ("lsm303d", _st_accel, {}),
    "l3gd20h": ("l3gd20h", _st_gyro, {}),
    "ist8310": ("ist8310", _ist8310, {}),
    "hmc5883l": ("hmc5883l", _hmc5883l, {}),
    "ms4525do": ("ms4525do", _ms4525do, TUBE),
    "ms5611_spi": ("ms5611", _nothing, BARO),
    "ms5611_i2c": ("ms5611", _nothing, BARO),
}


def test_the_data_sheets_example_of_the_barometer_is_100009_pascals() -> None:
    assert BARO["pressure"] == pytest.approx(100009, abs=1)
    assert BARO["temperature"] - KELVIN == pytest.approx(20.07, abs=0.01)


@pytest.mark.parametrize("name", CHIPS)
def test_px4s_trace_replays_without_a_mismatch(name: str) -> None:
    part, feed, start = CHIPS[name]
    lines = read_trace((TRACES / f"px4_{name}.txt").read_text())
    chip = make_chip(part, **start)
    spi, i2c = SpiBus({"": chip}), I2cBus([chip])
    # What a data line shows was measured after the data line before it. Accelerometers beside a FIFO of the gyroscope
    # are slower: the first record still shows the value of the last tick of their own clock.
    early = {"mpu6000": 1_000_000, "icm20689": 250_000, "icm20602": 250_000}.get(part, 0)
    schedule: list[tuple[int, Feed]] = []
    last = dict.fromkeys(feed_names(feed, lines), 0)
    for line in lines:
        for key, value in feed(line).items():
            since = last[key]
            if early and key.startswith("accel"):
                tick = since // 125_000 * 125_000 + 125_000
                since = tick // early * early - 1
            schedule.append((since, {key: value}))
            last[key] = line.time_ns
    schedule.sort(key=lambda entry: entry[0])
    mismatches = []
    for line in lines:
        while schedule and schedule[0][0] <= line.time_ns:
            when, values = schedule.pop(0)
            chip.advance(when)
            chip.feed(**values)
        if line.bus == "SPI":
            answer = spi.transfer(line.time_ns, "", line.sent)
            got = answer.data[1 : 1 + len(line.received)]
            written = not line.sent[0] & 0x80 and part != "ms5611"
            expected = bytes(len(line.received)) if written else line.received
        else:
            answer = i2c.transfer(line.time_ns, line.address, line.sent, line.length)
            got, expected = answer.data, line.received
        if got != expected or answer.error:
            mismatches.append(f"{line.line()[:60]} -> {line.received.hex(' ')} | here: {got.hex(' ')} {answer.error}")
    assert len(lines) > 20
    assert not mismatches, "\n".join(mismatches[:10]) + f"\n{len(mismatches)} of {len(lines)}"


def feed_names(feed: Callable[[Transaction], Feed], lines: list[Transaction]) -> set[str]:
    """All inputs that a trace shows."""
    return {key for line in lines for key in feed(line)}
