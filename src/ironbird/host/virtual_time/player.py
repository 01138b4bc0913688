"""The player of a record: does again to a run in virtual time what a simulator once did to one."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Mapping
from typing import Any

from ironbird.errors import LinkError
from ironbird.host.virtual_time.record import ALLOW, CONNECTED, DATAGRAM, EMPTIED, NEXT, STREAM, ZERO, Entry
from ironbird.host.virtual_time.run import VirtualRun

CONNECT_S, STEP_S = 60.0, 0.001  # most virtual time until a program connects, and the pieces of it


class Player:
    """Does again to a run what entries say; the ports of `about` are opened before the program starts."""

    def __init__(self, run: VirtualRun, about: Mapping[str, Any], settle: Callable[[], None]) -> None:
        self._run, self._settle = run, settle
        self._servers = {port: run.server(port) for port in about["streams"]}
        self._streams: dict[int, socket.socket] = {}
        self._ports = {port: run.datagrams(port) for port in about["ports"]}
        for server in self._servers.values():
            server.setblocking(False)

    def play(self, entry: Entry) -> None:
        """Do what one entry says; all threads of the program must wait. A signal is left to the caller."""
        if entry.kind == ALLOW:
            self._accept()
            self._run.allow_ns(entry.time_ns)
        elif entry.kind == NEXT:
            self._run.allow(entry.time_ns // 1000)
        elif entry.kind == CONNECTED:
            self._wait()
        elif entry.kind == ZERO:
            self._run.zero_is_now()
        elif entry.kind == STREAM:
            self._send(entry)
        elif entry.kind == DATAGRAM:
            with contextlib.suppress(OSError):  # the program has not opened that port, as it may not have then
                self._port(entry.port).sendto(entry.data, str(self._run.net / entry.name))
        elif entry.kind == EMPTIED:
            with contextlib.suppress(OSError):
                while True:
                    self._port(entry.port).recvfrom(1 << 16)

    def _port(self, number: int) -> socket.socket:
        if number not in self._ports:
            self._ports[number] = self._run.datagrams(number)
        return self._ports[number]

    def _accept(self) -> None:
        for port, server in self._servers.items():
            if port not in self._streams:
                with contextlib.suppress(BlockingIOError):
                    self._streams[port] = server.accept()[0]

    def _wait(self) -> None:
        """Let the program run until it has connected to all streams; that moment is zero."""
        for _ in range(round(CONNECT_S / STEP_S)):
            self._accept()
            if len(self._streams) == len(self._servers):
                self._run.zero_is_now()
                return
            self._run.allow_more(STEP_S)
            self._settle()
        raise LinkError(f"it did not connect to TCP port {min(self._servers)} within {CONNECT_S:g} s of virtual time")

    def _send(self, entry: Entry) -> None:
        self._accept()
        stream = self._streams.get(entry.port)
        if stream is None:
            raise LinkError(f"it has not connected to TCP port {entry.port} by the time at which the recorded one had")
        stream.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while stream.recv(1 << 16):
                pass
        stream.setblocking(True)
        stream.sendall(entry.data)

    def close(self) -> None:
        """Close all ports."""
        for made in (*self._servers.values(), *self._streams.values(), *self._ports.values()):
            made.close()
