"""GeoTIFF elevation, the plain kind: one band of 16- or 32-bit whole numbers or floats, strips or tiles.

Read: uncompressed, Deflate and LZW, with or without predictor; the place from pixel scale and tie point, in degrees or
metres. Not read: rotated grids, BigTIFF, several bands, JPEG. Vertical datum and map projection are taken as they are:
a projected grid is used as if its axes were north and east. Sources: TIFF 6.0; OGC GeoTIFF 1.1.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.errors import WorldError
from ironbird.world.imports.tile import Tile
from ironbird.world.model import MOST_GRID_POINTS

KINDS = {1: "B", 2: "c", 3: "H", 4: "I", 5: "II", 11: "f", 12: "d", 16: "Q"}
SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 11: 4, 12: 8, 16: 8}
MOST_VALUES = 1_000_000  # most values of one tag


def read_geotiff(data: bytes, path: Path) -> Tile:
    """Heights with their position; values that mark gaps become NaN."""
    order = {b"II": "<", b"MM": ">"}.get(data[:2])
    if order is None or struct.unpack_from(order + "H", data, 2)[0] != 42:
        raise WorldError("this is no TIFF (BigTIFF is not read); convert it to a plain GeoTIFF")
    tags = _tags(data, order)
    width, height = int(tags[256][0]), int(tags[257][0])
    if not 0 < width * height <= MOST_GRID_POINTS:
        raise WorldError(f"{width} x {height} heights, the most is {MOST_GRID_POINTS}; cut or thin the grid")
    bits, form = int(tags.get(258, (1,))[0]), int(tags.get(339, (1,))[0])
    if tags.get(277, (1,))[0] != 1 or (bits, form) not in {(16, 1), (16, 2), (32, 1), (32, 2), (32, 3), (64, 3)}:
        raise WorldError(f"{tags.get(277, (1,))[0]} bands of {bits} bits, format {form}, are not read; give one band")
    kind = np.dtype(f"{order}{'uif'[form - 1]}{bits // 8}")
    heights = _pixels(data, tags, width, height, kind).astype(float)
    nothing = tags.get(42113)
    if nothing:
        value = float(b"".join(nothing).split(b"\0")[0].decode("ascii", "replace"))
        heights[heights == value] = np.nan
    return _placed(heights, tags)


def _tags(data: bytes, order: str) -> dict[int, Any]:
    (place,) = struct.unpack_from(order + "I", data, 4)
    (count,) = struct.unpack_from(order + "H", data, place)
    tags: dict[int, Any] = {}
    for number in range(count):
        tag, kind, values, where = struct.unpack_from(order + "HHII", data, place + 2 + 12 * number)
        if kind not in KINDS or values > MOST_VALUES:
            continue
        if SIZES[kind] * values <= 4:
            where = place + 2 + 12 * number + 8
        tags[tag] = struct.unpack_from(f"{order}{values * len(KINDS[kind])}{KINDS[kind][0]}", data, where)
    return tags


def _pixels(data: bytes, tags: dict[int, Any], width: int, height: int, kind: np.dtype) -> np.ndarray:
    if 322 in tags:
        wide, tall, places, sizes = int(tags[322][0]), int(tags[323][0]), tags[324], tags[325]
    else:
        wide, tall, places, sizes = width, min(int(tags.get(278, (height,))[0]), height), tags[273], tags[279]
    across, down = -(-width // max(wide, 1)), -(-height // max(tall, 1))
    if wide <= 0 or tall <= 0 or wide * tall > MOST_GRID_POINTS or len(places) < across * down:
        raise WorldError(f"{len(places)} pieces of {wide} x {tall} do not make {width} x {height}; it is broken")
    out = np.zeros((down * tall, across * wide), kind)
    whole = wide * tall * kind.itemsize
    for number in range(across * down):
        raw = data[places[number] : places[number] + sizes[number]]
        row, column = divmod(number, across)
        lines = tall if 322 in tags else min(tall, height - row * tall)
        piece = _unpacked(raw, int(tags.get(259, (1,))[0]), min(whole, lines * wide * kind.itemsize))
        block = np.frombuffer(piece, kind, lines * wide).reshape(lines, wide)
        block = _predicted(block, piece, int(tags.get(317, (1,))[0]), kind)
        out[row * tall : row * tall + lines, column * wide : (column + 1) * wide] = block
    return out[:height, :width]


def _unpacked(raw: bytes, how: int, size: int) -> bytes:
    if how == 1:
        return raw
    if how in (8, 32946):
        return zlib.decompressobj().decompress(raw, size)
    if how == 5:
        return _lzw(raw, size)
    raise WorldError(f"compression {how} is not read; convert it to Deflate or none")


def _lzw(raw: bytes, size: int) -> bytes:
    """LZW decompression of TIFF 6.0, section 13: codes of 9 to 12 bits, highest bit first, with early change."""
    table = [bytes([i]) for i in range(256)] + [b"", b""]
    out, width, held, bits, last = bytearray(), 9, 0, 0, b""
    for byte in raw:
        held, bits = held << 8 | byte, bits + 8
        if bits < width:
            continue
        bits -= width
        code = held >> bits
        held &= (1 << bits) - 1
        if code == 257 or len(out) >= size:
            break
        if code == 256:
            table, width, last = table[:258], 9, b""
            continue
        if code < len(table):
            entry = table[code]
        elif code == len(table) and last:
            entry = last + last[:1]
        else:
            raise WorldError("its LZW data are broken; export it again")
        out += entry
        if last:
            table.append(last + entry[:1])
        last = entry
        width = 9 if len(table) < 511 else 10 if len(table) < 1023 else 11 if len(table) < 2047 else 12
    return bytes(out[:size])


def _predicted(block: np.ndarray, piece: bytes, predictor: int, kind: np.dtype) -> np.ndarray:
    if predictor == 1:
        return block
    lines, wide = block.shape
    if predictor == 2 and kind.kind in "iu":
        return np.cumsum(block, axis=1, dtype=kind.newbyteorder("=")).astype(kind)
    if predictor == 3 and kind.kind == "f":  # bytes of all numbers of a line sorted by significance, as differences
        steps = np.frombuffer(piece, np.uint8, block.nbytes).reshape(lines, -1)
        planes = np.cumsum(steps, axis=1, dtype=np.uint8).reshape(lines, kind.itemsize, wide)
        return np.ascontiguousarray(planes.transpose(0, 2, 1)).view(f">f{kind.itemsize}").reshape(lines, wide)
    raise WorldError(f"predictor {predictor} is not read; convert it to one without")


def _placed(heights: np.ndarray, tags: dict[int, Any]) -> Tile:
    if 33550 not in tags or 33922 not in tags:
        return Tile(heights)
    east, north = float(tags[33550][0]), float(tags[33550][1])
    column, row, _, x, y = (float(v) for v in tags[33922][:5])
    keys = tags.get(34735, ())
    geo = {keys[i]: keys[i + 3] for i in range(4, len(keys) - 3, 4) if keys[i + 1] == 0}
    half = 0.5 if geo.get(1025, 1) == 1 else 0.0  # the position is that of a pixel's corner, not of its centre
    return Tile(
        heights, y + (row - half) * north, x - (column - half) * east, north, east, degrees=geo.get(1024) == 2
    )  # fmt: skip
