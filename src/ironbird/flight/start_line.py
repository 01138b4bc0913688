"""Start line at which flights wait for each other: time begins for all of them at the same moment."""

from __future__ import annotations

import threading
import time

from ironbird.errors import LinkError

AHEAD_NS = 50_000_000  # from the last one's arrival to the start
GAVE_UP = "another vehicle did not get ready, so this one did not start"


class StartLine:
    """Each flight calls `wait` when it is ready; `end` ends all of them, `give_up` lets none start."""

    class Broken(LinkError):
        """Error of a flight whose start was cancelled because another one did not come."""

    def __init__(self, count: int, patience_s: float) -> None:
        self.over = False  # whether all are to end
        self._begin_ns = 0
        self._barrier = threading.Barrier(count, action=self._begin, timeout=patience_s)

    def _begin(self) -> None:
        self._begin_ns = time.monotonic_ns() + AHEAD_NS

    def is_open(self) -> bool:
        """Whether all may still start; raises `Broken` if another vehicle gave up."""
        if self._barrier.broken:
            raise StartLine.Broken(GAVE_UP)
        return True

    def wait(self) -> int:
        """Wait for all others; returns the moment at which time begins, in ns of the monotonic clock."""
        try:
            self._barrier.wait()
        except threading.BrokenBarrierError:
            raise StartLine.Broken(GAVE_UP) from None
        return self._begin_ns

    def give_up(self) -> None:
        """Cancel the start of all flights that have not started."""
        self._barrier.abort()

    def end(self) -> None:
        """End all flights, with their results."""
        self.over = True
        self._barrier.abort()
