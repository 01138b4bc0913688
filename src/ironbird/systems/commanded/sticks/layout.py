"""Which axis and button of a pad does what: a TOML file, with defaults for common pads.

name = "Xbox"            # a part of the pad's name; empty fits all mode = 2                 # of the transmitter: 1
throttle right, 2 throttle left, 3 and 4 with the sticks exchanged left_x = 0               # numbers of axes as
`ironbird connect show-sticks` prints them reversed = ["left_y"]    # axes whose value falls when they are pushed
forward or right expo = 0.3 dead_zone = 0.05 [calibration.left_x] low = -32767 centre = 0 high = 32767 [buttons] 0 =
"arm"
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ironbird.errors import LinkError
from ironbird.files.problems import read_bytes, read_toml
from ironbird.systems.commanded.sticks.shape import Calibration, shaped
from ironbird.systems.commanded.sticks.source import MOST_AXES, MOST_BUTTONS, Sticks

Gimbal = Literal["left_x", "left_y", "right_x", "right_y"]
GIMBALS: tuple[Gimbal, ...] = ("left_x", "left_y", "right_x", "right_y")
MODES: dict[int, tuple[Gimbal, Gimbal, Gimbal, Gimbal]] = {  # roll, pitch, throttle, yaw
    1: ("right_x", "left_y", "right_y", "left_x"),
    2: ("right_x", "right_y", "left_y", "left_x"),
    3: ("left_x", "left_y", "right_y", "right_x"),
    4: ("left_x", "right_y", "left_y", "right_x"),
}
ACTIONS = (
    "arm", "disarm", "take-off", "land", "return", "hold", "mission", "position", "altitude", "stabilized", "manual",
)  # fmt: skip
Axis = Annotated[int, Field(ge=0, lt=MOST_AXES)]


class Layout(BaseModel):
    """Layout of a gamepad: its axes, buttons, calibration, expo and dead zone."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = ""
    mode: Literal[1, 2, 3, 4] = 2
    left_x: Axis = 0
    left_y: Axis = 1
    right_x: Axis = 3
    right_y: Axis = 4
    reversed: tuple[Gimbal, ...] = ("left_y", "right_y")
    expo: Annotated[float, Field(ge=0.0, le=1.0)] = 0.3
    dead_zone: Annotated[float, Field(ge=0.0, le=0.9)] = 0.05
    calibration: dict[Gimbal, Calibration] = {}
    buttons: dict[str, str] = {
        "0": "arm", "1": "disarm", "2": "position", "3": "altitude", "4": "stabilized", "5": "take-off", "6": "land",
        "7": "return",
    }  # fmt: skip

    def sticks(self, axes: dict[int, int], buttons: int) -> Sticks:
        """Positions of the sticks for raw axis values; an axis without an event yet is centred."""
        values = {name: self._stick(name, axes) for name in GIMBALS}
        roll, pitch, throttle, yaw = (values[name] for name in MODES[self.mode])
        return Sticks(roll, pitch, throttle, yaw, buttons)

    def _stick(self, name: Gimbal, axes: dict[int, int]) -> float:
        number: int = getattr(self, name)
        if number not in axes:
            return 0.0
        value = self.calibration.get(name, Calibration()).normal(axes[number])
        return shaped(-value if name in self.reversed else value, dead_zone=self.dead_zone, expo=self.expo)

    def actions(self, before: int, now: int) -> list[str]:
        """Actions of the buttons pressed between two button masks, in the order of their numbers."""
        new = now & ~before
        numbers = [number for number in range(MOST_BUTTONS) if new >> number & 1]
        return [self.buttons[str(number)] for number in numbers if str(number) in self.buttons]

    def text(self) -> str:
        """The layout as TOML text that `load_layout` reads."""
        lines = [
            f'name = "{"".join(sign for sign in self.name if sign.isprintable() and sign not in chr(34) + chr(92))}"'
        ]
        lines += [f"{key} = {getattr(self, key)!r}" for key in ("mode", *GIMBALS, "expo", "dead_zone")]
        lines.append("reversed = [" + ", ".join(f'"{name}"' for name in self.reversed) + "]")
        for name, axis in self.calibration.items():
            lines += [f"[calibration.{name}]", f"low = {axis.low}", f"centre = {axis.centre}", f"high = {axis.high}"]
        lines += ["[buttons]", *(f'{number} = "{action}"' for number, action in self.buttons.items())]
        return "\n".join(lines) + "\n"


PADS = (  # by a part of the name; the last fits all
    Layout(name="X-Box"),
    Layout(name="Xbox"),
    Layout(name="Wireless Controller"),
    Layout(name="DualSense"),
    Layout(name="Logitech Dual Action", right_x=2, right_y=3),
    Layout(name="FrSky", right_x=0, right_y=1, left_y=2, left_x=3, reversed=(), expo=0.0, dead_zone=0.0),
    Layout(name="OpenTX", right_x=0, right_y=1, left_y=2, left_x=3, reversed=(), expo=0.0, dead_zone=0.0),
    Layout(name="EdgeTX", right_x=0, right_y=1, left_y=2, left_x=3, reversed=(), expo=0.0, dead_zone=0.0),
    Layout(name="Radiomaster", right_x=0, right_y=1, left_y=2, left_x=3, reversed=(), expo=0.0, dead_zone=0.0),
    Layout(),
)


def usual_file() -> Path:
    """Path of the file in which a calibration is stored."""
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "ironbird" / "sticks.toml"


def layout_for(name: str, file: Path | str | None = None) -> Layout:
    """Layout for a gamepad: of a file, of the stored calibration if it is for this gamepad, or a default by name."""
    if file:
        return load_layout(file)
    stored = usual_file()
    if stored.exists():
        layout = load_layout(stored)
        if layout.name.lower() in name.lower():
            return layout
    return next(layout for layout in PADS if layout.name.lower() in name.lower())


def load_layout(path: Path | str) -> Layout:
    """Read a layout file; `LinkError` names the file, the key and the cure."""
    try:
        data: dict[str, Any] = read_toml(read_bytes(Path(path)).decode("utf-8-sig"))
        layout = Layout.model_validate(data)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise LinkError(f"layout of sticks {path} cannot be read: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "file"
        raise LinkError(f"layout of sticks {path}: {place}: {first['msg']}") from None
    for number, action in layout.buttons.items():
        if not number.isdecimal() or int(number) >= MOST_BUTTONS or action not in ACTIONS:
            raise LinkError(
                f"layout of sticks {path}: buttons.{number} = '{action}': give 0 to {MOST_BUTTONS - 1} and one of "
                f"{', '.join(ACTIONS)}"
            )
    return layout
