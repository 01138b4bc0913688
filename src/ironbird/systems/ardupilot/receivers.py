"""The vehicle's satellite receivers on ArduPilot's serial ports: each a NEO-M8N that speaks UBX.

ArduPilot's own driver sets the receiver up and reads it, so position, velocity, accuracy, rate and satellites are those
of the vehicle's receiver with its errors and faults. A receiver without new fixes is silent. The baud rate has no
effect: bytes go over UDP.
"""

from __future__ import annotations

import contextlib
import math
import socket
from collections.abc import Sequence
from typing import Any

from ironbird.boards.chips.parts.neo_m8n import NeoM8n
from ironbird.host.process import AutopilotProcess
from ironbird.rig.rig import Receiver, Rig
from ironbird.transport.peers import Doorkeeper

SERIAL_PORTS = (3, 4)  # of ArduPilot, where it looks for receivers by default
VIRTUAL_PORT = 14671  # UDP port of the first receiver, in virtual time
POLL_TICKS = 20  # divides the period of the fixes
SLOWEST_S, LATE = 0.2, 1.25  # s between fixes as ArduPilot orders them; a fix later than this share is missing
MOST_BYTES = 512  # of a packet


class Line:
    """A receiver and the UDP port that stands for its serial line."""

    def __init__(self, receiver: Receiver, number: int, process: AutopilotProcess) -> None:
        self.receiver, self.chip = receiver, NeoM8n()
        run = process.run
        if run is not None:
            self.port = VIRTUAL_PORT + number
            self._socket = run.datagrams(self.port)
        else:
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._socket.bind(("127.0.0.1", 0))
            self._socket.setblocking(False)
            self.port = int(self._socket.getsockname()[1])
        self.door: Doorkeeper | None = None if run is not None else Doorkeeper("udp", self.port, None)
        self._peer: Any = None
        self._fixed_s, self._gap_s = -math.inf, math.inf  # time of the newest fix, and the least time between two

    def close(self) -> None:
        """Close the port."""
        self._socket.close()

    def poll(self, rig: Rig) -> None:
        """Give the chip the newest fix and what ArduPilot sent; send what it says."""
        chip, now_ns = self.chip, rig.time_us * 1000
        self._feed(rig)
        for data in self._heard():
            for value in data:
                chip.uart_byte(now_ns, value)
        chip.advance(now_ns)
        said = bytearray()
        while (value := chip.uart_next(now_ns)) >= 0:
            said.append(value)
        late = rig.time_s - self._fixed_s > LATE * max(self._gap_s if math.isfinite(self._gap_s) else 0.0, SLOWEST_S)
        if late or self._peer is None:  # nothing of a silent receiver, and without a listener it is lost
            return
        for begin in range(0, len(said), MOST_BYTES):
            with contextlib.suppress(OSError):  # it is gone: the wait for its outputs reports it
                self._socket.sendto(said[begin : begin + MOST_BYTES], self._peer)

    def _feed(self, rig: Rig) -> None:
        receiver = self.receiver
        if not receiver.position_N.fresh():
            return
        if math.isfinite(self._fixed_s):
            self._gap_s = min(self._gap_s, rig.time_s - self._fixed_s)
        self._fixed_s = rig.time_s
        latitude, longitude, height = rig.geodetic(receiver.position_N.values)
        north, east, down = receiver.velocity_N.values.tolist()
        detail = receiver.details
        self.chip.feed(
            latitude=math.radians(latitude),
            longitude=math.radians(longitude),
            height=height,
            velocity_n=north,
            velocity_e=east,
            velocity_d=down,
            eph=float(detail["eph"][0]),
            epv=float(detail["epv"][0]),
            speed_accuracy=float(detail["speed_accuracy"][0]),
            satellites=float(detail["satellites_used"][0]),
            fix=float(detail["fix_type"][0]),
        )

    def _heard(self) -> Sequence[bytes]:
        found = []
        with contextlib.suppress(OSError):  # no more packets
            while True:
                data, peer = self._socket.recvfrom(4096)
                if self.door is None or self.door.lets_in(peer):
                    self._peer = peer
                    found.append(data)
        return found


class Receivers:
    """All receivers of a vehicle that ArduPilot has serial ports for."""

    def __init__(self, rig: Rig, process: AutopilotProcess) -> None:
        self.rig = rig
        self.lines = [
            Line(receiver, number, process) for number, receiver in enumerate(rig.receivers[: len(SERIAL_PORTS)])
        ]
        self._next_tick = 0

    def arguments(self) -> list[str]:
        """Arguments of ArduPilot's command line: its serial ports lead to the receivers, and nowhere without one."""
        ports = [f"udpclient:127.0.0.1:{line.port}" for line in self.lines]
        ports += ["none:"] * (len(SERIAL_PORTS) - len(ports))
        return [word for serial, port in zip(SERIAL_PORTS, ports, strict=True) for word in (f"--serial{serial}", port)]

    def admit(self, pid: int | None) -> None:
        """Only the process `pid` may be at the other end."""
        for line in self.lines:
            if line.door is not None:
                line.door.pid = pid

    def poll(self) -> None:
        """Run the receivers up to now; cheap if nothing is due."""
        tick = self.rig.state.tick
        if tick < self._next_tick:
            return
        self._next_tick = (tick // POLL_TICKS + 1) * POLL_TICKS
        for line in self.lines:
            line.poll(self.rig)

    def close(self) -> None:
        """Close all ports."""
        for line in self.lines:
            line.close()
