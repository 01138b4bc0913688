"""The front end "sticks": a gamepad, the keyboard or a stick file flies the vehicle by hand.

Options: `sticks` is `auto` (the first gamepad), a device, `keyboard` or a stick file (.csv); `stick_layout` a TOML
file; `stick_mode` the mode in which the flight begins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from ironbird.errors import LinkError
from ironbird.files import option_texts as texts
from ironbird.rig.commander.commander import Commander
from ironbird.systems.commanded.front import FrontOptions
from ironbird.systems.commanded.sticks.gamepad import Gamepad, pads
from ironbird.systems.commanded.sticks.keyboard import HELP, Keyboard, key_lines
from ironbird.systems.commanded.sticks.layout import load_layout
from ironbird.systems.commanded.sticks.source import Source, Sticks
from ironbird.systems.commanded.sticks.stick_file import StickFile, load_sticks

MOST_REFUSALS = 100  # kept


def open_source(what: str = "auto", layout: str = "") -> Source:
    """Open a source of sticks by name: auto, a gamepad's device, keyboard, or a stick file."""
    if what == "keyboard":
        return Keyboard()
    if what.endswith(".csv"):
        return StickFile(load_sticks(what), load_layout(layout) if layout else None, Path(what).name)
    if what == "auto":
        gamepads = pads()
        if not gamepads:
            raise LinkError("no gamepad is plugged in (/dev/input/js*); 'keyboard' or a stick file works without one")
        what = gamepads[0][0]
    return Gamepad(what, layout or None)


class SticksOptions(FrontOptions):
    """Options of the front end `sticks`: source of the sticks, layout, first flight mode."""

    sticks: Annotated[str, Field(description=texts.STICKS)] = "auto"
    stick_layout: Annotated[str, Field(description="TOML file: which axis and button does what.")] = ""
    stick_mode: Annotated[str, Field(description="Flight mode to ask for at the start.")] = "position"


class SticksFront:
    """Passes sticks and buttons to the commander at every exchange; a stick file ends the flight after its last row."""

    options_type = SticksOptions
    open_ended = True

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._what, self._layout = str(options.get("sticks") or "auto"), str(options.get("stick_layout") or "")
        self._mode = str(options.get("stick_mode") or "")
        self._source: Source | None = None
        self._chosen = False
        self._now = Sticks()
        self.refused: list[str] = []  # what could not be done, and why
        self.say: Callable[[str], None] | None = None  # gets lines for who holds the sticks

    def open(self, commander: Commander) -> None:
        """Open the source of the sticks."""
        self._source = open_source(self._what, self._layout)

    def poll(self, commander: Commander) -> None:
        """Pass on the sticks first, then the actions of the buttons."""
        assert self._source is not None
        now = self._now = self._source.read(commander.time_s)
        commander.sticks(now.roll, now.pitch, now.throttle, now.yaw)
        if self._mode and not self._chosen:
            self._chosen = self._do(commander, self._mode)
        for action in self._source.actions():
            if action == HELP:
                self._print_keys()
                continue
            commander.by = self._source.name
            self._do(commander, action)
            commander.by = ""

    def _print_keys(self) -> None:
        if self.say is not None:
            for line in key_lines():
                self.say(line)

    def _do(self, commander: Commander, action: str) -> bool:
        calls = {
            "arm": commander.arm,
            "disarm": commander.disarm,
            "take-off": commander.take_off,
            "land": commander.land,
            "return": commander.return_home,
            "hold": commander.hold,
            "mission": commander.start_mission,
        }
        why = calls[action]() if action in calls else commander.set_mode(action)
        if why is not None and len(self.refused) < MOST_REFUSALS:
            self.refused.append(f"{commander.time_s:.3f} s {action}: {why}")
            if commander.by:
                commander.note("refused", f"{action}: {why}")
        return why is None

    def announce(self) -> list[str]:
        """Who holds the sticks, and what the keys of a keyboard do."""
        keys = key_lines() if isinstance(self._source, Keyboard) else []
        return [f"sticks: {self._source.name if self._source is not None else self._what}", *keys]

    def live(self) -> str:
        """Where the sticks are, for the line of figures."""
        return self._now.words()

    @property
    def finished(self) -> bool:
        """Whether the last row of a stick file has passed, or a key has ended the flight."""
        return self._source is not None and self._source.finished

    def close(self) -> None:
        """Close the source; further calls do nothing."""
        if self._source is not None:
            self._source.close()
