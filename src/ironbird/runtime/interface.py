"""ctypes mirrors of the kernel's structures and constants, compared with the kernel's own when it is loaded."""

from __future__ import annotations

import ctypes
import itertools

from ironbird.compiler.native import cache_folder
from ironbird.errors import RunError
from ironbird.runtime.predicate import STACK, Op

EFFECTS: dict[str, int] = {"replace": 0, "scale": 1, "offset": 2}
SHAPES: dict[str, int] = {"step": 0, "ramp": 1, "intermittent": 2}


class EventRecord(ctypes.Structure):
    """Structure `ib_event` of c/ib_loop.h."""

    _fields_ = [
        (name, ctypes.c_int64)
        for name in ("lane", "param", "effect", "shape", "start", "end", "trigger", "rise", "period", "on")
    ] + [("value", ctypes.c_double)]


class Programs(ctypes.Structure):
    """Structure `ib_programs` of c/ib_loop.h."""

    _fields_ = [("code", ctypes.c_void_p), ("constants", ctypes.c_void_p), ("first", ctypes.c_void_p)]


class RunArgs(ctypes.Structure):
    """Structure `ib_run_args` of c/ib_loop.h."""

    _fields_ = [
        ("first_block", ctypes.c_int64), ("last_block", ctypes.c_int64),
        ("tick", ctypes.c_int64), ("ticks", ctypes.c_int64),
        ("x", ctypes.c_void_p), ("xd", ctypes.c_void_p), ("held", ctypes.c_void_p),
        ("param", ctypes.c_void_p), ("input", ctypes.c_void_p), ("seed", ctypes.c_void_p),
        ("stop_tick", ctypes.c_void_p), ("stop_reason", ctypes.c_void_p), ("stop_row", ctypes.c_void_p),
        ("events", ctypes.c_void_p), ("event_first", ctypes.c_void_p),
        ("event_fired", ctypes.c_void_p), ("triggers", Programs),
        ("log_every", ctypes.c_int64), ("log_rows", ctypes.c_int64), ("log_first", ctypes.c_int64),
        ("log_count", ctypes.c_int64),
        ("log_index", ctypes.c_void_p), ("log", ctypes.c_void_p),
        ("watched", Programs), ("watch_signals", ctypes.c_int64), ("watch_rows", ctypes.c_void_p),
        ("watch_count", ctypes.c_int64), ("watch_first", ctypes.c_void_p), ("watch_list", ctypes.c_void_p),
        ("watch", ctypes.c_void_p),
    ]  # fmt: skip


STRUCTURES: dict[str, type[ctypes.Structure]] = {
    "ib_event": EventRecord,
    "ib_programs": Programs,
    "ib_run_args": RunArgs,
}
MOST_WATCHED = 1024  # signals that the programs of a run may watch
_checked: set[int] = set()  # handles of libraries already checked


def check_interface(library: ctypes.CDLL) -> None:
    """Raise unless a kernel has the structure layouts and operation numbers of this module."""
    if library._handle in _checked:
        return
    library.ib_mirrored_name.restype, library.ib_mirrored_name.argtypes = ctypes.c_char_p, [ctypes.c_int64]
    library.ib_mirrored_value.restype, library.ib_mirrored_value.argtypes = ctypes.c_int64, [ctypes.c_int64]
    names = itertools.takewhile(lambda name: name is not None, map(library.ib_mirrored_name, itertools.count()))
    theirs: dict[str, int] = {name.decode(): library.ib_mirrored_value(i) for i, name in enumerate(names)}
    ours = _ours()
    for name in {**theirs, **ours}:
        if theirs.get(name) != ours.get(name):
            raise RunError(
                f"the kernel and this version of Ironbird disagree about {name}: {theirs.get(name, 'unknown')} there, "
                f"{ours.get(name, 'unknown')} here; empty the cache folder {cache_folder()}"
            )
    _checked.add(library._handle)


def _ours() -> dict[str, int]:
    """Offsets, sizes and constants of this module, by their names in the kernel."""
    numbers = {"IB_STACK": STACK, "IB_BATCH_VALUES": MOST_WATCHED}
    for name, structure in STRUCTURES.items():
        numbers |= {f"{name}.{field[0]}": getattr(structure, field[0]).offset for field in structure._fields_}
        numbers[f"sizeof({name})"] = ctypes.sizeof(structure)
    numbers |= {f"IB_{effect.upper()}": number for effect, number in EFFECTS.items()}
    numbers |= {f"IB_SHAPE_{shape.upper()}": number for shape, number in SHAPES.items()}
    return numbers | {f"IB_OP_{op.name}": op.value for op in Op}
