"""Every chip against its own table, and what single chips do."""

from __future__ import annotations

import math
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

import ironbird.boards.chips.parts
from ironbird.boards.chips.bus import NACK, I2cBus, SpiBus, Uart
from ironbird.boards.chips.catalog import CHIPS, chip_class, make_chip
from ironbird.boards.chips.chip import Chip
from ironbird.boards.chips.numbers import quantise, root
from ironbird.boards.chips.parts.ms5611 import crc4
from ironbird.boards.chips.translate import translate
from ironbird.boards.native_chips import chips_text
from ironbird.errors import ModelError, UnknownNameError
from ironbird.testing import check_chip


@pytest.mark.parametrize("name", CHIPS)
def test_chip_conforms_to_its_table(name: str) -> None:
    check_chip(name)


def test_every_chip_file_is_in_the_catalogue() -> None:
    folder = Path(ironbird.boards.chips.parts.__file__).parent
    shared = {"__init__", "invensense", "st_motion"}
    assert {path.stem for path in folder.glob("*.py")} - shared == set(CHIPS)


def test_an_unknown_chip_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="icm20689"):
        chip_class("icm2069")


def test_what_is_outside_the_subset_is_refused_with_its_place() -> None:
    line = Path(__file__).read_text().splitlines().index("        for name in self.feeds:") + 1
    with pytest.raises(ModelError, match=rf"_Listing\.tick, line {line}: .*outside the subset"):
        translate(_Listing)


class _Listing(Chip):
    def tick(self) -> None:
        for name in self.feeds:
            self.feed(**{name: 0.0})


def test_the_check_bits_of_the_ms5611_are_those_of_its_application_note() -> None:
    assert crc4((0x3132, 0x3334, 0x3536, 0x3738, 0x3940, 0x4142, 0x4344, 0x4500)) == 0xB


@pytest.mark.parametrize(
    ("pressure", "celsius"), [(101325.0, 15.0), (100.0 * 350, -38.0), (108000.0, 60.0), (9e4, 20.0)]
)
def test_ms5611_compensated_by_the_data_sheet_gives_back_pressure_and_temperature(
    pressure: float, celsius: float
) -> None:
    chip = make_chip("ms5611", pressure=pressure, temperature=273.15 + celsius)
    c = [int.from_bytes(chip.transfer(0, bytes([0xA0 + 2 * n, 0, 0]))[1:], "big") for n in range(8)]

    def converted(command: int, t: int) -> int:
        chip.transfer(t, bytes([command]))
        assert chip.transfer(t + 1_000_000, b"\0\0\0\0")[1:] == b"\0\0\0"  # too early: no result, and it is spoilt
        chip.transfer(t + 2_000_000, bytes([command]))
        value = int.from_bytes(chip.transfer(t + 12_000_000, b"\0\0\0\0")[1:], "big")
        assert chip.transfer(t + 12_000_000, b"\0\0\0\0")[1:] == b"\0\0\0"  # read once
        return value

    d1, d2 = converted(0x48, 10_000_000), converted(0x58, 30_000_000)
    # Data sheet MS5611-01BA03, pages 7 and 8, whole numbers.
    dt = d2 - c[5] * 256
    temp = 2000 + (dt * c[6] >> 23)
    off, sens = (c[2] << 16) + (c[4] * dt >> 7), (c[1] << 15) + (c[3] * dt >> 8)
    if temp < 2000:
        f = (temp - 2000) ** 2
        off2, sens2 = 5 * f >> 1, 5 * f >> 2
        if temp < -1500:
            g = (temp + 1500) ** 2
            off2, sens2 = off2 + 7 * g, sens2 + (11 * g >> 1)
        temp, off, sens = temp - (dt * dt >> 31), off - off2, sens - sens2
    assert temp / 100 == pytest.approx(celsius, abs=0.011)  # steps of 0.01 K
    assert ((d1 * sens >> 21) - off) >> 15 == pytest.approx(pressure, abs=1)  # whole pascals, rounded down


def test_bmp388_compensated_by_the_data_sheet_gives_back_pressure_and_temperature() -> None:
    chip = make_chip("bmp388", pressure=95432.1, temperature=273.15 + 31.5)
    bus = I2cBus([chip])
    bus.transfer(0, 0x76, b"\x1b\x13", 0)
    data = bus.transfer(50_000_000, 0x76, b"\x04", 6).data
    assert bus.transfer(50_000_000, 0x76, b"\x03", 1).data == b"\x10"  # reading the data took the ready bits
    nvm = bus.transfer(50_000_000, 0x76, b"\x31", 21).data
    t1, t2, t3, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11 = struct.unpack("<HHbhhbbHHbbhbb", nvm)
    x_p, x_t = int.from_bytes(data[:3], "little"), int.from_bytes(data[3:], "little")
    part = x_t - 256 * t1
    t = part * t2 / 2**30 + part**2 * t3 / 2**48
    p = p5 * 8 + p6 / 64 * t + p7 / 256 * t**2 + p8 / 2**15 * t**3
    p += x_p * ((p1 - 2**14) / 2**20 + (p2 - 2**14) / 2**29 * t + p3 / 2**32 * t**2 + p4 / 2**37 * t**3)
    p += x_p**2 * (p9 / 2**48 + p10 / 2**48 * t) + x_p**3 * p11 / 2**65
    assert t == pytest.approx(31.5, abs=1e-3) and p == pytest.approx(95432.1, abs=0.05)  # one LSB is 0.015 Pa


@pytest.mark.parametrize(("enabled", "ready"), [(b"\x11", 0x10 | 0x20), (b"\x12", 0x10 | 0x40), (b"\x13", 0x10 | 0x60)])
def test_bmp388_is_ready_with_what_was_enabled(enabled: bytes, ready: int) -> None:
    """A forced measurement of the pressure (.0), the temperature (.1) or both; status .5 and .6 say which."""
    bus = I2cBus([make_chip("bmp388", pressure=95432.1, temperature=300.0)])
    bus.transfer(0, 0x76, b"\x1b" + enabled, 0)
    assert bus.transfer(1_000, 0x76, b"\x03", 1).data == b"\x10"
    assert bus.transfer(50_000_000, 0x76, b"\x03", 1).data == bytes([ready])


@pytest.mark.parametrize(
    ("counts", "shown"), [(2046.0, 2046), (2049.0, -4096), (-2046.0, -2046), (-2050.0, -4096), (3000.0, -4096)]
)
def test_hmc5883l_marks_what_is_beyond_twelve_bits(counts: float, shown: int) -> None:
    """Its converter has 12 bits, -2048 to 2047; all beyond is shown as -4096, at every gain."""
    for place, gain in enumerate((1370.0, 1090.0, 820.0, 660.0, 440.0, 390.0, 330.0, 230.0)):
        bus = I2cBus([make_chip("hmc5883l", field_x=counts / gain * 1e-4, field_y=1e-5)])
        bus.transfer(0, 0x1E, bytes([0x01, place << 5]), 0)
        bus.transfer(0, 0x1E, b"\x02\x01", 0)
        x, _, y = struct.unpack(">3h", bus.transfer(20_000_000, 0x1E, b"\x03", 6).data)
        assert x == shown and y == round(0.1 * gain)


@pytest.mark.parametrize(
    ("psi", "counts"), [(0.0, 0.5 * 16383), (1.0, 0.1 * 16383), (-1.0, 0.9 * 16383), (-3.0, 16383.0), (3.0, 0.0)]
)
def test_ms4525do_gives_its_range_on_four_fifths_of_fourteen_bits_and_no_more(psi: float, counts: float) -> None:
    """Output A of the data sheet: 10 % to 90 % of 2^14 - 1 over the range; beyond that it stays at the end."""
    bus = I2cBus([make_chip("ms4525do", differential_pressure=psi * 6894.757293168, temperature=273.15 + 25)])
    bus.transfer(0, 0x28, b"\0", 0)
    high, low, warm, warmer = bus.transfer(10_000_000, 0x28, b"", 4).data
    assert high >> 6 == 0  # fresh
    assert (high & 63) << 8 | low == pytest.approx(counts, abs=0.51)
    assert (warm << 3 | warmer >> 5) * 200 / 2047 - 50 == pytest.approx(25, abs=0.05)


@pytest.mark.parametrize(("place", "gauss"), [(0, 2), (1, 8)])
def test_qmc5883l_shows_each_axis_at_its_place_and_scale(place: int, gauss: int) -> None:
    """2 and 8 gauss on 16 bits: 12,000 and 3,000 LSB per gauss, low byte first."""
    chip = make_chip("qmc5883l", field_x=0.5e-4, field_y=-0.25e-4, field_z=1.25e-4, temperature=273.15 + 27)
    bus = I2cBus([chip])
    bus.transfer(0, chip.address, bytes([0x09, 0x01 | place << 4]), 0)
    raw = struct.unpack("<3h", bus.transfer(200_000_000, chip.address, b"\0", 6).data)
    assert raw == tuple(value * (24000 // gauss) // 4 for value in (2, -1, 5))


def test_numbers_of_chips_are_the_nearest_ones_within_bounds() -> None:
    """Halves upwards, as floor(x + 1/2) does; a value that is no number is 0."""
    given = {0.49: 0, 0.5: 1, -0.5: 0, -0.51: -1, 2.3: 2, 2.6: 3, 99.0: 7, 7.0: 7, -99.0: -8, -8.0: -8, math.inf: 7}
    assert {value: quantise(value, -8, 7) for value in given} == given
    assert quantise(math.nan, -8, 7) == 0 and quantise(-math.inf, -8, 7) == -8
    assert (root(2.25), root(0.0), root(-4.0)) == (1.5, 0.0, 0.0)


def test_icm20689_shows_force_rate_and_temperature_in_its_ranges() -> None:
    chip = make_chip("icm20689", accel_z=9.80665, gyro_x=math.radians(100), temperature=273.15 + 35)
    for place, value in ((0x6B, 0x01), (0x1B, 0x18), (0x1C, 0x18), (0x1A, 0x07), (0x1D, 0x08)):
        chip.transfer(0, bytes([place, value]))
    data = struct.unpack(">7h", chip.transfer(10_000_000, b"\xbb" + bytes(14))[1:])
    assert data[2] == 2048 and data[4] == 1640  # 16 g: 2048 LSB per g; 2000 deg/s: 16.4 LSB per deg/s
    assert data[3] == round(10 * 326.8)
    chip.transfer(10_000_000, b"\x1c\x00")
    assert struct.unpack(">h", chip.transfer(20_000_000, b"\xbf\0\0")[1:])[0] == 16384  # 2 g


def test_bmi088_accelerometer_switches_to_spi_shows_force_and_frames_its_fifo() -> None:
    chip = make_chip("bmi088_accel", accel_x=-9.80665, accel_z=2 * 9.80665, temperature=273.15 + 23 - 1.5)
    assert chip.transfer(0, b"\x80\0\0") == bytes(3)  # on I2C until now
    assert chip.transfer(0, b"\x80\0\0")[2] == 0x1E  # after a dummy byte
    assert chip.transfer(0, b"\xa4\0\0\0")[2:] == b"\x00\x80"  # empty
    for place, value in ((0x7C, 0x00), (0x7D, 0x04), (0x41, 0x03), (0x48, 0x03), (0x49, 0x50), (0x40, 0xAC)):
        chip.transfer(0, bytes([place, value]))
    raw = chip.transfer(700_000, b"\x92" + bytes(7))[2:]
    assert struct.unpack("<3h", raw) == (-1365, 0, 2731)  # 24 g: 1365.3 LSB per g
    msb, lsb = chip.transfer(700_000, b"\xa2" + bytes(3))[2:]
    assert ((msb * 8 + lsb // 32) ^ 0x400) - 0x400 == -12  # 0.125 K per LSB
    length = int.from_bytes(chip.transfer(700_000, b"\xa4\0\0\0")[2:], "little")
    data = chip.transfer(700_000, b"\xa6" + bytes(length + 2))[2:]
    assert data == b"\x48\x02\x84" + raw + b"\x80"  # the rate has changed, one sample, then nothing
    chip.transfer(700_000, b"\xfe\0\0")
    chip.advance(200 * 625_000)
    assert int.from_bytes(chip.transfer(200 * 625_000, b"\xa4\0\0\0")[2:], "little") == 7 * (1024 // 7)
    assert chip.transfer(200 * 625_000, b"\x9d\0\0")[2] & 1  # full
    chip.transfer(200 * 625_000, b"\x7e\xb6")
    assert chip.transfer(200 * 625_000 + 900_000, b"\x80\0\0")[2] == 0  # deaf for 1 ms, and then on I2C again
    assert chip.transfer(200 * 625_000 + 1_100_000, b"\x80\0\0")[2] == 0x1E


def test_bmi088_gyroscope_shows_rates_and_frames_of_8000_when_empty() -> None:
    chip = make_chip("bmi088_gyro", gyro_y=math.radians(-100))
    for place, value in ((0x0F, 0x00), (0x10, 0x80), (0x3D, 0x02), (0x3E, 0x40), (0x1E, 0x88)):
        chip.transfer(0, bytes([place, value]))
    assert chip.transfer(0, b"\x80\0")[1] == 0x0F and chip.transfer(0, b"\x90\0")[1] == 0x80
    assert struct.unpack("<3h", chip.transfer(1_000_000, b"\x82" + bytes(6))[1:]) == (0, -1638, 0)  # 16.384 per deg/s
    assert chip.transfer(1_000_000, b"\x8e\0")[1] == 2  # frames
    data = chip.transfer(1_000_000, b"\xbf" + bytes(18))[1:]
    assert struct.unpack("<9h", data) == (0, -1638, 0) * 2 + (-32768,) * 3
    assert chip.transfer(1_000_000, b"\x8a\0")[1] == 0x90  # ready, watermark
    chip.advance(60_000_000)
    assert chip.transfer(60_000_000, b"\x8e\0")[1] == 0x80 | 100  # overrun
    chip.transfer(60_000_000, b"\x3e\x80")
    assert chip.transfer(60_000_000, b"\x8e\0")[1] == 0


def test_a_filter_of_5_hz_takes_its_time() -> None:
    chip = make_chip("icm20689")
    for place, value in ((0x6B, 0x01), (0x1A, 0x06), (0x1B, 0x00)):
        chip.transfer(0, bytes([place, value]))
    chip.transfer(100_000_000, b"\xf5\0")
    chip.feed(gyro_x=math.radians(100))
    tau = 1 / (2 * math.pi * 5)
    raw = struct.unpack(">h", chip.transfer(100_000_000 + round(tau * 1e9), b"\xc3\0\0")[1:])[0]
    assert raw / 13100 == pytest.approx(1 - math.exp(-1), abs=0.02)  # one sample of 1 ms in 32


def test_pca9685_gives_pulses_only_after_the_stop_and_keeps_its_prescaler_while_awake() -> None:
    chip = make_chip("pca9685")
    bus = I2cBus([chip])
    for data in (b"\0\x30", b"\0\x70", b"\x01\x04", b"\xfe\x79"):
        bus.transfer(0, 0x40, data, 0)
    bus.transfer(1, 0x40, b"\0\x20", 0)
    bus.transfer(2, 0x40, b"\xfe\x03", 0)
    assert bus.transfer(3, 0x40, b"\xfe", 1).data == b"\x79"
    bus.transfer(4, 0x40, b"\x06" + struct.pack("<HH", 0, 307), 0)
    assert chip.drive[0] == pytest.approx(307 * 122 / 24.576e6)  # 1.52 ms
    assert chip.drive[1] == 0.0


def test_ads1115_measures_against_ground_and_between_inputs() -> None:
    chip = make_chip("ads1115", voltage_0=2.5, voltage_1=1.0)
    bus = I2cBus([chip])
    bus.transfer(0, 0x48, b"\x01\xc1\xa3", 0)
    assert not bus.transfer(1_000_000, 0x48, b"\x01", 1).data[0] & 0x80  # converting
    assert bus.transfer(5_000_000, 0x48, b"\x01", 1).data[0] & 0x80
    raw = struct.unpack(">h", bus.transfer(5_000_000, 0x48, b"\x00", 2).data)[0]
    assert raw * 6.144 / 32768 == pytest.approx(2.5, abs=1e-4)
    bus.transfer(6_000_000, 0x48, b"\x01\x81\xa3", 0)
    raw = struct.unpack(">h", bus.transfer(12_000_000, 0x48, b"\x00", 2).data)[0]
    assert raw * 6.144 / 32768 == pytest.approx(1.5, abs=1e-4)


def test_icm42688p_records_carry_20_bits_and_ticks_of_7_7_8() -> None:
    chip = make_chip("icm42688p", accel_z=9.80665 / 3, gyro_y=math.radians(10), temperature=273.15 + 35)
    for place, value in ((0x4E, 0x0F), (0x4F, 0x03), (0x50, 0x03), (0x54, 0x1D), (0x16, 0xC0), (0x5F, 0x37)):
        chip.transfer(1_000_000, bytes([place, value]))
    data = chip.transfer(3_500_000, b"\xad" + bytes(3 + 400))[1:]
    assert data[0] & 0x10 and struct.unpack(">H", data[1:3])[0] == 400
    records = [data[3 + 20 * i : 23 + 20 * i] for i in range(20)]
    assert all(record[0] == 0x78 for record in records)
    z = int.from_bytes(records[5][5:7], "big") << 4 | records[5][19] >> 4
    assert z / 32768 == pytest.approx(1 / 3, abs=1e-4)
    stamps = [struct.unpack(">H", record[15:17])[0] for record in records[1:]]
    assert sum(stamps) == pytest.approx(19 * 125e-6 / 17.067e-6, abs=1) and set(stamps) == {7, 8}


def test_icm42688p_scales_forces_and_rates_each_by_its_own_range() -> None:
    """The ranges are 16 >> n g and 2000 >> n deg/s; a register of 16 bits holds each."""
    for force, rate in ((0, 0), (1, 3), (3, 1)):
        chip = make_chip("icm42688p", accel_z=9.80665 / 2, gyro_y=math.radians(100))
        for place, value in ((0x4E, 0x0F), (0x4F, 0x03 | rate << 5), (0x50, 0x03 | force << 5)):
            chip.transfer(1_000_000, bytes([place, value]))
        z, _, y = struct.unpack(">3h", chip.transfer(3_500_000, b"\xa3" + bytes(6))[1:])
        assert z == 0.5 * 32768 / (16 >> force)
        assert y == round(100 * 32768 / (2000 / 2**rate))


def test_a_chip_that_is_not_there_does_not_acknowledge_and_a_missing_select_reads_ones() -> None:
    assert I2cBus([make_chip("ist8310")]).transfer(0, 0x0F, b"\0", 1).error == NACK
    assert SpiBus().transfer(0, "imu", b"\xf5\0").data == b"\xff\xff"


def ubx(group: int, number: int, payload: bytes = b"") -> bytes:
    """A message with its check bytes, by the textbook."""
    body = struct.pack("<BBH", group, number, len(payload)) + payload
    a = b = 0
    for value in body:
        a = (a + value) % 256
        b = (b + a) % 256
    return b"\xb5\x62" + body + bytes([a, b])


def test_neo_m8n_is_silent_at_a_wrong_rate_and_answers_at_the_right_one() -> None:
    chip = make_chip("neo_m8n", latitude=0.8, longitude=0.1, height=500.0, fix=3.0, satellites=14.0, eph=1.2)
    port = Uart(chip, baud=38400)
    port.send(0, ubx(0x0A, 0x04))
    assert port.receive(500_000_000) == b""
    port.baud = 9600
    port.send(600_000_000, ubx(0x06, 0x8A, bytes(39)) + ubx(0x0A, 0x04))
    answer = port.receive(1_000_000_000)
    assert answer.startswith(ubx(0x05, 0x00, b"\x06\x8a"))  # M8 does not know CFG-VALSET
    assert b"00080000" in answer and b"PROTVER=18.00" in answer
    half = struct.pack("<BBHIIHHHH", 1, 0, 0, 0x8D0, 115200, 1, 1, 0, 0)
    port.send(1_100_000_000, ubx(0x06, 0x00, half + half))  # PX4 sends two blocks in one message
    port.baud = 115200
    port.receive(1_200_000_000)
    port.send(1_200_000_000, ubx(0x06, 0x08, struct.pack("<HHH", 200, 1, 0)) + ubx(0x06, 0x01, b"\x01\x07\x01"))
    port.send(1_210_000_000, ubx(0x06, 0x01, b"\x01\x07"))
    answer = port.receive(1_300_000_000)
    assert answer.count(ubx(0x05, 0x01, b"\x06\x01")) == 2 and ubx(0x05, 0x01, b"\x06\x08") in answer
    assert ubx(0x06, 0x01, bytes([1, 7, 0, 1, 0, 0, 0, 0])) in answer  # polled truthfully
    fixes = port.receive(2_350_000_000).split(b"\xb5\x62\x01\x07")[1:]
    assert len(fixes) == 5  # 5 Hz for a second
    fix = fixes[-1][2:]
    assert struct.unpack_from("<ii", fix, 24) == (round(math.degrees(0.1) * 1e7), round(math.degrees(0.8) * 1e7))
    assert fix[20] == 3 and fix[23] == 14 and struct.unpack_from("<I", fix, 40)[0] == 1200


def test_dilutions_of_the_receiver_belong_together() -> None:
    chip = make_chip("neo_m8n", fix=3.0)
    port = Uart(chip, baud=9600)
    port.send(0, ubx(0x01, 0x04))
    (message,) = port.receive(500_000_000).split(b"\xb5\x62\x01\x04")[1:]
    g, p, t, v, h, n, e = (0.01 * value for value in struct.unpack_from("<7H", message, 6))
    for whole, parts in ((g, (p, t)), (p, (v, h)), (h, (n, e))):
        assert whole == pytest.approx(math.hypot(*parts), abs=0.01)
    assert h < 1.4  # what ArduPilot arms with


def test_sbus_frames_carry_channels_of_eleven_bits_low_bit_first() -> None:
    chip = make_chip("sbus", channel_1=1.0, channel_2=-1.0, channel_15=0.5)
    frames = []
    for t in (14_000_000, 28_000_000):
        frames.append(bytes(chip.uart_next(t) for _ in range(25)))
        assert chip.uart_next(t) == -1
        chip.feed(lost=1.0)
    word = int.from_bytes(frames[0][1:23], "little")
    assert [word >> 11 * n & 0x7FF for n in range(16)] == [1792, 192, *[992] * 12, 1392, 992]
    assert frames[0][0] == 0x0F and frames[0][23:] == b"\0\0"
    assert frames[1][23] == 1 << 2 | 1 << 3  # frame lost, failsafe


def test_the_receiver_is_set_by_an_nmea_sentence_as_ardupilot_does_it() -> None:
    chip = make_chip("neo_m8n")
    for value in b"$PUBX,41,1,0023,0001,230400,0*1E\r\n":
        chip.uart_byte(0, value)
    assert chip.uart_baud() == 230400
    for value in b"$PUBX,41,1,0023,0001,115200,0*1E\r\n":  # wrong sum
        chip.uart_byte(0, value)
    assert chip.uart_baud() == 230400


def test_the_receivers_dilutions_of_precision_fit_together() -> None:
    """ArduPilot wants a horizontal one below 1.4 before it arms."""
    chip = make_chip("neo_m8n", latitude=0.8, longitude=0.1, eph=1.0, epv=1.5, satellites=14.0, fix=3.0)
    body = bytes([0x06, 0x01, 3, 0, 0x01, 0x04, 1])  # CFG-MSG: NAV-DOP with each fix
    a = b = 0
    for value in body:
        a = (a + value) & 0xFF
        b = (b + a) & 0xFF
    for value in b"\xb5\x62" + body + bytes([a, b]):
        chip.uart_byte(0, value)
    raw = bytearray()
    for tick in range(2500):
        while (value := chip.uart_next(tick * 1_000_000)) >= 0:
            raw.append(value)
    frame = raw[raw.rindex(b"\xb5\x62\x01\x04\x12\x00") :]
    g, p, t, v, h, n, e = struct.unpack_from("<7H", frame, 10)
    assert h < 140 and [g, p, h] == [round(math.hypot(*parts)) for parts in ((p, t), (v, h), (n, e))]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
def test_functions_of_translated_chips_have_the_types_of_the_table_that_calls_them() -> None:
    # Calling a function by a pointer to another type is undefined behaviour
    command = ["gcc", "-std=gnu11", "-fsyntax-only", "-w", "-Werror=incompatible-pointer-types", "-x", "c", "-"]

    done = subprocess.run(command, input=chips_text(), capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr[:2000]
    assert "(void *)ib_" not in chips_text()


# Data sheet of the ADS1115 (SBAS444), field MUX: the inputs whose difference is measured; 0 against ground
@pytest.mark.parametrize(
    ("mux", "plus", "minus"),
    [(0, 0, 1), (1, 0, 3), (2, 1, 3), (3, 2, 3), (4, 0, None), (5, 1, None), (6, 2, None), (7, 3, None)],
)
def test_ads1115_measures_the_pair_of_inputs_of_its_data_sheet(mux: int, plus: int, minus: int | None) -> None:
    volts = (2.5, 1.0, 0.5, 0.25)
    bus = I2cBus([make_chip("ads1115", **{f"voltage_{number}": value for number, value in enumerate(volts)})])
    bus.transfer(0, 0x48, bytes([0x01, 0x81 | mux << 4, 0xA3]), 0)
    raw = struct.unpack(">h", bus.transfer(6_000_000, 0x48, b"\x00", 2).data)[0]
    assert raw * 6.144 / 32768 == pytest.approx(volts[plus] - (0.0 if minus is None else volts[minus]), abs=2e-4)


@pytest.mark.parametrize(("bias", "sign"), [(1, 1), (2, -1)])
def test_hmc5883l_adds_the_field_of_its_self_test(bias: int, sign: int) -> None:
    """Data sheet, self test: 1.16 gauss on x and y, 1.08 on z; data come as x, z, y."""
    bus = I2cBus([make_chip("hmc5883l")])
    bus.transfer(0, 0x1E, bytes([0x00, 0x10 | bias]), 0)
    bus.transfer(0, 0x1E, bytes([0x01, 5 << 5]), 0)  # 390 LSB per gauss
    bus.transfer(0, 0x1E, b"\x02\x01", 0)
    x, z, y = struct.unpack(">3h", bus.transfer(20_000_000, 0x1E, b"\x03", 6).data)
    assert (x, y, z) == (sign * round(1.16 * 390), sign * round(1.16 * 390), sign * round(1.08 * 390))


@pytest.mark.parametrize(("averages", "ms"), [(0, 2.0), (1, 2.3), (2, 2.7), (3, 3.6), (4, 5.5)])
def test_ist8310_is_ready_after_the_time_that_its_averages_take(averages: int, ms: float) -> None:
    begin = 20_000_000
    for late, ready in ((-0.05, 0), (0.05, 1)):
        bus = I2cBus([make_chip("ist8310")])
        bus.transfer(begin, 0x0E, bytes([0x41, averages << 3 | averages]), 0)
        bus.transfer(begin, 0x0E, b"\x0a\x01", 0)
        assert bus.transfer(begin + round((ms + late) * 1e6), 0x0E, b"\x02", 1).data[0] & 1 == ready
