"""The C code of the world (`c/rays.c`), compiled and cached like kernels: no contraction, the same bytes everywhere."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

import numpy as np

from ironbird.compiler import native
from ironbird.compiler.generate import stream_id
from ironbird.errors import WorldError

SOURCE = Path(__file__).parent / "c" / "rays.c"
NODE = np.dtype([("box", np.float32, 24), ("child", np.int32, 4), ("count", np.int32, 4)])
BODY = np.dtype(
    [
        ("R", float, 9),
        ("p", float, 3),
        ("radius", float),
        ("object", np.int32),
        ("first", np.int32),
        ("root", np.int32),
        ("kind", np.int32),
    ]
)
PAINT = np.dtype([("colour", float, 3), ("second", float, 3), ("checker", float), ("reflectance", float)])
PAD = np.dtype(
    [("place", float, 5), ("object", np.int32), ("body", np.int32), ("marker", np.uint64), ("cells", np.int32),
     ("pad", np.int32), ("top", float)]
)  # fmt: skip
_P, _I, _L, _D = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.c_double
MOST_NUMBERS = 2**29  # limit of one sample: range of the counter


class SceneC(ctypes.Structure):
    """Structure `scene_t` of the C code."""

    _fields_ = [
        ("nodes", _P), ("prims", _P), ("kinds", _P), ("objects", _P), ("root", _L), ("cells", _P), ("norths", _P),
        ("easts", _P), ("heights", _P), ("rows", _L), ("columns", _L), ("plane", _D * 3), ("has_water", _L),
        ("water", _D), ("bodies", _P), ("body_count", _L),
    ]  # fmt: skip


@functools.cache
def library() -> ctypes.CDLL:
    """The compiled library; the first call on a machine takes some seconds."""
    lib = native.load(SOURCE.read_text(encoding="utf-8"), 1, what="the code of worlds")
    lib.iw_build.restype = lib.iw_build_grid.restype = lib.iw_cast.restype = _L
    lib.iw_build.argtypes = [_P, _L, _P, _P]
    lib.iw_build_grid.argtypes = [_P, _P]
    lib.iw_turn.argtypes = [_L, _L, _P, _P, _P, _P, _P]
    lib.iw_cast.argtypes = [_P, _L, _P, _P, _D, _I, _I, _P, _P, _P]
    lib.iw_leaves.argtypes = [_P, _L, _L, _P, _P, _P]
    lib.iw_distance.argtypes = [_P, _L, _P, _D, _I, _I, _P, _P]
    lib.iw_pads.argtypes = [_P, _P, _L, _L, _P, _P, _P, _P]
    lib.iw_shade.argtypes = [_P, _P, _P, _L, _L, _P, _P, _P, _P, _P, _P, _D, _P, _D, _I, _P]
    lib.iw_near.argtypes = [_L, _P, _P, _P, _P, _P, _P, _P, _L, _L, _D, _P]
    lib.iw_sine_cosine.argtypes = [_L, _P, _P, _P]
    lib.iw_exponential.argtypes = [_L, _P, _P]
    lib.iw_random.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, _I, _L, _P]
    return lib


def sine_cosine(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sines and cosines of angles in rad, with the same bits on every machine."""
    x = np.ascontiguousarray(x, float)
    sine, cosine = np.empty_like(x), np.empty_like(x)
    library().iw_sine_cosine(x.size, x.ctypes.data, sine.ctypes.data, cosine.ctypes.data)
    return sine, cosine


def exponential(x: np.ndarray) -> np.ndarray:
    """Exponential of each number, with the same bits on every machine."""
    x = np.ascontiguousarray(x, float)
    out = np.empty_like(x)
    library().iw_exponential(x.size, x.ctypes.data, out.ctypes.data)
    return out


def turn_rays(places: np.ndarray, rotations: np.ndarray, rays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Origins and directions in N of rays given in a sensor's axes; equal parts of the rays share a pose."""
    places, rotations, rays = (np.ascontiguousarray(part, float) for part in (places, rotations, rays))
    each, rest = divmod(len(rays), len(places))
    if rest or len(rotations) != len(places):
        raise WorldError(f"{len(rays)} rays for {len(places)} poses; give each pose as many")
    origins, directions = np.empty_like(rays), np.empty_like(rays)
    arrays = (places, rotations, rays, origins, directions)
    library().iw_turn(len(rays), each, *(array.ctypes.data for array in arrays))
    return origins, directions


def _random(seed: int, stream: str, sample: int, count: int, normal: bool) -> np.ndarray:
    if not 0 <= count <= MOST_NUMBERS or not 0 <= sample < 2**36:
        raise OverflowError(f"{count} numbers of sample {sample}: the counter has room for 2^29 of 2^36")
    out = np.empty(count)
    library().iw_random(seed % 2**64, stream_id(stream), sample, int(normal), count, out.ctypes.data)
    return out


def normals(seed: int, stream: str, sample: int, count: int) -> np.ndarray:
    """Standard normal numbers: number k depends only on seed, stream, sample and k (`ib_noise.h`)."""
    return _random(seed, stream, sample, count, True)


def uniforms(seed: int, stream: str, sample: int, count: int) -> np.ndarray:
    """Uniform numbers in (0, 1); number k depends only on seed, stream, sample and k."""
    return _random(seed, stream, sample, count, False)
