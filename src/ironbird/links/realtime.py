"""Real time on an ordinary system: a clock that wakes on time, and a process that is not held up by itself or others.

What is in our hands: sleep until shortly before a moment and spin to it, no garbage collection on the way, a priority
above the programs beside us. What is not: how long the kernel keeps us from the processor without that priority.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import time
from collections.abc import Iterator

SPIN_S = 2e-4  # before a moment; a sleep ends up to about this much late
FIFO_PRIORITY, NICENESS = 10, -10
SET_TIMER_SLACK = 29  # PR_SET_TIMERSLACK of prctl(2)
USUAL_SLACK_NS = 50_000


class WallClock:
    """The wall, in seconds since some moment."""

    def now(self) -> float:
        """Now."""
        return time.monotonic()

    def wait_until(self, moment: float) -> None:
        """Return at this moment, or at once if it is over."""
        left = moment - time.monotonic()
        if left > SPIN_S:
            time.sleep(left - SPIN_S)
        while time.monotonic() < moment:
            pass


@contextlib.contextmanager
def undisturbed(*, priority: bool = True) -> Iterator[str]:
    """No collection of garbage, exact sleeps and, where the system permits it, priority; says which it is."""
    collects = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    _timer_slack(1)
    said, undo = _raise_priority() if priority else ("ordinary priority, as asked", None)
    try:
        yield said
    finally:
        if undo is not None:
            undo.close()
        _timer_slack(USUAL_SLACK_NS)
        gc.unfreeze()
        if collects:
            gc.enable()


def stolen_s() -> float:
    """Processor time that the host of a virtual machine took from it since it started; all processors together."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            return float(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0


def real_time(priority: int) -> contextlib.ExitStack | None:
    """Real-time priority of this thread until the stack is closed; None if the system does not permit it."""
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
    with contextlib.suppress(OSError):  # it ended meanwhile
        for thread in os.listdir(f"/proc/{pid}/task"):
            if os.sched_getscheduler(int(thread)) & ~os.SCHED_RESET_ON_FORK in (os.SCHED_FIFO, os.SCHED_RR):
                highest = max(highest, os.sched_getparam(int(thread)).sched_priority)
    return highest


def _raise_priority() -> tuple[str, contextlib.ExitStack | None]:
    taken = real_time(FIFO_PRIORITY)
    if taken is not None:
        return f"real-time priority (SCHED_FIFO {FIFO_PRIORITY})", taken
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
