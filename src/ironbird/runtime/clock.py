"""Pace of a run: as fast as it goes, or tied to the wall clock; the only place that reads it during a run."""

from __future__ import annotations

import time


class Pace:
    """Holds a run back so that simulation time does not run ahead of wall time times `speed`."""

    def __init__(self, speed: float) -> None:
        self.speed = speed
        self._wall: float | None = None
        self._start = 0.0

    def wait(self, time_s: float) -> None:
        """Sleep until the wall clock has caught up with this simulation time."""
        now = time.monotonic()
        if self._wall is None:
            self._wall, self._start = now, time_s
            return
        due = self._wall + (time_s - self._start) / self.speed
        if due > now:
            time.sleep(due - now)
