"""A record of all that a simulator did to a run in virtual time.

A run is a function of the program, its files and what is sent to it at which moment, so a program that is started alike
and gets the record again does the same to the last byte; another build of it gets the same input. A record holds, in
their order: the moments up to which time may run, the bytes of streams, the datagrams, and when a port was emptied.

The file is compressed (gzip): one line of JSON about the program, then entries of a kind (one byte), a port, the length
of a name, the length of the data (`ENTRY`), the name and the data.
"""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ironbird.errors import LinkError

FORM = "ironbird/run-record/1"
ENDING = ".sent"  # of the names of such files
ENTRY = struct.Struct("<cHHI")
TIME = struct.Struct("<Q")
ALLOW, STREAM, DATAGRAM, EMPTIED, ZERO, SIGNAL = b"A", b"S", b"D", b"E", b"Z", b"T"
# Instead of moments of the run: from the moment on at which the program has connected to all streams
CONNECTED, NEXT = b"C", b"N"
MOST_BYTES = 1 << 20  # of the data of one entry, and of the line about the program


@dataclass(frozen=True)
class Entry:
    """One action of the simulator: a moment in ns, bytes to a port, or the emptying of a port."""

    kind: bytes
    port: int = 0
    name: str = ""  # of the receiver of a datagram, below the run's folder of ports
    data: bytes = b""

    @property
    def time_ns(self) -> int:
        """The moment of an entry of kind `ALLOW` or `NEXT`."""
        return int(TIME.unpack(self.data)[0])


class Record:
    """Writes what a simulator does to a run."""

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.path = path
        self._raw = path.open("wb")
        self._file: gzip.GzipFile | None
        self._file = gzip.GzipFile("", "wb", compresslevel=1, fileobj=self._raw, mtime=0)
        self._file.write(json.dumps({"form": FORM, **about}, sort_keys=True).encode() + b"\n")

    def add(self, kind: bytes, port: int = 0, data: bytes = b"", name: str = "") -> None:
        """Append an entry."""
        if self._file is not None:
            named = name.encode()
            self._file.write(ENTRY.pack(kind, port, len(named), len(data)) + named + data)

    def allow(self, grant_ns: int) -> None:
        """Append that time may run up to a moment."""
        self.add(ALLOW, data=TIME.pack(grant_ns))

    def close(self) -> None:
        """Complete the file; further entries are ignored."""
        if self._file is not None:
            self._file.close()
            self._file = None
            self._raw.close()


class RecordFile:
    """A record on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._open() as file:
            line = self._taken(file.readline, MOST_BYTES)
            try:
                self.about: dict[str, Any] = json.loads(line)
                known = self.about["form"] == FORM
            except (ValueError, KeyError, TypeError):
                known = False
        if not known:
            raise LinkError(f"{path} is no record of a run ({FORM}): give the folder of a flight in virtual time")

    def _open(self) -> gzip.GzipFile:
        try:
            return gzip.GzipFile(self.path, "rb")
        except OSError as error:
            raise LinkError(f"{self.path} cannot be read: {error.strerror or error}") from None

    def _taken(self, read: Callable[[int], bytes], size: int) -> bytes:
        try:
            return read(size)
        except (OSError, EOFError, zlib.error):
            raise LinkError(f"{self.path} is damaged or cut off: fly the order again for a new record") from None

    def __iter__(self) -> Iterator[Entry]:
        with self._open() as file:
            self._taken(file.readline, MOST_BYTES)
            while head := self._taken(file.read, ENTRY.size):
                if len(head) < ENTRY.size:
                    raise LinkError(f"{self.path} is cut off within an entry: fly the order again for a new record")
                kind, port, named, size = ENTRY.unpack(head)
                if size > MOST_BYTES:
                    raise LinkError(f"{self.path} is damaged: an entry of {size} bytes")
                rest = self._taken(file.read, named + size)
                if len(rest) < named + size:
                    raise LinkError(f"{self.path} is cut off within an entry: fly the order again for a new record")
                yield Entry(kind, port, rest[:named].decode(errors="replace"), rest[named:])
