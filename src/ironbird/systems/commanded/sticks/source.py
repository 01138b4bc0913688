"""Where sticks come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

MOST_AXES, MOST_BUTTONS = 64, 16


@dataclass(frozen=True)
class Sticks:
    """Sticks from -1 to 1: right, forward, up and clockwise are positive; a bit for each button."""

    roll: float = 0.0
    pitch: float = 0.0
    throttle: float = 0.0
    yaw: float = 0.0
    buttons: int = 0

    def words(self) -> str:
        """Where they are, for people."""
        return f"roll {self.roll:+.2f} pitch {self.pitch:+.2f} throttle {self.throttle:+.2f} yaw {self.yaw:+.2f}"


class Source(Protocol):
    """A source of stick positions."""

    name: str

    def read(self, time_s: float) -> Sticks:
        """Where they are at this time; never waits. `LinkError` if it is gone."""

    def actions(self) -> list[str]:
        """What its buttons asked for since the last call."""

    @property
    def finished(self) -> bool:
        """Whether nothing more comes."""

    def close(self) -> None:
        """Let go of it. May be called twice."""
