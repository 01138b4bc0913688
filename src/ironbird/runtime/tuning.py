"""Parameters changed while a run goes on: applied between ticks, recorded, and replayed to the same bytes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ironbird.errors import RunError, shortened
from ironbird.runtime.state import RunState


@dataclass(frozen=True)
class Tuning:
    """One parameter set to a value from a tick on, in one lane or in all."""

    tick: int
    path: str
    value: float | list[float]
    lane: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.path, str):
            raise RunError(f"a tuning of {shortened(repr(self.path))}: give the path of a parameter as text")
        if not isinstance(self.tick, int) or self.tick < 0:
            raise RunError(f"tuning of {self.path}: tick {shortened(repr(self.tick))} is not a whole number from 0 on")
        if self.lane is not None and (not isinstance(self.lane, int) or self.lane < 0):
            raise RunError(f"tuning of {self.path}: lane {shortened(repr(self.lane))} is not a whole number from 0 on")


def apply_tuning(state: RunState, tuning: Tuning) -> None:
    """Set the parameter now; it must be tunable and in range."""
    state.set_param(tuning.path, tuning.value, tuning.lane)


def write_tunings(path: Path, tunings: Sequence[Tuning]) -> None:
    """A record of what was changed and when, as JSON."""
    path.write_text(json.dumps([asdict(t) for t in tunings], indent=2) + "\n")


def read_tunings(path: Path) -> list[Tuning]:
    """A record written by `write_tunings`."""
    cure = "give the tunings.json in the folder of a flight"
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"{path} is not a record of tunings: cannot read it: {error.strerror}; {cure}") from None
    except (ValueError, RecursionError):
        raise RunError(f"{path} is not a record of tunings: it is no JSON file; {cure}") from None
    try:
        return [Tuning(**entry) for entry in entries]
    except (ValueError, TypeError):
        keys = ", ".join(Tuning.__dataclass_fields__)
        raise RunError(f"{path} is not a record of tunings: that is a list of {{{keys}}}; {cure}") from None
