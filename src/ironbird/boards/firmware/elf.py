"""Images for microcontrollers: 32-bit little-endian ELF files for ARM, Intel HEX, and raw binaries for the flash."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

from ironbird.errors import LinkError

MOST_BYTES = 64_000_000
ARM, LOADED, SYMBOLS = 40, 1, 2
FLASH = 0x08000000


@dataclass(frozen=True)
class Image:
    """Content of an image for a microcontroller's memory, and its symbols."""

    name: str
    parts: tuple[tuple[int, bytes], ...]  # physical address and content
    symbols: dict[str, tuple[int, int]] = field(default_factory=dict)  # name -> address and size

    @property
    def start(self) -> int:
        """Address of the vector table; a boot loader at the start of the flash would jump there."""
        flash = [address for address, _ in self.parts if address >> 24 == FLASH >> 24]
        return min(flash, default=FLASH)

    def address(self, name: str) -> int:
        """Address of a symbol; `LinkError` if the image does not contain it."""
        if name not in self.symbols:
            raise LinkError(f"{self.name} has no symbol '{name}': build it with its symbol table, or give an address")
        return self.symbols[name][0]

    def at(self, address: int) -> str:
        """Name of the function or variable at an address, with the offset; hexadecimal if unknown."""
        for name, (start, size) in self.symbols.items():
            if size and start & ~1 <= address < (start & ~1) + size:
                offset = address - (start & ~1)
                return name + (f"+{offset:#x}" if offset else "")
        return f"{address:#010x}"


def read_image(path: str | Path, at: int = FLASH) -> Image:
    """Read an image from a file: ELF, Intel HEX (.hex), or raw bytes (.bin) for the address `at`."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise LinkError(f"image {path} cannot be read: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise LinkError(f"image {path} has more than {MOST_BYTES} bytes: no microcontroller holds it")
    if data[:4] == b"\x7fELF":
        return parse_elf(data, path.name)
    if path.suffix == ".hex":
        return parse_hex(data, path.name)
    if path.suffix != ".bin":
        raise LinkError(f"{path} is no ELF file; a raw image for the start of the flash must be called .bin")
    return Image(path.name, ((at, data),))


def parse_hex(data: bytes, name: str) -> Image:
    """Parse an Intel HEX file (records 00, 01, 02, 04; start addresses are ignored); `LinkError` names a bad line."""
    parts: list[tuple[int, bytearray]] = []
    base = 0
    for number, line in enumerate(data.decode("ascii", "replace").split(), start=1):
        try:
            record = bytes.fromhex(line[1:])
        except ValueError:
            record = b""
        if line[:1] != ":" or len(record) < 5 or len(record) != record[0] + 5 or sum(record) & 255:
            raise LinkError(f"image {name}, line {number}: '{line[:60]}' is no record of Intel HEX")
        offset, kind, content = int.from_bytes(record[1:3], "big"), record[3], record[4:-1]
        if kind == 1:
            break
        if kind in (2, 4):
            base = int.from_bytes(content, "big") << (4 if kind == 2 else 16)
        elif kind == 0:
            at = base + offset
            if not parts or parts[-1][0] + len(parts[-1][1]) != at:
                parts.append((at, bytearray()))
            parts[-1][1].extend(content)
    if not parts:
        raise LinkError(f"image {name} has nothing to load; give an image with code for the flash")
    return Image(name, tuple((at, bytes(content)) for at, content in parts))


def parse_elf(data: bytes, name: str) -> Image:
    """Loaded segments and symbols of an ELF file; any problem raises `LinkError`."""
    try:
        return _parse(data, name)
    except (struct.error, IndexError, ValueError, UnicodeDecodeError) as error:
        raise LinkError(f"image {name} is a broken ELF file: {error}") from None


def _parse(data: bytes, name: str) -> Image:
    if data[:6] != b"\x7fELF\x01\x01" or struct.unpack_from("<H", data, 18)[0] != ARM:
        raise LinkError(f"image {name} is no 32-bit little-endian ELF file for ARM")
    programs, sections, size, count, section_size, section_count = struct.unpack_from("<II6xHHHH", data, 28)
    parts: list[tuple[int, bytes]] = []
    for number in range(count):
        kind, offset, _, physical, length = struct.unpack_from("<5I", data, programs + number * size)
        if kind == LOADED and length:
            if offset + length > len(data):
                raise ValueError(f"segment {number} ends at byte {offset + length} of {len(data)}")
            parts.append((physical, data[offset : offset + length]))
    symbols: dict[str, tuple[int, int]] = {}
    headers = [struct.unpack_from("<10I", data, sections + i * section_size) for i in range(section_count)]
    for header in headers:
        if header[1] != SYMBOLS or not header[9]:
            continue
        strings = headers[header[6]][4]
        for at in range(header[4], header[4] + header[5], header[9]):
            label, value, length, info, _, place = struct.unpack_from("<IIIBBH", data, at)
            start = strings + label
            text = data[start : data.index(b"\0", start)].decode()
            if text and place and not text.startswith("$") and info & 15 in (0, 1, 2):
                symbols[text] = (value, length)
    if not parts:
        raise LinkError(f"image {name} has nothing to load; give an image with code for the flash")
    return Image(name, tuple(parts), symbols)
