"""Snapshots of a run: numbers and text in a zip."""

from __future__ import annotations

import functools
import io
from typing import Any

import numpy as np

from fuzz.model import lag_model
from fuzz.target import Refused, attempt, file_of, now_and_then
from ironbird.runtime.state import RunState, restore, restored, start
from ironbird.runtime.step import advance

WORDS = (
    '"snapshot": 1', '"model": "MODEL"', '"tick": ', '"lanes": ', '"events": [[', '"fired": [[', "null", "-1", "1e99", "[]",
    '"when": null', '{"text": "a", "code": [[1, 0]], "constants": [1.0]}', '"param": "lag.time_constant"', '"shape": "ramp"',
    '"shape": "intermittent"', '"effect": "scale"', '"value": ', '"start_s": ', '"end_s": Infinity', '"period_s": ', "PK",
)  # fmt: skip
MOST = 8192
FORMAT = "json"
_look = now_and_then(16)


@functools.cache
def _arrays() -> dict[str, np.ndarray]:
    names = ("x", "xd", "held", "params", "inputs", "seeds", "stop_tick", "stop_reason", "stop_row")
    state = start(lag_model())
    return {name: getattr(state, name) for name in names}


def packed(head: bytes) -> bytes:
    """A snapshot with a head of any kind and arrays that fit."""
    buffer = io.BytesIO()
    np.savez(buffer, head=np.frombuffer(head, np.uint8), **_arrays())  # type: ignore[arg-type]
    return buffer.getvalue()


def check_table(table: Any) -> bool | None:
    """The head of a snapshot, below zipfile, numpy and json; its arrays fit."""
    if isinstance(table, dict) and table.get("model") == "MODEL":
        table = {**table, "model": lag_model().model_hash}
    state = attempt(restored, lag_model(), table, dict(_arrays()), "snapshot.npz")
    if isinstance(state, Refused):
        return "is not a snapshot" not in str(state.error)
    if _look():
        look(state)
    return None


def look(state: RunState) -> None:
    """Refuse what does not go on, or is not saved."""
    assert isinstance(state, RunState)
    attempt(advance, state, 2)
    again = file_of(b"", "again.npz")
    state.save(again)
    assert restore(lag_model(), again).tick == state.tick


def check(data: bytes) -> bool | None:
    """A zip as it is, anything else as the head of a snapshot; what is accepted goes on and is saved again."""
    if not data.startswith(b"PK"):
        data = packed(data.replace(b"MODEL", lag_model().model_hash.encode()))
    state = attempt(restore, lag_model(), file_of(data, "snapshot.npz"))
    if isinstance(state, Refused):
        return "is not a snapshot" not in str(state.error)
    look(state)
    return None
