"""Clears up after an autopilot whose simulator was killed; `host/process.py` runs this file as a program.

It lives in a session of its own and waits for the end of its input, which comes with the end of the simulator, however
that ended: then it ends the autopilot and removes what is left of it. The line `done` says that nothing is left to do.
It uses the standard library only: it starts in a few milliseconds, without the rest of the package.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import struct
import sys
import time
from collections.abc import Sequence
from pathlib import Path

DONE = "done\n"
GROUP = "group "  # and the number of the autopilot's process group
FLOCK = "hhqqi"  # struct flock of Linux: type, whence, start, length, process
GONE_S = 5.0  # a process that was killed is gone by then


def is_locked(path: Path) -> bool:
    """Whether some process holds a lock on a file."""
    try:
        with path.open("r+b") as file:
            asked = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            found = struct.unpack(FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, asked))
    except OSError:
        return False
    return bool(found[0] != fcntl.F_UNLCK)


def remove_unless_locked(lock: Path, others: Sequence[Path]) -> None:
    """Remove a lock file and what belongs to it, unless a process holds the lock; no other gets it meanwhile."""
    with contextlib.suppress(OSError):  # held by another process
        if not lock.exists():
            for path in others:
                path.unlink(missing_ok=True)
            return
        with lock.open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for path in (*others, lock):
                path.unlink(missing_ok=True)


def end_group(group: int) -> None:
    """Kill all processes of a group and wait until they are gone."""
    deadline = time.monotonic() + GONE_S
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
        while time.monotonic() < deadline:
            os.killpg(group, 0)
            time.sleep(0.01)


def main(folder: str, *locked: str) -> None:
    """Wait, and clear up: the folder, then a lock file with its companions if they were given."""
    group = 0
    for line in sys.stdin:
        if line == DONE:
            return
        if line.startswith(GROUP):
            group = int(line.removeprefix(GROUP))
    if group:
        end_group(group)
    shutil.rmtree(folder, ignore_errors=True)
    if locked:
        lock, *others = map(Path, locked)
        remove_unless_locked(lock, others)


if __name__ == "__main__":
    main(*sys.argv[1:])
