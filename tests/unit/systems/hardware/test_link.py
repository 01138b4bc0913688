"""Hardware in the loop: the budget, what is counted, what makes a verdict an error, and what ends a run."""

from __future__ import annotations

import contextlib
import gc
import math
import os
import pty
import re
import socket
import tty
from collections.abc import Iterator

import pytest
from hil_board import BoardCable, StillClock

from ironbird.errors import LinkError
from ironbird.host.realtime import undisturbed
from ironbird.protocols.mavlink import codec, dialect
from ironbird.protocols.mavlink.dialect import HIL_ACTUATOR_CONTROLS, HIL_CONTROLS, HIL_GPS, HIL_SENSOR
from ironbird.rig.rig import Rig, make_rig
from ironbird.systems.hardware.bridge import Bridge
from ironbird.systems.hardware.link import Figures, HardwareLink, with_sensor_rate
from ironbird.transport.cable import DatagramCable, SerialCable, load_of
from ironbird.vehicles.load import Vehicle, load_vehicle


@pytest.fixture(scope="module")
def vehicle() -> Vehicle:
    return with_sensor_rate(load_vehicle("quad_f450", control="external"), 500.0)


@contextlib.contextmanager
def terminals() -> Iterator[tuple[int, int, str]]:
    far, near = pty.openpty()
    tty.setraw(near)
    try:
        yield far, near, os.ttyname(near)
    finally:
        for handle in (far, near):
            with contextlib.suppress(OSError):
                os.close(handle)


def run(link: HardwareLink, rig: Rig) -> None:
    try:
        link.start(rig)
        while rig.step(link.step_ticks) and not link.failure:
            link.exchange(rig)
    finally:
        link.stop()


def flown(
    vehicle: Vehicle,
    cable: BoardCable,
    *,
    until_s: float = 3.0,
    stalls: dict[int, float] | None = None,
    control_hz: float = 500.0,
) -> tuple[HardwareLink, Rig]:
    """A run with the board in memory: 500 controls a second, one for each step."""
    rig = make_rig(vehicle, until_s=until_s)
    link = HardwareLink(cable, control_hz=control_hz, priority=False, clock=StillClock(stalls))
    run(link, rig)
    return link, rig


# ---------------------------------------------------------------------- the budget


def test_a_cable_that_is_too_slow_is_refused_with_figures_and_a_cure(vehicle: Vehicle) -> None:
    rig = make_rig(vehicle, until_s=1.0)
    # 500 * (65 + 12) + 5 * (39 + 12) + 9 + 12 bytes/s by hand; 57600 baud carry 5760
    with pytest.raises(
        LinkError,
        match=r"cannot carry .*to the board: 38776 of 5760 bytes/s \(673 %: HIL_SENSOR 38500.*Use 460800 baud",
    ):
        HardwareLink(SerialCable("/dev/null", 57600)).start(rig)
    with pytest.raises(LinkError, match=r"from the board: 93021 of 92160 bytes/s.*Use 1500000 baud"):
        HardwareLink(SerialCable("/dev/null"), control_hz=1000.0).start(rig)
    assert all(load.fits for load in HardwareLink(SerialCable("/dev/null")).loads(vehicle))
    assert all(load.fits for load in HardwareLink(DatagramCable(1), control_hz=1000.0).loads(vehicle))


def test_ground_stations_count_in_the_budget(vehicle: Vehicle) -> None:
    alone, _ = HardwareLink(SerialCable("/dev/null")).loads(vehicle)
    with contextlib.closing(Bridge([14550])) as bridge:
        shared, _ = HardwareLink(SerialCable("/dev/null"), bridge=bridge).loads(vehicle)
    assert shared.bytes_per_s == alone.bytes_per_s + 2000


def test_the_budget_counts_whole_frames() -> None:
    packer = codec.Packer()
    packer.add(HIL_GPS, 2**60, *[2**30] * 3, *[2**15] * 3, *[2**14] * 3, 2**15, *[200] * 3, 2**15)
    longest = len(packer.take())
    assert load_of("x", {HIL_GPS: 10.0}, 9600).bytes_per_s == 10 * longest
    assert load_of("x", {HIL_SENSOR: 1.0, HIL_ACTUATOR_CONTROLS: 1.0}, 9600).room_per_s == 960


def test_wrong_settings_are_refused(vehicle: Vehicle) -> None:
    rig = make_rig(vehicle, until_s=1.0)
    with pytest.raises(LinkError, match=r"400 Hz do not fit.*give 1000, 500"):
        HardwareLink(BoardCable(), sensor_hz=400.0).start(rig)
    with pytest.raises(LinkError, match=r"serial port /dev/nowhere cannot be opened: there is no such device; is the"):
        HardwareLink(SerialCable("/dev/nowhere")).start(rig)
    with pytest.raises(LinkError, match=r"/dev/null cannot be opened: .*is it a serial port\?"):
        HardwareLink(SerialCable("/dev/null")).start(rig)


# ---------------------------------------------------------------------- what goes over the cable


def test_the_board_gets_sensors_fixes_heartbeats_and_no_true_state(vehicle: Vehicle) -> None:
    cable = BoardCable()
    link, rig = flown(vehicle, cable)
    counts = {name: [n for n, _ in cable.got].count(m.id) for name, m in (("s", HIL_SENSOR), ("g", HIL_GPS))}
    assert counts == {"s": 1500, "g": 15}
    assert [n for n, _ in cable.got].count(dialect.HEARTBEAT.id) == 4  # each second, and one with the first question
    # PX4 would take the true state for its own estimate
    assert dialect.HIL_STATE_QUATERNION.id not in {n for n, _ in cable.got}
    assert link.armed and rig.stepper.inputs[rig.actuators["rotor/1"]] == 0.25
    assert link.mistrust() == "" and link.statistics().late_steps == 0
    assert cable.closed and gc.isenabled()


def test_the_board_is_asked_for_the_rate_of_controls(vehicle: Vehicle) -> None:
    cable = BoardCable()
    cable.per_write = 0.4  # 200 a second
    link, _ = flown(vehicle, cable, control_hz=400.0)
    asked = [dialect.COMMAND_LONG.unpack(p) for n, p in cable.got if n == dialect.COMMAND_LONG.id]
    assert [(values[0], values[1], *values[7:10]) for values in asked] == [(93.0, 2500.0, 511, 1, 1)] * 2
    assert re.search(r"controls came at 200\.\d Hz instead of 400 Hz", link.mistrust())


def test_stamps_of_the_boards_own_clock_give_no_delay(vehicle: Vehicle) -> None:
    link, _ = flown(vehicle, BoardCable())
    assert link.statistics().delay_ms == pytest.approx(0.0, abs=1e-6)
    cable = BoardCable()
    cable.own_clock_us = 3_600_000_000
    link, _ = flown(vehicle, cable)
    assert link.statistics().delay_ms is None and "own clock" in link.statistics().rows()["link delay"]


# ---------------------------------------------------------------------- what is counted


def test_frames_that_are_lost_on_the_way_make_the_run_an_error(vehicle: Vehicle) -> None:
    link, _ = flown(vehicle, BoardCable(spoil=lambda n, frame: b"" if n % 100 == 0 else frame), control_hz=480.0)
    figures = link.statistics()
    assert figures.lost_frames == 9  # of 600, 700, … 1400; what is missing is seen by the next, which 1500 has not
    assert figures.lost == pytest.approx(9 / 999, rel=0.01)
    assert re.search(r"0\.90 % of the frames from the board were lost; at most 0\.5 %", link.mistrust())


def test_frames_of_kinds_that_only_boards_send_are_not_lost(vehicle: Vehicle) -> None:
    # A board's event, id 410, between two controls: numbered as any other frame
    event = bytes.fromhex("fd 01 00 00 05 01 01 9a 01 00 07")
    crc = codec.checksum(bytes([160]), codec.checksum(event[1:]))
    event += crc.to_bytes(2, "little")
    link = HardwareLink(BoardCable(spoil=lambda n, frame: event + frame if n == 1 else frame), priority=False)
    rig = make_rig(vehicle, until_s=0.01)
    link.clock = StillClock()
    run(link, rig)
    assert link.traffic.received == 6 and link.traffic.bad == 0


def test_garbage_is_counted_and_harms_nothing(vehicle: Vehicle) -> None:
    link, rig = flown(vehicle, BoardCable(spoil=lambda n, frame: b"\x00\xff\xfd" + frame))
    figures = link.statistics()
    assert figures.garbage >= 3 * 1400 and figures.lost_frames == 0 and link.mistrust() == ""
    assert rig.stepper.inputs[rig.actuators["rotor/1"]] == 0.25


def test_steps_behind_a_stall_are_late_and_catch_up(vehicle: Vehicle) -> None:
    cable = BoardCable()
    link, _ = flown(vehicle, cable, stalls={1000: 0.05})
    figures = link.statistics()
    # 50 ms are 25 steps of 2 ms: all follow at once; the last one of them is one step late, which may be
    assert figures.late_steps == 24
    assert figures.worst_ms == pytest.approx(50.0, abs=0.01)
    assert figures.histogram["below 50 ms"] + figures.histogram["above 50 ms"] >= 20
    assert sum(figures.histogram.values()) == figures.steps
    assert figures.sensor_hz == pytest.approx(500.0, rel=1e-3)  # simulation time is wall time again
    assert [n for n, _ in cable.got].count(HIL_SENSOR.id) == 1500  # and none was left out
    assert re.search(r"2\.\d+ % of the steps were late", link.mistrust())


def test_steps_that_find_no_room_are_left_out_and_counted(vehicle: Vehicle) -> None:
    cable = BoardCable()
    cable.room = 40  # bytes for each step; a step has 77
    link, _ = flown(vehicle, cable)
    figures = link.statistics()
    assert figures.unsent == pytest.approx(0.5, abs=0.1)
    assert "found no room on the cable" in link.mistrust()
    assert {n for n, _ in cable.got} <= {HIL_SENSOR.id, HIL_GPS.id, 0, dialect.COMMAND_LONG.id}  # no half frames


@pytest.mark.parametrize(
    ("figures", "says"),
    [
        (Figures(), "gave no controls"),
        (Figures(480, 5, 400), r"sensors came at 480\.0 Hz instead of 500 Hz"),
        (Figures(500, 5, 342.6), r"controls came at 342\.6 Hz instead of 400 Hz"),
        (Figures(500, 5, 400, lost=0.006), r"0\.60 % of the frames from the board were lost; at most 0\.5 %"),
        (Figures(500, 5, 400, unsent=0.01), "found no room"),
        (Figures(500, 5, 400, late=0.02), r"2\.00 % of the steps were late"),
    ],
)
def test_figures_that_do_not_hold_make_the_run_an_error(
    figures: Figures, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = HardwareLink(BoardCable())
    monkeypatch.setattr(link, "statistics", lambda: figures)
    assert re.search(says, link.mistrust())
    monkeypatch.setattr(link, "statistics", lambda: Figures(499.9, 5, 399.9, 0.001, 0.0, 0.004))
    assert link.mistrust() == ""


# ---------------------------------------------------------------------- what ends a run


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        (b"", "nothing came at all: is it switched on"),
        (b"\x81\x7e\x13", r"\d+ bytes came that are no MAVLink: is the baud rate"),
        (b"heartbeat", r"speaks MAVLink but gives no controls: is it in HITL mode"),
    ],
)
def test_a_board_that_gives_no_controls_is_told_with_what_may_be_wrong(
    vehicle: Vehicle, said: bytes, advice: str
) -> None:
    packer = codec.Packer()
    packer.add(dialect.HEARTBEAT, 0, 2, 12, 0, 0, 3)
    spoilt = bytes(packer.take()) if said == b"heartbeat" else said
    link = HardwareLink(BoardCable(spoil=lambda n, frame: spoilt), connect_s=0.5, priority=False, clock=StillClock())
    with pytest.raises(LinkError, match=rf"flight controller gave no HIL_ACTUATOR_CONTROLS for 0\.5 s.*{advice}"):
        run(link, make_rig(vehicle, until_s=5.0))
    assert link.mistrust() == "the board gave no controls"


def test_a_board_that_falls_silent_ends_the_run(vehicle: Vehicle) -> None:
    link = HardwareLink(
        BoardCable(spoil=lambda n, frame: frame if n < 100 else b""), patience_s=0.4, priority=False, clock=StillClock()
    )
    with pytest.raises(LinkError, match=r"gave no HIL_ACTUATOR_CONTROLS for 0\.4 s \(wall\) at 0\.(598|600) s"):
        run(link, make_rig(vehicle, until_s=5.0))
    assert link.taking_part  # whoever flies it keeps the flight


def test_a_cut_cable_ends_the_run(vehicle: Vehicle) -> None:
    with terminals() as (far, near, name):
        link = HardwareLink(SerialCable(name), connect_s=5.0, priority=False, clock=StillClock())
        link.start(rig := make_rig(vehicle, until_s=20.0))
        os.close(far)
        os.close(near)
        with pytest.raises(LinkError, match=r"the cable is gone"):
            while rig.step(link.step_ticks):
                link.exchange(rig)
        link.stop()
        link.stop()


def test_a_serial_port_that_nobody_reads_never_blocks() -> None:
    with terminals() as (far, _, name), contextlib.closing(SerialCable(name)) as cable:
        cable.open()
        assert cable.read() == b""
        sent = 0
        while count := cable.write(memoryview(bytes(1000))):
            sent += count
        assert 1000 <= sent < 1_000_000  # then there was no room, and it said so
        assert len(os.read(far, 65536)) > 0


# ---------------------------------------------------------------------- UDP, ground stations, priority


def test_a_board_with_old_firmware_drives_the_motors_with_hil_controls(vehicle: Vehicle) -> None:
    rig = make_rig(vehicle, until_s=0.3)
    packer = codec.Packer()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as board:
        board.bind(("127.0.0.1", 0))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        link = HardwareLink(DatagramCable(port), priority=False, clock=StillClock())
        link.start(rig)
        while rig.step(link.step_ticks):
            packer.add(HIL_CONTROLS, 1000, 0.125, 0.25, 0.375, 0.5, 0.0, 0.0, 0.0, 0.0, 129, 0)
            board.sendto(packer.take(), ("127.0.0.1", port))
            link.exchange(rig)
        link.stop()
    rows = [rig.actuators[f"rotor/{number}"] for number in range(1, 5)]
    assert rig.stepper.inputs[rows].ravel().tolist() == [0.125, 0.25, 0.375, 0.5]
    assert link.armed and link.traffic.last_received == "HIL_CONTROLS"


def test_the_same_exchange_goes_over_udp(vehicle: Vehicle) -> None:
    rig = make_rig(vehicle, until_s=0.5)
    packer, parser = codec.Packer(), codec.Parser()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as board:
        board.bind(("127.0.0.1", 0))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        link = HardwareLink(DatagramCable(port), priority=False, clock=StillClock())
        link.start(rig)
        with pytest.raises(LinkError, match=rf"UDP port {port} on 127\.0\.0\.1 cannot be opened.*ironbird doctor"):
            DatagramCable(port).open()
        board.setblocking(False)
        heard, count = 0, 0
        while rig.step(link.step_ticks):
            packer.add(HIL_ACTUATOR_CONTROLS, count * 2000, 1, *[0.25] * 16, 129)
            board.sendto(packer.take(), ("127.0.0.1", port))
            link.exchange(rig)
            count += 1
            with contextlib.suppress(BlockingIOError):
                heard += sum(number == HIL_SENSOR.id for number, *_ in parser.feed(board.recv(65536)))
        link.stop()
    assert heard == count - 1  # before the first packet of the board nobody knows where it is
    assert link.traffic.received == count


def test_a_ground_station_shares_the_cable(vehicle: Vehicle) -> None:
    cable = BoardCable()
    packer = codec.Packer(255, 190)
    packer.add(dialect.COMMAND_LONG, 1.0, *[0.0] * 6, 400, 1, 1, 0)  # arm
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as station:
        station.bind(("127.0.0.1", 0))
        station.settimeout(60.0)
        with contextlib.closing(Bridge([station.getsockname()[1]])) as bridge:
            station.sendto(packer.take(), ("127.0.0.1", bridge.port))
            link = HardwareLink(cable, control_hz=500.0, priority=False, bridge=bridge, clock=StillClock())
            run(link, make_rig(vehicle, until_s=0.1))
            heard = codec.Parser().feed(station.recv(65536))
    assert {number for number, *_ in heard} == {HIL_ACTUATOR_CONTROLS.id}
    orders = [dialect.COMMAND_LONG.unpack(payload) for number, payload in cable.got if number == 76]
    assert 400 in {values[7] for values in orders}


def test_the_process_is_as_before_after_a_run() -> None:
    before = os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0)
    with undisturbed() as said:
        assert re.match("real-time priority|raised priority|ordinary priority: the system permits no other", said)
        assert not gc.isenabled()
    assert (os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0)) == before
    assert gc.isenabled() and gc.get_freeze_count() == 0
    with undisturbed(priority=False) as said:
        assert said == "ordinary priority, as asked"


def test_a_screen_line_tells_what_is_counted(vehicle: Vehicle) -> None:
    link, _ = flown(vehicle, BoardCable(), until_s=0.1)
    assert math.isclose(float(link.live(0.1).split()[0]), 0.1)
    assert "sent 50" in link.live(0.1) and "lost 0" in link.live(0.1) and "armed" in link.live(0.1)
    assert link.mistrust() == "the run was too short to measure the link"


def test_a_board_takes_part_once_it_has_answered(vehicle: Vehicle) -> None:
    silent = HardwareLink(BoardCable(spoil=lambda n, frame: b""), connect_s=0.4, priority=False, clock=StillClock())
    with pytest.raises(LinkError):
        run(silent, make_rig(vehicle, until_s=2.0))
    assert not silent.taking_part
    link, _ = flown(vehicle, BoardCable(), until_s=0.5)
    assert link.taking_part
