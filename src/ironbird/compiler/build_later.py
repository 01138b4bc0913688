"""The process in the background that builds the optimised library of a kernel; `background.optimise` starts it."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from ironbird.compiler import cache, native

PRIORITY = 10  # that it is lower than that of flights
QUEUE = "optimising.lock"


def _main() -> None:
    """Build the text that comes in, for so many lanes and a target, when it is its turn."""
    with contextlib.suppress(OSError):
        os.nice(PRIORITY)
    waiting, lanes, target = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    text = sys.stdin.buffer.read().decode()
    with cache.locked(waiting), cache.locked(cache.make_folder() / QUEUE):
        native.build(text, lanes, target)


if __name__ == "__main__":
    _main()
