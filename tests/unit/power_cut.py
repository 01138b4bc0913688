"""Power cuts by calculation: what a disk may hold after one, from the notes of `disk_layer.c`.

The model is the weakest that POSIX allows. What was synced is there. Of what was written since, any part may be there:
each write, or each sector of 512 bytes of it, or a torn piece of a sector, in any order. A file that was made or
deleted is so for good when its folder was synced. The shared index of the log (-shm) is lost always.
"""

from __future__ import annotations

import json
import os
import random
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SECTOR = 512
HEAD = struct.Struct("<BBxxIQ")
CREATE, WRITE, TRUNCATE, SYNC, UNLINK, MARK = range(1, 7)
FOLDER = 4
NAMES = {0: "store.db", 1: "store.db-wal", 3: "store.db-journal"}
WAYS = ("nothing", "everything", "first ones", "some writes", "some sectors", "torn sectors")


@dataclass(frozen=True)
class Note:
    """One operation."""

    what: int
    kind: int
    at: int
    data: bytes


@dataclass
class Inode:
    """A file: what is on the disk for good, and what was done since."""

    safe: bytes = b""
    since: list[Note] = field(default_factory=list)

    def after_cut(self, way: str, draw: random.Random) -> bytes:
        """What may be found."""
        data = bytearray(self.safe)
        last = draw.randint(0, len(self.since))
        for number, note in enumerate(self.since):
            if way == "nothing" or (way == "first ones" and number >= last):
                break
            if way == "some writes" and draw.random() < 0.5:
                continue
            if note.what == TRUNCATE:
                if way in ("some sectors", "torn sectors") and draw.random() < 0.5:
                    continue
                data = data[: note.at] + bytes(max(0, note.at - len(data)))
            else:
                for at, piece in _pieces(note, way, draw):
                    data += bytes(max(0, at + len(piece) - len(data)))
                    data[at : at + len(piece)] = piece
        return bytes(data)


def _pieces(note: Note, way: str, draw: random.Random) -> Iterator[tuple[int, bytes]]:
    if way not in ("some sectors", "torn sectors"):
        yield note.at, note.data
        return
    begin = note.at
    while begin < note.at + len(note.data):
        end = min((begin // SECTOR + 1) * SECTOR, note.at + len(note.data))
        piece = note.data[begin - note.at : end - note.at]
        if draw.random() < 0.5:
            yield begin, piece
        elif way == "torn sectors":
            yield begin, piece[: draw.randint(0, len(piece))]
        begin = end


class Disk:
    """Files as a disk sees them."""

    def __init__(self) -> None:
        self.safe: dict[int, Inode] = {}  # folder entries that are there for good
        self.now: dict[int, Inode] = {}
        self.since: list[tuple[int, Inode | None]] = []  # entries made or deleted since the folder was synced

    def do(self, note: Note) -> None:
        """One operation."""
        if note.what == CREATE or (note.what in (WRITE, TRUNCATE) and note.kind not in self.now):
            self.now[note.kind] = Inode()
            self.since.append((note.kind, self.now[note.kind]))
        if note.what in (WRITE, TRUNCATE):
            self.now[note.kind].since.append(note)
        elif note.what == UNLINK:
            self.now.pop(note.kind, None)
            self.since.append((note.kind, None))
        elif note.what == SYNC and note.kind == FOLDER:
            self.safe, self.since = dict(self.now), []
        elif note.what == SYNC and note.kind in self.now:
            inode = self.now[note.kind]
            inode.safe, inode.since = inode.after_cut("everything", random.Random(0)), []

    def after_cut(self, way: str, draw: random.Random) -> dict[str, bytes]:
        """Files that may be found."""
        entries = dict(self.safe)
        last = {"nothing": 0, "everything": len(self.since)}.get(way, draw.randint(0, len(self.since)))
        for kind, inode in self.since[:last]:
            if inode is None:
                entries.pop(kind, None)
            else:
                entries[kind] = inode
        return {NAMES[kind]: inode.after_cut(way, draw) for kind, inode in entries.items()}


def build_layer(folder: Path) -> Path:
    """Compile the layer."""
    path = folder / "disk_layer.so"
    command = [sys.executable, "-m", "ziglang", "cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(path)]
    subprocess.run([*command, str(HERE / "disk_layer.c")], check=True)
    return path


def child(layer: Path, verb: str, order: dict[str, Any]) -> list[dict[str, Any]]:
    """Run `disk_child.py` below the layer."""
    paths = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "LD_PRELOAD": str(layer), "PYTHONPATH": paths}
    command = [sys.executable, str(HERE / "disk_child.py"), verb, json.dumps(order)]
    done = subprocess.run(command, env=environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def read_notes(path: Path) -> list[Note]:
    """All operations."""
    data, at, notes = path.read_bytes(), 0, []
    while at < len(data):
        what, kind, length, where = HEAD.unpack_from(data, at)
        at += HEAD.size
        notes.append(Note(what, kind, where, data[at : at + length]))
        at += length
    return notes


@dataclass(frozen=True)
class Cut:
    """A power cut: what the disk holds, and what the store had said was done."""

    at: int
    way: str
    files: dict[str, bytes]
    created: bool
    acknowledged: frozenset[int]
    next_batch: frozenset[int]  # may be there already

    def write(self, folder: Path) -> Path:
        """Lay the files down; returns the database."""
        folder.mkdir(parents=True)
        for name, data in self.files.items():
            (folder / name).write_bytes(data)
        return folder / "store.db"


def cuts(notes: list[Note], count: int, seed: int = 0) -> Iterator[Cut]:
    """Power cuts at moments spread over all operations, each with another way of losing what was not synced."""
    draw = random.Random(seed)
    moments = sorted(draw.randint(0, len(notes)) for _ in range(count))
    marks = [(number, json.loads(note.data)) for number, note in enumerate(notes) if note.what == MARK]
    disk, done = Disk(), 0
    for number, moment in enumerate(moments):
        while done < moment:
            if notes[done].what != MARK:
                disk.do(notes[done])
            done += 1
        said = [mark for at, mark in marks if at < moment]
        later = [mark["numbers"] for at, mark in marks if at >= moment and "numbers" in mark]
        way = WAYS[number % len(WAYS)]
        yield Cut(
            moment,
            way,
            disk.after_cut(way, draw),
            any("created" in mark for mark in said),
            frozenset(n for mark in said for n in mark.get("numbers", ())),
            frozenset(later[0] if later else ()),
        )
