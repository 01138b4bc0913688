"""PNG pictures, read and written with the standard library alone: 8 and 16 bits, grey, colour, with or without alpha.

Not read: palettes, fewer than 8 bits, interlaced pictures. The pixels of a picture repeat
to the bit; the bytes of its file depend on the zlib of the machine.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

from ironbird.errors import WorldError

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}
MOST_PIXELS = 64_000_000


def read_png(data: bytes) -> tuple[np.ndarray, int]:
    """Pixels (rows, columns, channels), and the value of white."""
    if data[:8] != SIGNATURE:
        raise WorldError("this is no PNG picture; export it as PNG")
    place, head, body = 8, b"", []
    while place + 8 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, place)
        content = data[place + 8 : place + 8 + size]
        if len(content) < size:
            raise WorldError("the picture is cut off; export it again")
        if kind == b"IHDR":
            head = content
        elif kind == b"IDAT":
            body.append(content)
        elif kind == b"IEND":
            break
        place += 12 + size
    width, height, bits, colour, _, _, interlaced = struct.unpack(">IIBBBBB", head)
    if colour not in CHANNELS or bits not in (8, 16) or interlaced:
        raise WorldError(
            f"a picture of type {colour} with {bits} bits{', interlaced,' if interlaced else ''} is not read; "
            "export it with 8 or 16 bits, grey or colour, without palette"
        )
    if not 0 < width * height <= MOST_PIXELS:
        raise WorldError(f"{width} x {height} pixels, the most is {MOST_PIXELS}; make it smaller")
    step = CHANNELS[colour] * bits // 8
    line = width * step
    raw = zlib.decompressobj().decompress(b"".join(body), (line + 1) * height)
    if len(raw) < (line + 1) * height:
        raise WorldError("the picture is cut off; export it again")
    rows = _unfiltered(np.frombuffer(raw, np.uint8).reshape(height, line + 1), step)
    pixels = rows.reshape(height, width, CHANNELS[colour], bits // 8)
    if bits == 16:
        return pixels[..., 0].astype(np.uint16) * 256 + pixels[..., 1], 65535
    return pixels[..., 0], 255


def _unfiltered(rows: np.ndarray, step: int) -> np.ndarray:
    """Undo the filter of each line (PNG specification, section 9)."""
    height, width = rows.shape[0], rows.shape[1] - 1
    out = np.zeros((height + 1, width + step), np.int64)
    for y in range(height):
        kind, line, above = int(rows[y, 0]), rows[y, 1:].astype(np.int64), out[y]
        now = out[y + 1]
        if kind == 0:
            now[step:] = line
        elif kind == 1:
            columns = line.reshape(-1, step)
            now[step:] = (np.cumsum(columns, axis=0) % 256).reshape(-1)
        elif kind == 2:
            now[step:] = (line + above[step:]) % 256
        elif kind in (3, 4):
            up, last = above.tolist(), now.tolist()
            for x, value in enumerate(line.tolist()):
                left, over, corner = last[x], up[x + step], up[x]
                if kind == 3:
                    guess = (left + over) // 2
                else:
                    p = left + over - corner
                    a, b, c = abs(p - left), abs(p - over), abs(p - corner)
                    guess = left if a <= b and a <= c else over if b <= c else corner
                last[x + step] = (value + guess) % 256
            now[:] = last
        else:
            raise WorldError(f"line {y} has the unknown filter {kind}; the picture is broken")
    return out[1:, step:].astype(np.uint8)


def write_png(pixels: np.ndarray) -> bytes:
    """PNG file of an 8- or 16-bit image: (rows, columns) grey or (rows, columns, 3) colour."""
    if pixels.dtype not in (np.uint8, np.uint16) or pixels.ndim not in (2, 3) or pixels.shape[2:] not in ((), (3,)):
        raise WorldError(
            f"a picture of {pixels.dtype} {pixels.shape} is not written; give 8 or 16 bits, grey or colour"
        )
    bits = 8 * pixels.dtype.itemsize
    height, width = pixels.shape[:2]
    lines = np.ascontiguousarray(pixels, pixels.dtype.newbyteorder(">")).view(np.uint8).reshape(height, -1)
    raw = np.concatenate([np.zeros((height, 1), np.uint8), lines], axis=1).tobytes()
    head = struct.pack(">IIBBBBB", width, height, bits, 2 if pixels.ndim == 3 else 0, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(raw, 6)), (b"IEND", b""))
    return SIGNATURE + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )
