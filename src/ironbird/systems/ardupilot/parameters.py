"""The MAVLink link over which Ironbird reads and sets ArduPilot's parameters, apart from the ground station's.

ArduPilot's second link sends to it. At the start it asks for each parameter that Ironbird set: ArduPilot ignores a name
in a parameter file that it does not know, so a mistyped failsafe would be a flight with another one.
"""

from __future__ import annotations

import math
import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any

from ironbird.errors import LinkError, shortened
from ironbird.host.process import AutopilotProcess
from ironbird.protocols.mavlink.codec import Packer, Parser
from ironbird.protocols.mavlink.dialect import HEARTBEAT, PARAM_ERROR, PARAM_REQUEST_READ, PARAM_SET, PARAM_VALUE
from ironbird.protocols.mavlink.numbers import MAV_COMP_ID_AUTOPILOT1, MAV_COMP_ID_MISSIONPLANNER, MAV_PARAM_TYPE_REAL32
from ironbird.rig.rig import Rig
from ironbird.transport.peers import Doorkeeper

VIRTUAL_PORT = 14660  # of this link, in virtual time
MOST_PACKETS = 100  # taken at once
GROUND_SYSTEM = 254  # of this link; the built-in ground station is 255
ANSWER_S, TRIES = 0.3, 20  # until a parameter is sent again, in wall and in simulation time
ASKED_AT_ONCE = 8  # ArduPilot drops requests beyond 20 that wait
ASKED_TIMES = 5  # before a parameter without an answer is taken as missing; releases before 4.7 say nothing
DOES_NOT_EXIST = 1  # of MAV_PARAM_ERROR


class ParameterLink:
    """Sends and receives parameters; ArduPilot's --serial1 sends to `port`."""

    def __init__(self, rig: Rig, process: AutopilotProcess | None = None) -> None:
        self.rig = rig
        run = process.run if process is not None else None
        if run is not None:
            self._socket, self.port = run.datagrams(VIRTUAL_PORT), VIRTUAL_PORT
        else:
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._socket.bind(("127.0.0.1", 0))
            self._socket.setblocking(False)
            self.port = int(self._socket.getsockname()[1])
        self._virtual = run is not None
        self.door = Doorkeeper("udp", self.port, None)
        self._peer: Any = None
        self._target = (1, 1)
        self._packer, self._parser = Packer(GROUND_SYSTEM, MAV_COMP_ID_MISSIONPLANNER), Parser()
        self.listeners: list[Callable[[str, float], None]] = []  # of names and values that arrive

    @property
    def joined(self) -> bool:
        """Whether ArduPilot has sent something."""
        return self._peer is not None

    def close(self) -> None:
        """Close the UDP port."""
        self._socket.close()

    def wall_s(self) -> float:
        """Wall time in s; in virtual time, simulation time."""
        return self.rig.time_s if self._virtual else time.perf_counter()

    def set(self, name: str, value: float) -> None:
        """Send the value of a parameter, if ArduPilot is there."""
        self._packer.add(PARAM_SET, value, *self._target, name.encode(), MAV_PARAM_TYPE_REAL32)
        self._send()

    def ask(self, names: Sequence[str]) -> None:
        """Ask for the values of parameters, if ArduPilot is there."""
        for name in names:
            self._packer.add(PARAM_REQUEST_READ, -1, *self._target, name.encode())
        self._send()

    def _send(self) -> None:
        packets = self._packer.take()
        if self._peer is not None and packets:
            self._socket.sendto(packets, self._peer)

    def poll(self) -> None:
        """Notify the listeners of what has arrived; the value of a parameter that ArduPilot lacks is not a number."""
        for _ in range(MOST_PACKETS):
            try:
                data, peer = self._socket.recvfrom(4096)
            except OSError:  # no packet, or ArduPilot has ended: the limit of retries reports it
                return
            if not self._virtual and not self.door.lets_in(peer):
                continue
            self._peer = peer
            for number, payload, system, component in self._parser.feed(data):
                if number == HEARTBEAT.id and component == MAV_COMP_ID_AUTOPILOT1:  # others arrive as well
                    self._target = (system, component)
                elif number == PARAM_VALUE.id:
                    value, _, _, letters, _ = PARAM_VALUE.unpack(payload)
                    self._tell(letters, value)
                elif number == PARAM_ERROR.id:
                    _, _, _, letters, error = PARAM_ERROR.unpack(payload)
                    if error == DOES_NOT_EXIST:
                        self._tell(letters, math.nan)

    def _tell(self, letters: bytes, value: float) -> None:
        for listener in self.listeners:
            listener(letters.rstrip(b"\0").decode(errors="replace"), value)


class PresenceCheck:
    """Asks ArduPilot for each of `names`, and raises `LinkError` for one that it does not have."""

    def __init__(self, link: ParameterLink, names: Sequence[str], who: str) -> None:
        self.link, self.who = link, who
        self._open = dict.fromkeys(names, 0)  # times asked
        self._asked: list[str] = []
        self._asked_at = (-math.inf, -math.inf)  # simulation and wall time
        link.listeners.append(self.take)

    @property
    def done(self) -> bool:
        """Whether ArduPilot has shown that it has all of them."""
        return not self._open

    def take(self, name: str, value: float) -> None:
        """Take what ArduPilot sent about a parameter."""
        if name in self._open and math.isnan(value):
            raise self._missing(name)
        self._open.pop(name, None)

    def poll(self) -> None:
        """Ask for the next ones, and again for those without an answer."""
        if self.done or not self.link.joined:
            return
        now, wall = self.link.rig.time_s, self.link.wall_s()
        waiting = [name for name in self._asked if name in self._open]
        late = now - self._asked_at[0] > ANSWER_S and wall - self._asked_at[1] > ANSWER_S
        if waiting and not late:
            return
        unanswered = next((name for name in waiting if self._open[name] >= ASKED_TIMES), None)
        if unanswered is not None:
            raise self._missing(unanswered)
        self._asked = (waiting + [name for name in self._open if name not in waiting])[:ASKED_AT_ONCE]
        for name in self._asked:
            self._open[name] += 1
        self._asked_at = now, wall
        self.link.ask(self._asked)

    def _missing(self, name: str) -> LinkError:
        return LinkError(
            f"{self.who} has no parameter '{shortened(name)}': look for its name in that version's list of parameters, "
            "or leave it out"
        )


def as_float32(value: float) -> float:
    """The value as ArduPilot keeps it."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])
