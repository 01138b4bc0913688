"""The packet monitor: traffic on the links of a flight, message by message; the newest packets can be saved.

The watched link only passes its bytes; they are decoded when a user looks, and some of them periodically while a
browser is open. So a flight is not slowed down; where more arrives than is read, the newest packets of each direction
are kept, and `skipped` counts the others. Times are wall time. Latency is from a request to its answer, as seen here: a
command and its acknowledgement, a parameter, a mission's items, sensors and the controls that follow them. Missing
packets are counted by the senders' sequence numbers, where a protocol has any.
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
MOST_WAYS = 32  # partners, each in one direction; the one that was silent for the longest is dropped
MOST_MESSAGES = 300  # kinds of one way
MOST_LATENCIES = 200
STAMP = struct.Struct(">Q")  # of a tlog: microseconds since 1970, before each packet
_ITEMS = ("MISSION_COUNT", "MISSION_ITEM_INT", "MISSION_ITEM")
ASKED_BY: dict[str, tuple[str, ...]] = {  # answer -> possible requests
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
    """Statistics of one kind of packet in one direction."""

    packet: Packet = field(default_factory=lambda: Packet("", b""))
    protocol: str = Raw.protocol
    latencies_s: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_LATENCIES))


@dataclass
class _Way:
    """Packets of one partner in one direction."""

    reader: Reader = field(default_factory=Raw)
    waiting: deque[_Piece] = field(default_factory=lambda: deque(maxlen=MOST_KEPT))  # bytes that were not decoded
    pieces: int = 0  # of bytes, so far
    read: int = 0  # number of the last one that was decoded
    messages: dict[str, _Message] = field(default_factory=dict)
    count: int = 0
    missing: int = 0  # by the numbers of their senders
    last: dict[tuple[int, int], int] = field(default_factory=dict)
    asked: dict[str, float] = field(default_factory=dict)  # times of requests without an answer yet
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
        statistics = self.messages.setdefault(packet.name, _Message())
        statistics.count += 1
        statistics.size += len(packet.data)
        statistics.packet, statistics.protocol = packet, self.reader.protocol
        statistics.times.append(now)
        if packet.name in ASKS:
            self.asked[packet.name] = now
        if other is not None and packet.name in ASKED_BY:
            times = [other.asked.pop(name) for name in ASKED_BY[packet.name] if name in other.asked]
            if times:
                statistics.latencies_s.append(now - max(times))


class Monitor:
    """Counts packets by partner, direction and message; flights and routers call `watch`, the page the rest."""

    def __init__(self) -> None:
        self.skipped = 0  # pieces of bytes that came and went while no user looked
        self._ways: dict[tuple[str, bool], _Way] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def watch(self, partner: str, came: bool, data: bytes, at_s: float | None = None) -> None:
        """Record bytes that were received or sent: now, or at an earlier time of the monotonic clock (s)."""
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
        """Decode some of the waiting bytes; called periodically, so that few packets are skipped."""
        with self._lock:
            self._read(most)

    def _read(self, most: int = MOST_KEPT) -> None:
        """Decode waiting bytes in the order of arrival; call with the lock held."""
        pieces_by_way: list[tuple[_Piece, tuple[str, bool]]] = []
        for key, way in self._ways.items():
            pieces = [
                way.waiting.popleft() for _ in range(min(len(way.waiting), most))
            ]  # bytes that arrive meanwhile are decoded later
            if pieces and pieces[0][1] > way.read + 1:  # some were dropped: gaps in sequence numbers mean nothing
                self.skipped += pieces[0][1] - way.read - 1
                way.last.clear()
                way.asked.clear()
            way.read = pieces[-1][1] if pieces else way.read
            pieces_by_way += [(piece, key) for piece in pieces]
        for (_, _, now, time_ns, data), (partner, came) in sorted(pieces_by_way):
            way, other = self._ways[partner, came], self._ways.get((partner, not came))
            if way.reader.protocol == Raw.protocol:  # ArduPilot sends text first, MAVLink comes after it
                way.reader = reader_of(data)
            for packet in way.reader.feed(data):
                way.take(packet, now, time_ns, other)

    def rows(self, words: str = "") -> list[dict[str, Any]]:
        """A row for each message whose partner, direction, protocol or name contains all of the words."""
        now = time.monotonic()
        rows: list[dict[str, Any]] = []
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
                    rows.append({**place, "message": name, **figures, "latency_ms": late, "packet": one.packet})
        for row in rows:
            packet = row.pop("packet")
            values = PROTOCOLS[row["protocol"]].values(packet)
            row["values"] = ", ".join(f"{key} {value}" for key, value in values.items())
            row["raw"] = packet.data.hex()
        return rows

    def tlog(self) -> bytes:
        """The newest MAVLink packets as a .tlog file of ground stations."""
        with self._lock:
            self._read()
            packets = sorted(packet for way in self._ways.values() for packet in way.kept if packet[2] == "MAVLink")
        return b"".join(STAMP.pack(time_ns // 1000) + data for time_ns, data, _ in packets)

    def pcap(self, words: str = "") -> bytes:
        """The newest packets of partners that match these words, as a capture file for Wireshark."""
        with self._lock:
            self._read()
            packets = [
                Captured(time_ns, partner, came, data)
                for (partner, came), way in self._ways.items()
                for time_ns, data, protocol in way.kept
                if _fits(words, partner, "from" if came else "to", protocol)
            ]
        return capture(packets)


def _fits(words: str, *texts: str) -> bool:
    whole = " ".join(texts).lower()
    return all(word in whole for word in words.lower().split())
