"""Interface of sources of stick positions: gamepad, keyboard, stick file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

MOST_AXES, MOST_BUTTONS = 64, 16


@dataclass(frozen=True)
class Sticks:
    """Stick positions from -1 to 1: right, forward, up and clockwise are positive; one bit per button."""

    roll: float = 0.0
    pitch: float = 0.0
    throttle: float = 0.0
    yaw: float = 0.0
    buttons: int = 0

    def words(self) -> str:
        """Where they are, for people."""
        return f"roll {self.roll:+.2f} pitch {self.pitch:+.2f} throttle {self.throttle:+.2f} yaw {self.yaw:+.2f}"


class Source(Protocol):
    """A source of stick positions and button actions."""

    name: str

    def read(self, time_s: float) -> Sticks:
        """Stick positions at this time (s); never waits. `LinkError` if the device is gone."""

    def actions(self) -> list[str]:
        """Actions of the buttons that were pressed since the last call."""

    @property
    def finished(self) -> bool:
        """Whether the source has ended."""

    def close(self) -> None:
        """Close the source; further calls do nothing."""
