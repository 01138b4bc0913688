"""Guard process that cleans up after an autopilot if its simulator is killed; `host/process.py` runs this file.

It runs in its own session and waits for end-of-file on its standard input, which comes when the simulator ends for any
reason. Then it kills the autopilot and removes its files. The input line `done` means that nothing is left to clean up.
It uses the standard library only, so that it starts in a few milliseconds.
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
GROUP = "group "  # followed by the id of the autopilot's process group
FLOCK = "hhqqi"  # struct flock of Linux: type, whence, start, length, process
GONE_S = 5.0  # s, limit for a killed process to disappear


def is_locked(path: Path) -> bool:
    """Whether any process holds a lock on a file."""
    try:
        with path.open("r+b") as file:
            request = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            owner = struct.unpack(FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, request))
    except OSError:
        return False
    return bool(owner[0] != fcntl.F_UNLCK)


def remove_unless_locked(lock: Path, others: Sequence[Path]) -> None:
    """Remove a lock file and the files that belong to it, unless another process holds the lock."""
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
    """Kill all processes of a process group and wait until they have ended."""
    deadline = time.monotonic() + GONE_S
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
        while time.monotonic() < deadline:
            os.killpg(group, 0)
            time.sleep(0.01)


def main(folder: str, *locked: str) -> None:
    """Wait for the end of the input, then remove the folder and, if given, a lock file with its companion files."""
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
