"""The packet monitor: what goes over the links of a flight, message by message; the newest packets for a file.

The watched link only hands over its bytes; they are decoded when a user looks, and some now and then while a browser
is open. So a flight loses nothing of its time; where more comes than is read, the newest packets of each way are kept,
and `skipped` counts the others.
Figures are of the wall's time. Latency is from a packet that asks for an answer to the answer, as seen here: a command
and its acknowledgement, a parameter, a mission's items, sensors and the controls that follow them. What is missing is
counted by the senders' own numbers, where a protocol has any.
"""

from __future__ import annotations

import itertools
import statistics
import struct
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from ironbird.app.packets import PROTOCOLS, Packet, Raw, Reader, reader_of
from ironbird.app.pcap import Captured, capture
from ironbird.transport.router.router import Traffic

MOST_KEPT = 5000  # packets of one way, for the file
MOST_AT_ONCE = 200  # pieces of one way that are read while no user looks
MOST_WAYS = 32  # partners, each in one direction; the one that was silent for the longest is forgotten
MOST_MESSAGES = 300  # kinds of one way
MOST_LATENCIES = 200
STAMP = struct.Struct(">Q")  # of a tlog: microseconds since 1970, before each packet
_ITEMS = ("MISSION_COUNT", "MISSION_ITEM_INT", "MISSION_ITEM")
ASKED_BY: dict[str, tuple[str, ...]] = {  # answer -> what may have asked for it
    "COMMAND_ACK": ("COMMAND_LONG", "COMMAND_INT"),
    "PARAM_VALUE": ("PARAM_REQUEST_READ", "PARAM_SET", "PARAM_REQUEST_LIST"),
    "MISSION_REQUEST_INT": _ITEMS,
    "MISSION_REQUEST": _ITEMS,
    "MISSION_ACK": (*_ITEMS, "MISSION_CLEAR_ALL"),
    "MISSION_COUNT": ("MISSION_REQUEST_LIST",),
    "TIMESYNC": ("TIMESYNC",),
    "HIL_ACTUATOR_CONTROLS": ("HIL_SENSOR",),
    "HIL_CONTROLS": ("HIL_SENSOR",),
    "servos 16": ("JSON",),
    "servos 32": ("JSON",),
    "UBX ACK-ACK": ("UBX CFG-PRT", "UBX CFG-MSG", "UBX CFG-RATE", "UBX CFG-NAV5"),
}
ASKS = frozenset(name for names in ASKED_BY.values() for name in names)


_Piece = tuple[int, int, float, int, bytes]  # number of all, number of its way, wall time, time since 1970 in ns, bytes


@dataclass
class _Message(Traffic):
    """One kind of packet on one way."""

    packet: Packet = field(default_factory=lambda: Packet("", b""))
    protocol: str = Raw.protocol
    latencies_s: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_LATENCIES))


@dataclass
class _Way:
    """Packets of one partner in one direction."""

    reader: Reader = field(default_factory=Raw)
    waiting: deque[_Piece] = field(default_factory=lambda: deque(maxlen=MOST_KEPT))  # bytes that were not decoded
    pieces: int = 0  # of bytes, so far
    read: int = 0  # number of the last of them that was looked at
    messages: dict[str, _Message] = field(default_factory=dict)
    count: int = 0
    missing: int = 0  # by the numbers of their senders
    last: dict[tuple[int, int], int] = field(default_factory=dict)
    asked: dict[str, float] = field(default_factory=dict)  # when, of what is not answered yet
    kept: deque[tuple[int, bytes, str]] = field(default_factory=lambda: deque(maxlen=MOST_KEPT))
    heard: float = 0.0

    def take(self, packet: Packet, now: float, time_ns: int, other: _Way | None) -> None:
        self.count += 1
        self.kept.append((time_ns, packet.data, self.reader.protocol))
        if packet.sequence >= 0:
            before = self.last.get(packet.sender)
            if before is not None:
                self.missing += (packet.sequence - before - 1) % packet.modulus
            self.last[packet.sender] = packet.sequence
        if packet.name not in self.messages and len(self.messages) >= MOST_MESSAGES:
            return
        found = self.messages.setdefault(packet.name, _Message())
        found.count += 1
        found.size += len(packet.data)
        found.packet, found.protocol = packet, self.reader.protocol
        found.times.append(now)
        if packet.name in ASKS:
            self.asked[packet.name] = now
        if other is not None and packet.name in ASKED_BY:
            asked = [other.asked.pop(name) for name in ASKED_BY[packet.name] if name in other.asked]
            if asked:
                found.latencies_s.append(now - max(asked))


class Monitor:
    """Counts packets by partner, direction and message; flights and routers call `watch`, others the rest."""

    def __init__(self) -> None:
        self.skipped = 0  # pieces of bytes that came and went while no user looked
        self._ways: dict[tuple[str, bool], _Way] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def watch(self, partner: str, came: bool, data: bytes, at_s: float | None = None) -> None:
        """Take note of bytes that came or went: now, or at a moment of the monotonic clock before."""
        if not data:
            return
        way = self._ways.get((partner, came)) or self._open(partner, came)
        now = time.monotonic()
        way.heard, way.pieces = now if at_s is None else at_s, way.pieces + 1
        time_ns = time.time_ns() - round(1e9 * (now - way.heard))
        way.waiting.append((next(self._numbers), way.pieces, way.heard, time_ns, data))

    def _open(self, partner: str, came: bool) -> _Way:
        with self._lock:
            if len(self._ways) >= MOST_WAYS:
                del self._ways[min(self._ways, key=lambda key: self._ways[key].heard)]
            return self._ways.setdefault((partner, came), _Way())

    def catch_up(self, most: int = MOST_AT_ONCE) -> None:
        """Read some of what waits: called now and then, few packets are skipped before a user looks at them."""
        with self._lock:
            self._read(most)

    def _read(self, most: int = MOST_KEPT) -> None:
        """Find the packets in what waits, in the order in which it came; with the lock."""
        found: list[tuple[_Piece, tuple[str, bool]]] = []
        for key, way in self._ways.items():
            pieces = [
                way.waiting.popleft() for _ in range(min(len(way.waiting), most))
            ]  # what comes meanwhile is for later
            if pieces and pieces[0][1] > way.read + 1:  # some have gone: gaps in senders' numbers say nothing
                self.skipped += pieces[0][1] - way.read - 1
                way.last.clear()
                way.asked.clear()
            way.read = pieces[-1][1] if pieces else way.read
            found += [(piece, key) for piece in pieces]
        for (_, _, now, time_ns, data), (partner, came) in sorted(found):
            way, other = self._ways[partner, came], self._ways.get((partner, not came))
            if way.reader.protocol == Raw.protocol:  # ArduPilot's first words are text, MAVLink comes after them
                way.reader = reader_of(data)
            for packet in way.reader.feed(data):
                way.take(packet, now, time_ns, other)

    def rows(self, words: str = "") -> list[dict[str, Any]]:
        """A row for each message in whose partner, way, protocol or name all of the words are found."""
        now = time.monotonic()
        found: list[dict[str, Any]] = []
        with self._lock:
            self._read()
            for (partner, came), way in self._ways.items():
                for name, one in way.messages.items():
                    place = {"partner": partner, "way": "from" if came else "to", "protocol": one.protocol}
                    if not _fits(words, *place.values(), name):
                        continue
                    share = way.missing / max(way.count + way.missing, 1)
                    late = 1e3 * statistics.median(one.latencies_s) if one.latencies_s else None
                    figures = {"count": one.count, "hz": one.rate_hz(now), "missing": way.missing, "lost": share}
                    found.append({**place, "message": name, **figures, "latency_ms": late, "packet": one.packet})
        for row in found:
            packet = row.pop("packet")
            values = PROTOCOLS[row["protocol"]].values(packet)
            row["values"] = ", ".join(f"{key} {value}" for key, value in values.items())
            row["raw"] = packet.data.hex()
        return found

    def tlog(self) -> bytes:
        """The newest MAVLink packets as ground stations save and open them."""
        with self._lock:
            self._read()
            packets = sorted(packet for way in self._ways.values() for packet in way.kept if packet[2] == "MAVLink")
        return b"".join(STAMP.pack(time_ns // 1000) + data for time_ns, data, _ in packets)

    def pcap(self, words: str = "") -> bytes:
        """The newest packets of partners with these words as a capture file for Wireshark."""
        with self._lock:
            self._read()
            found = [
                Captured(time_ns, partner, came, data)
                for (partner, came), way in self._ways.items()
                for time_ns, data, protocol in way.kept
                if _fits(words, partner, "from" if came else "to", protocol)
            ]
        return capture(found)


def _fits(words: str, *texts: str) -> bool:
    whole = " ".join(texts).lower()
    return all(word in whole for word in words.lower().split())
