"""Clients of RflySim's interface are named in the events of a flight: who came, and what was armed by whom."""

from __future__ import annotations

import struct
from typing import Any

from rflysim_vehicle import standing

ARM = struct.pack("<2i4f", 1234567890, 9, 1.0, 0.0, 0.0, 0.0)


class OnePacket:
    """Wires over which a client sends one packet in each look."""

    def __init__(self, data: bytes) -> None:
        self.data, self.host = data, "127.0.0.1"

    def commands(self) -> Any:
        return [(self.data, ("10.0.0.7", 4000))]

    def inputs(self) -> Any:
        return []

    def placements(self) -> Any:
        return []

    def send(self, data: bytes, port: int, host: str = "") -> None: ...

    def send_to_group(self, data: bytes, port: int) -> None: ...


def test_first_packet_of_a_client_and_what_it_commands_are_noted() -> None:
    front, commander, _ = standing(mode="udp_simple", scene=False)
    noted: list[tuple[str, str, str]] = []
    commander.note = lambda kind, words: noted.append((kind, words, commander.by))
    front._wires = OnePacket(ARM)  # type: ignore[assignment]
    while not commander.armed:
        assert commander.time_s < 20.0
        front.poll(commander)
        commander.rig.step(4)
    assert noted[0][:2] == ("client", "RflySim client at 10.0.0.7 connected")
    assert [one for one in noted if one[0] == "client"] == noted[:1]  # once, not for each packet
    assert ("armed", "armed", "RflySim client") in noted and commander.by == ""
