"""Bridge: ground stations on UDP share the one cable to a flight controller.

Everything that the board sends is forwarded to them; their messages go to the board between two steps, messages of
other senders do not. PX4's simulators do the same with boards [PX4Hitl].
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Sequence

from ironbird.rig.link_faults import Way

FORWARD_S = 0.01  # between packets to the ground stations
MOST_BYTES = 1400  # of one packet
MOST_PACKETS = 64  # taken at once
ALLOWED_PER_S = 2000.0  # bytes per second reserved for ground stations in the cable's budget


class Bridge:
    """Forwards between a cable and UDP ports of ground stations on this computer."""

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
        """Let link faults act on messages to ground stations and from them."""
        self._ground, self._vehicle = ground, vehicle

    @property
    def port(self) -> int:
        """UDP port to which ground stations answer."""
        return int(self._socket.getsockname()[1])

    def to_ground(self, data: bytes, now: float) -> None:
        """Forward bytes of the board to the ground stations, collected into a few packets."""
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
        """Complete frames that ground stations sent since the last call."""
        parts: list[bytes] = []
        with contextlib.suppress(OSError):
            for _ in range(MOST_PACKETS):
                packet, source = self._socket.recvfrom(65536)
                if source in self._peers:
                    parts.append(packet)
        data = b"".join(parts)
        return data if self._vehicle is None else b"".join(self._vehicle.through(data))

    def close(self) -> None:
        """Close the UDP port of the bridge."""
        self._socket.close()
