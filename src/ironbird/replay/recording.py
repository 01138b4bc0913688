"""What a program got in a flight: from the record of the flight, or made from its log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ironbird.host.virtual_time.record import Entry
from ironbird.replay.builds import Autopilot


@dataclass
class Recording:
    """What a program got: how it was started, all entries, and the log that it wrote then."""

    autopilot: Autopilot
    about: Mapping[str, Any]
    entries: Callable[[], Iterable[Entry]]
    log: Path
    exact: bool  # every byte and moment, not what its log kept of them
    shift_s: float = 0.0  # time of the replay - time of the log
    begin_s: float = 0.0  # of the replay, from which times of faults count
    rows: dict[str, str] = field(default_factory=dict)  # what was found and left out, for the table

    @property
    def digest(self) -> str:
        """SHA-256 of the program that flew; empty if it is not known."""
        return str(self.about.get("program", ""))
