"""Boards in threads, for tests of the native exchange: at the far end of a pseudo-terminal or on UDP."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import socket
import threading
import tty
from collections.abc import Iterator

from ironbird.protocols.mavlink import dialect
from ironbird.protocols.mavlink.codec import Packer, Parser


class ThreadBoard:
    """Answers each HIL_SENSOR with controls, until it is told to end."""

    def __init__(self, throttle: float = 0.9) -> None:
        self.throttle = throttle
        self.got: list[int] = []  # ids of messages
        self.stamps: list[int] = []  # times of HIL_SENSOR, us
        self.lost = 0
        self._ends = threading.Event()

    def serve(self, handle: int, peer: tuple[str, int] | None = None) -> None:
        """On an open descriptor; with a `peer` it is a UDP socket and the first word is ours."""
        parser, packer = Parser(count_lost=True), Packer()
        line = socket.socket(fileno=os.dup(handle)) if peer is not None else None
        if line is not None and peer is not None:
            line.connect(peer)
        try:
            while not self._ends.is_set():
                if line is not None and not self.stamps:
                    packer.add(dialect.HEARTBEAT, 0, 2, 12, 0, 0, 3)
                    with contextlib.suppress(OSError):
                        line.send(packer.take())
                if not select.select([handle], [], [], 0.02)[0]:
                    continue
                with contextlib.suppress(OSError):
                    data = os.read(handle, 65536)
                    for number, payload, _, _ in parser.feed(data):
                        self.got.append(number)
                        if number == dialect.HIL_SENSOR.id:
                            self.stamps.append(dialect.HIL_SENSOR.unpack(payload)[0])
                            values = [self.throttle] * 16
                            packer.add(dialect.HIL_ACTUATOR_CONTROLS, self.stamps[-1], 0, *values, 129)
                    os.write(handle, packer.take())
        finally:
            self.lost = parser.lost
            if line is not None:
                line.close()

    def end(self) -> None:
        """Stop serving."""
        self._ends.set()


@contextlib.contextmanager
def serial_board(board: ThreadBoard) -> Iterator[str]:
    """The near end of a line with this board at the far end."""
    far, near = pty.openpty()
    tty.setraw(near)
    thread = threading.Thread(target=board.serve, args=(far,))
    thread.start()
    try:
        yield os.ttyname(near)
    finally:
        board.end()
        thread.join()
        os.close(far)
        os.close(near)


@contextlib.contextmanager
def udp_board(board: ThreadBoard) -> Iterator[int]:
    """The UDP port to which this board sends."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=board.serve, args=(own.fileno(), ("127.0.0.1", port)))
        thread.start()
        try:
            yield port
        finally:
            board.end()
            thread.join()
