"""Wires: what noise, open and shorted wires do to levels, and to the host."""

from __future__ import annotations

import pytest

from ironbird.boards.chips.bus import BUSY, NACK, QUICK_READ, TIMEOUT, Answer, I2cBus, Uart
from ironbird.boards.chips.catalog import make_chip
from ironbird.boards.chips.chip import FRAME_8E2
from ironbird.boards.chips.pins import STRETCH_SLOTS, WHOLE, I2cPins, Line, SpiPins, share, uart_frames


def test_noise_of_no_deviation_changes_nothing_and_much_noise_is_nearly_a_coin() -> None:
    line = Line()
    line.set_noise(0.0)
    assert line.healthy()
    line.set_noise(0.4)  # 0.8 V are two deviations, 2.0 V five: 2.3 % of lows in the forbidden zone, half of them wrong
    assert line.flip_low / WHOLE == pytest.approx(0.5 * 0.02275, rel=1e-3)
    assert line.flip_high / WHOLE == pytest.approx(0.5 * 0.000577, rel=0.01)  # 3.3 V - 2.0 V are 3.25 deviations
    line.set_noise(100.0)
    assert line.flip_low / WHOLE == pytest.approx(0.5, abs=0.01)


def test_random_levels_come_at_their_share() -> None:
    line = Line(random=share(0.2), key=5)
    wrong = sum(line.seen(0) for _ in range(20000))
    assert wrong / 20000 == pytest.approx(0.1, abs=0.01)  # half of them happen to be right


@pytest.mark.parametrize(
    ("line", "level"), [(Line(open=1, pull=1), 0xFF), (Line(open=1, pull=0), 0), (Line(short=1, level=1), 0xFF)]
)
def test_a_broken_miso_reads_its_level(line: Line, level: int) -> None:
    pins = SpiPins(make_chip("icm20689"), miso=line)
    assert set(pins.transfer(0, b"\xf5\0\0").data) == {level}


def test_an_open_select_leaves_the_chip_deaf_and_an_open_clock_too() -> None:
    for pins in (
        SpiPins(make_chip("icm20689"), cs=Line(open=1, pull=1)),
        SpiPins(make_chip("icm20689"), sck=Line(open=1, pull=0)),
    ):
        pins.transfer(0, b"\x6b\x01")
        assert pins.chip.reg[0x6B] == 0x40  # type: ignore[attr-defined]


def test_a_held_clock_times_out_a_held_data_line_is_busy_and_an_open_one_gives_no_acknowledge() -> None:
    assert I2cPins([make_chip("ist8310")], scl=Line(short=1, level=0)).transfer(0, 0x0E, b"\0", 1).error == TIMEOUT
    assert I2cPins([make_chip("ist8310")], sda=Line(short=1, level=0)).transfer(0, 0x0E, b"\0", 1).error == BUSY
    assert I2cPins([make_chip("ist8310")], sda=Line(short=1, level=1)).transfer(0, 0x0E, b"\0", 1).error == NACK


def test_a_host_waits_for_a_stretched_clock_and_gives_up_on_a_long_one() -> None:
    pins = I2cPins([make_chip("ist8310")], record=bytearray())
    assert pins.transfer(0, 0x0E, b"\0", 1).data == b"\x10"
    assert pins.record is not None
    plain = len(pins.record)
    pins.record.clear()
    pins.fronts[0].stretch = 12  # after the address, the register, the address again and the byte
    assert pins.transfer(0, 0x0E, b"\0", 1).data == b"\x10"
    assert len(pins.record) == plain + 4 * (12 - 1)  # one slot is low anyway
    pins.fronts[0].stretch = STRETCH_SLOTS + 1
    assert pins.transfer(0, 0x0E, b"\0", 1).error == TIMEOUT
    pins.fronts[0].stretch = 0
    assert pins.transfer(0, 0x0E, b"\0", 1).data == b"\x10"


def test_a_quick_read_finds_a_chip_and_reads_no_byte() -> None:
    chip = make_chip("pca9685")
    pins, whole = I2cPins([chip]), I2cBus([make_chip("pca9685")])
    for bus in (pins, whole):
        assert bus.transfer(0, chip.address, b"", QUICK_READ) == Answer(b"")
        assert bus.transfer(0, chip.address + 1, b"", QUICK_READ) == Answer(b"", NACK)
        assert bus.transfer(0, chip.address, b"\x00", 1).data == b"\x11"  # MODE1 after power
    assert pins.was_sda == 1


def test_two_chips_share_two_wires() -> None:
    pins = I2cPins([make_chip("ist8310"), make_chip("hmc5883l")])
    assert pins.transfer(0, 0x0E, b"\0", 1).data == b"\x10"
    assert pins.transfer(0, 0x1E, b"\x0a", 3).data == b"H43"


def test_a_serial_line_forgives_three_percent_and_not_ten() -> None:
    data = bytes(range(256))
    assert uart_frames(Line(), data, 100000, 103000) == data
    assert uart_frames(Line(), data, 100000, 90000) != data
    assert uart_frames(Line(open=1, pull=1), data, 9600, 9600) == b""
    assert uart_frames(Line(short=1, level=0), data, 9600, 9600) == b""  # a break: no stop bit


def test_frames_with_parity_and_two_stop_bits_are_those_of_sbus() -> None:
    data, record = bytes(range(256)), bytearray()
    assert uart_frames(Line(), data, 100_000, 100_000, record, sends=FRAME_8E2, hears=FRAME_8E2) == data
    assert len(record) == 12 * len(data) and bytes(record[12:24]) == bytes([0, 1, *[0] * 7, 1, 1, 1])  # 0x01, even
    for value in data:  # heard as 8N1 the parity bit stands for the stop bit; if low, it begins a byte of idle line
        heard = uart_frames(Line(), bytes([value]), 100_000, 100_000, sends=FRAME_8E2)
        assert heard == (bytes([value]) if value.bit_count() & 1 else b"\xff")
        assert uart_frames(Line(), bytes([value]), 9600, 9600, sends=1, hears=2) == b""  # odd against even
    chip, line = make_chip("sbus", channel_3=-1.0), Uart(make_chip("sbus", channel_3=-1.0), 100_000)
    assert line.receive(20_000_000) == b""
    line = Uart(chip, 100_000, FRAME_8E2)
    came = [len(line.receive(t)) for t in (13_999_000, 16_900_000, 17_000_000)]
    assert came == [25, 24, 1]  # 25 bytes of 0.12 ms every 14 ms
