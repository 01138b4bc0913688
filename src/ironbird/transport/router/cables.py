"""Connections of a router, created from texts: serial lines, UDP, TCP, pseudo-terminals, files."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import socket
import struct
import time
import tty
from pathlib import Path

from ironbird.errors import LinkError, shortened
from ironbird.transport.cable import MOST_BYTES, Cable, DatagramCable, SerialCable, StreamCable, waiting
from ironbird.transport.peers import Doorkeeper, own_address

FORMS = (
    "udpin:[HOST:]PORT, udpout:HOST:PORT, tcp:HOST:PORT, tcpin:[HOST:]PORT, serial:DEVICE[:BAUD], pty[:LINK] or "
    "file:LOG.tlog"
)
LOOPBACK = "127.0.0.1"
USUAL_BAUD = 921_600
LONGEST_BAUD = 8  # most digits of a baud rate
MOST_CLIENTS = 16
STAMP = struct.Struct(">Q")  # time stamp in microseconds before each packet of a telemetry log


class ServerCable(Cable):
    """TCP server: reads from and writes to all clients; on loopback only clients of the same user are accepted."""

    def __init__(self, port: int, host: str = LOOPBACK) -> None:
        self.name, self._address = f"TCP server {host}:{port}", (host, port)
        self._server: socket.socket | None = None
        self._clients: list[socket.socket] = []

    @property
    def port(self) -> int:
        """TCP port on which it listens."""
        assert self._server is not None
        return int(self._server.getsockname()[1])

    def open(self) -> None:
        self._server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            self._server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._server.bind(self._address)
            self._server.listen(MOST_CLIENTS)
        except OSError as error:
            self._server.close()
            host, port = self._address
            raise LinkError(
                f"TCP port {port} on {host} cannot be opened: {error.strerror}; see `ironbird doctor`"
            ) from None
        self._server.setblocking(False)
        self._door = Doorkeeper("tcp", self.port, None)
        self.handle = self._server.fileno()

    def read(self) -> bytes:
        assert self._server is not None
        with contextlib.suppress(OSError):
            while True:
                link, source = self._server.accept()
                if len(self._clients) >= MOST_CLIENTS or not self._door.lets_in(source):
                    link.close()
                    continue
                link.setblocking(False)
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._clients.append(link)
        parts: list[bytes] = []
        for link in list(self._clients):
            try:
                data = link.recv(MOST_BYTES)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            if not data:
                self._hang_up(link)
            parts.append(data)
        return b"".join(parts)

    def _hang_up(self, link: socket.socket) -> None:
        with contextlib.suppress(ValueError):
            self._clients.remove(link)
        link.close()

    def write(self, data: memoryview) -> int:
        for link in list(self._clients):
            try:
                if link.send(data) < len(data):
                    # a packet was sent in part: the client reads too slowly for what it subscribed to
                    self._hang_up(link)
            except BlockingIOError:
                pass  # this client loses the packet: a client that does not read must not delay the others
            except OSError:
                self._hang_up(link)
        return len(data)

    def wait(self, seconds: float) -> None:
        assert self._server is not None
        with contextlib.suppress(OSError, ValueError):  # the client was closed meanwhile
            select.select([self._server, *self._clients], [], [], max(seconds, 0.0))

    def close(self) -> None:
        for link in list(self._clients):
            self._hang_up(link)
        if self._server is not None:
            self._server.close()


class TerminalCable(Cable):
    """A pseudo-terminal that another program opens as its serial port; `link` is a name for it."""

    def __init__(self, link: str = "") -> None:
        self.name, self._link = "pseudo-terminal", Path(link) if link else None
        self.handle = self._slave = -1

    def open(self) -> None:
        # the slave end is kept open, so that programs may connect and disconnect
        self.handle, self._slave = pty.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self.handle, False)
        self.name = os.ttyname(self._slave)
        if self._link is not None:
            try:
                if self._link.is_symlink():
                    self._link.unlink()
                self._link.symlink_to(self.name)
            except OSError as error:
                self.close()
                raise LinkError(f"{self._link} cannot be made a link to {self.name}: {error.strerror}") from None

    def read(self) -> bytes:
        count = min(waiting(self.handle), MOST_BYTES)
        return os.read(self.handle, count) if count else b""

    def write(self, data: memoryview) -> int:
        try:
            return os.write(self.handle, data)
        except BlockingIOError:
            return len(data)  # no program reads: dropped, as on a serial line

    def wait(self, seconds: float) -> None:
        select.select([self.handle], [], [], max(seconds, 0.0))

    def close(self) -> None:
        for handle in (self.handle, self._slave):
            if handle >= 0:
                os.close(handle)
        self.handle = self._slave = -1
        if self._link is not None and self._link.is_symlink():
            self._link.unlink()


class FileCable(Cable):
    """A telemetry log played at the times of its stamps; bytes written to it are dropped."""

    def __init__(self, path: str) -> None:
        self.name, self._path = path, Path(path)
        self.finished = False

    def open(self) -> None:
        try:
            self._data = self._path.read_bytes()
        except OSError as error:
            raise LinkError(f"{self._path} cannot be read: {error.strerror}") from None
        if len(self._data) < STAMP.size + 8 or self._data[STAMP.size] not in (0xFE, 0xFD):
            raise LinkError(f"{self._path} is no telemetry log (.tlog): it does not begin with a stamp and a frame")
        self._place = 0
        self._first_us = STAMP.unpack_from(self._data)[0]
        self._begin = time.monotonic()

    def _next(self) -> tuple[float, int, int]:
        """Time in s from the start, begin and end offset of the next packet."""
        place = self._place + STAMP.size
        extra = 12 + (13 if self._data[place + 2] & 1 else 0) if self._data[place] == 0xFD else 8
        stamp = STAMP.unpack_from(self._data, self._place)[0]
        return (stamp - self._first_us) / 1e6, place, place + extra + self._data[place + 1]

    def read(self) -> bytes:
        parts: list[bytes] = []
        now_s = time.monotonic() - self._begin
        while self._place + STAMP.size + 3 <= len(self._data):
            due_s, begin, end = self._next()
            if due_s > now_s:
                return b"".join(parts)
            parts.append(self._data[begin:end])
            self._place = end
        self.finished = True
        return b"".join(parts)

    def write(self, data: memoryview) -> int:
        return len(data)

    def wait(self, seconds: float) -> None:
        if not self.finished and self._place + STAMP.size + 3 <= len(self._data):
            seconds = min(seconds, self._next()[0] - (time.monotonic() - self._begin))
        time.sleep(max(seconds, 0.0))

    def close(self) -> None:
        self.finished = True


def parse_cable(text: str) -> Cable:
    """A connection from its text (FORMS); HOST is loopback unless another is given."""
    kind, _, rest = text.partition(":")
    if kind == "pty":
        return TerminalCable(rest)
    if kind == "file" and rest:
        return FileCable(rest)
    if kind == "serial" and rest:
        device, _, baud = rest.rpartition(":")
        if not device or not (baud.isascii() and baud.isdecimal() and len(baud) <= LONGEST_BAUD):
            device, baud = rest, str(USUAL_BAUD)
        return SerialCable(device, int(baud))
    host, _, port_text = rest.rpartition(":")
    port = int(port_text) if port_text.isascii() and port_text.isdecimal() and len(port_text) <= 5 else -1
    if kind in ("udpin", "tcpin") and 0 <= port <= 65535:
        return DatagramCable(port, host or LOOPBACK) if kind == "udpin" else ServerCable(port, host or LOOPBACK)
    if kind in ("udpout", "tcp") and host and 1 <= port <= 65535:
        if kind == "tcp":
            return StreamCable(port, host)
        own = LOOPBACK if host.startswith(("127.", "localhost")) else own_address(host)
        return DatagramCable(0, own, peer=(host, port))
    raise LinkError(f"connection '{shortened(text)}' is not of the form {FORMS}")
