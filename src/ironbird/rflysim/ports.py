"""Ports of RflySim's interface and the sockets behind them: on loopback by default, and never a broadcast.

Vehicles are counted from 1. The ports of vehicle n are those of the first plus 2 (n - 1); 31000 goes by one.
CopterSim broadcasts its heartbeat and listens to a multicast group on every network. Here the group is joined on the
loopback interface only, and the heartbeat goes to the group there, to the host, and to whoever asked for it. On
loopback only programs of the same user are accepted (`Doorkeeper`).
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
from collections.abc import Iterator
from dataclasses import dataclass

from ironbird.errors import LinkError
from ironbird.transport.peers import Doorkeeper

GROUP = "224.0.0.10"
LOOPBACK = "127.0.0.1"
MOST_VEHICLES = 50  # of CopterSim's own launch scripts
LONGEST = 2048  # bytes of a packet that is looked at
MOST_AT_ONCE = 200  # packets of one port in one exchange: the rest waits, so that a flood cannot stop a flight


def peer_of(host: str) -> str:
    """Where clients are looked for: on the host that is listened on; on this computer if that is every address."""
    with contextlib.suppress(ValueError):  # a name
        if ipaddress.ip_address(host).is_unspecified:
            return LOOPBACK
    return host


@dataclass(frozen=True)
class Ports:
    """The port numbers of one vehicle; `shift` is added to each, for two servers on one computer."""

    vehicle: int = 1
    shift: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.vehicle <= 9999:
            raise LinkError(f"vehicle {self.vehicle}: RflySim counts its vehicles from 1")
        highest = 40101 + 2 * (self.vehicle - 1) + self.shift
        if not self.shift >= 1024 - 20002 or highest > 65535:
            raise LinkError(
                f"vehicle {self.vehicle} with a shift of {self.shift} has ports up to {highest}; 65535 is the last"
            )

    def _of(self, first: int, apart: int = 2) -> int:
        return first + self.shift + apart * (self.vehicle - 1)

    @property
    def command(self) -> int:
        """Offboard commands come in here."""
        return self._of(20100)

    @property
    def state(self) -> int:
        """The autopilot's estimate goes there."""
        return self._of(20101)

    @property
    def model(self) -> int:
        """Model inputs, faults and parameters come in here."""
        return self._of(30100)

    @property
    def truth(self) -> int:
        """What is true goes there."""
        return self._of(30101)

    @property
    def extra(self) -> int:
        """The autopilot's own message goes there."""
        return self._of(40101)

    @property
    def imu(self) -> int:
        """The inertial sensor goes there if no port is named."""
        return self._of(31000, 1)

    @property
    def time(self) -> int:
        """The heartbeat goes there."""
        return 20005 + self.shift

    @property
    def setup(self) -> int:
        """Re-placement comes in here, for all vehicles."""
        return 20002 + self.shift

    @property
    def scene(self) -> int:
        """RflySim3D listens there."""
        return 20010 + self.shift


class Wires:
    """The sockets of one vehicle. What cannot be sent is dropped, as a network does."""

    def __init__(self, ports: Ports, host: str = LOOPBACK, *, hears_commands: bool = True) -> None:
        self.ports, self.host = ports, host
        self._sockets: list[socket.socket] = []
        self._doors: dict[socket.socket, Doorkeeper] = {}
        self._out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._out.setblocking(False)
        self._sockets.append(self._out)
        try:
            self._command = self._bound(host, ports.command) if hears_commands else None
            self._model = self._bound(host, ports.model)
            self._setup = self._shared(host, ports.setup)
            self._group = self._shared(GROUP, ports.setup)
        except LinkError:
            self.close()
            raise
        self.joined = self._join()

    def _bound(self, host: str, port: int) -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sockets.append(made)
        made.setblocking(False)
        try:
            made.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise LinkError(
                    f"UDP {host}:{port} is taken: CopterSim or another 'connect rflysim' runs; end it, or give "
                    "--start-index or --shift"
                ) from None
            raise LinkError(f"cannot listen on UDP {host}:{port}: {error.strerror}; check --host") from None
        return made

    def _shared(self, host: str, port: int) -> socket.socket | None:
        """A port that all vehicles listen on; without it the vehicle is placed again by its own port only."""
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sockets.append(made)
        made.setblocking(False)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((host, port))
        except OSError:
            return None
        return made

    def _join(self) -> bool:
        """Join the group on loopback, and send to it there."""
        if self._group is None:
            return False
        try:
            member = socket.inet_aton(GROUP) + socket.inet_aton(LOOPBACK)
            self._group.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
            self._out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(LOOPBACK))
            self._out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)  # not beyond this computer
        except OSError:
            return False
        return True

    def commands(self) -> Iterator[tuple[bytes, tuple[str, int]]]:
        """Packets at 20100."""
        return self._taken(self._command)

    def inputs(self) -> Iterator[tuple[bytes, tuple[str, int]]]:
        """Packets at 30100."""
        return self._taken(self._model)

    def placements(self) -> Iterator[tuple[bytes, bool]]:
        """Packets at 20002, and whether all vehicles got them (by the group) or this one alone."""
        for made, all_got_it in ((self._setup, False), (self._group, True)):
            for data, _ in self._taken(made):
                yield data, all_got_it

    def send(self, data: bytes, port: int, host: str = "") -> None:
        """To a port of the client's computer."""
        with contextlib.suppress(OSError):
            self._out.sendto(data, (host or peer_of(self.host), port))

    def send_to_group(self, data: bytes, port: int) -> None:
        """To the group, on loopback."""
        if self.joined:
            with contextlib.suppress(OSError):
                self._out.sendto(data, (GROUP, port))

    def close(self) -> None:
        """Let go of all ports. May be called twice."""
        for made in self._sockets:
            made.close()
        self._sockets = []

    def _taken(self, made: socket.socket | None) -> Iterator[tuple[bytes, tuple[str, int]]]:
        """What has come from programs of the same user; those of others on this computer are ignored."""
        if made is None:
            return
        door = self._doors.get(made)
        if door is None:
            door = self._doors[made] = Doorkeeper("udp", int(made.getsockname()[1]), None)
        for _ in range(MOST_AT_ONCE):
            try:
                data, source = made.recvfrom(LONGEST)
            except BlockingIOError:
                return
            except OSError:  # an answer of the network to something sent before
                continue
            if door.lets_in(source):
                yield data, source
