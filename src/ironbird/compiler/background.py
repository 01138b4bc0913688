"""Building the optimised library of a kernel in a background process while a quick build is used.

The process runs in its own session, so that it survives the command that started it and Ctrl-C in its terminal; it has
low priority and prints nothing. The library appears in the cache whole or not at all. Only one process builds at a
time, the others wait. If it is killed, the next command that needs the kernel starts it again.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from ironbird.compiler import cache
from ironbird.errors import IronbirdError

# module that the process runs; it imports the compiler, which imports this module
BUILDER = "ironbird.compiler.build_later"
WAITING = ".waiting"  # suffix of a lock file that shows that a process waits to build this library


def optimise(library: Path, text: str, lanes: int, target: str) -> None:
    """Start a process that builds a library, unless one builds it or waits to; a failure to start is ignored."""
    if _is_held(library.with_suffix(".lock")) or _is_held(library.with_suffix(WAITING)):
        return
    with contextlib.suppress(OSError, IronbirdError):
        folder = cache.make_folder(library.parent.name)
        with tempfile.TemporaryFile(dir=folder) as file:  # an unnamed file: it disappears with the process
            file.write(text.encode())
            file.seek(0)
            process = subprocess.Popen(
                [sys.executable, "-m", BUILDER, str(library.with_suffix(WAITING)), str(lanes), target],
                stdin=file,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
                env={**os.environ, "IRONBIRD_CACHE": str(cache.cache_folder().absolute()), "PYTHONPATH": _path()},
            )
        threading.Thread(target=process.wait, daemon=True).start()  # reaps the process when it ends


def _path() -> str:
    """PYTHONPATH with which the process imports this same package."""
    return os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)


def _is_held(lock: Path) -> bool:
    """Whether any process holds a lock on the file."""
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False
