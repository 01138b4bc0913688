"""A limit of wall-clock time for every phase of every test (setup, call, teardown), so that none hangs.

`tests/conftest.py` imports the hooks. When the limit is over, SIGALRM interrupts whatever waits (also a system call,
such as a write to a full pseudo-terminal), programs that the test started are killed, and the test fails with the
stacks of all threads in its message. This repeats every AGAIN_S as long as the phase lasts, for tests that clean up by
waiting once more. Native code that never returns to Python is ended with its whole process by a thread of
`faulthandler`, LAST_S later; so is a process whose threads do not end after the last test.

The limits are for a machine with a load of 10: they are no measure of speed. `@pytest.mark.limit(SECONDS)` sets another
one, the environment variable IRONBIRD_TEST_LIMIT one for all tests of a run.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path
from types import FrameType

import pytest

LIMIT_S = 300.0  # of a test that takes at most ten seconds alone
SLOW_S = 1800.0  # of one that is marked as slow
AGAIN_S = 20.0  # until the same test is interrupted once more
LAST_S = 120.0  # after the limit until the process is ended
ENVIRONMENT = "IRONBIRD_TEST_LIMIT"

_standard_error = -1  # of the process, which pytest has not redirected


def limit_of(item: pytest.Item) -> float:
    """Seconds that each phase of a test may take."""
    if (marker := item.get_closest_marker("limit")) is not None:
        return float(marker.args[0])
    if named := os.environ.get(ENVIRONMENT):
        return float(named)
    return SLOW_S if item.get_closest_marker("slow") else LIMIT_S


def children() -> set[int]:
    """Processes that this one started, and those that they started, as numbers of processes."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            parents.setdefault(parent, []).append(int(folder.name))
    found: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        below = parents.get(waiting.pop(), [])
        found.update(below)
        waiting += below
    return found


def _stacks() -> str:
    with tempfile.TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        return file.read()


@contextlib.contextmanager
def limited(seconds: float, what: str) -> Generator[None]:
    """Fail the test that runs in this block if it takes longer; `what` it is, in words."""
    if threading.current_thread() is not threading.main_thread():  # only the main one gets signals
        yield
        return
    before = children()

    def over(number: int, frame: FrameType | None) -> None:
        stacks = _stacks()
        for pid in children() - before:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        pytest.fail(f"{what} took longer than its limit of {seconds:g} s; what each thread did:\n{stacks}")

    old = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    faulthandler.dump_traceback_later(seconds + LAST_S, exit=True, file=_standard_error)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old)
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    with limited(limit_of(item), f"the setup of {item.name}"):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    with limited(limit_of(item), item.name):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    with limited(limit_of(item), f"the teardown of {item.name}"):
        return (yield)


def pytest_configure() -> None:
    global _standard_error
    _standard_error = os.dup(sys.__stderr__.fileno() if sys.__stderr__ is not None else 2)


def pytest_unconfigure() -> None:
    """The process ends LAST_S later, also if a thread of a test still waits."""
    faulthandler.dump_traceback_later(LAST_S, exit=True, file=_standard_error)
