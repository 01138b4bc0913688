"""The start line: all begin at one moment, which has not come yet when they hear of it."""

from __future__ import annotations

import threading
import time

from ironbird.flight.start_line import AHEAD_NS, StartLine


def test_time_begins_a_moment_after_the_last_has_come() -> None:
    line, begins = StartLine(2, 60.0), list[int]()
    before = time.monotonic_ns()
    other = threading.Thread(target=lambda: begins.append(line.wait()))
    other.start()
    begins.append(line.wait())
    other.join()
    assert begins[0] == begins[1] and 0 < AHEAD_NS <= begins[0] - before
    assert begins[0] <= time.monotonic_ns() + AHEAD_NS
