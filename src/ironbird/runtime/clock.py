"""Pace of a run: as fast as possible, or tied to the wall clock; the only module that reads the wall clock in a run."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ironbird.runtime.paced import SHORTEST_STEP_S, PacedLoop

if TYPE_CHECKING:
    from ironbird.runtime.interface import RunArgs
    from ironbird.runtime.state import RunState


class Pace:
    """Holds a run back so that simulation time does not run ahead of wall time times `speed`.

    `begin` is called once, when the run is ready: it returns the time of the monotonic clock, in ns, at simulation time
    zero.
    """

    def __init__(self, speed: float, begin: Callable[[], int] | None = None) -> None:
        self.speed = speed
        self._begin = begin
        self._wall: float | None = None
        self._start = 0.0
        self._begin_ns = -1
        self._late_s: list[np.ndarray] = []

    def wait(self, time_s: float) -> None:
        """Sleep until the wall clock has caught up with this simulation time."""
        now = time.monotonic()
        if self._wall is None:
            self._wall, self._start = now, time_s
            if self._begin is None:
                return
            self._wall, self._start = 1e-9 * self._begin(), 0.0
        due = self._wall + (time_s - self._start) / self.speed
        if due > now:
            time.sleep(due - now)

    def advance(self, library: ctypes.CDLL, args: RunArgs, state: RunState) -> None:
        """Let the kernel run the ticks of `args`, each at its wall-clock time."""
        if self._begin is not None and self._begin_ns < 0:
            self._begin_ns = self._begin()
        step = max(1, math.ceil(SHORTEST_STEP_S * self.speed / state.model.step_s - 1e-9))
        loop = PacedLoop(
            library.ib_run,
            args,
            state,
            state.tick + int(args.ticks),
            step,
            speed=self.speed,
            begin_ns=self._begin_ns,
            log_from=int(args.log_first),
        )
        loop.go()
        self._begin_ns = loop.began_ns
        self._late_s.append(loop.late_s)

    @property
    def late_s(self) -> np.ndarray:
        """Lateness in s of each step of the kernel."""
        return np.concatenate(self._late_s) if self._late_s else np.zeros(0)
