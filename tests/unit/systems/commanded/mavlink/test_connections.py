"""Links as texts, ports that are taken, several partners at once, and a serial line."""

from __future__ import annotations

import os
import pty
import socket
import tty

import pytest
from mavlink_bench import ANY_PORT, Bench, bench

from ironbird.errors import LinkError
from ironbird.protocols.mavlink.codec import Packer, Parser
from ironbird.protocols.mavlink.dialect import HEARTBEAT, MESSAGES, PING
from ironbird.systems.commanded.mavlink.connections import (
    MOST_PARTNERS,
    SerialEndpoint,
    TcpEndpoint,
    UdpEndpoint,
    parse_link,
    usual_links,
)


def test_the_usual_links_are_those_of_px4_and_count_with_the_instance() -> None:
    ground, onboard, tcp = (parse_link(text, 1) for text in usual_links())
    assert isinstance(ground, UdpEndpoint) and isinstance(onboard, UdpEndpoint) and isinstance(tcp, TcpEndpoint)
    assert (ground.host, ground.port, ground.target) == ("127.0.0.1", 18570, ("127.0.0.1", 14550))
    assert (onboard.port, onboard.target) == (14580, ("127.0.0.1", 14540))
    assert (tcp.host, tcp.port) == ("127.0.0.1", 5760)
    assert usual_links(2)[1] == "udp:127.0.0.1:14542:14582"


@pytest.mark.parametrize(
    "text",
    ["", "udp", "udp:127.0.0.1", "udp:127.0.0.1:x", "udp:127.0.0.1:70000", "udp::14550", "tcp:127.0.0.1:5760:1",
     "serial:", "serial:/dev/x:fast", "carrier-pigeon:127.0.0.1:1", "udp:127.0.0.1:0", "udp:127.0.0.1:²"],
)  # fmt: skip
def test_a_link_that_is_none_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(LinkError, match="is not of the form udp:HOST"):
        parse_link(text, 1)


def test_serial_links_have_a_device_and_a_baud_rate() -> None:
    assert isinstance(parse_link("serial:/dev/ttyUSB0", 1), SerialEndpoint)
    assert parse_link("serial:/dev/ttyUSB0:921600", 1).name == "serial /dev/ttyUSB0 at 921600 baud"


@pytest.mark.parametrize(("kind", "text"), [(socket.SOCK_DGRAM, "udpin"), (socket.SOCK_STREAM, "tcp")])
def test_a_port_that_is_taken_is_named_and_nothing_stays_open(kind: socket.SocketKind, text: str) -> None:
    with socket.socket(socket.AF_INET, kind) as other:
        other.bind(("127.0.0.1", 0))
        if kind == socket.SOCK_STREAM:
            other.listen()
        port = other.getsockname()[1]
        with pytest.raises(LinkError, match=f"port {port} on 127.0.0.1 cannot be opened.*ironbird doctor"):
            Bench("quad_f450", f"{ANY_PORT},{text}:127.0.0.1:{port}", connect=False)


def test_several_partners_are_answered_each_on_its_own_link() -> None:
    with bench(links=f"{ANY_PORT},tcp:127.0.0.1:0") as made:
        second, third = made.connect(0), made.connect(1)
        try:
            made.go(0.1)
            assert len(made.front.channels) == 3
            second.mav.command_long_send(1, 1, 511, 0, 30, -1, 0, 0, 0, 0, 0)  # no attitude for this one
            third.mav.ping_send(1, 2, 0, 0)
            made.go(0.2)
            while second.recv_msg() is not None:
                pass
            heard = [m.get_type() for m in made.go(0.5)]
            told = []
            while (message := second.recv_msg()) is not None:
                told.append(message.get_type())
            on_tcp = []
            while (message := third.recv_msg()) is not None:
                on_tcp.append(message.get_type())
            assert "ATTITUDE" in heard and "ATTITUDE" not in told and "LOCAL_POSITION_NED" in told
            assert "PING" in on_tcp and "PING" not in told and "PING" not in heard
        finally:
            second.close()
            third.close()
        made.go(0.1)
        assert len(made.front.endpoints[1].channels) == 0  # the one on TCP has hung up


def test_more_partners_than_there_is_room_for_are_left_out() -> None:
    with bench() as made:
        endpoint = made.front.endpoints[0]
        assert isinstance(endpoint, UdpEndpoint)
        callers = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(MOST_PARTNERS + 5)]
        try:
            for caller in callers:
                caller.sendto(b"anything", ("127.0.0.1", endpoint.port))
            made.go(0.02)
            assert len(endpoint.channels) == MOST_PARTNERS
        finally:
            for caller in callers:
                caller.close()


def test_a_serial_line_carries_what_it_can_and_answers() -> None:
    far, near = pty.openpty()
    tty.setraw(near)
    os.set_blocking(far, False)
    try:
        with bench(links=f"{ANY_PORT},serial:{os.ttyname(near)}:57600") as made:
            parser, packer = Parser(), Packer(255, 190)
            packer.add(PING, 5, 6, 0, 0)
            os.write(far, packer.take())
            frames, count = [], 0
            for _ in range(500):
                made.step()
                try:
                    data = os.read(far, 65536)
                except BlockingIOError:
                    continue
                count += len(data)
                frames += parser.feed(data)
            assert PING.id in [number for number, *_ in frames]
            assert [MESSAGES[number].name for number, *_ in frames].count("HEARTBEAT") >= 2
            assert HEARTBEAT.id in [number for number, *_ in frames]
            assert count < 1.1 * 2.0 * 5760  # two seconds of simulation at 57 600 baud
            assert parser.broken == parser.skipped == 0
    finally:
        os.close(far)
        os.close(near)
