"""Requests to a flight that listens, and records of tunings."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fuzz.model import lag_model
from fuzz.target import Refused, attempt, file_of
from ironbird.flight.live import LiveControl
from ironbird.runtime.state import start
from ironbird.runtime.step import advance
from ironbird.runtime.tuning import apply_tuning, read_tunings, write_tunings

WORDS = (
    '{"set": {', '"lag.time_constant": ', '"lag.gains": [1, 2]', '"lag.gains[1]": ', '"lag.x_0": ', "[0]", "[x]", "1e999", "NaN",
    "null", "true", '[{"tick": 1, "path": "lag.gains", "value": [1, 2], "lane": null}]', '"lane": 0', '"tick": ', '"value": ',
)  # fmt: skip
MOST = 600


def check(data: bytes) -> None:
    """A request is answered, whatever it says, and leaves finite parameters; records read back."""
    state = start(lag_model())
    advance(state, 1)
    control = LiveControl.__new__(LiveControl)  # without its socket
    changed: list = []
    answer = control._serve(state, data, changed)
    assert answer["ok"] is True or answer["error"]
    assert np.isfinite(state.params).all()
    tunings = attempt(read_tunings, file_of(data, "tunings.json"))
    if isinstance(tunings, Refused):
        return
    for tuning in tunings:
        attempt(apply_tuning, state, tuning)
    assert np.isfinite(state.params).all()
    again = Path(file_of(b"", "again.json"))
    write_tunings(again, tunings)
    assert read_tunings(again) == tunings or any(t.value != t.value for t in tunings)
