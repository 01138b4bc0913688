"""What kind of file a log is, by its first bytes, and which commands read that kind.

A name's ending can be wrong or missing; the first bytes are what the program wrote. Only the first bytes are read: a
file of a known kind can still be damaged further on.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from ironbird.errors import RecordError

ULOG, DATAFLASH, PARQUET, CSV = "ulog", "dataflash", "parquet", "csv"
LOGS = (ULOG, DATAFLASH, PARQUET, CSV)  # kinds that Ironbird reads
HEAD_BYTES = 4096
FORMAT_RECORD = b"\xa3\x95\x80"  # begin of a record of DataFlash that describes others
_MAVLINK = (0xFD, 0xFE)  # first byte of a packet, version 2 and 1
_EARLIEST_US, _LATEST_US = 946_684_800_000_000, 4_102_444_800_000_000  # 2000 and 2100: times of a telemetry log
_READ_BY = "'ironbird log show', 'ironbird log convert', 'ironbird model credibility' and the app"
_STARTS: tuple[tuple[bytes, str, str, str], ...] = (  # first bytes, kind, what it is, who reads it
    (b"ULog\x01\x12\x35", ULOG, "a ULog of PX4", f"{_READ_BY} can read it"),
    (b"\xa3\x95", DATAFLASH, "a DataFlash log of ArduPilot", f"{_READ_BY} can read it"),
    (b"PAR1", PARQUET, "a Parquet file", f"{_READ_BY} can read it"),
    (b"\x89MCAP0\r\n", "mcap", "an MCAP file", "Foxglove and rosbag2 read it, Ironbird only writes it"),
    (b"MATLAB 5.0 MAT-file", "mat", "a MATLAB file", "MATLAB reads it, Ironbird only writes it"),
    (b"\x89HDF\r\n\x1a\n", "hdf5", "an HDF5 file (MATLAB 7.3 among others)", ""),
    (b"FMT, 128,", "text log", "a DataFlash log of ArduPilot that was converted to text", "give the .BIN itself"),
    (b"H Product:Blackbox", "blackbox", "a blackbox log of Betaflight or INAV", ""),
    (b"PK\x03\x04", "zip", "a ZIP archive", "unpack it first"),
    (b"\x1f\x8b", "gzip", "a gzip file", "unpack it first: gunzip FILE"),
    (b"\x28\xb5\x2f\xfd", "zstd", "a Zstandard file", "unpack it first: unzstd FILE"),
    (b"7z\xbc\xaf\x27\x1c", "7z", "a 7z archive", "unpack it first"),
    (b"#ROSBAG V2.0", "rosbag", "a bag of ROS 1", ""),
    (b"SQLite format 3\0", "sqlite", "an SQLite database", "a store of campaigns? See 'ironbird campaign list'"),
    (b"%PDF", "pdf", "a PDF file", ""),
    (b"\x89PNG", "png", "a picture (PNG)", ""),
    (b"\xff\xd8\xff", "jpeg", "a picture (JPEG)", ""),
    (b"\x7fELF", "elf", "a program (ELF)", ""),
)


@dataclass(frozen=True)
class LogKind:
    """What a file is."""

    name: str  # one of LOGS, or of a kind that is not read
    what: str  # in words, with its article: "a ULog of PX4"
    readers: str = ""  # which commands or programs read it, or what to do first; empty if not known

    @property
    def is_log(self) -> bool:
        """Whether Ironbird reads it as a log."""
        return self.name in LOGS

    def sentence(self, path: Path) -> str:
        """What the file is and what reads it."""
        return f"{path.name} is {self.what}" + (f": {self.readers}" if self.readers else "")


def log_kind(path: Path) -> LogKind:
    """The kind of a file; one that is missing, empty, a folder or not readable is a `RecordError`."""
    try:
        if path.is_dir():
            raise RecordError(f"{path} is a folder: give the log itself, for example {path / 'flight.parquet'}")
        if not path.is_file():
            raise RecordError(f"{path}: no such file")
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise RecordError(f"{path.name} cannot be read: {error.strerror or error}") from None
    if not head:
        raise RecordError(f"{path.name} is empty: the autopilot ended before it wrote its log, or the copy failed")
    return kind_of_bytes(head)


def kind_of_bytes(head: bytes) -> LogKind:
    """The kind of a file that begins with these bytes."""
    for start, name, what, readers in _STARTS:
        if head.startswith(start):
            return LogKind(name, what, readers)
    if FORMAT_RECORD in head:  # bytes before the first record are lost
        return LogKind(*_STARTS[1][1:])
    if head[:4] == b"ULog":
        return LogKind("ulog header", "a damaged ULog of PX4 (its header is not whole)")
    if len(head) > 8 and head[8] in _MAVLINK and _EARLIEST_US < struct.unpack(">Q", head[:8])[0] < _LATEST_US:
        return LogKind("tlog", "a telemetry log of MAVLink (tlog)", "copy the log of the vehicle itself: .ulg or .BIN")
    text = _text(head)
    if text is None and not any(byte < 32 and byte not in b"\t\r\n\f" for byte in head):
        return LogKind("text", "a text, but not in UTF-8", "save it as UTF-8")
    if text is None:
        return LogKind("binary", "no log of a kind that is known (binary, but neither ULog, DataFlash nor Parquet)")
    return _kind_of_text(text)


def _text(head: bytes) -> str | None:
    """The bytes as text; None if they are not."""
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4 or len(head) < HEAD_BYTES:  # else a character is cut off at the end
            return None
        text = head[: error.start].decode("utf-8-sig")
    return None if any(ord(letter) < 32 and letter not in "\t\r\n\f" for letter in text) else text


def _kind_of_text(text: str) -> LogKind:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    first = lines[0].lstrip() if lines else ""
    if first.lower().startswith(("<!doctype", "<html")):
        return LogKind("html", "a page (HTML)", "open it in a browser: 'ironbird open FILE'")
    if "," in first and not first.startswith(("{", "[")):
        return LogKind(CSV, "a CSV file", f"{_READ_BY} can read it if its first column is the time")
    return LogKind("text", "a text, not a log")
