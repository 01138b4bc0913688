"""Ports of RflySim's interface and the sockets behind them: on loopback by default, and never a broadcast.

Vehicles are counted from 1. The ports of vehicle n are those of the first plus 2 (n - 1); 31000 increases by one.
CopterSim broadcasts its heartbeat and listens to a multicast group on every network. Here the group is joined on the
loopback interface only, and the heartbeat goes to the group there, to the host, and to clients that requested it. On
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
    """Host to which packets for clients are sent: the one that is listened on; this computer if that is any address."""
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
        """Port at which offboard commands are received."""
        return self._of(20100)

    @property
    def state(self) -> int:
        """Port to which the autopilot's estimate is sent."""
        return self._of(20101)

    @property
    def model(self) -> int:
        """Port at which model inputs, faults and parameters are received."""
        return self._of(30100)

    @property
    def truth(self) -> int:
        """Port to which the true state is sent."""
        return self._of(30101)

    @property
    def extra(self) -> int:
        """Port to which the autopilot's own message is sent."""
        return self._of(40101)

    @property
    def imu(self) -> int:
        """Default port to which samples of the inertial sensor are sent."""
        return self._of(31000, 1)

    @property
    def time(self) -> int:
        """Port to which the heartbeat is sent."""
        return 20005 + self.shift

    @property
    def setup(self) -> int:
        """Port at which re-placement is received, for all vehicles."""
        return 20002 + self.shift

    @property
    def scene(self) -> int:
        """Port at which RflySim3D listens."""
        return 20010 + self.shift


class Wires:
    """The sockets of one vehicle. A packet that cannot be sent is dropped."""

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
        """Open a port that all vehicles share; without it a re-placement reaches the vehicle only by its own port."""
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
        """Join the multicast group on loopback; returns whether that succeeded."""
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
        """Packets received at port 20100, with their senders."""
        return self._taken(self._command)

    def inputs(self) -> Iterator[tuple[bytes, tuple[str, int]]]:
        """Packets received at port 30100, with their senders."""
        return self._taken(self._model)

    def placements(self) -> Iterator[tuple[bytes, bool]]:
        """Packets received at port 20002, and whether all vehicles got them (by the group) or this one alone."""
        for made, all_got_it in ((self._setup, False), (self._group, True)):
            for data, _ in self._taken(made):
                yield data, all_got_it

    def send(self, data: bytes, port: int, host: str = "") -> None:
        """Send a packet to a port of the client's computer."""
        with contextlib.suppress(OSError):
            self._out.sendto(data, (host or peer_of(self.host), port))

    def send_to_group(self, data: bytes, port: int) -> None:
        """Send a packet to the multicast group, on loopback."""
        if self.joined:
            with contextlib.suppress(OSError):
                self._out.sendto(data, (GROUP, port))

    def close(self) -> None:
        """Close all ports; further calls do nothing."""
        for made in self._sockets:
            made.close()
        self._sockets = []

    def _taken(self, made: socket.socket | None) -> Iterator[tuple[bytes, tuple[str, int]]]:
        """Packets from programs of the same user; those of other users of this computer are ignored."""
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
            except OSError:  # an ICMP answer to an earlier packet
                continue
            if door.lets_in(source):
                yield data, source
