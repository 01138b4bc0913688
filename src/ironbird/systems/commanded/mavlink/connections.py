"""Links between ground stations or programs and the vehicle: UDP, TCP and serial lines, several at once, non-blocking.

An `Endpoint` is a port or line that is opened; a `Channel` is one partner behind it, with its own parser, packer and
telemetry rates. On UDP the vehicle sends first to the port of a ground station, as PX4 does, and answers every
sender; on
TCP it waits for clients. On loopback only programs of the same user are accepted (`Doorkeeper`).
Not done: messages from one partner are not forwarded to the others; signatures are not checked.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ironbird.errors import LinkError, shortened
from ironbird.protocols.mavlink.codec import Packer, Parser
from ironbird.protocols.mavlink.dialect import Message
from ironbird.rig.link_faults import FlownLinks, Way
from ironbird.transport.cable import BITS_PER_BYTE, FRAMING, SerialCable
from ironbird.transport.peers import Doorkeeper, own_address

LOOPBACK = "127.0.0.1"
MOST_PACKETS = 200  # read in one poll of a port: a fast sender must not delay the flight
MOST_BYTES = 1 << 16
MOST_PARTNERS = 16  # of one endpoint
FORGOTTEN_S = 30.0  # wall time after which nothing more is sent to a silent partner on UDP
PACKET_BYTES = 1300  # of one datagram: fits an Ethernet frame
WAITING_BYTES = 1 << 20  # that a client on TCP may leave unread before it is disconnected
USUAL_BAUD = 57_600
OWN_PORTS = {14550: 18570, 14540: 14580}  # ground station's port -> Ironbird's, as PX4's simulation has them [PX4]
PORTS = range(1, 65536)


class Sender(NamedTuple):
    """System id and component id of the sender of a message."""

    system: int
    component: int


Watch = Callable[[str, bool, bytes], None]


class Channel:
    """One partner: messages to it are collected and sent by `flush`; `read` decodes its bytes."""

    def __init__(
        self,
        name: str,
        write: Callable[[memoryview], None],
        *,
        sysid: int,
        room_per_s: float | None = None,
        lasting: bool = False,
    ) -> None:
        self.name = name
        self.room_per_s = room_per_s  # bytes per second that it carries; None is a network
        self.lasting = lasting  # sends to it even if it never answers
        self.heard_at = time.monotonic()
        self.next_s: dict[int, float] = {}  # simulation time of the next message of each stream
        self.interval_s: dict[int, float] = {}  # requested by this partner
        self._parser = Parser()
        self.watch: Watch | None = None  # gets every packet and its direction
        self._packer = Packer(sysid)
        self._write = write
        self._staged = 0
        self._ground: Way | None = None
        self._vehicle: Way | None = None
        self._links: FlownLinks | None = None

    def read(self, data: bytes) -> list[tuple[int, bytes, Sender]]:
        """Decode bytes; returns the messages that are complete now: number, payload and sender."""
        self.heard_at = time.monotonic()
        if self.watch is not None:
            self.watch(self.name, True, data)
        if self._vehicle is not None:
            data = b"".join(self._vehicle.through(data))
        return [(number, payload, Sender(*sender)) for number, payload, *sender in self._parser.feed(data)]

    def disturb(self, links: FlownLinks) -> None:
        """Let link faults act on this channel from now on, in both directions; may be called again."""
        if self._links is not links:
            self._links, self._ground, self._vehicle = links, links.way("ground"), links.way("vehicle")

    def late(self) -> list[tuple[int, bytes, Sender]]:
        """Messages that a fault delayed until now; delayed messages to the partner are sent."""
        if self._ground is not None:
            self._send(self._ground.due())
        data = b"".join(self._vehicle.due()) if self._vehicle is not None else b""
        return [(number, payload, Sender(*sender)) for number, payload, *sender in self._parser.feed(data)]

    def _send(self, packets: Sequence[bytes]) -> None:
        for packet in packets:
            self._write(memoryview(packet))

    def say(self, message: Message, *fields: float | bytes) -> None:
        """Add a message to the next packet."""
        size = message.payload.size + FRAMING
        if self._staged + size > PACKET_BYTES:
            self.flush()
        self._packer.add(message, *fields)
        self._staged += size

    def pass_on(self, data: bytes) -> None:
        """Send the bytes of a message unchanged, after the queued messages."""
        self.flush()
        self._out(memoryview(data))

    def _out(self, frames: memoryview) -> None:
        if self._ground is None:
            self._write(frames)
        else:
            self._send(self._ground.through(frames))

    def flush(self) -> None:
        """Send all queued messages as one packet."""
        if self._staged:
            self._staged = 0
            packet = self._packer.take()
            if self.watch is not None:
                self.watch(self.name, False, bytes(packet))
            self._out(packet)


class Endpoint(ABC):
    """A port or line on which partners reach the vehicle."""

    name: str

    def __init__(self, sysid: int) -> None:
        self.sysid = sysid
        self.channels: list[Channel] = []

    @abstractmethod
    def open(self) -> None:
        """Open the port or line; raises `LinkError` with the cure if that fails."""

    @abstractmethod
    def receive(self) -> Iterator[tuple[Channel, bytes]]:
        """Yield received bytes with their channel; never waits."""

    @abstractmethod
    def announce(self) -> str:
        """A line for the user: how to reach the vehicle here."""

    @abstractmethod
    def handles(self) -> Sequence[int]:
        """File descriptors that become readable when bytes arrive."""

    @abstractmethod
    def close(self) -> None:
        """Close the port or line; further calls do nothing."""


class UdpEndpoint(Endpoint):
    """UDP endpoint: sends to `target`, if there is one, and to every sender of packets to `port`."""

    def __init__(self, sysid: int, host: str, port: int, target: tuple[str, int] | None) -> None:
        super().__init__(sysid)
        self.host, self.port, self.target = host, port, target
        self.name = f"udp {host}:{port}" if target is None else f"udp to {target[0]}:{target[1]}"
        self._socket: socket.socket | None = None
        self._partners: dict[tuple[str, int], Channel] = {}

    def open(self) -> None:
        self._socket = _bound(socket.SOCK_DGRAM, self.host, self.port, "UDP")
        self.port = int(self._socket.getsockname()[1])
        self._door = Doorkeeper("udp", self.port, None)
        if self.target is not None:
            self._partner(self.target, lasting=True)

    def _partner(self, address: tuple[str, int], *, lasting: bool = False) -> Channel | None:
        channel = self._partners.get(address)
        if channel is None and len(self._partners) < MOST_PARTNERS:

            def write(data: memoryview) -> None:
                assert self._socket is not None
                with contextlib.suppress(OSError):  # no receiver, or no room: telemetry comes again
                    self._socket.sendto(data, address)

            channel = Channel(f"udp {address[0]}:{address[1]}", write, sysid=self.sysid, lasting=lasting)
            self._partners[address] = channel
            self.channels.append(channel)
        return channel

    def _forget(self) -> None:
        now = time.monotonic()
        for address, partner in list(self._partners.items()):
            if not partner.lasting and now - partner.heard_at > FORGOTTEN_S:
                del self._partners[address]
                self.channels.remove(partner)

    def receive(self) -> Iterator[tuple[Channel, bytes]]:
        assert self._socket is not None
        self._forget()
        for _ in range(MOST_PACKETS):
            try:
                data, source = self._socket.recvfrom(MOST_BYTES)
            except BlockingIOError:
                return
            except OSError:  # an earlier packet had no receiver
                continue
            if self._door.lets_in(source):
                partner = self._partner(source)
                if partner is not None:
                    yield partner, data

    def announce(self) -> str:
        if self.target is None:
            return f"MAVLink on UDP {self.host}:{self.port} (pymavlink, MAVProxy: udpout:{self.host}:{self.port})"
        host, port = self.target
        return (
            f"MAVLink to UDP {host}:{port} from {self.port} (QGroundControl finds it; pymavlink, MAVProxy: "
            f"udpin:{host}:{port}; MAVSDK: udpin://{host}:{port})"
        )

    def handles(self) -> Sequence[int]:
        return [self._socket.fileno()] if self._socket is not None else []

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self.channels.clear()


class _Client:
    """A client on TCP, with the bytes that it has not read yet."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.gone = False
        self._waiting = bytearray()

    def write(self, data: memoryview | bytes = b"") -> None:
        """Send as many of the waiting bytes as the socket accepts."""
        self._waiting += data
        try:
            while self._waiting:
                del self._waiting[: self.link.send(self._waiting)]
        except BlockingIOError:
            self.gone |= len(self._waiting) > WAITING_BYTES
        except OSError:
            self.gone = True


class TcpEndpoint(Endpoint):
    """A TCP server for several clients."""

    def __init__(self, sysid: int, host: str, port: int) -> None:
        super().__init__(sysid)
        self.host, self.port = host, port
        self.name = f"tcp {host}:{port}"
        self._socket: socket.socket | None = None
        self._clients: list[tuple[_Client, Channel]] = []

    def open(self) -> None:
        self._socket = _bound(socket.SOCK_STREAM, self.host, self.port, "TCP")
        self._socket.listen(MOST_PARTNERS)
        self.port = int(self._socket.getsockname()[1])
        self._door = Doorkeeper("tcp", self.port, None)

    def receive(self) -> Iterator[tuple[Channel, bytes]]:
        self._accept()
        for client, channel in list(self._clients):
            client.write()
            try:
                data = client.link.recv(MOST_BYTES)
                client.gone |= not data
            except BlockingIOError:
                data = b""
            except OSError:
                data, client.gone = b"", True
            if data:
                yield channel, data
            if client.gone:
                client.link.close()
                self._clients.remove((client, channel))
                self.channels.remove(channel)

    def _accept(self) -> None:
        assert self._socket is not None
        with contextlib.suppress(OSError):
            for _ in range(MOST_PARTNERS):
                link, source = self._socket.accept()
                if len(self._clients) >= MOST_PARTNERS or not self._door.lets_in(source):
                    link.close()
                    continue
                link.setblocking(False)
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                client = _Client(link)
                channel = Channel(f"tcp {source[0]}:{source[1]}", client.write, sysid=self.sysid)
                self._clients.append((client, channel))
                self.channels.append(channel)

    def announce(self) -> str:
        return f"MAVLink on TCP {self.host}:{self.port} (MAVSDK: tcpout://{self.host}:{self.port})"

    def handles(self) -> Sequence[int]:
        own = [self._socket.fileno()] if self._socket is not None else []
        return own + [client.link.fileno() for client, _ in self._clients]

    def close(self) -> None:
        for client, _ in self._clients:
            client.link.close()
        self._clients.clear()
        self.channels.clear()
        if self._socket is not None:
            self._socket.close()


class SerialEndpoint(Endpoint):
    """A serial port or pseudo-terminal; telemetry is limited to what its baud rate carries."""

    def __init__(self, sysid: int, device: str, baud: int) -> None:
        super().__init__(sysid)
        self.name = f"serial {device} at {baud} baud"
        self._cable = SerialCable(device, baud)
        self._room_per_s = baud / BITS_PER_BYTE

    def open(self) -> None:
        self._cable.open()
        channel = Channel(self.name, self._write, sysid=self.sysid, room_per_s=self._room_per_s, lasting=True)
        self.channels.append(channel)

    def _write(self, data: memoryview) -> None:
        with contextlib.suppress(OSError):  # no room or cut: telemetry comes again
            self._cable.write(data)

    def receive(self) -> Iterator[tuple[Channel, bytes]]:
        try:
            data = self._cable.read()
        except OSError as error:
            raise LinkError(f"{self.name}: the line was cut: {error.strerror}") from None
        if data:
            yield self.channels[0], data

    def announce(self) -> str:
        return f"MAVLink on {self.name}"

    def handles(self) -> Sequence[int]:
        return [self._cable.handle] if self._cable.handle >= 0 else []

    def close(self) -> None:
        self._cable.close()
        self.channels.clear()


def _bound(kind: socket.SocketKind, host: str, port: int, what: str) -> socket.socket:
    made = socket.socket(socket.AF_INET, kind)
    try:
        if kind == socket.SOCK_STREAM:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
    except OSError as error:
        made.close()
        cure = "`ironbird doctor` says who holds it; end that, or give another port or instance"
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            cure = "give an address of this computer"
        raise LinkError(f"{what} port {port} on {host} cannot be opened: {error.strerror}; {cure}") from None
    made.setblocking(False)
    return made


def usual_links(instance: int = 0) -> tuple[str, ...]:
    """Default links of an instance: the ports of PX4's simulation, and a TCP server on ArduPilot's port."""
    return (
        f"udp:{LOOPBACK}:14550:{OWN_PORTS[14550] + instance}",
        f"udp:{LOOPBACK}:{14540 + instance}:{OWN_PORTS[14540] + instance}",
        f"tcp:{LOOPBACK}:{5760 + 10 * instance}",
    )


def parse_link(text: str, sysid: int) -> Endpoint:
    """An endpoint from its text.

    `udp:HOST:PORT[:OWN]` sends to a ground station's port from OWN, `udpin:HOST:PORT` waits on UDP, `tcp:HOST:PORT` is
    a server, `serial:DEVICE[:BAUD]` a serial line. The vehicle listens at HOST: an address other than 127.0.0.1 opens
    it to the network.
    """
    kind, *rest = text.split(":")
    forms = "udp:HOST:PORT[:OWN], udpin:HOST:PORT, tcp:HOST:PORT or serial:DEVICE[:BAUD]"
    wrong = LinkError(f"link '{shortened(text)}' is not of the form {forms}")
    if kind == "serial" and 1 <= len(rest) <= 2 and rest[0]:
        return SerialEndpoint(sysid, rest[0], _whole(rest[1], wrong) if len(rest) == 2 else USUAL_BAUD)
    if kind not in ("udp", "udpin", "tcp") or len(rest) not in ((2, 3) if kind == "udp" else (2,)) or not rest[0]:
        raise wrong
    host, ports = rest[0], [_whole(part, wrong) for part in rest[1:]]
    if any(port not in PORTS for port in ports) and not (kind != "udp" and ports == [0]):
        raise wrong
    if kind == "tcp":
        return TcpEndpoint(sysid, host, ports[0])
    if kind == "udpin":
        return UdpEndpoint(sysid, host, ports[0], None)
    own = ports[1] if len(ports) == 2 else 0
    return UdpEndpoint(sysid, LOOPBACK if host.startswith("127.") else own_address(host), own, (host, ports[0]))


def _whole(text: str, wrong: LinkError) -> int:
    if not text.isdecimal() or not text.isascii() or len(text) > 9:
        raise wrong
    return int(text)
