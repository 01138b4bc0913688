"""The keyboard of a terminal as sticks. A terminal reports no key release: a stick returns when no more keys arrive.

w, s throttle; a, d yaw; arrows pitch and roll; space all to the middle; 1 arm, 2 disarm, t take-off, l land, r return,
h hold, p position, o altitude, i stabilized; ? prints the keys; q ends.
"""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from typing import Any

from ironbird.errors import LinkError
from ironbird.systems.commanded.sticks.source import Sticks

HELD_S = 0.6  # longer than terminals wait before a key repeats
STROKE = 0.5  # of a key
KEYS = {  # stick and direction
    b"w": ("throttle", 1), b"s": ("throttle", -1), b"d": ("yaw", 1), b"a": ("yaw", -1), b"\x1b[A": ("pitch", 1),
    b"\x1b[B": ("pitch", -1), b"\x1b[C": ("roll", 1), b"\x1b[D": ("roll", -1),
}  # fmt: skip
ORDERS = {
    b"1": "arm", b"2": "disarm", b"t": "take-off", b"l": "land", b"r": "return", b"h": "hold", b"p": "position",
    b"o": "altitude", b"i": "stabilized",
}  # fmt: skip
HELP = "?"  # key, and what `actions` gives for it: the keys are to be printed again
KEY_TABLE = (  # two columns of keys and what they do
    ("w s", "throttle up, down", "1 2", "arm, disarm"),
    ("a d", "yaw left, right", "t l r", "take-off, land, return"),
    ("up down", "pitch forward, back", "h p", "modes hold, position"),
    ("left right", "roll left, right", "o i", "modes altitude, stabilized"),
    ("space", "all sticks to the middle", "? q", "these keys, end"),
)


def key_lines() -> list[str]:
    """The keys and what they do, for people."""
    rows = [f"  {keys:<11} {what:<25} {more:<6} {act}" for keys, what, more, act in KEY_TABLE]
    return [f"keys (a stick goes back {HELD_S:g} s after its last key):", *rows]


class Keyboard:
    """Keys of a terminal as sticks; `close` restores the terminal's settings."""

    name = "keyboard"

    def __init__(self, handle: int | None = None) -> None:
        self._handle = sys.stdin.fileno() if handle is None else handle
        self._before: list[Any] | None = None
        if os.isatty(self._handle):
            self._before = termios.tcgetattr(self._handle)
            tty.setcbreak(self._handle)
        elif handle is None:
            raise LinkError("sticks: standard input is no terminal; start it in one, or give a gamepad or a stick file")
        self._pressed: dict[str, tuple[float, float]] = {}  # value and until when
        self._actions: list[str] = []
        self.finished = False

    def read(self, time_s: float) -> Sticks:
        """Process the keys pressed since the last call; returns the positions of the sticks."""
        data = b""
        if not self.finished and select.select([self._handle], [], [], 0.0)[0]:
            data = os.read(self._handle, 4096)
            self.finished = not data
        while data:
            key = data[:3] if data[:3] in KEYS else data[:1]
            data = data[len(key) :]
            self._take(key, time_s)
        now = {stick: value for stick, (value, until_s) in self._pressed.items() if time_s < until_s}
        roll, pitch, throttle, yaw = (now.get(stick, 0.0) for stick in ("roll", "pitch", "throttle", "yaw"))
        return Sticks(roll, pitch, throttle, yaw)

    def _take(self, key: bytes, time_s: float) -> None:
        if key in KEYS:
            stick, sign = KEYS[key]
            self._pressed[stick] = (sign * STROKE, time_s + HELD_S)
        elif key in ORDERS:
            self._actions.append(ORDERS[key])
        elif key == b" ":
            self._pressed.clear()
        elif key == HELP.encode():
            self._actions.append(HELP)
        elif key == b"q":
            self.finished = True

    def actions(self) -> list[str]:
        """Actions of the keys pressed since the last call."""
        actions, self._actions = self._actions, []
        return actions

    def close(self) -> None:
        """Restore the terminal's settings; further calls do nothing."""
        if self._before is not None:
            termios.tcsetattr(self._handle, termios.TCSADRAIN, self._before)
            self._before = None
