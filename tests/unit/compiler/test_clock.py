"""The clock of native code is the system's."""

from __future__ import annotations

import ctypes
import time
from pathlib import Path

from ironbird.compiler.native_text import CLOCK, load_texts

SOURCE = """
__attribute__((visibility("default"))) int64_t now_ns(ib_clock *clock) { return ib_now_ns(clock); }
"""


def test_nanoseconds_of_native_code_lie_between_two_looks_at_the_clock(tmp_path: Path) -> None:
    text = tmp_path / "now.c"
    text.write_text(SOURCE)
    library = load_texts(CLOCK, text)
    library.now_ns.restype, library.now_ns.argtypes = ctypes.c_int64, [ctypes.c_void_p]
    clock = ctypes.cast(ctypes.CDLL(None).clock_gettime, ctypes.c_void_p)
    before = time.monotonic_ns()
    assert before <= library.now_ns(clock) <= time.monotonic_ns()
