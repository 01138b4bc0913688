"""Ground stations of others in virtual time: what they send is handed in, written down, and played again."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ironbird.errors import LinkError
from ironbird.faults.catalog import parse_fault
from ironbird.faults.spec import Injection
from ironbird.ground.relay import HEADER, Relay, is_record, read_record
from ironbird.host.virtual_time.run import VirtualRun
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.protocols.mavlink.codec import Packer
from ironbird.protocols.mavlink.failures import TYPES, UNITS
from ironbird.rig.rig import make_rig
from ironbird.transport.frames import FrameReader

AUTOPILOT = 18570


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Any]:
    """What a relay needs of an autopilot's process: its run, in which nobody else is."""
    run = VirtualRun(tmp_path, simulated=True)
    yield SimpleNamespace(run=run, settle=lambda: None)
    run.close()


@pytest.fixture
def station() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.bind(("127.0.0.1", 0))
        made.settimeout(60.0)
        yield made


def heard(autopilot: socket.socket) -> list[bytes]:
    found = []
    while True:
        try:
            found.append(autopilot.recvfrom(2048)[0])
        except BlockingIOError:
            return found


def test_what_a_station_sends_is_handed_in_written_down_and_played_at_the_same_times(
    process: Any, station: socket.socket
) -> None:
    with process.run.datagrams(AUTOPILOT) as autopilot:
        relay = Relay(process, 14550, peer_port=AUTOPILOT, outside=station.getsockname()[1])
        try:
            autopilot.sendto(b"heartbeat", process.run.address(14550))
            relay.poll(20_000)
            said, source = station.recvfrom(2048)
            assert said == b"heartbeat" and heard(autopilot) == []
            station.sendto(b"arm", source)
            station.sendto(b"take off", source)
            relay.poll(40_000)
            assert heard(autopilot) == [b"arm", b"take off"]
            station.sendto(b"land", source)
            relay.poll(60_000)
            record = relay.record()
        finally:
            relay.close()
        assert heard(autopilot) == [b"land"] and is_record(record)
        assert list(read_record(record)) == [(40_000, b"arm"), (40_000, b"take off"), (60_000, b"land")]
        Path(process.run.address(14550)).unlink()
        again = Relay(process, 14550, peer_port=AUTOPILOT, script=record, outside=station.getsockname()[1])
        try:
            times = {}
            for time_us in (20_000, 40_000, 60_000):
                again.poll(time_us)
                times[time_us] = heard(autopilot)
            assert times == {20_000: [], 40_000: [b"arm", b"take off"], 60_000: [b"land"]}
            assert again.record() == record
        finally:
            again.close()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "first line"),
        (f"{HEADER}\nx 00", "line 2: 'x 00'"),
        (f"{HEADER}\n1 0g", "line 2"),
        (f"{HEADER}\n5 00\n4 00", "line 3: times go up"),
        (f"{HEADER}\n1 ", "1 to 2048 bytes"),
        (f"{HEADER}\n1 {'00' * 2049}", "1 to 2048 bytes"),
    ],
)
def test_a_record_that_is_none_is_refused_by_line(text: str, said: str) -> None:
    with pytest.raises(LinkError, match=said):
        read_record(text)


def commanded(unit: float, how: float, instance: float) -> bytes:
    packer = Packer(245, 190)
    packer.add(dialect.COMMAND_LONG, unit, how, instance, 0, 0, 0, 0, numbers.INJECT_FAILURE, 1, 1, 0)
    return bytes(packer.take())


def test_failures_of_mavlink_act_on_the_vehicle_and_are_answered_not_handed_in(
    process: Any, station: socket.socket
) -> None:
    rig = make_rig("quad_f450", until_s=1.0)
    begun: list[Injection] = []
    ended: list[Injection] = []
    rig.injector, rig.ender = begun.append, ended.append
    gyro, rc, off, ok = UNITS["gyro"], UNITS["rc_signal"], TYPES["off"], TYPES["ok"]
    with process.run.datagrams(AUTOPILOT) as autopilot:
        relay = Relay(process, 14550, peer_port=AUTOPILOT, outside=station.getsockname()[1])
        try:
            autopilot.sendto(b"heartbeat", process.run.address(14550))
            relay.poll(20_000, rig)
            _, source = station.recvfrom(2048)
            answers = []
            for asked in ((gyro, off, 2), (rc, off, 1), (gyro, ok, 2), (gyro, off, 0.5)):
                station.sendto(commanded(*asked), source)
                relay.poll(40_000, rig)
                answers.append(dialect.COMMAND_ACK.read(FrameReader().feed(station.recv(2048))[0].payload))
            station.sendto(b"land", source)
            relay.poll(60_000, rig)
            record = relay.record()
        finally:
            relay.close()
        assert heard(autopilot) == [b"land"]
    assert [answer.result for answer in answers] == [0, 3, 0, 2]  # accepted, unsupported, accepted, denied
    assert all((a.command, a.target_system, a.target_component) == (420, 245, 190) for a in answers)
    assert [injection.text() for injection in begun] == [parse_fault("imu.gyro_dropout@1:instance=2").text()]
    assert ended == begun
    assert list(read_record(record)) == [(60_000, b"land")]  # faults are in the order


def test_an_autopilot_that_carries_out_failures_by_itself_gets_the_command(
    process: Any, station: socket.socket
) -> None:
    packet = commanded(UNITS["gyro"], TYPES["off"], 1)
    rig = make_rig("quad_f450", until_s=1.0)
    with process.run.datagrams(AUTOPILOT) as autopilot:
        port = station.getsockname()[1]
        relay = Relay(process, 14550, peer_port=AUTOPILOT, outside=port, answers_failures=False)
        try:
            autopilot.sendto(b"heartbeat", process.run.address(14550))
            relay.poll(20_000, rig)
            station.sendto(packet, station.recvfrom(2048)[1])
            relay.poll(40_000, rig)
        finally:
            relay.close()
        assert heard(autopilot) == [packet]
