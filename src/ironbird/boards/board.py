"""Boards as data: the chips on each bus, their addresses and axes, and the measurement that each one shows."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ironbird.boards.chips.catalog import CHIPS, chip_class
from ironbird.errors import LinkError, UnknownNameError, shortened
from ironbird.files.problems import read_toml

FOLDER = Path(__file__).parent / "catalog"
Axis = Literal["+x", "-x", "+y", "-y", "+z", "-z"]
MOST_BYTES = 1_000_000  # limit of a board file


class Device(BaseModel):
    """One chip on a board: its bus, address, axes and measurement."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[a-z]\w*$")]
    chip: str
    bus: Annotated[str, Field(pattern=r"^(spi|i2c|uart)\d+$")]
    select: Annotated[int, Field(ge=0, le=31)] = 0  # SPI
    address: Annotated[int, Field(ge=0x03, le=0x77)] | None = None  # I2C; the chip's default address if omitted
    file: str = ""  # device file of the bus in Linux
    feed: Annotated[str, Field(pattern=r"^(imu|mag|baro|gnss|airspeed|battery|rc)/\d+$")] | None = None
    axes: tuple[Axis, Axis, Axis] = ("+x", "+y", "+z")  # body axes along the chip's x, y, z
    scale: Annotated[float, Field(gt=0)] = 1.0  # voltage divider: voltage at the chip over the measured voltage

    @property
    def kind(self) -> str:
        """Kind of the bus: spi, i2c or uart."""
        return self.bus.rstrip("0123456789")

    @property
    def number(self) -> int:
        """Number of the bus that the device is on."""
        return int(self.bus.removeprefix(self.kind))

    def axis_rows(self) -> list[tuple[int, float]]:
        """Mounting of a chip: for each of its axes, the number of the body's axis and the sign."""
        return [("xyz".index(axis[1]), -1.0 if axis[0] == "-" else 1.0) for axis in self.axes]


class Sysfs(BaseModel):
    """Files of the board's processor under /sys/class in Linux."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pwm: tuple[Annotated[int, Field(ge=0, le=16)], ...] = ()  # number of outputs of pwmchip0, pwmchip1, …
    gpio_first: Annotated[int, Field(ge=0, le=10_000)] = 0  # number of the first pin
    gpio: Annotated[int, Field(ge=0, le=64)] = 0  # number of pins

    @model_validator(mode="after")
    def _fits(self) -> Sysfs:
        if sum(self.pwm) > 16:
            raise ValueError(f"pwm: {sum(self.pwm)} outputs in all; at most 16")
        return self


class Board(BaseModel):
    """Content of a board file: its chips, and the files of its processor."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_: Annotated[int, Field(alias="schema", ge=1, le=1)]
    id: str
    about: str
    source: str
    device: tuple[Device, ...]
    sysfs: Sysfs = Sysfs()

    @model_validator(mode="after")
    def _fits(self) -> Board:
        seen: dict[tuple[str, object], str] = {}
        names: set[str] = set()
        for device in self.device:
            if device.chip not in CHIPS:
                raise ValueError(str(UnknownNameError("chip", device.chip, CHIPS, device.name, "ironbird board list")))
            kind = chip_class(device.chip)
            if device.kind not in kind.buses:
                raise ValueError(f"{device.name}: {kind.part} has {' and '.join(kind.buses)}, not {device.kind}")
            place: object = {"spi": device.select, "i2c": device.address or kind.address, "uart": 0}[device.kind]
            if (device.bus, place) in seen or device.name in names:
                other = seen.get((device.bus, place), device.name)
                raise ValueError(f"{device.name}: {other} is at this place already, or has this name")
            seen[device.bus, place] = device.name
            names.add(device.name)
            if len({axis for axis, _ in device.axis_rows()}) != 3:
                raise ValueError(f"{device.name}: axes {device.axes} are not three different ones")
        return self


def board_ids() -> list[str]:
    """Names of all built-in boards."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_board(name: str | Path) -> Board:
    """A built-in board by name, or a board from a TOML file."""
    path = Path(name) if str(name).endswith(".toml") else FOLDER / f"{name}.toml"
    if not str(name).endswith(".toml") and str(name) not in board_ids():
        raise UnknownNameError("board", str(name), board_ids())
    try:
        with path.open("rb") as file:
            text = file.read(MOST_BYTES)
    except OSError as error:
        raise LinkError(
            f"board {path} cannot be read: {error.strerror}; give one of {', '.join(board_ids())}"
        ) from error
    return parse_board(text, str(path))


def parse_board(text: bytes, where: str) -> Board:
    """Parse a board from the bytes of a file; all problems are reported in one error."""
    try:
        data = read_toml(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LinkError(f"board {where} is no TOML: {shortened(error)}") from error
    return board_of(data, where)


def board_of(data: dict[str, Any], where: str) -> Board:
    """A board from the parsed tables of its file."""
    try:
        return Board.model_validate(data)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(str(p) for p in e['loc'])}: {e['msg']}" for e in error.errors()[:8])
        raise LinkError(f"board {where}: {shortened(problems, 600)}; docs/guide/chips.md shows the keys") from error
