"""Native code besides the kernel: C files built as one library, structures checked against their ctypes mirrors."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Mapping
from pathlib import Path

from ironbird.compiler import native
from ironbird.errors import CompileError

LAYOUT = native.HEADERS / "ib_layout.h"
CLOCK = native.HEADERS / "ib_clock.h"  # needed before texts that read the clock
Structures = Mapping[str, type[ctypes.Structure]]


def load_texts(*paths: Path, structures: Structures | None = None) -> ctypes.CDLL:
    """Build C files as one library; `structures` are the ctypes mirrors by their names in C."""
    text = "".join(path.read_text() for path in ([LAYOUT] * (structures is not None) + list(paths)))
    library = native.load(text, 1)
    if structures is not None:
        check_layout(library, structures)
    return library


def check_layout(library: ctypes.CDLL, structures: Structures) -> None:
    """Raise unless fields and sizes of the structures are the same in Python and in the library."""
    library.ib_layout_name.restype, library.ib_layout_name.argtypes = ctypes.c_char_p, [ctypes.c_int64]
    library.ib_layout_value.restype, library.ib_layout_value.argtypes = ctypes.c_int64, [ctypes.c_int64]
    names = itertools.takewhile(lambda name: name is not None, map(library.ib_layout_name, itertools.count()))
    theirs = {name.decode(): library.ib_layout_value(place) for place, name in enumerate(names)}
    ours: dict[str, int] = {}
    for name, structure in structures.items():
        ours |= {f"{name}.{field[0]}": getattr(structure, field[0]).offset for field in structure._fields_}
        ours[f"sizeof({name})"] = ctypes.sizeof(structure)
    for name in {**theirs, **ours}:
        if theirs.get(name) != ours.get(name):
            there, here = theirs.get(name, "unknown"), ours.get(name, "unknown")
            raise CompileError(
                f"native code and its mirror in Python disagree about {name}: {there} there, {here} here; "
                f"empty the cache folder {native.cache_folder()}"
            )
