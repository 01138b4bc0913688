"""A client that behaves on the wire as PX4 does, for tests of the link: real sockets, a thread of its own."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from pymavlink.dialects.v20 import common

HELLO = (0, 0, 511, 0, 115.0, 5000.0, 0, 0, 0, 0, 0)
STEP = common.MAVLINK_MSG_ID_HIL_SENSOR
Answer = Callable[[int, int], bytes | None]  # number of the step and its time -> what is sent; None ends the connection


class Px4Like(threading.Thread):
    """Connects, says hello as PX4 does, and answers each HIL_SENSOR of id 0; keeps all that it was sent."""

    def __init__(self, port: int, answer: Answer | None = None) -> None:
        super().__init__(daemon=True)
        self.port = port
        self.codec = common.MAVLink(None, srcSystem=1, srcComponent=1)
        self.answer = answer or (lambda number, time_us: self.controls(time_us, [0.5] * 4))
        self.got: list[Any] = []
        self.counts: Counter[str] = Counter()
        self.steps = 0
        self.error: Exception | None = None

    def controls(self, time_us: int, values: list[float], *, armed: bool = True, lockstep: bool = True) -> bytes:
        """A frame of HIL_ACTUATOR_CONTROLS."""
        message = common.MAVLink_hil_actuator_controls_message(
            time_us, [*values, *[0.0] * (16 - len(values))], 129 if armed else 1, int(lockstep)
        )
        return bytes(message.pack(self.codec))

    def run(self) -> None:
        """Until the connection ends."""
        with contextlib.suppress(OSError), contextlib.closing(self._connect()) as link:
            link.settimeout(60)
            link.sendall(common.MAVLink_command_long_message(*HELLO).pack(self.codec))
            link.sendall(common.MAVLink_heartbeat_message(0, 12, 0, 0, 0, 3).pack(self.codec))
            reader = common.MAVLink(None)
            while True:
                data = link.recv(65536)
                if not data:
                    return
                try:
                    messages = reader.parse_buffer(data) or []
                except common.MAVError as error:
                    self.error = error
                    return
                for message in messages:
                    self.got.append(message)
                    self.counts[message.get_type()] += 1
                    if message.get_msgId() == STEP and message.id == 0:
                        self.steps += 1
                        reply = self.answer(self.steps, message.time_usec)
                        if reply is None:
                            return
                        link.sendall(reply)

    def _connect(self) -> socket.socket:
        deadline = time.monotonic() + 60
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.port), timeout=1)
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.002)
