"""Real-time loop: native code steps the kernel at times of an absolute clock, outside the interpreter.

The loop is `c/ib_paced.c`. It runs in the calling thread for some steps, or in its own thread to the end, while Python
only reads its progress. Its results do not depend on the wall clock: a paced run is the same to the last byte as an
unpaced one, unless an external program takes part.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import resource
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.compiler.native_text import CLOCK, load_texts
from ironbird.errors import RunError
from ironbird.runtime.border import MOST_TICKS, whole
from ironbird.runtime.interface import RunArgs
from ironbird.runtime.state import RUNNING, RunState

NOT_YET, ENDED, STOPPED, ASKED, BROKEN = -1, 0, 1, 2, 3  # why the loop returned
PARTS = ("x", "xd", "held", "inputs")  # arrays of a state that change
SHORTEST_STEP_S = 1e-4  # s of wall time, shortest step: shorter ticks are grouped
HOLD_S = 1e-4  # s between two checks whether the loop is held
CURRENT, FUTURE, ON_FAULT = 1, 2, 4  # MCL_ flags of mlockall(2)


class _Part(ctypes.Structure):
    _fields_ = [("from", ctypes.c_void_p), ("count", ctypes.c_int64)]


class _Paced(ctypes.Structure):
    """Structure `ib_paced` of c/ib_paced.c."""

    _fields_ = [
        ("run", ctypes.c_void_p), ("args", ctypes.c_void_p), ("arg_tick", ctypes.c_void_p),
        ("arg_ticks", ctypes.c_void_p), ("arg_log_first", ctypes.c_void_p), ("stop_tick", ctypes.c_void_p),
        ("first_tick", ctypes.c_int64), ("log_from", ctypes.c_int64), ("until_tick", ctypes.c_int64),
        ("step_ticks", ctypes.c_int64),
        ("log_every", ctypes.c_int64), ("part_ticks", ctypes.c_int64), ("tick_ns", ctypes.c_double),
        ("now", ctypes.c_void_p), ("sleep", ctypes.c_void_p), ("begin_ns", ctypes.c_int64),
        ("exchange", ctypes.c_void_p), ("sample", ctypes.c_void_p), ("with", ctypes.c_void_p),
        ("late_s", ctypes.c_void_p), ("most", ctypes.c_int64),
        ("commands", ctypes.c_void_p), ("inputs", ctypes.c_void_p), ("width", ctypes.c_int64), ("part", _Part * 4),
        ("copy_ticks", ctypes.c_int64), ("copy_size", ctypes.c_int64), ("next_copy", ctypes.c_int64),
        ("copies", ctypes.c_void_p), ("copy_at", ctypes.c_void_p), ("most_copies", ctypes.c_int64),
        ("copied", ctypes.c_int64), ("tick", ctypes.c_int64), ("steps", ctypes.c_int64), ("result", ctypes.c_int64),
        ("trouble", ctypes.c_int64), ("stop", ctypes.c_int64), ("hold", ctypes.c_int64), ("holds", ctypes.c_int64),
    ]  # fmt: skip


STRUCTURES: dict[str, type[ctypes.Structure]] = {"ib_part": _Part, "ib_paced": _Paced}


@functools.cache
def _library() -> ctypes.CDLL:
    library = load_texts(CLOCK, Path(__file__).parent / "c" / "ib_paced.c", structures=STRUCTURES)
    library.ib_keep_time.restype = ctypes.c_int64
    library.ib_keep_time.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    return library


def c_function(name: str) -> int:
    """Address of a function of the C library."""
    return int(ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value or 0)


@dataclass
class Taken:
    """Disturbances of the loop's thread by the system."""

    preempted: int = 0  # how often another program took the processor
    waited_s: float = 0.0  # s ready to run, without a processor
    faults: int = 0  # page faults


@dataclass
class PacedLoop:
    """Steps of `step_ticks` ticks of a prepared run, each at its wall-clock time; `exchange` is called after each.

    `exchange` is the address of a C function and its argument. With `samples` (count, address) a step is computed in
    so many equal parts, and that function is called between them with the same argument: data that is sampled faster
    than it is exchanged goes out in batches. Every `copy_ticks` the state is copied, so that reading it does not hold
    up the loop.
    """

    run: Any  # `ib_run` of the kernel's library
    args: RunArgs
    state: RunState
    until_tick: int
    step_ticks: int
    speed: float = 1.0
    begin_ns: int = -1  # monotonic time of tick 0; negative: the first step begins at once
    exchange: tuple[int, int] | None = None
    samples: tuple[int, int] | None = None
    commands: bool = False  # record the inputs after each step
    copy_ticks: int = 0
    keeps: object = None  # owners of the memory to which the arguments point; kept alive
    log_from: int = 0  # row of the log for the first tick, then the next row
    taken: Taken = field(default_factory=Taken)
    standing: str = ""  # priority and memory locking that the system granted
    stood_s: float = 0.0  # s of wall time by which the schedule was shifted

    def __post_init__(self) -> None:
        state, step_s = self.state, self.state.model.step_s
        whole(self.step_ticks, "ticks of a step", 1)
        whole(self.until_tick, "tick at the end", state.tick)
        parts = whole(self.samples[0], "samples of a step", 1) if self.samples is not None else 1
        if self.step_ticks % parts:
            raise RunError(f"{self.step_ticks} ticks of a step do not make {parts} equal parts")
        if not self.speed > 0.0:
            raise RunError(f"a run keeps to a positive multiple of real time, not {self.speed:g}")
        steps = -(-(self.until_tick - state.tick) // self.step_ticks)
        whole(steps, "steps that keep time", 0, MOST_TICKS)
        self.room_late_s = np.zeros(steps + 1)  # lateness of all steps, filled as they are made
        width = state.inputs[0, :, 0].size
        self._commands = np.zeros((steps + 1, width)) if self.commands else None
        changing = [getattr(state, name) for name in PARTS]
        size = sum(part.size for part in changing)
        count = (self.until_tick - state.tick) // self.copy_ticks + 2 if self.copy_ticks else 0
        self._copies, self._copy_at = np.zeros((count, size)), np.zeros(count, np.int64)
        at = ctypes.addressof(self.args)
        self._native = _Paced(
            run=ctypes.cast(self.run, ctypes.c_void_p).value, args=at,
            arg_tick=at + RunArgs.tick.offset, arg_ticks=at + RunArgs.ticks.offset,
            arg_log_first=at + RunArgs.log_first.offset, stop_tick=state.stop_tick.ctypes.data,
            first_tick=state.tick, log_from=self.log_from, until_tick=self.until_tick,
            step_ticks=self.step_ticks, log_every=max(1, self.args.log_every), part_ticks=self.step_ticks // parts,
            sample=self.samples[1] if self.samples is not None else None, tick_ns=1e9 * step_s / self.speed,
            now=c_function("clock_gettime"), sleep=c_function("clock_nanosleep"), begin_ns=self.begin_ns,
            late_s=self.room_late_s.ctypes.data, most=steps, inputs=state.inputs.ctypes.data, width=width,
            commands=None if self._commands is None else self._commands.ctypes.data,
            part=(_Part * len(PARTS))(*(_Part(part.ctypes.data, part.size) for part in changing)),
            copy_ticks=self.copy_ticks, copy_size=size, next_copy=state.tick + self.copy_ticks,
            copies=self._copies.ctypes.data if count else None, copy_at=self._copy_at.ctypes.data, most_copies=count,
            tick=state.tick,
        )  # fmt: skip
        if self.exchange is not None:
            self._native.exchange = self.exchange[0]
            setattr(self._native, "with", self.exchange[1])  # `with` is a keyword of Python
        self._held = (state.x, state.xd, state.held, state.inputs, state.stop_tick)
        self._thread: threading.Thread | None = None
        self._keep_time, self._at = _library().ib_keep_time, ctypes.addressof(self._native)

    # ------------------------------------------------------------------ going

    def go(self, steps: int | None = None) -> int:
        """Run in this thread for so many steps, or to the end; returns why it stopped."""
        result = int(self._keep_time(self._at, self._native.most + 1 if steps is None else steps))
        self.state.tick = int(self._native.tick)
        return result

    def start(self, around: Callable[[], AbstractContextManager[str]] = lambda: contextlib.nullcontext("")) -> None:
        """Run to the end in a new thread, inside the context manager `around`, which yields what the system granted."""

        failed: list[BaseException] = []

        def work() -> None:
            try:
                with around() as self.standing, _watched(self.taken):
                    ready.set()
                    self._keep_time(self._at, self._native.most + 1)
            except BaseException as error:  # from `around`: raised again in the starting thread
                failed.append(error)
                ready.set()

        ready = threading.Event()
        self._thread = threading.Thread(target=work, name="keeps time", daemon=True)
        self._thread.start()
        ready.wait()
        if failed:
            raise failed[0]

    def look(self) -> bool:
        """Update the progress; returns whether the loop still runs."""
        running = self._thread is not None and self._thread.is_alive()
        self.state.tick = int(self._native.tick)
        return running

    @contextlib.contextmanager
    def held(self, *, shifted: bool = False) -> Iterator[None]:
        """Hold the loop between two steps inside the `with` block, so that its state can be read and changed.

        The time that passes makes the following steps late, unless the schedule is `shifted` by it.
        """
        before = time.monotonic_ns()
        self._native.hold = 1
        try:
            while not self._native.holds and self._thread is not None and self._thread.is_alive():
                time.sleep(HOLD_S)
            self.look()
            yield
        finally:
            if shifted and self._native.begin_ns >= 0:
                passed = time.monotonic_ns() - before
                self._native.begin_ns += passed
                self.stood_s += 1e-9 * passed
            self._native.hold = 0

    @property
    def stands(self) -> bool:
        """Whether the loop is held now."""
        return bool(self._native.holds)

    def renew(self, args: RunArgs) -> None:
        """Replace the kernel's arguments from the next step on, after events were added; the loop must be held."""
        at = ctypes.addressof(args)
        self.args = args
        self._native.args, self._native.arg_tick = at, at + RunArgs.tick.offset
        self._native.arg_ticks, self._native.arg_log_first = at + RunArgs.ticks.offset, at + RunArgs.log_first.offset

    def end(self) -> None:
        """End the loop after its current step and wait for it. May be called twice."""
        self._native.stop = 1
        if self._thread is not None:
            self._thread.join()
        self.look()

    # ------------------------------------------------------------------ -------- results

    @property
    def steps(self) -> int:
        """Number of steps made so far."""
        return int(self._native.steps)

    @property
    def result(self) -> int:
        """Why the loop ended: one of the constants ENDED, STOPPED, ASKED, BROKEN."""
        return int(self._native.result)

    @property
    def trouble(self) -> int:
        """Last result of the exchange function; negative: it failed."""
        return int(self._native.trouble)

    @property
    def late_s(self) -> np.ndarray:
        """Lateness in s of each step so far."""
        return self.room_late_s[: self.steps]

    @property
    def waited_s(self) -> float:
        """Seconds so far in which the thread was ready to run but had no processor."""
        if self._thread is None or not self._thread.is_alive():
            return self.taken.waited_s
        return run_delay_s(self._thread.native_id)

    @property
    def given(self) -> np.ndarray:
        """Inputs after each step, if `commands` is set."""
        assert self._commands is not None
        return self._commands[: self.steps]

    @property
    def began_ns(self) -> int:
        """Monotonic time in ns of tick 0."""
        return int(self._native.begin_ns)

    def past(self) -> Iterator[RunState]:
        """Snapshots of the state at the times it was copied; triggers that fired later are not marked as fired."""
        for place in range(int(self._native.copied)):
            then, first = self.state.branch(), 0
            then.tick = int(self._copy_at[place])
            then.stop_tick[...] = RUNNING
            for name in PARTS:
                array = getattr(then, name)
                array.reshape(-1)[:] = self._copies[place, first : first + array.size]
                first += array.size
            then.fired = [[-1 if tick > then.tick else tick for tick in lane] for lane in then.fired]
            yield then


@contextlib.contextmanager
def _watched(taken: Taken) -> Iterator[None]:
    """Count into `taken` what the system takes from this thread inside the `with` block."""
    before, delay = resource.getrusage(resource.RUSAGE_THREAD), run_delay_s()
    try:
        yield
    finally:
        after = resource.getrusage(resource.RUSAGE_THREAD)
        taken.preempted = after.ru_nivcsw - before.ru_nivcsw
        taken.faults = after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt
        taken.waited_s = run_delay_s() - delay


def run_delay_s(thread: int | None = None) -> float:
    """Seconds in which a thread of this process was ready to run but had no processor; zero if unknown."""
    number = threading.get_native_id() if thread is None else thread
    with contextlib.suppress(OSError, IndexError, ValueError):
        return 1e-9 * int(Path(f"/proc/self/task/{number}/schedstat").read_text().split()[1])
    return 0.0


@contextlib.contextmanager
def locked_memory() -> Iterator[str]:
    """Lock the process's memory inside the `with` block, if permitted; yields a description."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.mlockall(CURRENT | FUTURE | ON_FAULT) != 0:
        yield f"memory not locked ({os.strerror(ctypes.get_errno())}: allow 'memlock' in /etc/security/limits.conf)"
        return
    try:
        yield "memory locked"
    finally:
        library.munlockall()
