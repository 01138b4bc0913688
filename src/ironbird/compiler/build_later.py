"""Program of the background process that builds the optimised library of a kernel; `background.optimise` starts it."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from ironbird.compiler import cache, native

PRIORITY = 10  # niceness, so that flights go first
QUEUE = "optimising.lock"


def _main() -> None:
    """Build the text on standard input for the lane count and target of the arguments, when the queue is free."""
    with contextlib.suppress(OSError):
        os.nice(PRIORITY)
    waiting, lanes, target = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    text = sys.stdin.buffer.read().decode()
    with cache.locked(waiting), cache.locked(cache.make_folder() / QUEUE):
        native.build(text, lanes, target)


if __name__ == "__main__":
    _main()
