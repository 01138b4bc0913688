"""Packets as a capture file that Wireshark and tshark open: pcap [Pcap], raw IPv4, UDP, on addresses of this machine.

Links that are not UDP (TCP, serial lines) are written as UDP: one datagram for bytes that arrived together. The
partner's port is the one in its name if it has one, else one of its own from `FIRST_PORT` on.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from typing import NamedTuple

MAGIC_NS = 0xA1B23C4D  # stamps in nanoseconds
RAW_IP = 101  # LINKTYPE_RAW
SNAP = 262_144
FILE_HEAD = struct.Struct("<IHHiIII")
PACKET_HEAD = struct.Struct("<IIII")
IP_HEAD = struct.Struct(">BBHHHBBH4s4s")
UDP_HEAD = struct.Struct(">HHHH")
UDP = 17
HERE, THERE = bytes((127, 0, 0, 1)), bytes((127, 0, 0, 2))
OWN_PORT, FIRST_PORT = 14550, 50_000
MOST_PAYLOAD = 65_535 - IP_HEAD.size - UDP_HEAD.size


class Captured(NamedTuple):
    """Bytes that were received from a partner or sent to it."""

    time_ns: int  # since 1970
    partner: str
    came: bool
    data: bytes


def capture(packets: Iterable[Captured]) -> bytes:
    """The capture file as bytes, in the order of time."""
    ports: dict[str, int] = {}
    parts = [FILE_HEAD.pack(MAGIC_NS, 2, 4, 0, 0, SNAP, RAW_IP)]
    for packet in sorted(packets):
        theirs = ports.setdefault(packet.partner, _port(packet.partner, FIRST_PORT + len(ports)))
        datagram = _datagram(packet.data[:MOST_PAYLOAD], theirs, packet.came)
        seconds, ns = divmod(packet.time_ns, 10**9)
        parts += [PACKET_HEAD.pack(seconds, ns, len(datagram), len(datagram)), datagram]
    return b"".join(parts)


def _port(partner: str, otherwise: int) -> int:
    match = re.search(r"(?::|port )(\d{2,5})\b", partner)
    return int(match[1]) if match and 0 < int(match[1]) < 65_536 else otherwise


def _datagram(data: bytes, theirs: int, came: bool) -> bytes:
    ends = (THERE, HERE) if came else (HERE, THERE)
    ports = (theirs, OWN_PORT) if came else (OWN_PORT, theirs)
    length = UDP_HEAD.size + len(data)
    pseudo = b"".join(ends) + struct.pack(">BBH", 0, UDP, length)
    check = _checksum(pseudo + UDP_HEAD.pack(*ports, length, 0) + data) or 0xFFFF
    head = (0x45, 0, IP_HEAD.size + length, 0, 0x4000, 64, UDP)
    return (
        IP_HEAD.pack(*head, _checksum(IP_HEAD.pack(*head, 0, *ends)), *ends)
        + UDP_HEAD.pack(*ports, length, check)
        + data
    )


def _checksum(data: bytes) -> int:
    """The Internet checksum: ones' complement of the sum of 16-bit words."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
