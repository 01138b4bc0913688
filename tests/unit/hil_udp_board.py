"""Boards in threads, for tests of the native exchange: at the far end of a pseudo-terminal or on UDP."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import socket
import threading
import time
import tty
from collections.abc import Iterator

from ironbird.protocols.mavlink import dialect
from ironbird.protocols.mavlink.codec import Packer, Parser

JOIN_S = 60.0


class ThreadBoard:
    """Answers each HIL_SENSOR with controls, until it is told to end; answers that find no room are lost."""

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
                    answers = b""
                    for stamp in self._heard(parser, os.read(handle, 65536)):
                        packer.add(dialect.HIL_ACTUATOR_CONTROLS, stamp, 0, *[self.throttle] * 16, 129)
                        answers += packer.take()
                    os.write(handle, answers)
        finally:
            self.lost = parser.lost
            if line is not None:
                line.close()

    def _heard(self, parser: Parser, data: bytes) -> list[int]:
        """Note what arrived; returns the times of its HIL_SENSOR, us."""
        before = len(self.stamps)
        for number, payload, _, _ in parser.feed(data):
            self.got.append(number)
            if number == dialect.HIL_SENSOR.id:
                self.stamps.append(dialect.HIL_SENSOR.unpack(payload)[0])
        return self.stamps[before:]

    def hear_until(self, stamp_us: int) -> None:
        """Wait until it has read the HIL_SENSOR of this time: on a busy machine it reads after the flight has ended."""
        deadline = time.monotonic() + JOIN_S
        while (not self.stamps or self.stamps[-1] < stamp_us) and time.monotonic() < deadline:
            time.sleep(0.01)

    def end(self) -> None:
        """Stop serving."""
        self._ends.set()


@contextlib.contextmanager
def serial_board(board: ThreadBoard) -> Iterator[str]:
    """The near end of a line with this board at the far end."""
    far, near = pty.openpty()
    tty.setraw(near)
    os.set_blocking(far, False)  # a bench that has ended reads no answers, and the buffer of the line gets full
    thread = threading.Thread(target=board.serve, args=(far,))
    thread.start()
    try:
        yield os.ttyname(near)
    finally:
        board.end()
        thread.join(JOIN_S)
        assert not thread.is_alive()
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
            thread.join(JOIN_S)
            assert not thread.is_alive()
