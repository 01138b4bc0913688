"""Who speaks to the vehicle over MAVLink: who comes, falls silent and is back, and what was refused, as events."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from ironbird.protocols.mavlink import dialect
from ironbird.rig.commander.commander import Commander

SILENT_S = 5.0  # wall time without a heartbeat, which comes every second, after which a client is silent
AGAIN_S = 5.0  # simulation time between two notes of the same refusal
MOST_CLIENTS = 64  # that are distinguished
MOST_REFUSALS = 1000  # that are noted


@dataclass
class _Client:
    """One MAVLink system behind one connection."""

    system: int
    place: str
    beat_at: float = -math.inf  # wall time of its latest heartbeat; it is missed only if there was one
    silent: bool = False


@dataclass
class Clients:
    """Notes clients that come and go; `lapses`: one whose heartbeats stay out is called silent."""

    lapses: bool = True
    note: Callable[[str, str], None] = lambda kind, words: None
    _known: dict[tuple[str, int], _Client] = field(default_factory=dict)

    def heard(self, place: str, message: int, system: int) -> None:
        """A message of a system came over a connection."""
        client = self._known.get((place, system))
        if client is None:
            if len(self._known) >= MOST_CLIENTS:
                return
            client = self._known[place, system] = _Client(system, place)
            self.note("client", f"MAVLink client {system} connected ({place})")
        elif client.silent:
            client.silent = False
            self.note("client", f"MAVLink client {system} is back")
        if message == dialect.HEARTBEAT.id:
            client.beat_at = time.monotonic()

    def look(self, places: Collection[str]) -> None:
        """Note who is gone: the connection is closed, or nothing came for a while."""
        now = time.monotonic()
        for key, client in list(self._known.items()):
            if client.place not in places:
                del self._known[key]
                if not client.silent:
                    self.note("client", f"MAVLink client {client.system} is gone ({client.place})")
            elif self.lapses and not client.silent and -math.inf < client.beat_at < now - SILENT_S:
                client.silent = True
                self.note("client", f"MAVLink client {client.system} is silent: no heartbeat for {SILENT_S:g} s")


class Refusals:
    """Notes what was refused and why; the same again only after a while."""

    def __init__(self, commander: Commander) -> None:
        self._commander = commander
        self._noted_s: dict[str, float] = {}

    def __call__(self, text: str) -> None:
        """Something was not done."""
        now_s = self._commander.time_s
        if now_s - self._noted_s.get(text, -math.inf) < AGAIN_S or len(self._noted_s) >= MOST_REFUSALS:
            return
        self._noted_s[text] = now_s
        self._commander.note("refused", text)
