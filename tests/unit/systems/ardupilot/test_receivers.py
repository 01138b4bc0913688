"""The vehicle's receivers on serial lines: set up in UBX as ArduPilot does it, read back from NAV-PVT."""

from __future__ import annotations

import math
import socket
import struct
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ironbird.faults.catalog import parse_fault
from ironbird.flight.prepare import inject
from ironbird.rig.rig import Rig, attach, make_rig
from ironbird.systems.ardupilot.receivers import Receivers

PVT = struct.Struct("<IHBBBBBBIiBBBBiiiiIIiiiiiIIH")  # [ChipNotes] 10; until pDOP


def message(group: int, number: int, payload: bytes) -> bytes:
    body = struct.pack("<BBH", group, number, len(payload)) + payload
    a = b = 0
    for value in body:
        a = (a + value) & 0xFF
        b = (b + a) & 0xFF
    return b"\xb5\x62" + body + bytes((a, b))


SET_UP = b"".join(
    (
        message(6, 0, struct.pack("<BBHIIHHHH", 1, 0, 0, 0x8D0, 230400, 1, 1, 0, 0)),  # UBX alone
        message(6, 8, struct.pack("<HHH", 200, 1, 0)),  # five times a second
        message(6, 1, bytes((1, 7, 1))),  # NAV-PVT
    )
)


class Autopilot:
    """The other end of both lines; keeps NAV-PVT with the time at which it came."""

    def __init__(self, receivers: Receivers) -> None:
        self.sockets: list[socket.socket] = []
        for line in receivers.lines:
            made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            made.connect(("127.0.0.1", line.port))
            made.setblocking(False)
            made.send(SET_UP)
            self.sockets.append(made)
        self.got: list[list[tuple[float, tuple[Any, ...]]]] = [[] for _ in self.sockets]

    def take(self, time_s: float) -> None:
        for made, got in zip(self.sockets, self.got, strict=True):
            data = b""
            while True:
                try:
                    data += made.recv(4096)
                except BlockingIOError:
                    break
            at = data.find(b"\xb5\x62\x01\x07")
            if at >= 0:
                got.append((time_s, PVT.unpack_from(data, at + 6)))


def fly(seconds: float, *faults: str, wind: bool = False) -> tuple[Rig, Autopilot]:
    rig = make_rig("quad_f450", until_s=60.0, log=[])
    for fault in faults:
        inject(rig.state, parse_fault(fault))
    rig = attach(rig.vehicle, rig.state, until_s=60.0, log=[])
    receivers = Receivers(rig, cast(Any, SimpleNamespace(run=None)))
    autopilot = Autopilot(receivers)
    try:
        receivers.poll()
        while rig.time_s < seconds:
            rig.step(4)
            receivers.poll()
            autopilot.take(rig.time_s)
    finally:
        receivers.close()
        for made in autopilot.sockets:
            made.close()
    return rig, autopilot


def place(rig: Rig, fix: Sequence[Any]) -> tuple[float, float, float]:
    """North, east and height above home in m, of a NAV-PVT."""
    home = rig.vehicle.spec.home
    north = math.radians(fix[15] * 1e-7 - home.latitude_deg) * 6_371_000
    east = math.radians(fix[14] * 1e-7 - home.longitude_deg) * 6_371_000 * math.cos(home.latitude_rad)
    return north, east, fix[17] * 1e-3 - home.height_m


def test_each_receiver_gives_its_own_fixes_with_the_vehicles_errors() -> None:
    rig, autopilot = fly(10.0)
    assert [44 <= len(got) <= 50 for got in autopilot.got] == [True, True]  # five a second once it was set up
    for number, got in enumerate(autopilot.got):
        _, fix = got[-1]
        north, east, height = place(rig, fix)
        receiver = rig.receivers[number]
        assert (north, east, -height) == pytest.approx(receiver.position_N.values.tolist(), abs=0.05)
        assert fix[10] == 3 and fix[13] == 14 and fix[18] * 1e-3 == pytest.approx(receiver.details["eph"][0], abs=2e-3)
    first, second = (place(rig, got[-1][1]) for got in autopilot.got)
    assert math.dist(first, second) > 0.1  # each its own error


def test_a_delayed_position_keeps_its_velocity_and_a_bias_is_of_one_receiver() -> None:
    rig, autopilot = fly(
        6.0, "gnss.position_bias@1:instance=2,axis=0,start=3", "gnss.velocity_bias@1:instance=1,axis=1,start=3"
    )
    (_, first), (_, second) = (got[-1] for got in autopilot.got)
    assert place(rig, second)[0] - place(rig, first)[0] == pytest.approx(30.0, abs=6.0)
    size = rig.receivers[0].velocity_N.values[1]
    assert abs(size) > 1.0 and first[21] * 1e-3 == pytest.approx(size, abs=2e-3) and abs(second[21]) < 500


@pytest.mark.parametrize(
    ("fault", "satellites"),
    [("environment.gnss_denied@1:severity=0.01,start=3", 14), ("gnss.jamming@1:instance=1,severity=0.5,start=3", 7)],
)
def test_interference_is_as_strong_as_ordered(fault: str, satellites: int) -> None:
    _, autopilot = fly(6.0, fault)
    _, fix = autopilot.got[0][-1]
    assert fix[10] == 3 and abs(fix[13] - satellites) <= 1


def test_a_receiver_without_fixes_is_silent_and_comes_back() -> None:
    _, autopilot = fly(9.0, "gnss.position_dropout@1:instance=1,start=4,end=6")
    times = [time_s for time_s, _ in autopilot.got[0]]
    assert not [time_s for time_s in times if 4.3 < time_s < 6.0] and [time_s for time_s in times if time_s > 6.3]
    assert [time_s for time_s, _ in autopilot.got[1] if 4.3 < time_s < 6.0]


def test_serial_ports_lead_to_receivers_and_nowhere_without_one() -> None:
    rig = make_rig("quad_f450", until_s=1.0, log=[])
    rig.receivers = rig.receivers[:1]
    receivers = Receivers(rig, cast(Any, SimpleNamespace(run=None)))
    receivers.close()
    (line,) = receivers.lines
    assert receivers.arguments() == ["--serial3", f"udpclient:127.0.0.1:{line.port}", "--serial4", "none:"]
