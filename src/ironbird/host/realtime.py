"""Real time on an ordinary system: a precise wall clock, and protection of a thread from pauses.

Available to a process: sleeping until shortly before a moment and then spinning, no garbage collection, a raised
priority. Not under its control: how long the kernel keeps it off the processor without that priority.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import os
import time
from collections.abc import Iterator

import numpy as np

from ironbird.errors import LinkError
from ironbird.runtime.paced import PacedLoop, locked_memory

SPIN_S = 2e-4  # s of spinning before a moment; a sleep ends late by up to about this much
FIFO_PRIORITY, LOOP_PRIORITY, NICENESS = 10, 20, -10  # a loop in native code has precedence over Python code
LEAST_S = 5e-4  # s of waiting for a processor that can have made a step late
SAMPLE_S = 0.5  # s between two readings of the system's counters
BY_HOST, BY_OTHERS, BY_NOBODY = (
    "while the host of this virtual machine took its time",
    "while other programs ran",
    "else",
)
SET_TIMER_SLACK = 29  # PR_SET_TIMERSLACK of prctl(2)
USUAL_SLACK_NS = 50_000


class WallClock:
    """Wall clock in seconds since an arbitrary moment."""

    def now(self) -> float:
        """Current time of this clock in s."""
        return time.monotonic()

    def wait_until(self, moment: float) -> None:
        """Sleep until this moment in s; returns at once if it has passed."""
        left = moment - time.monotonic()
        if left > SPIN_S:
            time.sleep(left - SPIN_S)
        while time.monotonic() < moment:
            pass


@contextlib.contextmanager
def undisturbed(*, priority: bool = True) -> Iterator[str]:
    """No garbage collection, exact sleeps and, where permitted, raised priority; yields a text about the priority."""
    collects = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    _timer_slack(1)
    description, undo = _raise_priority() if priority else ("ordinary priority, as asked", None)
    try:
        yield description
    finally:
        if undo is not None:
            undo.close()
        _timer_slack(USUAL_SLACK_NS)
        gc.unfreeze()
        if collects:
            gc.enable()


@contextlib.contextmanager
def on_time(*, priority: bool = True, core: int | None = None) -> Iterator[str]:
    """For a thread in native code: exact sleeps, locked memory, priority and its own core, as far as permitted."""
    _timer_slack(1)
    with contextlib.ExitStack() as undo:
        words = []
        if priority:
            description, restore = _raise_priority(LOOP_PRIORITY)
            words.append(description)
            if restore is not None:
                undo.enter_context(restore)
            words.append(undo.enter_context(locked_memory()))
        else:
            words.append("ordinary priority, as asked")
        if core is not None:
            words.append(_pinned(core, undo))
        yield ", ".join(words)


def _pinned(core: int, undo: contextlib.ExitStack) -> str:
    """Pin this thread to one processor core; returns a description, and adds the reversal to `undo`."""
    usual = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {core})
    except OSError:
        there = ", ".join(map(str, sorted(usual)))
        raise LinkError(f"there is no core {core} for this program; it may use {there}") from None
    undo.callback(os.sched_setaffinity, 0, usual)
    return f"on core {core}"


def stolen_s() -> float:
    """Seconds of processor time that the host of a virtual machine has taken since its start, all processors."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            return float(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0


class Toll:
    """Time that the host and other programs take from a real-time loop, sampled now and then: causes of late steps."""

    def __init__(self, loop: PacedLoop) -> None:
        self.loop = loop
        # step number, s taken by the host, s taken by other programs
        self._samples: list[tuple[int, float, float]] = []
        self._next = 0.0

    def look(self) -> None:
        """Take a sample if the last one is old enough; cheap."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + SAMPLE_S
            self._samples.append((self.loop.steps, stolen_s(), self.loop.waited_s))

    def causes(self, late: np.ndarray, first: int = 0) -> dict[str, int]:
        """Number of late steps by cause; `late` has a flag per step from step `first` on."""
        counts = {BY_HOST: 0, BY_OTHERS: 0, BY_NOBODY: 0}
        samples = [*self._samples, (self.loop.steps, stolen_s(), self.loop.waited_s)]
        for (begin, stolen, waited), (end, then, longer) in itertools.pairwise(samples):
            count = int(late[max(begin - first, 0) : max(end - first, 0)].sum())
            others = longer - waited > LEAST_S
            counts[BY_HOST if then > stolen else BY_OTHERS if others else BY_NOBODY] += count
        return {word: count for word, count in counts.items() if count}


def real_time(priority: int) -> contextlib.ExitStack | None:
    """Give this thread real-time priority until the stack is closed; None if the system does not permit it."""
    undo = contextlib.ExitStack()
    policy, params = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
    except OSError:
        return None
    undo.callback(os.sched_setscheduler, 0, policy, params)
    return undo


def real_time_of(pid: int) -> int:
    """The highest real-time priority among the threads of a process; 0 if it has none."""
    highest = 0
    with contextlib.suppress(OSError):  # the process has ended meanwhile
        for thread in os.listdir(f"/proc/{pid}/task"):
            if os.sched_getscheduler(int(thread)) & ~os.SCHED_RESET_ON_FORK in (os.SCHED_FIFO, os.SCHED_RR):
                highest = max(highest, os.sched_getparam(int(thread)).sched_priority)
    return highest


@contextlib.contextmanager
def prioritised() -> Iterator[str]:
    """For a thread: exact sleeps and, where permitted, raised priority; yields a description of the priority."""
    _timer_slack(1)
    description, undo = _raise_priority()
    with undo if undo is not None else contextlib.nullcontext():
        yield description


def _raise_priority(fifo: int = FIFO_PRIORITY) -> tuple[str, contextlib.ExitStack | None]:
    restore = real_time(fifo)
    if restore is not None:
        return f"real-time priority (SCHED_FIFO {fifo})", restore
    undo = contextlib.ExitStack()
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
        undo.callback(os.setpriority, os.PRIO_PROCESS, 0, usual)
        return f"raised priority (nice {NICENESS})", undo
    return "ordinary priority: the system permits no other (allow 'rtprio' in /etc/security/limits.conf)", None


def _timer_slack(nanoseconds: int) -> None:
    with contextlib.suppress(AttributeError, OSError):  # Linux only
        ctypes.CDLL(None).prctl(SET_TIMER_SLACK, ctypes.c_ulong(nanoseconds), 0, 0, 0)
