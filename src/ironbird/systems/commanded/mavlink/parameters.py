"""The parameter protocol: all parameters of the vehicle that can be changed in flight, by names of sixteen characters.

Values are encoded as by PX4: 32 bits of a float, or of an integer in the place of the float [MAVLinkParams]. A change
by a ground station acts at once, and is stored in a file if one was given, in the format of QGroundControl's parameter
files. After a list comes `_HASH_CHECK`, by which a ground station knows whether its stored values are still valid.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ironbird.errors import LinkError, shortened
from ironbird.files.whole import write_text
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.rig.commander.commander import Commander
from ironbird.systems.commanded.mavlink.connections import Channel, Sender
from ironbird.systems.commanded.mavlink.param_names import names_of
from ironbird.systems.commanded.mavlink.texts import Texts

# Values as bits: converting to a Python float would change integers whose bits are a NaN
VALUE, SET = (
    replace(message, fields=(message.fields[0]._replace(layout="I"), *message.fields[1:]))
    for message in (dialect.PARAM_VALUE, dialect.PARAM_SET)
)
PER_LOOK = 8  # parameters of a list that are sent per poll, so that a slow line is not flooded
HASH = "_HASH_CHECK"
NO_INDEX = 65535
HEADER = "# Onboard parameters of {vehicle} as Ironbird keeps them\n# Vehicle-Id Component-Id Name Value Type\n"
COLUMNS = 5
MOST_BYTES = 1 << 20  # of a file


class Entry(NamedTuple):
    """A parameter: its path in the model, or a constant value."""

    name: str
    path: str = ""
    fixed: int = 0

    @property
    def kind(self) -> int:
        """The MAV_PARAM_TYPE: a float for parameters of the model, int32 for constants."""
        return numbers.MAV_PARAM_TYPE_REAL32 if self.path else numbers.MAV_PARAM_TYPE_INT32

    @property
    def raw_name(self) -> bytes:
        """The name as bytes, at most sixteen."""
        return self.name.encode()


class Parameters:
    """All parameters sorted by name, and the partners to whom the list is being sent."""

    def __init__(self, commander: Commander, texts: Texts, fixed: Mapping[str, int], file: Path | None = None) -> None:
        self.commander, self.texts, self.file = commander, texts, file
        self._values = commander.params()
        entries = [Entry(name, path) for path, name in names_of(self._values).items()]
        entries += [Entry(name, fixed=value) for name, value in fixed.items()]
        self.entries = sorted(entries, key=lambda entry: entry.name)
        self.place = {entry.name: number for number, entry in enumerate(self.entries)}
        self._changed: dict[str, float] = {}
        self._sending: dict[Channel, int] = {}  # index of the next parameter of each list
        if file is not None and file.exists():
            self._load(file)

    def bits(self, entry: Entry) -> int:
        """The present value as 32 bits, of a float or of an integer."""
        raw = struct.pack("<f", _single(self._values[entry.path])) if entry.path else struct.pack("<i", entry.fixed)
        return int.from_bytes(raw, "little")

    # ------------------------------------------------------------------------------------------ messages

    def take_list(self, channel: Channel, _message: Any, _sender: Sender) -> None:
        """PARAM_REQUEST_LIST: begin to send all parameters."""
        self._sending[channel] = 0

    def take_read(self, channel: Channel, message: Any, sender: Sender) -> None:
        """PARAM_REQUEST_READ: send one parameter, by index or name."""
        name = _text(message.param_id)
        if message.param_index < 0 and name == HASH:
            self._tell_hash(channel)
            return
        number = message.param_index if message.param_index >= 0 else self.place.get(name, -1)
        if 0 <= number < len(self.entries):
            self._tell(channel, number)
        else:
            self._refuse(channel, sender, message, numbers.MAV_PARAM_ERROR_DOES_NOT_EXIST)

    def take_set(self, channel: Channel, message: Any, sender: Sender) -> None:
        """PARAM_SET: change a parameter, and report its new value."""
        name = _text(message.param_id)
        if name == HASH:  # the ground station has all of them: stop sending the list
            self._sending.pop(channel, None)
            return
        number = self.place.get(name, -1)
        if number < 0:
            self._refuse(channel, sender, message, numbers.MAV_PARAM_ERROR_DOES_NOT_EXIST)
            return
        entry = self.entries[number]
        why, error = self._set(entry, message.param_value, message.param_type)
        if why:
            self.texts.refuse(f"{name}: {why}")
            self._refuse(channel, sender, message, error)
        self._tell(channel, number)

    def _set(self, entry: Entry, bits: int, kind: int) -> tuple[str, int]:
        if kind not in numbers.PARAM_FORMS:
            return f"MAVLink type {kind} is not known", numbers.MAV_PARAM_ERROR_VALUE_OUT_OF_RANGE
        value = float(struct.unpack(numbers.PARAM_FORMS[kind], bits.to_bytes(4, "little"))[0])
        if not entry.path:
            same = value == entry.fixed
            return ("", 0) if same else ("it cannot be changed", numbers.MAV_PARAM_ERROR_READ_ONLY)
        if not math.isfinite(value):
            return f"{value} is no number", numbers.MAV_PARAM_ERROR_VALUE_OUT_OF_RANGE
        why = self.commander.set_param(entry.path, value)
        if why:
            return why, numbers.MAV_PARAM_ERROR_VALUE_OUT_OF_RANGE
        self._values[entry.path] = self._changed[entry.name] = value
        self._save()
        return "", 0

    def _refuse(self, channel: Channel, sender: Sender, message: Any, error: int) -> None:
        index = getattr(message, "param_index", -1)
        channel.say(dialect.PARAM_ERROR, index, *sender, message.param_id, error)

    def poll(self, channels: list[Channel]) -> None:
        """Send the next parameters of each list in progress."""
        for channel in list(self._sending):
            if channel not in channels:
                del self._sending[channel]
                continue
            start = self._sending[channel]
            for number in range(start, min(start + PER_LOOK, len(self.entries))):
                self._tell(channel, number)
            self._sending[channel] = start + PER_LOOK
            if start + PER_LOOK >= len(self.entries):
                del self._sending[channel]
                self._tell_hash(channel)

    def _tell(self, channel: Channel, number: int) -> None:
        entry = self.entries[number]
        channel.say(VALUE, self.bits(entry), len(self.entries), number, entry.raw_name, entry.kind)

    def _tell_hash(self, channel: Channel) -> None:
        count = len(self.entries)
        channel.say(VALUE, self.hash(), count, NO_INDEX, HASH.encode(), numbers.MAV_PARAM_TYPE_UINT32)

    def hash(self) -> int:
        """CRC-32 of all names and values in order, begun with zero and not inverted [PX4] param_hash_check."""
        inner = 0xFFFFFFFF  # zlib inverts before and after
        for entry in self.entries:
            inner = zlib.crc32(entry.raw_name + self.bits(entry).to_bytes(4, "little"), inner)
        return inner ^ 0xFFFFFFFF

    # ------------------------------------------------------------------------------------------ file

    def _save(self) -> None:
        if self.file is None:
            return
        rows = (f"1\t1\t{name}\t{value!r}\t{numbers.MAV_PARAM_TYPE_REAL32}" for name, value in self._changed.items())
        text = HEADER.format(vehicle=self.commander.vehicle.id) + "".join(f"{row}\n" for row in sorted(rows))
        try:
            write_text(self.file, text)
        except OSError as error:
            self.texts.refuse(f"parameters cannot be kept in {self.file.name}: {error.strerror}")

    def _load(self, file: Path) -> None:
        for where, name, value in _rows(file):
            number = self.place.get(name, -1)
            if number < 0 or not self.entries[number].path:
                raise LinkError(f"{where}: vehicle '{self.commander.vehicle.id}' has no parameter {shortened(name)}")
            path = self.entries[number].path
            why = self.commander.set_param(path, value)
            if why:
                raise LinkError(f"{where}: {name}: {why}")
            self._values[path] = self._changed[name] = value


def _rows(file: Path) -> Iterator[tuple[str, str, float]]:
    try:
        if file.stat().st_size > MOST_BYTES:
            raise LinkError(f"{file}: more than {MOST_BYTES} bytes; no parameter file")
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise LinkError(f"parameter file {file} cannot be read: {error}") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        where, cells = f"{file}: line {number}", line.split()
        if len(cells) != COLUMNS:
            raise LinkError(f"{where} has {len(cells)} columns; {COLUMNS} are needed: vehicle, component, name, ...")
        try:
            value = float(cells[3])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise LinkError(f"{where}: '{shortened(cells[3])}' is no number; give one in the fourth column")
        yield where, cells[2], value


def _text(raw: bytes) -> str:
    return raw.partition(b"\0")[0].decode("ascii", errors="replace")


def _single(value: float) -> float:
    """The nearest value of a 32-bit float; a value beyond its range becomes the largest one."""
    most = 3.4028234663852886e38
    return min(max(value, -most), most)
