"""Writes the table of MAVLink that Python and C read, from the XML of its dialects.

    python tools/write_mavlink_table.py

Messages go to messages.csv and enums to enums.csv beside the codec; what native code needs of them goes to a C header.
The XML is that of the installed pymavlink (ardupilotmega with all that it includes, and development), and
tools/mavlink_px4.xml with what PX4 adds. Nothing of pymavlink is needed when Ironbird runs.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ironbird.protocols.mavlink import dialect, numbers
from ironbird.protocols.mavlink.codec import MESSAGES as HEADER

DIALECTS = ("ardupilotmega", "development")
BEYOND = Path(__file__).parent / "mavlink_px4.xml"
TYPES = {  # of the XML -> code of `struct`, bytes
    "char": ("s", 1), "uint8_t": ("B", 1), "int8_t": ("b", 1), "uint16_t": ("H", 2), "int16_t": ("h", 2),
    "uint32_t": ("I", 4), "int32_t": ("i", 4), "uint64_t": ("Q", 8), "int64_t": ("q", 8), "float": ("f", 4),
    "double": ("d", 8),
}  # fmt: skip
NATIVE = ("HIL_ACTUATOR_CONTROLS", "HIL_CONTROLS", "HIL_GPS", "HIL_SENSOR")  # messages that C stages or reads
NATIVE_NUMBERS = ("HIL_SENSOR_UPDATED_FLAGS", "MAV_MODE_FLAG")  # enums that C uses


class Part(NamedTuple):
    """One field of a message as the XML says it."""

    name: str
    type: str
    length: int  # 0: no array
    unit: str
    extension: bool

    @property
    def text(self) -> str:
        """The field as the table has it: name, code of `struct`, unit."""
        code = f"{self.length or ''}{TYPES[self.type][0]}"
        return ":".join((self.name, code, self.unit) if self.unit else (self.name, code))


class Definition(NamedTuple):
    """A message of the XML with its fields in the order of the wire: by size, extensions last."""

    name: str
    id: int
    parts: list[Part]

    @property
    def crc_extra(self) -> int:
        """CRC-16/MCRF4XX of name and fields, folded into a byte; extensions do not count [MAVLink2]."""
        text = f"{self.name} ".encode()
        for part in self.parts:
            if not part.extension:
                text += f"{part.type} {part.name} ".encode() + bytes([part.length] if part.length else [])
        crc = 0xFFFF
        for byte in text:
            low = (byte ^ crc) & 0xFF
            low = (low ^ low << 4) & 0xFF
            crc = crc >> 8 ^ low << 8 ^ low << 3 ^ low >> 4
        return (crc & 0xFF) ^ crc >> 8

    @property
    def row(self) -> str:
        """A line of messages.csv."""
        ordinary, extended = (
            " ".join(part.text for part in self.parts if part.extension == late) for late in (False, True)
        )
        return f"{self.name},{self.id},{self.crc_extra},{ordinary}{' + ' + extended if extended else ''}\n"


def _roots(path: Path, seen: set[Path]) -> Iterator[ElementTree.Element]:
    """A dialect after those that it includes, each once."""
    if path in seen:
        return
    seen.add(path)
    root = ElementTree.parse(path).getroot()
    for include in root.iter("include"):
        yield from _roots(path.with_name(str(include.text)), seen)
    yield root


def _definition(element: ElementTree.Element) -> Definition:
    parts, extension = [], False
    for child in element:
        extension |= child.tag == "extensions"
        if child.tag == "field":
            kind, _, count = child.attrib["type"].removesuffix("]").partition("[")
            kind = kind.removesuffix("_mavlink_version")
            parts.append(Part(child.attrib["name"], kind, int(count or 0), child.get("units", ""), extension))
    parts.sort(key=lambda part: 0 if part.extension else -TYPES[part.type][1])
    return Definition(element.attrib["name"], int(element.attrib["id"]), parts)


def read_definitions() -> tuple[list[Definition], dict[str, dict[str, int]]]:
    """All messages in the order of their ids, and the entries of all enums by name."""
    spec = importlib.util.find_spec("pymavlink")
    assert spec is not None and spec.submodule_search_locations, "pymavlink is installed for the tests"
    folder, seen = Path(spec.submodule_search_locations[0]) / "dialects" / "v20", set[Path]()
    messages: dict[int, Definition] = {}
    enums: dict[str, dict[str, int]] = {}
    for path in (*(folder / f"{name}.xml" for name in DIALECTS), BEYOND):
        for root in _roots(path, seen):
            found = [_definition(element) for element in root.iter("message")]
            messages |= {message.id: message for message in found}
            for enum in root.iter("enum"):
                entries = enums.setdefault(enum.attrib["name"], {})
                for entry in enum.iter("entry"):
                    number = entry.get("value")
                    entries[entry.attrib["name"]] = int(number, 0) if number else max(entries.values(), default=-1) + 1
    return [messages[number] for number in sorted(messages)], dict(sorted(enums.items()))


def _native(messages: list[Definition], enums: dict[str, dict[str, int]]) -> str:
    """The header of C: id, seed and size of the messages that native code uses, and where their fields begin."""
    found: dict[str, int | str] = {}
    for message in (message for message in messages if message.name in NATIVE):
        at = 0
        found |= {message.name: message.id, f"{message.name}_EXTRA": message.crc_extra}
        for part in message.parts:
            found[f"{message.name}_{part.name.upper()}_AT"] = at
            at += TYPES[part.type][1] * (part.length or 1)
        found[f"{message.name}_SIZE"] = at
    for name in NATIVE_NUMBERS:
        found |= {entry: f"{number}u" for entry, number in enums[name].items()}
    head = "/* What native code needs of MAVLink's messages. Written by tools/write_mavlink_table.py. */\n"
    return head + "".join(f"#define {name} {value}\n" for name, value in found.items())


def files() -> dict[Path, str]:
    """All texts by where they stand."""
    messages, enums = read_definitions()
    version = importlib.metadata.version("pymavlink")
    source = (
        "# Written by tools/write_mavlink_table.py from the XML of MAVLink (MIT licence) as pymavlink "
        f"{version} has it, and what PX4 adds.\n"
    )
    rows = "".join(f"{name},{' '.join(f'{e}={n}' for e, n in entries.items())}\n" for name, entries in enums.items())
    return {
        dialect.TABLE: f"{source}# name,id,CRC_EXTRA,fields in the order of the wire as name:code[:unit]; "
        f"extensions follow a +\n{''.join(message.row for message in messages)}",
        numbers.TABLE: f"{source}# enum,its entries\n{rows}",
        HEADER: _native(messages, enums),
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text)
