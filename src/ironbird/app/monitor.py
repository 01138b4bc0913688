"""The packet monitor: what goes over the links of a flight, message by message, and the newest packets for a tlog."""

from __future__ import annotations

import struct
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from ironbird.links.router.frames import FrameReader, name_of, values_of
from ironbird.links.router.router import Traffic

MOST_KEPT = 5000  # packets, for the file
STAMP = struct.Struct(">Q")  # of a tlog: microseconds since 1970, before each packet


@dataclass
class _Way:
    """Packets of one partner in one direction."""

    reader: FrameReader = field(default_factory=FrameReader)
    traffic: dict[str, Traffic] = field(default_factory=dict)
    missing: int = 0  # by the numbers of their senders
    last: dict[tuple[int, int], int] = field(default_factory=dict)


class Monitor:
    """Counts packets by partner, direction and message; the flight's thread calls `watch`, others the rest."""

    def __init__(self) -> None:
        self._ways: dict[tuple[str, str], _Way] = {}
        self._newest: deque[bytes] = deque(maxlen=MOST_KEPT)
        self._lock = threading.Lock()

    def watch(self, partner: str, came: bool, data: bytes) -> None:
        """Take note of bytes that came or went."""
        now = time.monotonic()
        with self._lock:
            way = self._ways.setdefault((partner, "from" if came else "to"), _Way())
            for frame in way.reader.feed(data):
                sender = (frame.sysid, frame.compid)
                if sender in way.last:
                    way.missing += (frame.sequence - way.last[sender] - 1) % 256
                way.last[sender] = frame.sequence
                found = way.traffic.setdefault(name_of(frame.id), Traffic())
                found.count += 1
                found.size += len(frame.data)
                found.last = frame.data
                found.times.append(now)
                self._newest.append(STAMP.pack(time.time_ns() // 1000) + frame.data)

    def rows(self, words: str = "") -> list[dict[str, Any]]:
        """A row for each message whose name or partner has these words: count, rate, last values, raw bytes."""
        now = time.monotonic()
        with self._lock:
            found: list[dict[str, Any]] = [
                {"partner": partner, "way": way, "message": name, "count": one.count, "hz": one.rate_hz(now),
                 "missing": self._ways[partner, way].missing, "last": one.last}
                for (partner, way), kept in self._ways.items() for name, one in kept.traffic.items()
                if words.lower() in f"{partner} {way} {name}".lower()
            ]  # fmt: skip
        for row in found:
            row["values"] = ", ".join(f"{key} {value}" for key, value in values_of(row["last"]).items())
            row["raw"] = row.pop("last").hex()
        return found

    def tlog(self) -> bytes:
        """The newest packets as ground stations save and open them."""
        with self._lock:
            return b"".join(self._newest)
