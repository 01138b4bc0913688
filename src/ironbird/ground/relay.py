"""Relay for other ground stations that command an autopilot in virtual time, recorded and replayed.

The autopilot's link for ground stations ends in a port of its run. Its messages are sent to UDP 14550 of this computer;
answers are passed to it between two steps, when all its threads wait, and are recorded with the time of that moment. A
flight with this record as its script gets the same bytes at the same times, and repeats to the last one; live messages
are ignored then.

MAV_CMD_INJECT_FAILURE is answered here and acts on the vehicle: its failures are faults of the catalogue
(`rig/failures.py`), ordered with their times, so that a repetition has them without the record. With `answers_failures`
false the autopilot gets the command.

Not recorded: messages to the autopilot over links that virtual time does not have (TCP, serial lines).
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections import deque

from ironbird.errors import IronbirdError, LinkError
from ironbird.faults.spec import Injection
from ironbird.host.process import GROUND_STATION_PORT, AutopilotProcess
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.protocols.mavlink.codec import Packer
from ironbird.rig.failures import Failures, has_counterpart
from ironbird.rig.rig import Rig
from ironbird.transport.frames import FrameReader

HEADER = "# ironbird: what ground stations sent, 1: microseconds, bytes"
MOST_PACKETS = 200  # taken at once
MOST_BYTES = 2048  # of a datagram: MAVLink's longest is 280
MOST_RECORDED = 64 << 20  # bytes of a record: a flooding station ends the flight instead of filling the memory


INJECT_FAILURE = struct.pack("<H", numbers.INJECT_FAILURE)  # as it stands in a message


def is_record(script: str) -> bool:
    """Whether a script is a record of this module."""
    return script.startswith(HEADER)


def read_record(script: str) -> deque[tuple[int, bytes]]:
    """Times in µs and datagrams of a record; `LinkError` names an invalid line."""
    if not is_record(script):
        raise LinkError(f"this is no record of a ground station: its first line is not '{HEADER}'")
    entries: deque[tuple[int, bytes]] = deque()
    for number, line in enumerate(script.splitlines()[1:], start=2):
        time_us, _, data = line.partition(" ")
        try:
            entry = int(time_us), bytes.fromhex(data)
        except ValueError:
            raise LinkError(f"record of a ground station, line {number}: '{line[:40]}' is no time with bytes") from None
        if entry[0] < (entries[-1][0] if entries else 0) or not 0 < len(entry[1]) <= MOST_BYTES:
            raise LinkError(
                f"record of a ground station, line {number}: times go up and datagrams have 1 to {MOST_BYTES} bytes"
            )
        entries.append(entry)
    return entries


class Relay:
    """The autopilot's link for ground stations, in virtual time: `port` of the run; `script` is a record to replay."""

    def __init__(
        self, process: AutopilotProcess, port: int, *, peer_port: int | None = None, script: str = "",
        outside: int = GROUND_STATION_PORT, answers_failures: bool = True,
    ) -> None:  # fmt: skip
        assert process.run is not None
        self._process = process
        self._played = read_record(script) if script else None
        self._lines, self._size = [HEADER], 0
        self._peer = process.run.address(peer_port) if peer_port is not None else None
        self._inside = process.run.datagrams(port)
        self._outside: socket.socket | None = None
        if self._played is None:
            self._outside = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._outside.bind(("127.0.0.1", 0))
            self._outside.setblocking(False)
        self._to = ("127.0.0.1", outside)
        self._answers_failures = answers_failures
        self._failures: Failures | None = None
        self._packer = Packer()

    def poll(self, time_us: int, rig: Rig | None = None) -> None:
        """Forward packets in both directions between two steps of the run; failures act on the `rig`."""
        self._process.settle()
        for _ in range(MOST_PACKETS):
            try:
                data, source = self._inside.recvfrom(65536)
            except OSError:
                break
            self._peer = source or self._peer
            if self._outside is not None:
                with contextlib.suppress(OSError):  # no listener, or not fast enough
                    self._outside.sendto(data, self._to)
        for packet in self._due(time_us):
            data = packet
            if rig is not None and self._answers_failures and INJECT_FAILURE in packet:
                data = self._without_failures(packet, rig)
            if self._peer is not None and data:
                self._lines.append(f"{time_us} {data.hex()}")
                with contextlib.suppress(OSError):  # its port is not open yet, or no longer
                    self._inside.sendto(data, self._peer)

    def _without_failures(self, packet: bytes, rig: Rig) -> bytes:
        """The frames of a datagram that are for the autopilot; failures among them act and are answered."""
        rest = b""
        for frame in FrameReader().feed(packet):
            message = dialect.MESSAGES.get(frame.id)
            if message not in (dialect.COMMAND_LONG, dialect.COMMAND_INT):
                rest += frame.data
                continue
            command = message.read(frame.payload)
            if command.command != numbers.INJECT_FAILURE:
                rest += frame.data
                continue
            asked = command.param1, command.param2, command.param3
            self._failures = self._failures or Failures(_Breaking(rig))
            reason = self._failures.take(*asked)
            result = numbers.MAV_RESULT_ACCEPTED if reason is None else numbers.MAV_RESULT_DENIED
            if reason is not None and not has_counterpart(asked[0], asked[1]):
                result = numbers.MAV_RESULT_UNSUPPORTED
            self._packer.add(dialect.COMMAND_ACK, numbers.INJECT_FAILURE, result, 255, 0, frame.sysid, frame.compid)
            if self._outside is not None:
                with contextlib.suppress(OSError):
                    self._outside.sendto(self._packer.take(), self._to)
        return rest

    def _due(self, time_us: int) -> list[bytes]:
        """Datagrams to pass to the autopilot now: from the record, or from outside."""
        packets: list[bytes] = []
        if self._played is not None:
            while self._played and self._played[0][0] <= time_us:
                packets.append(self._played.popleft()[1])
            return packets
        assert self._outside is not None
        for _ in range(MOST_PACKETS):
            try:
                data, _ = self._outside.recvfrom(MOST_BYTES)
            except OSError:
                break
            if data:
                packets.append(data)
                self._size += len(data)
        if self._size > MOST_RECORDED:
            raise LinkError(f"a ground station has sent more than {MOST_RECORDED >> 20} MB: end it, or fly shorter")
        return packets

    def record(self) -> str:
        """All datagrams passed to the autopilot so far, as a script."""
        return "\n".join(self._lines) + "\n"

    def close(self) -> None:
        """Close the ports; further calls do nothing."""
        self._inside.close()
        if self._outside is not None:
            self._outside.close()


class _Breaking:
    """A rig that gives the reason of a refusal as text."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig

    def inject(self, injection: Injection) -> str | None:
        """Begin a fault; returns the reason of a refusal, or None."""
        try:
            self._rig.inject(injection)
        except IronbirdError as error:
            return str(error)
        return None

    def end(self, injection: Injection) -> str | None:
        """End a fault; returns the reason of a refusal, or None."""
        try:
            self._rig.end(injection)
        except IronbirdError as error:
            return str(error)
        return None
