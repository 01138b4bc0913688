"""STATUSTEXT: sentences to all partners, split into pieces of fifty characters as the protocol requires [MAVLink2]."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ironbird.protocols.mavlink import dialect, numbers
from ironbird.systems.commanded.mavlink.connections import Channel

PIECE = 50
MOST_WAITING = 32  # sentences; further ones are dropped
MOST_SIGNS = 400


class Texts:
    """Queue of sentences that wait to be sent."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, str]] = deque()
        self._number = 0
        self.on_refusal: Callable[[str], None] | None = None  # gets why something was not done

    def say(self, text: str, severity: int = numbers.MAV_SEVERITY_INFO) -> None:
        """Queue a text for all partners, with a MAV_SEVERITY."""
        if len(self._waiting) < MOST_WAITING:
            self._waiting.append((severity, text[:MOST_SIGNS]))

    def refuse(self, text: str) -> None:
        """Queue the reason of a refusal as a warning."""
        self.say(text, numbers.MAV_SEVERITY_WARNING)
        if self.on_refusal is not None:
            self.on_refusal(text)

    def send(self, channels: list[Channel]) -> None:
        """Send all queued texts to these channels."""
        while self._waiting:
            severity, text = self._waiting.popleft()
            raw = text.encode(errors="replace")
            pieces = [raw[start : start + PIECE] for start in range(0, len(raw), PIECE)] or [b""]
            number = 0
            if len(pieces) > 1:
                self._number = number = self._number % 65535 + 1
                if len(pieces[-1]) == PIECE:
                    pieces.append(b"")  # a piece that is not full ends the sentence
            for channel in channels:
                for place, piece in enumerate(pieces):
                    channel.say(dialect.STATUSTEXT, severity, piece, number, place)
