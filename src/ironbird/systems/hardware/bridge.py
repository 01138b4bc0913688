"""Bridge: ground stations on UDP share the one cable to a flight controller.

All that the board says goes on to them; what they say goes to the board between two steps, what others say does not. As
PX4's simulators do it with boards [PX4Hitl].
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Sequence

from ironbird.rig.link_faults import Way

FORWARD_S = 0.01  # between packets to the ground stations
MOST_BYTES = 1400  # of one packet
MOST_PACKETS = 64  # taken at once
ALLOWED_PER_S = 2000.0  # bytes per second that ground stations may say, for the budget


class Bridge:
    """Between a cable and UDP ports of ground stations on this computer."""

    def __init__(self, ports: Sequence[int], host: str = "127.0.0.1") -> None:
        self._peers = [(host, port) for port in ports]
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((host, 0))
        self._socket.setblocking(False)
        self._waiting = bytearray()
        self._sent_at = 0.0
        self._ground: Way | None = None
        self._vehicle: Way | None = None

    def disturb(self, ground: Way | None, vehicle: Way | None) -> None:
        """Have link faults act on what goes to ground stations and on what comes from them."""
        self._ground, self._vehicle = ground, vehicle

    @property
    def port(self) -> int:
        """Where ground stations answer."""
        return int(self._socket.getsockname()[1])

    def to_ground(self, data: bytes, now: float) -> None:
        """Pass on what the board sent, a few packets at a time."""
        self._waiting += data if self._ground is None else b"".join(self._ground.through(data))
        if not self._waiting or (now - self._sent_at < FORWARD_S and len(self._waiting) < MOST_BYTES):
            return
        self._sent_at = now
        for start in range(0, len(self._waiting), MOST_BYTES):
            packet = self._waiting[start : start + MOST_BYTES]
            for peer in self._peers:
                with contextlib.suppress(OSError):  # no receiver
                    self._socket.sendto(packet, peer)
        self._waiting.clear()

    def from_ground(self) -> bytes:
        """What ground stations sent: whole frames."""
        parts: list[bytes] = []
        with contextlib.suppress(OSError):
            for _ in range(MOST_PACKETS):
                packet, source = self._socket.recvfrom(65536)
                if source in self._peers:
                    parts.append(packet)
        said = b"".join(parts)
        return said if self._vehicle is None else b"".join(self._vehicle.through(said))

    def close(self) -> None:
        """Let go of the port."""
        self._socket.close()
