"""Who may speak to the links: the autopilot that was started, its session, nobody else."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from ironbird.autopilots.px4.process import SIMULATOR_PORT, Px4Process
from ironbird.ground.pilot import Pilot
from ironbird.ground.wires import Port
from ironbird.host.process import AutopilotProcess, bind, free_udp_port
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.protocols.mavlink.codec import Packer
from ironbird.rig.rig import Rig
from ironbird.systems.hardware.bridge import Bridge
from ironbird.systems.px4.link import Px4
from ironbird.transport import cable as cables
from ironbird.transport import peers
from ironbird.transport.cable import DatagramCable
from ironbird.transport.peers import Doorkeeper, is_of

INSTANCES = itertools.count(2000 + random.SystemRandom().randrange(20000))  # ports that nobody else uses here

CHILD = """
import socket, subprocess, sys, time
kind, port, deep = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if deep:
    subprocess.run([sys.executable, "-I", "-S", "-c", sys.argv[4], kind, str(port), "0", ""])
    sys.exit()
peer = socket.socket(socket.AF_INET, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM)
peer.connect(("127.0.0.1", port))
peer.send(b"hello")
time.sleep(60)
"""


@contextlib.contextmanager
def child(kind: str, port: int, *, deep: bool = False) -> Iterator[int]:
    """A program in a session of its own that speaks to a port; a `deep` one has that done by another."""
    command = [sys.executable, "-I", "-S", "-c", CHILD, kind, str(port), str(int(deep)), CHILD]
    started = subprocess.Popen(command, start_new_session=True)
    try:
        yield started.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, 9)
        started.wait()


class Process:
    """As much of an autopilot's process as a link asks for."""

    run = None  # it is not in virtual time

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def check(self, where: str = "") -> None:
        """It runs."""

    def settle(self, where: Callable[[], str] = str) -> None:
        """There is nothing to wait for."""

    def said(self) -> str:
        """Nothing."""
        return ""


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.bind(("127.0.0.1", 0))
        made.settimeout(60.0)
        yield made


@pytest.mark.parametrize("deep", [False, True])
def test_a_program_of_the_session_is_told_from_a_stranger(listener: socket.socket, deep: bool) -> None:
    port = listener.getsockname()[1]
    with child("udp", port, deep=deep) as pid, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        _, source = listener.recvfrom(100)
        stranger.sendto(b"me too", ("127.0.0.1", port))
        _, other = listener.recvfrom(100)

        assert is_of(pid, "udp", source, port)
        assert not is_of(pid, "udp", other, port)
        assert is_of(None, "udp", other, port)  # the same user, if nobody was started


def test_a_sender_that_has_gone_is_nobody(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    with child("udp", port) as pid:
        listener.recvfrom(100)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            stranger.sendto(b"and away", ("127.0.0.1", port))
        _, source = listener.recvfrom(100)
        assert not is_of(pid, "udp", source, port) and not is_of(None, "udp", source, port)


def test_another_user_is_a_stranger_and_root_is_not(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    port = listener.getsockname()[1]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.sendto(b"hello", ("127.0.0.1", port))
        _, source = listener.recvfrom(100)
        owner, asked = os.geteuid(), os.geteuid() + 1000
        monkeypatch.setattr(os, "geteuid", lambda: asked)
        assert is_of(None, "udp", source, port) == (owner == 0)
        monkeypatch.setattr(peers, "_sockets", lambda *_: iter([(4711, 1)]))
        assert not is_of(None, "udp", source, port)


def test_for_root_the_session_decides_whatever_its_user(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, found = listener.getsockname()[1], peers._sockets
    with child("udp", port) as pid, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        _, source = listener.recvfrom(100)
        stranger.sendto(b"me too", ("127.0.0.1", port))
        _, other = listener.recvfrom(100)
        monkeypatch.setattr(peers, "_sockets", lambda *asked: ((65534, inode) for _, inode in found(*asked)))
        monkeypatch.setattr(os, "geteuid", lambda: 0)  # an autopilot that root started as `nobody`
        assert is_of(pid, "udp", source, port)
        assert not is_of(pid, "udp", other, port) and not is_of(None, "udp", source, port)
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        assert not is_of(pid, "udp", source, port)


def test_strangers_from_many_ports_are_asked_for_seldom_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    def nobody(pid: int | None, kind: str, source: tuple[str, int], own_port: int) -> bool:
        asked.append(source)
        return False

    monkeypatch.setattr(peers, "is_of", nobody)
    door = Doorkeeper("udp", 1, 1)
    for _ in range(1000):
        assert not door.lets_in(("127.0.0.1", 5))
    assert len(asked) < 20 and door.refused == 1000
    for port in range(10_000):
        door.lets_in(("127.0.0.1", port))
    assert len(door._strangers) <= peers.MOST_STRANGERS


class Room:
    """A rig's place in messages."""

    time_s = 0.0


def test_px4s_port_takes_px4_and_sends_others_away() -> None:
    instance = next(INSTANCES)
    port = SIMULATOR_PORT + instance
    server = bind(socket.SOCK_STREAM, port)
    assert server is not None
    with socket.create_connection(("127.0.0.1", port)) as stranger, child("tcp", port) as pid:
        link = Px4(cast(Px4Process, Process(pid)), instance=instance, connect_s=20.0)
        link._server = server
        noted: list[str] = []
        link.note = lambda rig, kind, text, by="": noted.append(text)  # type: ignore[method-assign]
        with link._accept(cast(Rig, Room())) as accepted:
            accepted.settimeout(60.0)
            assert accepted.recv(100) == b"hello"
        stranger.settimeout(60.0)
        assert stranger.recv(100) == b""  # sent away
    server.close()
    assert noted == [f"a program that is not PX4 connected to TCP port {port} and was sent away"]


def heartbeat(system: int = 1) -> bytes:
    packer = Packer(system, numbers.MAV_COMP_ID_AUTOPILOT1)
    packer.add(dialect.HEARTBEAT, 0, 2, numbers.MAV_AUTOPILOT_PX4, 81, 4, 3)
    return bytes(packer.take())


@pytest.mark.parametrize("started", [False, True])
def test_of_an_autopilot_that_we_started_nobody_else_is_heard(started: bool) -> None:
    port = free_udp_port()
    with (
        Pilot("px4", port=port) as pilot,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger,
        child("udp", free_udp_port()) as pid,
    ):
        wire = cast(Port, pilot.station.wire)
        if started:
            wire.process = cast(AutopilotProcess, Process(pid))
        stranger.sendto(heartbeat(), ("127.0.0.1", port))
        deadline = time.monotonic() + 60.0
        while not wire.door.refused and not pilot.station.received and time.monotonic() < deadline:
            pilot.station.receive()

        assert pilot.station.received == (0 if started else 1)
        assert bool(pilot.station.last_heartbeat) is not started


@pytest.mark.parametrize("length", [20, 60_000])
def test_a_flood_to_a_ground_station_does_not_hold_up_the_flight(length: int) -> None:
    port = free_udp_port()
    with Pilot("px4", port=port) as pilot, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        received: list[int] = []

        class Endless:
            """A socket on which more comes than is read."""

            def recvfrom(self, size: int) -> tuple[bytes, Any]:
                received.append(size)
                return b"\xfe" * length, ("127.0.0.1", sender.getsockname()[1])

        sender.sendto(b"", ("127.0.0.1", port))
        wire = cast(Port, pilot.station.wire)
        real, wire.socket = wire.socket, cast(socket.socket, Endless())
        try:
            pilot.station.receive()
        finally:
            wire.socket = real
        assert 10 < len(received) < 10_000 and len(received) * length < 2_000_000


def test_a_stranger_does_not_speak_to_the_board_through_the_bridge() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as station:
        station.bind(("127.0.0.1", 0))
        with (
            contextlib.closing(Bridge([station.getsockname()[1]])) as bridge,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger,
        ):
            stranger.sendto(b"disarm", ("127.0.0.1", bridge.port))
            station.sendto(b"hello", ("127.0.0.1", bridge.port))
            said, deadline = b"", time.monotonic() + 60.0
            while not said and time.monotonic() < deadline:
                said = bridge.from_ground()
            assert said == b"hello"


def test_a_stranger_does_not_take_the_boards_place_while_it_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cables, "SILENT_S", 600.0)
    port = free_udp_port()
    cable = DatagramCable(port)
    cable.open()

    def read() -> bytes:
        cable.wait(60.0)
        return cable.read()

    with (
        contextlib.closing(cable),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as board,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger,
    ):
        board.sendto(b"board", ("127.0.0.1", port))
        assert read() == b"board"
        stranger.sendto(b"stranger", ("127.0.0.1", port))
        assert read() == b"" and cable.strangers == 1
        cable.write(memoryview(b"controls"))
        board.settimeout(60.0)
        assert board.recv(100) == b"controls"
        monkeypatch.setattr(cables, "SILENT_S", 0.0)  # the board is silent: another may be the board after a restart
        stranger.sendto(b"board again", ("127.0.0.1", port))
        assert read() == b"board again"


def test_the_tables_of_the_system_are_read_as_they_are(tmp_path: Path) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as peer:
            found = list(peers._sockets("tcp", peer.getsockname()[1], port))
            assert found == [(os.geteuid(), os.fstat(peer.fileno()).st_ino)]
