"""Non-blocking cables to a flight controller: a serial port, UDP or TCP, and their capacity."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import socket
import sys
import termios
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ironbird.errors import LinkError
from ironbird.protocols.mavlink import dialect

FRAMING = 12  # bytes of a MAVLink 2 frame in addition to its payload
BITS_PER_BYTE = 10  # start bit, eight data bits, stop bit
MOST_BYTES = 65536  # most bytes of one read
MOST_PACKETS = 256  # most packets of one read: a sender faster than the reader must not delay a step
RECEIVED = 1 << 22  # bytes of the receive buffer, for when the reader is delayed
RECEIVED_BY_FORCE = 33  # SO_RCVBUFFORCE of socket(7): exceeds the system's limit, root only
SILENT_S = 2.0  # s of silence after which another sender is accepted as the board
LOOK_S = 2e-4  # s between two polls of a serial port
USUAL_BAUDS = (57_600, 115_200, 230_400, 460_800, 921_600, 1_500_000, 2_000_000, 3_000_000)


@dataclass(frozen=True)
class Load:
    """Load of a cable in one direction: its messages and its capacity."""

    direction: str
    parts: Mapping[str, tuple[float, int]]  # messages per second and bytes of each, by name
    room_per_s: float | None  # capacity in bytes per second; None for a network

    @property
    def bytes_per_s(self) -> float:
        """Bytes per second of all messages together."""
        return sum(rate * size for rate, size in self.parts.values())

    @property
    def fits(self) -> bool:
        """Whether the messages fit into the capacity."""
        return self.room_per_s is None or self.bytes_per_s <= self.room_per_s

    @property
    def least_baud(self) -> int:
        """The smallest common baud rate that carries the messages."""
        bits_per_s = self.bytes_per_s * BITS_PER_BYTE
        return next((baud for baud in USUAL_BAUDS if baud >= bits_per_s), round(bits_per_s))

    def sentence(self) -> str:
        """The load and the capacity as a sentence with numbers."""
        parts = ", ".join(f"{name} {rate * size:.0f}" for name, (rate, size) in self.parts.items())
        if self.room_per_s is None:
            return f"{self.direction}: {self.bytes_per_s:.0f} bytes/s over a network ({parts})"
        share = 100 * self.bytes_per_s / self.room_per_s
        return f"{self.direction}: {self.bytes_per_s:.0f} of {self.room_per_s:.0f} bytes/s ({share:.0f} %: {parts})"


def load_of(direction: str, rates_hz: Mapping[dialect.Message, float], baud: int | None) -> Load:
    """Load of messages sent at their rates (Hz), all at full length, compared with a serial line's baud rate."""
    parts = {message.name: (rate, message.payload.size + FRAMING) for message, rate in rates_hz.items()}
    return Load(direction, parts, None if baud is None else baud / BITS_PER_BYTE)


class Cable(ABC):
    """Bytes to and from a board. `OSError` from `read` and `write` means that the connection is lost."""

    name: str
    baud: int | None = None  # None for a network, which has no limit
    handle: int = -1  # file descriptor for `select` while it is open

    @abstractmethod
    def open(self) -> None:
        """Open the cable; `LinkError` with advice if that fails."""

    @abstractmethod
    def read(self) -> bytes:
        """Bytes received since the last call; never waits."""

    @abstractmethod
    def write(self, data: memoryview) -> int:
        """Send bytes and return how many were accepted; never waits."""

    @abstractmethod
    def wait(self, seconds: float) -> None:
        """Wait until bytes may have been received, for at most so many seconds."""

    @abstractmethod
    def close(self) -> None:
        """Close the cable. May be called twice."""

    def check(self) -> None:
        """Raise `LinkError` if it is clear without opening it that it cannot be opened."""
        return


class SerialCable(Cable):
    """A serial port, or a device that behaves like one."""

    def __init__(self, device: str, baud: int = 921_600) -> None:
        self.name, self.baud = device, baud

    def check(self) -> None:
        if os.path.isabs(self.name) and not os.path.exists(self.name):
            missing = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            raise LinkError(f"serial port {self.name} cannot be opened: {self._why(missing)}")

    def open(self) -> None:
        import serial  # imported here: the other cables do not need it

        try:
            self._port = serial.Serial(self.name, self.baud, timeout=0, write_timeout=0, exclusive=True)
        except (serial.SerialException, OSError, ValueError) as error:
            raise LinkError(f"serial port {self.name} cannot be opened: {self._why(error)}") from None
        self.handle = self._port.fd  # pyserial's own write spins when the buffer is full

    def _why(self, error: Exception) -> str:
        number = getattr(error, "errno", None)
        if number == errno.ENOENT:
            there = ", ".join(ports()) or "no serial port at all"
            return f"there is no such device; is the board plugged in? This computer has {there}"
        if number == errno.EACCES:
            return "no permission; join its group ('sudo usermod -aG dialout $USER') and log in again"
        if number in (errno.EBUSY, errno.EAGAIN):
            return "another program holds it; close QGroundControl, stop ModemManager, or see 'fuser' for who it is"
        if isinstance(error, ValueError):
            return f"{self.baud} baud is refused ({error})"
        return f"{error}; is it a serial port?"

    def read(self) -> bytes:
        count = waiting(self.handle)
        return os.read(self.handle, count) if count else b""

    def write(self, data: memoryview) -> int:
        try:
            return os.write(self.handle, data)
        except BlockingIOError:
            return 0

    def wait(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        with contextlib.suppress(OSError):  # the connection is lost: the next read reports it
            while not waiting(self.handle) and (left := deadline - time.monotonic()) > 0.0:
                time.sleep(min(left, LOOK_S))

    def close(self) -> None:
        if self.handle >= 0:
            self.handle = -1
            self._port.close()


def make_room(opened: socket.socket) -> None:
    """Enlarge a socket's receive buffer for a delayed reader: up to the system's limit, beyond it as root."""
    for option in (socket.SO_RCVBUF, RECEIVED_BY_FORCE):
        with contextlib.suppress(OSError):
            opened.setsockopt(socket.SOL_SOCKET, option, RECEIVED)


def waiting(handle: int) -> int:
    """Bytes of a terminal that can be read now.

    Linux lets a reader or poller of an empty terminal wait for a worker of the kernel without real-time priority: on a
    busy computer for tenths of a second. Reading the count does not wait.
    """
    return int.from_bytes(fcntl.ioctl(handle, termios.FIONREAD, bytes(4)), sys.byteorder)


def ports() -> list[str]:
    """Names of this computer's serial ports that may be boards."""
    patterns = ("ttyACM*", "ttyUSB*", "ttyAMA*", "cu.usb*")
    return sorted(str(path) for pattern in patterns for path in Path("/dev").glob(pattern))


class SocketCable(Cable):
    """Base of cables that are a socket."""

    _socket: socket.socket | None = None

    def wait(self, seconds: float) -> None:
        assert self._socket is not None
        select.select([self._socket], [], [], max(seconds, 0.0))

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()


class DatagramCable(SocketCable):
    """UDP, for boards with a network port: received on `port`, answered where the first packet came from.

    Packets of other senders are ignored (`strangers` counts them) while the board sends; after `SILENT_S` of silence
    the next sender is the board, as one that was restarted may send from another port. A board's own cable has a fixed
    `peer` and uses any free port. The protocol has no authentication: a sender can be forged.
    """

    def __init__(self, port: int, host: str = "127.0.0.1", *, peer: tuple[str, int] | None = None) -> None:
        self.name = f"udp {host}:{port}" if peer is None else f"udp {peer[0]}:{peer[1]}"
        self._own = (host, port)
        self.waits_for_peer = peer is None  # the first sender becomes the peer
        self._peer = peer
        self._heard_at = -SILENT_S
        self.strangers = 0  # number of packets from other senders

    def open(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind(self._own)
        except OSError as error:
            self._socket.close()
            raise LinkError(
                f"UDP port {self._own[1]} on {self._own[0]} cannot be opened: {error.strerror}; see `ironbird doctor`"
            ) from None
        self._socket.setblocking(False)
        make_room(self._socket)
        self.handle = self._socket.fileno()

    def read(self) -> bytes:
        assert self._socket is not None
        parts: list[bytes] = []
        now = time.monotonic()
        with contextlib.suppress(BlockingIOError, ConnectionRefusedError):
            for _ in range(MOST_PACKETS):
                if sum(map(len, parts)) > MOST_BYTES:
                    break
                data, source = self._socket.recvfrom(MOST_BYTES)
                if source != self._peer and now - self._heard_at < SILENT_S:
                    self.strangers += 1
                    continue
                self._peer, self._heard_at = source, now
                parts.append(data)
        return b"".join(parts)

    def meet(self, seconds: float) -> bool:
        """Wait for a first packet (it stays readable) and make its sender the peer; returns whether there is one."""
        assert self._socket is not None
        if self._peer is None:
            self.wait(seconds)
            with contextlib.suppress(BlockingIOError):
                _, self._peer = self._socket.recvfrom(1, socket.MSG_PEEK)
                self._heard_at = time.monotonic()
        return self._peer is not None

    @property
    def peer_address(self) -> bytes:
        """Address of the peer as `struct sockaddr_in` of ip(7); empty until a packet was received."""
        if self._peer is None:
            return b""
        family, port = socket.AF_INET.to_bytes(2, sys.byteorder), self._peer[1].to_bytes(2, "big")
        return family + port + socket.inet_aton(self._peer[0]) + bytes(8)

    def write(self, data: memoryview) -> int:
        assert self._socket is not None
        if self._peer is None:
            return len(data)  # no peer yet: dropped
        try:
            return self._socket.sendto(data, self._peer)
        except (BlockingIOError, ConnectionRefusedError):
            return 0


class StreamCable(SocketCable):
    """TCP connection to a listening server such as ArduPilot's SITL or a bridge; `connect_s` limits the attempt."""

    def __init__(self, port: int, host: str = "127.0.0.1", *, connect_s: float = 5.0) -> None:
        self.name = f"TCP {host}:{port}"
        self._address = (host, port)
        self._connect_s = connect_s

    def open(self) -> None:
        try:
            self._socket = socket.create_connection(self._address, timeout=self._connect_s)
        except OSError as error:
            raise LinkError(f"{self.name} cannot be reached: {error.strerror or error}; does it listen?") from None
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.handle = self._socket.fileno()

    def read(self) -> bytes:
        assert self._socket is not None
        try:
            data = self._socket.recv(MOST_BYTES)
        except BlockingIOError:
            return b""
        if not data:
            raise ConnectionResetError(errno.ECONNRESET, "the other side hung up")
        return data

    def write(self, data: memoryview) -> int:
        assert self._socket is not None
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
