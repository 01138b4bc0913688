"""Camera pictures in the packets of RflySim's image ports, as its clients decode them.

A picture is a PNG file (colours with 8 bits, depth in millimetres with 16) in pieces of 60000 bytes, each with the
head `4i1d`: 1234567890, length of the packet, number of the piece, number of pieces, time in s. Source: the public
client VisionCaptureApi.py. Not done: requests of clients (VisionSensorReq, port 20010) are not answered.
"""

from __future__ import annotations

import struct

import numpy as np

from ironbird.errors import LinkError
from ironbird.world.png import write_png
from ironbird.world.runner import Sample

HEAD = struct.Struct("<4id")
CHECKSUM = 1234567890
PIECE = 60000  # bytes of a picture in one packet


def picture_packets(sample: Sample) -> list[bytes]:
    """The packets of a camera's sample, in their order."""
    if "rgb" in sample.data:
        file = write_png(sample.data["rgb"])
    elif "depth_m" in sample.data:
        millimetres = np.round(1000.0 * sample.data["depth_m"])
        file = write_png(np.where(millimetres > 65535, 0, millimetres).astype(np.uint16))
    else:
        raise LinkError(
            f"sensor '{sample.sensor}' has no picture, but {', '.join(sample.data)}; RflySim's image ports take colour "
            "and depth cameras"
        )
    pieces = [file[place : place + PIECE] for place in range(0, len(file), PIECE)]
    return [
        HEAD.pack(CHECKSUM, HEAD.size + len(piece), number, len(pieces), sample.time_s) + piece
        for number, piece in enumerate(pieces)
    ]
