"""Parameter changes during a run: applied between ticks, recorded, and replayed to the same bytes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ironbird.errors import RunError, shortened
from ironbird.runtime.state import RunState


@dataclass(frozen=True)
class Tuning:
    """One parameter that is set to a value at a tick of a run, in one lane or in all.

    Parameters
    ----------
    tick : int
        Step of the run from 0 on; a tick is the model's step, 1 ms with most vehicles.
    path : str
        Path of a tunable parameter, for example `control.rate_gain`.
    value : float or list of float
        Value in the parameter's unit.
    lane : int or None, default None
        Lane from 0 on; None is all.

    Raises
    ------
    RunError
        If the tick or lane is no whole number from 0 on.
    """

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
    """Set the parameter of a tuning in a state now; it must be tunable and in range."""
    state.set_param(tuning.path, tuning.value, tuning.lane)


def write_tunings(path: Path, tunings: Sequence[Tuning]) -> None:
    """Write parameter changes with their ticks as JSON."""
    path.write_text(json.dumps([asdict(t) for t in tunings], indent=2) + "\n")


def read_tunings(path: Path) -> list[Tuning]:
    """Read parameter changes written by `write_tunings`."""
    cure = "give the tunings.json in the folder of a flight"
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"{path} is not a record of tunings: cannot read it: {error.strerror}; {cure}") from None
    except (ValueError, RecursionError):
        raise RunError(f"{path} is not a record of tunings: it is no JSON file; {cure}") from None
    try:
        if not isinstance(entries, list):
            raise TypeError
        return [Tuning(**entry) for entry in entries]
    except (ValueError, TypeError):
        keys = ", ".join(Tuning.__dataclass_fields__)
        raise RunError(f"{path} is not a record of tunings: that is a list of {{{keys}}}; {cure}") from None
