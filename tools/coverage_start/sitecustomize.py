"""Begin to count lines in every Python process whose PYTHONPATH holds this folder (tools/measure_coverage.py).

Python reads this module at its start. Counts of native code are kept by the process itself when it ends by `exit`; here
they are kept as well when it ends by `os._exit`, as children of a fork do, or by SIGTERM.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

import coverage

begun = coverage.process_startup()
end_at_once = os._exit


def keep_counts() -> None:
    """Write what was counted so far, in Python and in native code."""
    native = sys.modules.get("ironbird.compiler.native")
    for library in list(native._loaded.values()) if native else []:
        with contextlib.suppress(AttributeError):  # a library of another compiler
            library.coverage_keep()
    if begun:
        begun.save()


def end(status: int) -> NoReturn:
    """End the process as `os._exit` does, with its counts kept."""
    with contextlib.suppress(Exception):
        keep_counts()
    end_at_once(status)


def end_by_signal(number: int, frame: FrameType | None) -> None:
    """End the process as SIGTERM does, with its counts kept."""
    with contextlib.suppress(Exception):
        keep_counts()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


if begun:
    os._exit = end
    signal.signal(signal.SIGTERM, end_by_signal)
