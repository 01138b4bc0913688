"""Packets in the bytes of a link of any protocol: MAVLink, ArduPilot's JSON and servo packets, UBX, or raw bytes.

A protocol is a reader (bytes in, packets out) and a function that gives a packet's fields by name; one class each, and
one line in `PROTOCOLS`. The first bytes of a link identify it. UBX as u-blox documents it, [ChipNotes] 10.
"""

from __future__ import annotations

import json
import struct
from typing import Any, ClassVar, NamedTuple, Protocol

from ironbird.transport.frames import FIRST, SECOND, FrameReader, name_of, with_units
from ironbird.transport.frames import values_of as mavlink_values

MOST_REST = 4096  # bytes of a packet that has not come as a whole
MOST_SHOWN = 64  # bytes of what has no fields
UBX_MESSAGES = {
    0x0107: "NAV-PVT", 0x0103: "NAV-STATUS", 0x0104: "NAV-DOP", 0x0102: "NAV-POSLLH", 0x0112: "NAV-VELNED",
    0x0106: "NAV-SOL", 0x0135: "NAV-SAT", 0x0130: "NAV-SVINFO", 0x0121: "NAV-TIMEUTC", 0x0501: "ACK-ACK",
    0x0500: "ACK-NAK", 0x0600: "CFG-PRT", 0x0601: "CFG-MSG", 0x0608: "CFG-RATE", 0x0604: "CFG-RST",
    0x0624: "CFG-NAV5", 0x0A04: "MON-VER", 0x0A09: "MON-HW",
}  # fmt: skip
UBX_FIELDS: dict[
    str, tuple[str, str]
] = {  # message -> its layout from the first byte on, and names; what follows is left
    "NAV-PVT": (
        "<IH5BBIiBBBBiiiiIIiiiiiIIHH",
        "iTOW year month day hour min sec valid tAcc nano fixType flags flags2 numSV lon lat height hMSL hAcc vAcc "
        "velN velE velD gSpeed headMot sAcc headAcc pDOP flags3",
    ),
    "ACK-ACK": ("<BB", "clsID msgID"),
    "ACK-NAK": ("<BB", "clsID msgID"),
    "CFG-RATE": ("<HHH", "measRate navRate timeRef"),
    "CFG-MSG": ("<BBB", "msgClass msgID rate"),
    "CFG-PRT": ("<BBHII", "portID reserved txReady mode baudRate"),
}


class Packet(NamedTuple):
    """One packet; `sequence` counts modulo `modulus` for a sender, negative if it has no number."""

    name: str
    data: bytes
    sender: tuple[int, int] = (0, 0)
    sequence: int = -1
    modulus: int = 256


class Reader(Protocol):
    """Finds packets in the bytes of one direction of a link."""

    protocol: ClassVar[str]

    def feed(self, data: bytes) -> list[Packet]:
        """Process bytes; returns the packets that are complete now."""

    @staticmethod
    def values(packet: Packet) -> dict[str, Any]:
        """The fields of a packet by name."""


class Mavlink:
    """Reader of MAVLink 1 and 2, also in pieces."""

    protocol: ClassVar[str] = "MAVLink"

    def __init__(self) -> None:
        self._reader = FrameReader()

    def feed(self, data: bytes) -> list[Packet]:
        return [
            Packet(name_of(frame.id), frame.data, (frame.sysid, frame.compid), frame.sequence)
            for frame in self._reader.feed(data)
        ]

    @staticmethod
    def values(packet: Packet) -> dict[str, Any]:
        return with_units(packet.name, mavlink_values(packet.data))


class Servos:
    """Reader of ArduPilot's packets to a simulator: magic, frame rate, frame count, pulse lengths [ArduPilotJson]."""

    protocol: ClassVar[str] = "servo packets"
    HEAD = struct.Struct("<HHI")
    CHANNELS: ClassVar[dict[int, int]] = {18458: 16, 29569: 32}

    def feed(self, data: bytes) -> list[Packet]:
        if len(data) < self.HEAD.size:
            return []
        magic, _, count = self.HEAD.unpack_from(data)
        channels = self.CHANNELS.get(magic)
        whole = channels is not None and len(data) == self.HEAD.size + 2 * channels
        return [Packet(f"servos {channels}", data, sequence=count, modulus=2**32)] if whole else []

    @staticmethod
    def values(packet: Packet) -> dict[str, Any]:
        _, rate, count = Servos.HEAD.unpack_from(packet.data)
        pwm = struct.unpack_from(f"<{(len(packet.data) - Servos.HEAD.size) // 2}H", packet.data, Servos.HEAD.size)
        return {"frame_rate": rate, "frame_count": count, "pwm": " ".join(map(str, pwm))}


class JsonLines:
    """Reader of lines of JSON, as ArduPilot's simulator interface takes them."""

    protocol: ClassVar[str] = "JSON"

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Packet]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-MOST_REST:]
        return [Packet("JSON", line) for line in lines if line.strip()]

    @staticmethod
    def values(packet: Packet) -> dict[str, Any]:
        try:
            data = json.loads(packet.data)
        except (ValueError, RecursionError):
            return {"text": packet.data[:MOST_SHOWN].decode(errors="replace")}
        return _flat(data) if isinstance(data, dict) else {"value": data}


def _flat(data: dict[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in data.items():
        flat |= _flat(value, f"{before}{key}.") if isinstance(value, dict) else {f"{before}{key}": value}
    return flat


class Ubx:
    """Reader of UBX of u-blox receivers, also in pieces; other bytes (NMEA) are ignored."""

    protocol: ClassVar[str] = "UBX"
    SYNC = b"\xb5\x62"

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Packet]:
        data, packets = self._rest + data, []
        while (begin := data.find(self.SYNC)) >= 0 and len(data) >= begin + 8:
            length = int.from_bytes(data[begin + 4 : begin + 6], "little")
            end = begin + 8 + length
            if length > MOST_REST:
                data = data[begin + 2 :]
                continue
            if len(data) < end:
                break
            if data[end - 2 : end] != _fletcher(data[begin + 2 : end - 2]):
                data = data[begin + 2 :]
                continue
            packets.append(Packet(f"UBX {_ubx_name(data[begin + 2 : begin + 4])}", data[begin:end]))
            data = data[end:]
        self._rest = data[begin:][-MOST_REST - 8 :] if begin >= 0 else data[-1:]
        return packets

    @staticmethod
    def values(packet: Packet) -> dict[str, Any]:
        payload, known = packet.data[6:-2], UBX_FIELDS.get(_ubx_name(packet.data[2:4]))
        if known is None or len(payload) < struct.calcsize(known[0]):
            return {"payload": payload[:MOST_SHOWN].hex()}
        return dict(zip(known[1].split(), struct.unpack_from(known[0], payload), strict=True))


def _ubx_name(head: bytes) -> str:
    number = int.from_bytes(head, "big")
    return UBX_MESSAGES.get(number, f"{head[0]:02X}-{head[1]:02X}")


def _fletcher(data: bytes) -> bytes:
    a = b = 0
    for value in data:
        a = (a + value) & 0xFF
        b = (b + a) & 0xFF
    return bytes((a, b))


class Raw:
    """Reader of anything else: bytes that arrive together are a packet."""

    protocol: ClassVar[str] = "raw"

    def feed(self, data: bytes) -> list[Packet]:
        return [Packet("raw", data)] if data else []

    @staticmethod
    def values(packet: Packet) -> dict[str, Any]:
        return {"bytes": packet.data[:MOST_SHOWN].hex()}


PROTOCOLS: dict[str, type[Reader]] = {one.protocol: one for one in (Mavlink, Servos, JsonLines, Ubx, Raw)}


def reader_of(data: bytes) -> Reader:
    """The reader for a link that begins with these bytes."""
    if data[:1] and data[0] in (FIRST, SECOND):
        return Mavlink()
    if data.lstrip()[:1] == b"{":
        return JsonLines()
    if Ubx.SYNC in data:
        return Ubx()
    return Servos() if Servos().feed(data) else Raw()
