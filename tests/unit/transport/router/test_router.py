"""The router: packets pass between all kinds of connections, filtered and limited; nobody can hold up the others."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ironbird.errors import LinkError, UnknownNameError
from ironbird.faults.catalog import parse_fault
from ironbird.faults.route import ROUTE_FAULTS
from ironbird.protocols.mavlink.codec import Packer
from ironbird.protocols.mavlink.dialect import ATTITUDE, HEARTBEAT
from ironbird.transport.cable import StreamCable
from ironbird.transport.frames import FrameReader
from ironbird.transport.router.cables import ServerCable, parse_cable
from ironbird.transport.router.route_file import Route, read_route, route_of
from ironbird.transport.router.router import MOST_WAITING, Connection, Router, Rule

WAIT_S = 60.0


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def peer() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        one.settimeout(WAIT_S)
        yield one


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def messages(count: int, packer: Packer) -> list[bytes]:
    made = []
    for number in range(count):
        packer.add(ATTITUDE, number, 0.1, 0.2, 0.3, 0.0, 0.0, 0.0)
        made.append(bytes(packer.take()))
    return made


def received(at: socket.socket, count: int) -> list[bytes]:
    return [at.recv(2048) for _ in range(count)]


def routed(at: socket.socket, name: str = "gcs") -> Connection:
    return Connection(name, parse_cable(f"udpout:127.0.0.1:{at.getsockname()[1]}"))


def test_packets_pass_unchanged_both_ways_and_are_counted() -> None:
    port = free_port()
    with peer() as vehicle, peer() as station:
        router = Router([Connection("vehicle", parse_cable(f"udpin:{port}")), routed(station)],
                        [Rule("vehicle", "gcs"), Rule("gcs", "vehicle")])  # fmt: skip
        with router:
            sent = messages(50, Packer())
            for data in sent:
                vehicle.sendto(data, ("127.0.0.1", port))
            assert received(station, 50) == sent
            packer = Packer(255, 190)
            packer.add(HEARTBEAT, 0, 6, 8, 0, 4, 3)
            answer = bytes(packer.take())
            back = router.connections["gcs"].cable
            station.sendto(answer, back._socket.getsockname())  # type: ignore[attr-defined]
            assert vehicle.recv(2048) == answer
            one = router.connections["vehicle"]
            assert one.received["ATTITUDE"].count == 50 and one.lost == 0
            until(lambda: router.connections["gcs"].sent["ATTITUDE"].count == 50)


def test_messages_that_no_dialect_knows_pass_and_damaged_ones_do_not() -> None:
    unknown = bytes([0xFD, 3, 0, 0, 9, 1, 1, 0xFF, 0xFF, 0x7F, 1, 2, 3, 0xAA, 0xBB])
    good = messages(2, Packer())
    damaged = bytearray(good[0])
    for place in (12, -2, -1):  # content, both bytes of the checksum
        damaged[place] ^= 1
        reader = FrameReader()
        found = reader.feed(b"noise" + unknown + bytes(damaged) + good[1])
        assert [frame.data for frame in found] == [unknown, good[1]], place
        assert reader.skipped == 5 + len(damaged)
        damaged[place] ^= 1
    cut = FrameReader()
    parts = [frame.data for byte in unknown + good[1] for frame in cut.feed(bytes([byte]))]
    assert parts == [unknown, good[1]]


def test_a_filter_lets_through_what_it_names_and_a_limit_thins_out() -> None:
    port = free_port()
    with peer() as vehicle, peer() as station, peer() as second:
        rules = [Rule("vehicle", "gcs", only=frozenset({"HEARTBEAT"})), Rule("vehicle", "slow", most_hz=1.0)]
        connections = [Connection("vehicle", parse_cable(f"udpin:{port}")), routed(station), routed(second, "slow")]
        with Router(connections, rules) as router:
            packer = Packer()
            for data in messages(30, packer):
                vehicle.sendto(data, ("127.0.0.1", port))
            packer.add(HEARTBEAT, 0, 2, 12, 81, 4, 3)
            beat = bytes(packer.take())
            vehicle.sendto(beat, ("127.0.0.1", port))
            assert station.recv(2048) == beat
            until(lambda: router.connections["vehicle"].received.get("HEARTBEAT") is not None)
            until(lambda: router.connections["slow"].sent.get("HEARTBEAT") is not None)
            assert router.connections["slow"].sent["ATTITUDE"].count < 30


def test_a_server_a_terminal_and_a_file_are_connections_too(tmp_path: Path) -> None:
    name = tmp_path / "port"
    connections = [Connection("a", parse_cable("tcpin:0")), Connection("b", parse_cable(f"pty:{name}"))]
    log = tmp_path / "kept.tlog"
    sent = messages(20, Packer())
    with Router(connections, [Rule("a", "b"), Rule("b", "a")], save=log) as router:
        server = router.connections["a"].cable
        assert isinstance(server, ServerCable)
        line = os.open(name, os.O_RDWR | os.O_NOCTTY)
        try:
            with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_S) as client:
                client.sendall(b"".join(sent))
                came = b""
                while len(came) < len(b"".join(sent)):
                    came += os.read(line, 4096)
                assert came == b"".join(sent)
                os.write(line, sent[0])
                client.settimeout(WAIT_S)
                assert client.recv(4096) == sent[0]
        finally:
            os.close(line)
    assert not name.is_symlink()
    with peer() as station:
        player = Connection("log", parse_cable(f"file:{log}"))
        with Router([player, routed(station)], [Rule("log", "gcs")]) as router:
            assert received(station, 21) == [*sent, sent[0]]
            until(lambda: router.finished)


def test_a_dead_a_blocked_and_a_flooding_peer_harm_no_other() -> None:
    ports = [free_port() for _ in range(2)]
    blocked = Connection("blocked", parse_cable("tcpin:0"))
    dead = Connection("dead", parse_cable(f"udpout:127.0.0.1:{free_port()}"))
    with peer() as vehicle, peer() as flooder, peer() as station:
        connections = [Connection("vehicle", parse_cable(f"udpin:{ports[0]}")), dead, blocked, routed(station),
                       Connection("flood", parse_cable(f"udpin:{ports[1]}"))]  # fmt: skip
        rules = [Rule("vehicle", name) for name in ("dead", "blocked", "gcs")] + [Rule("flood", "dead")]
        with Router(connections, rules):
            assert isinstance(blocked.cable, ServerCable)
            with socket.create_connection(("127.0.0.1", blocked.cable.port), timeout=WAIT_S):  # never reads
                for _ in range(5000):
                    flooder.sendto(os.urandom(200), ("127.0.0.1", ports[1]))
                sent = messages(200, Packer())
                for data in sent:
                    vehicle.sendto(data, ("127.0.0.1", ports[0]))
                    time.sleep(0.001)
                assert received(station, 200) == sent


class Full(StreamCable):
    """A line that has no room."""

    def write(self, data: memoryview) -> int:
        return 0


def test_a_full_queue_loses_its_oldest_packets_and_says_so() -> None:
    one = Connection("gcs", Full(9))
    frames = [frame for data in messages(MOST_WAITING + 10, Packer()) for frame in FrameReader().feed(data)]
    for frame in frames:
        one.put(0.0, frame)
    assert one.overflowed == 10
    taken = one.take(1.0, 0.0)
    assert taken is not None and taken[1] == frames[10].data


def test_a_line_that_was_cut_is_opened_again_and_carries_on() -> None:
    with socket.create_server(("127.0.0.1", 0)) as far, peer() as station:
        far.settimeout(WAIT_S)
        at = Connection("vehicle", parse_cable(f"tcp:127.0.0.1:{far.getsockname()[1]}"))
        with Router([at, routed(station)], [Rule("vehicle", "gcs")]):
            for data in messages(2, Packer()):
                link, _ = far.accept()
                link.sendall(data)
                assert station.recv(2048) == data
                link.close()


def test_a_fault_on_the_way_to_one_connection_leaves_the_others_alone() -> None:
    port = free_port()
    faults = [parse_fault("route.cut@1:instance=gcs", ROUTE_FAULTS)]
    with peer() as vehicle, peer() as station, peer() as second:
        connections = [Connection("vehicle", parse_cable(f"udpin:{port}")), routed(station), routed(second, "other")]
        with Router(connections, [Rule("vehicle", "gcs"), Rule("vehicle", "other")], faults=faults) as router:
            sent = messages(20, Packer())
            for data in sent:
                vehicle.sendto(data, ("127.0.0.1", port))
            assert received(second, 20) == sent
            until(lambda: router.witnesses[0].lost == 20)
            assert not router.connections["gcs"].sent


@pytest.mark.parametrize(
    ("links", "rules", "reason"),
    [
        (["gcs"], [], "NAME=WHERE"),
        (["a=udpin:14550", "a=udpin:14551"], [], "two links"),
        (["a=carrier:1"], [], "udpin:"),
        (["a=udpin:99999"], [], "udpin:"),
        (["a=udpin:14550"], ["a-b"], "FROM>TO"),
        (["a=udpin:14550"], ["a>b@fast"], "FROM>TO"),
        (
            ["a=udpin:14550", "b=pty"],
            ["a>b:HEARTBEATS"],
            "unknown message of MAVLink 'HEARTBEATS' in the rule from a to b; did you mean 'HEARTBEAT'",
        ),
        (["a b=pty"], [], "pattern"),
    ],
)
def test_wrong_routes_are_refused_with_the_form_that_is_right(links: list[str], rules: list[str], reason: str) -> None:
    def made() -> Router:
        route = route_of(links, rules)
        return Router(route.connections(), route.rules())

    with pytest.raises((LinkError, UnknownNameError), match=reason):
        made()


def test_the_speed_of_a_line_has_few_digits() -> None:
    assert parse_cable("serial:/dev/ttyS0:57600").name != parse_cable(f"serial:/dev/ttyS0:{'9' * 5000}").name


def test_rules_name_connections_that_exist() -> None:
    with pytest.raises(UnknownNameError, match="gsc"):
        Router([Connection("gcs", parse_cable("pty"))], [Rule("gcs", "gsc")])


def test_a_route_file_is_read_and_a_wrong_one_is_refused(tmp_path: Path) -> None:
    text = """
[connection.vehicle]
at = "udpin:14550"
[connection.gcs]
at = "udpout:127.0.0.1:14551"
[[rule]]
from = "vehicle"
to = "gcs"
only = ["HEARTBEAT", "30"]
most_hz = 5.0
"""
    (tmp_path / "route.toml").write_text(text)
    route = read_route(tmp_path / "route.toml")
    assert route.rules() == [Rule("vehicle", "gcs", frozenset({"HEARTBEAT", "30"}), most_hz=5.0)]
    everything = Route.model_validate({"connection": {n: {"at": "pty"} for n in "abc"}})
    assert len(everything.rules()) == 6
    wrongs = [(text + "speed = 3", "speed"), ("connection = 3", "connection"), ("[", "no TOML")]
    wrongs += [("a = " + "9" * 5000, "no TOML"), ("a = " + "[" * 5000, "no TOML: it is nested too deeply")]
    for wrong, reason in wrongs:
        (tmp_path / "wrong.toml").write_text(wrong)
        with pytest.raises(LinkError, match=reason):
            read_route(tmp_path / "wrong.toml")


def test_a_packet_that_nobody_overtakes_leaves_after_a_while_or_at_the_end() -> None:
    faults = [parse_fault("route.reorder@1:instance=gcs,severity=1", ROUTE_FAULTS)]
    port = free_port()
    with peer() as vehicle, peer() as station:
        connections = [Connection("vehicle", parse_cable(f"udpin:{port}")), routed(station)]
        sent = messages(3, Packer())
        with Router(connections, [Rule("vehicle", "gcs")], faults=faults) as router:
            vehicle.sendto(sent[0], ("127.0.0.1", port))
            assert station.recv(2048) == sent[0]  # alone
            vehicle.sendto(sent[1], ("127.0.0.1", port))
            until(lambda: router.witnesses[0].late == 2)
        assert station.recv(2048) == sent[1]
