"""The optimised library of a kernel, made by a process of its own while a quick build is flown.

The process outlives the command that started it and Ctrl-C in its terminal (a session of its own), runs at low
priority, says nothing and leaves nothing but the library, which appears in the cache whole or not at all. At most one
builds at a time; the others wait. Killed at any moment it leaves what a killed build leaves, and the next command that
needs the kernel starts it again.
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

BUILDER = "ironbird.compiler.build_later"  # its program; it loads the compiler, which loads this module
WAITING = ".waiting"  # ending of a library's lock by which others see that its process waits for its turn


def optimise(library: Path, text: str, lanes: int, target: str) -> None:
    """Start a process that builds a library, unless one does or will; not being able to is no error."""
    if _is_held(library.with_suffix(".lock")) or _is_held(library.with_suffix(WAITING)):
        return
    with contextlib.suppress(OSError, IronbirdError):
        folder = cache.make_folder(library.parent.name)
        with tempfile.TemporaryFile(dir=folder) as file:  # without a name: it is gone with the process
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
        threading.Thread(target=process.wait, daemon=True).start()  # it does not stay as a zombie


def _path() -> str:
    """Where the process finds this package: the same one, however this process found it."""
    return os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)


def _is_held(lock: Path) -> bool:
    """Whether some process holds a lock now."""
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
