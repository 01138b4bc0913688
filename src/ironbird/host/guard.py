"""Guard process that cleans up after an autopilot if its simulator is killed; `host/process.py` runs this file.

While the autopilot runs, the guard keeps the file of its output short: of a program that prints without end the
beginning and the end stay. It runs in its own session and waits for end-of-file on its standard input, which comes when
the simulator ends for any reason. Then it kills the autopilot and removes its files. The input line `done` means that
nothing is left to clean up. It uses the standard library only, so that it starts in a few milliseconds.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shutil
import signal
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

DONE = "done\n"
GROUP = "group "  # followed by the id of the autopilot's process group
CONSOLE = "console "  # followed by the path of the autopilot's output
MOST_CONSOLE, KEPT_CONSOLE = 8 << 20, 1 << 20  # bytes of output; what stays of its beginning and of its end
LOOK_S = 0.5  # s between two looks at the output
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


def shorten(console: Path, left_out: int = 0) -> int:
    """Cut the middle out of an output beyond `MOST_CONSOLE`; the bytes left out so far, with `left_out` from before.

    The program appends to the file, so that it goes on after the end that was kept.
    """
    with contextlib.suppress(OSError), console.open("r+b") as file:
        size = os.fstat(file.fileno()).st_size
        if size <= MOST_CONSOLE:
            return left_out
        file.seek(size - KEPT_CONSOLE)
        end = file.read(KEPT_CONSOLE)
        left_out += size - 2 * KEPT_CONSOLE
        file.truncate(KEPT_CONSOLE)
        file.seek(KEPT_CONSOLE)
        file.write(f"\n[... some {left_out} bytes of output are left out here ...]\n".encode() + end)
    return left_out


def lines_until_end(every_s: float) -> Iterator[str]:
    """Lines of the standard input as they come, and an empty text each time that none came for `every_s`."""
    rest = b""
    while True:
        if not select.select([0], [], [], every_s)[0]:
            yield ""
            continue
        piece = os.read(0, 4096)
        if not piece:
            return
        *whole, rest = (rest + piece).split(b"\n")
        yield from (line.decode() + "\n" for line in whole)


def main(folder: str, *locked: str) -> None:
    """Wait for the end of the input, then remove the folder and, if given, a lock file with its companion files."""
    group, console, left_out = 0, "", 0
    for line in lines_until_end(LOOK_S):
        if line == DONE:
            return
        if line.startswith(GROUP):
            group = int(line.removeprefix(GROUP))
        elif line.startswith(CONSOLE):
            console = line.removeprefix(CONSOLE).rstrip("\n")
        elif not line and console:
            left_out = shorten(Path(console), left_out)
    if group:
        end_group(group)
    shutil.rmtree(folder, ignore_errors=True)
    if locked:
        lock, *others = map(Path, locked)
        remove_unless_locked(lock, others)


if __name__ == "__main__":
    main(*sys.argv[1:])
