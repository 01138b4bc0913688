"""Boards under power: wire faults, their witnesses, and a vehicle that feeds the chips."""

from __future__ import annotations

import math
import struct

import pytest

from ironbird.boards.board import board_ids, load_board, parse_board
from ironbird.boards.feed import connect
from ironbird.boards.native_board import NativeBoard
from ironbird.boards.wiring import Wiring
from ironbird.errors import FaultError, LinkError, UnknownNameError
from ironbird.faults.catalog import parse_fault
from ironbird.faults.wire import WIRE_FAULTS
from ironbird.rig.rig import make_rig

MS = 1_000_000


def _wiring(*faults: str, board: str = "pixhawk4") -> Wiring:
    return Wiring(load_board(board), [parse_fault(text, WIRE_FAULTS) for text in faults])


@pytest.mark.parametrize("name", board_ids())
def test_every_board_has_its_chips_where_it_says(name: str) -> None:
    wiring = _wiring(board=name)
    for device, chip in zip(wiring.board.device, wiring.chips, strict=True):
        if device.kind == "i2c":
            address = device.address or type(chip).address
            assert wiring.i2c(10 * MS, device.bus, address, b"\0", 1).error == "", device.name
    assert wiring.count > 0


def test_a_board_file_with_mistakes_names_them() -> None:
    head = b'schema = 1\nid = "x"\nabout = ""\nsource = ""\n[[device]]\nname = "a"\n'
    with pytest.raises(LinkError, match="icm20689"):
        parse_board(head + b'chip = "icm2068"\nbus = "spi1"\n', "mine.toml")
    with pytest.raises(LinkError, match="has i2c, not spi"):
        parse_board(head + b'chip = "ist8310"\nbus = "spi1"\n', "mine.toml")
    with pytest.raises(LinkError, match="no TOML"):
        parse_board(b"\xff\xfe", "mine.toml")


def test_an_open_miso_reads_ones_in_its_window_and_the_witness_is_the_first_bit() -> None:
    wiring = _wiring("wire.miso_open_high@1:instance=imu,start=0.1,end=0.2")
    read = [wiring.spi(t * MS, "spi1", 0, b"\xf5\0").data[1] for t in (0, 99, 100, 150, 200, 250)]
    assert read == [0x98, 0x98, 0xFF, 0xFF, 0x98, 0x98]
    witness = wiring.witnesses[0]
    assert witness.effective and witness.line == "miso" and witness.time_ns == 100 * MS and witness.transaction == 3
    # Slot 0 selects; the command's answer is zeros, so the first bit of the first byte differs: slot 0 shows it.
    assert witness.slot == 0
    assert "acted on MISO of imu from 0.100000 s" in witness.sentence()


def test_a_fault_that_nobody_sees_is_ineffective() -> None:
    wiring = _wiring("wire.miso_open_high@1:instance=imu,start=5")
    wiring.spi(0, "spi1", 0, b"\xf5\0")
    assert not wiring.witnesses[0].effective and "ineffective" in wiring.witnesses[0].sentence()


def test_flipped_bits_repeat_with_the_same_seed() -> None:
    def run() -> list[bytes]:
        wiring = _wiring("wire.miso_flips@1:instance=imu,severity=0.5,start=0")
        return [wiring.spi(t * MS, "spi1", 0, b"\xbb" + bytes(14)).data for t in range(50)]

    assert run() == run() and len(set(run())) > 5


def test_a_stuck_data_line_takes_the_whole_bus_and_a_nack_one_chip() -> None:
    wiring = _wiring(
        "wire.sda_short_low@1:instance=i2c1,start=1,end=2",
        "wire.nack@1:instance=mag,severity=1,start=3",
        board="pilotpi",
    )
    assert wiring.i2c(0, "i2c1", 0x0F, b"\0", 1).data == b"\x10"
    assert {wiring.i2c(1500 * MS, "i2c1", a, b"\0", 1).error for a in (0x0F, 0x76, 0x40)} == {"BUSY"}
    assert wiring.i2c(2500 * MS, "i2c1", 0x0F, b"\0", 1).data == b"\x10"
    assert wiring.i2c(3500 * MS, "i2c1", 0x0F, b"\0", 1).error == "NACK"
    assert wiring.i2c(3500 * MS, "i2c1", 0x40, b"\0", 1).error == ""
    assert [w.effective for w in wiring.witnesses] == [True, True]
    assert wiring.witnesses[0].line == "sda"


@pytest.mark.parametrize("native", [False, True])
def test_a_chip_that_holds_the_clock_is_waited_for_and_one_that_holds_it_long_takes_the_bus(native: bool) -> None:
    orders = ("wire.stretch@1:instance=mag,severity=0.25,start=1,end=2", "wire.stretch@1:instance=mag,start=3,end=4")
    wiring = _wiring(*orders, board="pilotpi")
    board = NativeBoard(load_board("pilotpi"))
    if native:
        board.watch("mag")
    answers = []
    for second, slots in ((0.5, 0), (1.5, 16), (3.5, 64), (5.0, 0)):
        t = round(second * 1000) * MS
        if native:
            board.set_place("mag", {"stretch": slots}, t)
            answers.append(board.i2c(t, 1, 0x0F, b"\0", 1))
        else:
            answers.append(wiring.i2c(t, "i2c1", 0x0F, b"\0", 1))
    assert [answer.data or answer.error for answer in answers] == [b"\x10", b"\x10", "TIMEOUT", b"\x10"]
    if native:
        difference = board.first_difference("mag")
        assert difference is not None and (difference.line, difference.time_ns) == ("scl", 1500 * MS)
    else:
        assert [(w.line, w.time_ns) for w in wiring.witnesses] == [("scl", 1500 * MS), ("scl", 3500 * MS)]


def test_a_reset_a_wrong_identity_an_overflow_and_a_swapped_select_do_what_they_say() -> None:
    wiring = _wiring("chip.reset@1:instance=imu,start=1", "chip.identity@1:instance=imu,start=2,end=3")
    wiring.spi(0, "spi1", 0, b"\x6b\x01")
    assert wiring.spi(1, "spi1", 0, b"\xeb\0").data[1] == 0x01
    wiring.spi(1000 * MS, "spi1", 0, b"\xf5\0")
    assert wiring.spi(1100 * MS, "spi1", 0, b"\xeb\0").data[1] == 0x40
    assert wiring.spi(2500 * MS, "spi1", 0, b"\xf5\0").data[1] == 0x98 ^ 0x5A
    assert wiring.spi(3500 * MS, "spi1", 0, b"\xf5\0").data[1] == 0x98
    wiring = _wiring("chip.overflow@1:instance=imu,start=1")
    for place, value in ((0x6B, 0x01), (0x23, 0x78), (0x6A, 0x50)):
        wiring.spi(0, "spi1", 0, bytes([place, value]))
    wiring.spi(999 * MS, "spi1", 0, b"\x6a\x54")  # empty
    wiring.spi(1000 * MS, "spi1", 0, b"\xf5\0")
    assert wiring.spi(1000 * MS, "spi1", 0, b"\xba\0").data[1] & 0x10
    wiring = _wiring("wire.swapped@1:instance=imu,start=1", board="pixhawk1")
    assert wiring.spi(0, "spi1", 0, b"\xf5\0").data[1] == 0x68
    assert wiring.spi(2000 * MS, "spi1", 0, b"\x8f\0").data[1] == 0x49  # the LSM303D answers


def test_noise_on_the_receivers_line_breaks_frames() -> None:
    wiring = _wiring("wire.rx_random@1:instance=gps,severity=0.01,start=1")
    wiring.ports["uart1"].baud = 9600
    poll = bytes.fromhex("b5620a040000 0e34".replace(" ", ""))
    good = []
    for second in range(4):
        wiring.uart_send(second * 1000 * MS, "uart1", poll)
        data = b"".join(wiring.uart_receive((second * 1000 + k) * MS, "uart1") for k in (300, 600, 900))
        good.append(b"PROTVER=18.00" in data)
    assert good[0] and wiring.witnesses[0].effective and wiring.witnesses[0].line == "rx"


def test_faults_for_wires_that_are_not_there_are_refused() -> None:
    with pytest.raises(FaultError, match=r"no wire sda"):
        _wiring("wire.sda_open_low@1:instance=imu")
    with pytest.raises(UnknownNameError, match="imu"):
        _wiring("wire.miso_open_low@1:instance=imo")


def test_shapes_are_those_of_all_faults() -> None:
    ramp = parse_fault("wire.miso_flips@1:instance=imu,start=1,shape=ramp,rise=2,severity=1", WIRE_FAULTS)
    assert [ramp.strength(t) for t in (0.5, 1.0, 2.0, 3.0, 9.0)] == [0.0, 0.0, 0.5, 1.0, 1.0]
    pulses = parse_fault("wire.miso_open_low@1:instance=imu,start=1,shape=intermittent,period=1,duty=0.25", WIRE_FAULTS)
    assert [pulses.strength(t) for t in (0.9, 1.1, 1.3, 2.2, 2.3)] == [0.0, 1.0, 0.0, 1.0, 0.0]
    assert ramp.strength(5.0, triggered_s=math.inf) == 0.0


def test_a_vehicle_at_rest_feeds_the_chips_in_their_axes() -> None:
    rig = make_rig("quad_f450", until_s=5.0, log=["body"])
    wiring = _wiring()
    connect(wiring, rig)
    for place, value in ((0x6B, 0x01), (0x1B, 0x18), (0x1C, 0x18), (0x1A, 0x07), (0x1D, 0x08)):
        wiring.spi(0, "spi1", 0, bytes([place, value]))
    x, y, z = struct.unpack(">3h", wiring.spi(500 * MS, "spi1", 0, b"\xbb" + bytes(6)).data[1:])
    assert rig.time_s == pytest.approx(0.5, abs=0.01)
    assert z / 2048 == pytest.approx(1.0, abs=0.05) and abs(x) < 100 and abs(y) < 100  # z of the chip is up here
    wiring.i2c(500 * MS, "i2c3", 0x0E, b"\x0a\x01", 0)
    field = struct.unpack("<3h", wiring.i2c(520 * MS, "i2c3", 0x0E, b"\x03", 6).data)
    assert 20 < math.hypot(*field) / 3.3 < 80  # microtesla
    wiring.ports["uart1"].baud = 9600
    wiring.uart_send(600 * MS, "uart1", bytes.fromhex("b5620107000008 19".replace(" ", "")))
    heard = wiring.uart_receive(2000 * MS, "uart1")
    fix = heard[heard.index(b"\xb5\x62\x01\x07") :]  # between sentences of NMEA
    lat = struct.unpack_from("<i", fix, 6 + 28)[0] * 1e-7
    assert lat == pytest.approx(rig.vehicle.spec.home.latitude_deg, abs=1e-3)
