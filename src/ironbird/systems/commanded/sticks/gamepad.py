"""Gamepads through Linux's joystick interface: /dev/input/js*, events of eight bytes [LinuxJoystick].

An event is time (ms, 32 bits), value (16 bits with sign), type (1 button, 2 axis; 128 is added to initial values),
number. Values of axes are scaled by the kernel to -32767..32767. Not done: rumble, hot plugging, evdev.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
from pathlib import Path

from ironbird.errors import LinkError
from ironbird.systems.commanded.sticks.layout import Layout, layout_for
from ironbird.systems.commanded.sticks.source import MOST_AXES, MOST_BUTTONS, Sticks

EVENT = struct.Struct("<IhBB")
BUTTON, AXIS, INITIAL = 0x01, 0x02, 0x80
NAME = 0x80006A13 | 128 << 16  # JSIOCGNAME(128)
MOST_BYTES = 64 * 1024  # of one read: a sender faster than the reader must not delay a flight


def pads(folder: Path = Path("/dev/input")) -> list[tuple[str, str]]:
    """Device and name of each gamepad of this computer that can be read."""
    gamepads = []
    for path in sorted(folder.glob("js*")):
        with contextlib.suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            try:
                gamepads.append((str(path), _name(handle)))
            finally:
                os.close(handle)
    return gamepads


def _name(handle: int) -> str:
    try:
        raw = fcntl.ioctl(handle, NAME, bytes(128))
    except OSError:
        return "unknown pad"
    return raw.partition(b"\0")[0].decode(errors="replace")


class Gamepad:
    """A gamepad with the present values of its axes and buttons."""

    def __init__(self, device: str, layout: Layout | str | Path | None = None) -> None:
        try:
            self._handle = os.open(device, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            there = ", ".join(f"{path} ({name})" for path, name in pads()) or "none"
            cure = "join the group 'input'" if isinstance(error, PermissionError) else f"pads of this computer: {there}"
            raise LinkError(f"gamepad {device} cannot be opened: {error.strerror}; {cure}") from None
        self.device = device
        self.name = _name(self._handle)
        try:
            self.layout = layout if isinstance(layout, Layout) else layout_for(self.name, layout)
        except LinkError:
            self.close()
            raise
        self.axes: dict[int, int] = {}
        self.buttons = 0
        self.strange = 0  # invalid events
        self._rest = b""
        self._actions: list[str] = []

    @property
    def finished(self) -> bool:
        """False: a gamepad has no end."""
        return False

    def read(self, time_s: float) -> Sticks:
        """Process new events; returns the positions of the sticks."""
        try:
            data = os.read(self._handle, MOST_BYTES)
        except BlockingIOError:
            data = b""
        except OSError as error:
            raise LinkError(
                f"gamepad {self.device} ({self.name}) is gone: {error.strerror}; plug it in again"
            ) from None
        data = self._rest + data
        whole = len(data) - len(data) % EVENT.size
        for _, value, kind, number in EVENT.iter_unpack(data[:whole]):
            self._take(value, kind, number)
        self._rest = data[whole:]
        return self.layout.sticks(self.axes, self.buttons)

    def actions(self) -> list[str]:
        """Actions of the buttons that were pressed since the last call."""
        actions, self._actions = self._actions, []
        return actions

    def close(self) -> None:
        """Close the device; further calls do nothing."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _take(self, value: int, kind: int, number: int) -> None:
        if kind & ~INITIAL == AXIS and number < MOST_AXES:
            self.axes[number] = value
        elif kind & ~INITIAL == BUTTON and number < MOST_BUTTONS:
            before = self.buttons
            self.buttons = before | 1 << number if value else before & ~(1 << number)
            if not kind & INITIAL:  # a button held down at the start does not count as pressed
                self._actions += self.layout.actions(before, self.buttons)
        else:
            self.strange += 1
