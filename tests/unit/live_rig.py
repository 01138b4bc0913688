"""Waiting for flights that run in threads of their own."""

from __future__ import annotations

import time
from collections.abc import Callable

from ironbird.app.live_flight import LiveFlight

PATIENCE_S = 120.0  # the machine may be busy


def until(holds: Callable[[], bool], flight: LiveFlight | None = None, patience_s: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + patience_s
    while not holds():
        assert flight is None or not flight.failure, flight.failure if flight else ""
        assert flight is None or flight.state != "over" or holds(), "the flight is over"
        assert time.monotonic() < deadline
        time.sleep(0.005)


def go_to(flight: LiveFlight, tick: int) -> None:
    """Let it run to a tick, where it stands."""
    flight.run_to(tick * flight.step_s, PATIENCE_S)
    assert flight.tick == tick, (flight.state, flight.failure)
