"""Requests to a flight that listens, and records of tunings."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.model import lag_model
from fuzz.target import Refused, attempt, file_of, now_and_then
from ironbird.flight.live import LiveControl
from ironbird.runtime.state import RunState, start
from ironbird.runtime.step import advance
from ironbird.runtime.tuning import apply_tuning, read_tunings, write_tunings

WORDS = (
    '{"set": {', '"lag.time_constant": ', '"lag.gains": [1, 2]', '"lag.gains[1]": ', '"lag.x_0": ', "[0]", "[x]", "1e999", "NaN",
    "null", "true", '[{"tick": 1, "path": "lag.gains", "value": [1, 2], "lane": null}]', '"lane": 0', '"tick": ', '"value": ',
)  # fmt: skip
MOST = 600
FORMAT = "json"
_look = now_and_then(64)
_fresh = now_and_then(512)
_control = LiveControl.__new__(LiveControl)  # without its socket


@functools.cache
def _flights() -> list[RunState]:
    return []


def _flight() -> RunState:
    """A flight that goes on over many requests, and begins anew once in a while."""
    if _fresh() or not _flights():
        state = start(lag_model())
        advance(state, 1)
        _flights()[:] = [state]
    return _flights()[0]


def check_table(table: Any) -> bool | None:
    """A request that is JSON; records of tunings now and then."""
    data = json.dumps(table).encode()
    if _look():
        return check(data)
    return _ask(_flight(), data)


def _ask(state: RunState, data: bytes) -> bool | None:
    changed: list = []
    answer = _control._serve(state, data, changed)
    assert answer["ok"] is True or answer["error"]
    assert not changed or np.isfinite(state.params).all()
    return "Expecting" not in str(answer.get("error"))


def check(data: bytes) -> bool | None:
    """A request is answered, whatever it says, and leaves finite parameters; records read back."""
    state = start(lag_model())
    advance(state, 1)
    beyond = _ask(state, data)
    tunings = attempt(read_tunings, file_of(data, "tunings.json"))
    if isinstance(tunings, Refused):
        return beyond
    for tuning in tunings:
        attempt(apply_tuning, state, tuning)
    assert np.isfinite(state.params).all()
    again = Path(file_of(b"", "again.json"))
    write_tunings(again, tunings)
    assert read_tunings(again) == tunings or any(t.value != t.value for t in tunings)
    return beyond
