"""Wires of a ground station: a UDP port with many senders, or a cable with one partner."""

from __future__ import annotations

import contextlib
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from ironbird.errors import LinkError
from ironbird.host.process import AutopilotProcess
from ironbird.rig.link_faults import Way
from ironbird.transport.cable import Cable
from ironbird.transport.peers import Doorkeeper

MOST_PACKETS = 2000  # taken at once: a sender faster than the reader must not hold up the flight
MOST_BYTES = 1 << 20
MOST_UNSENT = 1 << 16  # bytes that wait for room on a cable; older ones are of no use
Source = tuple[str, int] | str


class Wire(ABC):
    """Transport of bytes to and from autopilots. `OSError` from `read` and `send` means that it is cut; none blocks."""

    name: str  # for errors: "UDP port 14550"
    virtual: bool = False  # whether the other side's only clock is the simulation's

    @abstractmethod
    def read(self) -> Iterator[tuple[Source, bytes]]:
        """Yield received bytes with their sender."""

    @abstractmethod
    def send(self, packet: memoryview) -> None:
        """Send a packet to the sender that is answered."""

    @abstractmethod
    def answer(self, source: Source) -> None:
        """Send to this sender from now on."""

    @abstractmethod
    def close(self) -> None:
        """Close the wire; further calls do nothing."""

    @property
    @abstractmethod
    def handle(self) -> int:
        """File descriptor for `select`; -1 if there is none."""

    @property
    @abstractmethod
    def answered(self) -> bool:
        """Whether there is a receiver for `send`."""


class Port(Wire):
    """A UDP port: anyone may send to it, and one sender is answered; `peer` gets packets before the first one arrived.

    Of an autopilot that Ironbird started (`process`), only this process is read. In virtual time the port is one of its
    run; received packets then also go to UDP `mirror_port` of this computer, for other ground stations. They are never
    received, so a flight is the same with and without them.
    """

    def __init__(
        self,
        port: int,
        host: str = "127.0.0.1",
        *,
        peer: tuple[str, int] | None = None,
        who: str = "",
        process: AutopilotProcess | None = None,
        mirror_port: int | None = None,
    ) -> None:
        self.process = process
        self._mirror: socket.socket | None = None
        self.peer: Source | None = peer
        self.name = f"UDP {peer[0]}:{peer[1]}" if peer is not None and not port else f"UDP port {port} on {host}"
        self.door = Doorkeeper("udp", port, None)
        if process is not None and process.run is not None:
            self.virtual = True
            self.socket = process.run.datagrams(port)
            self.peer = process.run.address(peer[1]) if peer is not None else None
            if mirror_port is not None:
                self._mirror = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                self._mirror.setblocking(False)
                self._mirror.connect(("127.0.0.1", mirror_port))
            return
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.socket.bind((host, port))
        except OSError as error:
            self.socket.close()
            of_whom = f", where {who} speaks to a ground station," if who else f" on {host}"
            raise LinkError(
                f"UDP port {port}{of_whom} cannot be opened: {error.strerror}; `ironbird doctor` says who holds it"
            ) from None
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)

    def read(self) -> Iterator[tuple[Source, bytes]]:
        if self.process is not None:
            self.process.settle()
            self.door.pid = self.process.pid
        size = 0
        for _ in range(MOST_PACKETS):
            if size > MOST_BYTES:
                return
            try:
                data, source = self.socket.recvfrom(65536)
            except OSError:  # no packet, or the other side's port is closed; deadlines report a loss
                return
            size += len(data)
            if self._mirror is not None:
                with contextlib.suppress(OSError):  # no listener, or not fast enough
                    self._mirror.send(data)
            if self.virtual or self.door.lets_in(source):
                yield source, data

    def send(self, packet: memoryview) -> None:
        if self.peer is not None:
            with contextlib.suppress(OSError):  # not there yet, or no longer: deadlines report it
                self.socket.sendto(packet, self.peer)

    def answer(self, source: Source) -> None:
        self.peer = source

    def close(self) -> None:
        self.socket.close()
        if self._mirror is not None:
            self._mirror.close()

    @property
    def handle(self) -> int:
        return self.socket.fileno()

    @property
    def answered(self) -> bool:
        return self.peer is not None


class Around(Wire):
    """A wire that wraps another one; methods it does not change are those of the wrapped wire."""

    def __init__(self, wire: Wire) -> None:
        self.wire, self.name, self.virtual = wire, wire.name, wire.virtual

    def answer(self, source: Source) -> None:
        self.wire.answer(source)

    def close(self) -> None:
        self.wire.close()

    @property
    def handle(self) -> int:
        return self.wire.handle

    @property
    def answered(self) -> bool:
        return self.wire.answered


class Disturbed(Around):
    """A wire on whose packets link faults act, in simulation time."""

    def __init__(self, wire: Wire, ground: Way | None, vehicle: Way | None) -> None:
        super().__init__(wire)
        self._ground, self._vehicle = ground, vehicle
        self._source: Source = ("", 0)  # of what was received last

    def read(self) -> Iterator[tuple[Source, bytes]]:
        if self._vehicle is not None:
            for packet in self._vehicle.due():
                self.wire.send(memoryview(packet))
        for source, data in self.wire.read():
            if self._ground is None:
                yield source, data
                continue
            self._source = source
            for packet in self._ground.through(data):
                yield source, packet
        for packet in self._ground.due() if self._ground is not None else ():
            yield self._source, packet

    def send(self, packet: memoryview) -> None:
        if self._vehicle is None:
            self.wire.send(packet)
            return
        for due in self._vehicle.through(packet):
            self.wire.send(memoryview(due))


class Watched(Around):
    """A wire with an observer of every packet: sender, direction, and its bytes."""

    def __init__(self, wire: Wire, watch: Callable[[str, bool, bytes], None]) -> None:
        super().__init__(wire)
        self._watch = watch

    def read(self) -> Iterator[tuple[Source, bytes]]:
        for source, data in self.wire.read():
            self._watch(self.name, True, data)
            yield source, data

    def send(self, packet: memoryview) -> None:
        self._watch(self.name, False, bytes(packet))
        self.wire.send(packet)


class OnCable(Wire):
    """An open cable as a wire; there is one partner at its other end."""

    def __init__(self, cable: Cable) -> None:
        self.cable = cable
        self.name = cable.name
        self._unsent = b""

    def read(self) -> Iterator[tuple[Source, bytes]]:
        data = self.cable.read()
        if data:
            yield (self.name, 0), data

    def send(self, packet: memoryview) -> None:
        if len(self._unsent) + len(packet) > MOST_UNSENT:
            return  # only whole messages are dropped: the rest of one must follow its beginning
        data = self._unsent + bytes(packet)
        self._unsent = data[self.cable.write(memoryview(data)) :]

    def answer(self, source: Source) -> None:
        """Do nothing: a cable has only one partner."""

    def close(self) -> None:
        self.cable.close()

    @property
    def handle(self) -> int:
        return self.cable.handle

    @property
    def answered(self) -> bool:
        return True
