"""Microcontrollers and boards as data: memories, peripherals, crystal, what is wired to what."""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from ironbird.boards.board import Axis
from ironbird.boards.board import Board as ChipBoard
from ironbird.boards.board import Device as ChipDevice
from ironbird.boards.chips.catalog import CHIPS
from ironbird.errors import LinkError, UnknownNameError, shortened
from ironbird.files.problems import read_toml

HERE = Path(__file__).parent
MOST_BYTES = 1_000_000
KINDS = (  # in the order of fw.h
    "other", "rcc", "pwr", "gpio", "exti", "syscfg", "usart", "spi", "i2c", "tim", "dma", "adc", "flash", "iwdg",
    "otg", "rng", "crc", "rtc",
)  # fmt: skip
Word = Annotated[int, Field(ge=0, le=0xFFFFFFFF)]
_T = TypeVar("_T", bound="_Table")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Memory(_Table):
    """A piece of memory."""

    name: str
    base: Word
    size: Annotated[int, Field(ge=4096, le=16 << 20, multiple_of=4096)]
    alias: Word | None = None
    writable: bool = False


class Peripheral(_Table):
    """A peripheral: what it is, where it is, which interrupts and requests it has."""

    name: str
    kind: Literal[
        "other", "rcc", "pwr", "gpio", "exti", "syscfg", "usart", "spi", "i2c", "tim", "dma", "adc", "flash", "iwdg",
        "otg", "rng", "crc", "rtc",
    ]  # fmt: skip
    base: Annotated[int, Field(ge=0x40000000, lt=0x50080000, multiple_of=0x400)]
    bus: Literal[0, 1, 2]
    number: Annotated[int, Field(ge=0, le=15)] = 0
    irq: Annotated[int, Field(ge=0, le=111)] | None = None
    irq2: Annotated[int, Field(ge=0, le=111)] | None = None
    enable: tuple[int, int] | None = None
    dma: tuple[tuple[int, int, int, Literal["rx", "tx"]], ...] = ()


class Device(_Table):
    """A microcontroller."""

    schema_: Annotated[int, Field(alias="schema", ge=1, le=1)]
    id: str
    about: str
    source: str
    family: Literal["f1", "f4"]  # of STM32: how its registers lie; a Cortex-M3, or a Cortex-M4F
    debug_id: Word  # DBGMCU_IDCODE
    unique_id_at: Word
    flash_size_at: Word
    memory: Annotated[tuple[Memory, ...], Field(min_length=1, max_length=8)]
    peripheral: Annotated[tuple[Peripheral, ...], Field(min_length=1, max_length=80)]

    @model_validator(mode="after")
    def _fits(self) -> Device:
        names = [p.name for p in self.peripheral]
        if len(set(names)) != len(names):
            raise ValueError("two peripherals have one name")
        return self

    def row(self, name: str) -> int:
        """The number of a peripheral in the table."""
        names = [p.name for p in self.peripheral]
        if name not in names:
            raise UnknownNameError("peripheral", name, names, f"device {self.id}")
        return names.index(name)


class Wire(_Table):
    """A chip on a bus of the microcontroller, and whose measurement it shows."""

    name: str
    chip: str
    bus: str  # an SPI, I2C or serial peripheral of the device
    select: str = ""  # a pin, for SPI
    address: Annotated[int, Field(ge=0x03, le=0x77)] | None = None  # I2C; the chip's usual one if it is left out
    feed: str | None = None  # sensor of the vehicle, as in the boards of `chips`
    axes: tuple[Axis, Axis, Axis] = ("+x", "+y", "+z")  # of the body, along the chip's x, y, z

    @field_validator("chip")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in CHIPS:
            raise ValueError(str(UnknownNameError("chip", value, CHIPS, "board", "ironbird board list")))
        return value


class Analog(_Table):
    """An input of the converter that shows a measurement of the vehicle."""

    channel: Annotated[int, Field(ge=0, le=23)]
    feed: Literal["battery.voltage", "battery.current"]
    scale: Annotated[float, Field(gt=0)]  # V at the pin for one unit


class Autopilot(_Table):
    """What a flight controller's own firmware has on its connectors."""

    kind: Literal["ardupilot"]
    telemetry: Annotated[int, Field(ge=1, le=8)]  # serial port that speaks MAVLink
    baud: Annotated[int, Field(ge=9600, le=921600)]
    outputs: tuple[tuple[int, int], ...]  # timer and channel of the servo outputs, from the first on
    params: dict[str, float] = {}  # that belong to the board, not to the vehicle


class Board(_Table):
    """A board with a microcontroller."""

    schema_: Annotated[int, Field(alias="schema", ge=1, le=1)]
    id: str
    about: str
    source: str
    device: str
    crystal_Hz: Annotated[float, Field(gt=1e5, lt=1e8)]
    supply_V: Annotated[float, Field(gt=1.0, lt=6.0)] = 3.3
    leds: tuple[str, ...] = ()
    pulled_up: tuple[str, ...] = ()  # pins with resistors to the supply, as the wires of I2C have
    chip: tuple[Wire, ...] = ()
    analog: tuple[Analog, ...] = ()
    autopilot: Autopilot | None = None

    def sensors(self) -> ChipBoard:
        """Its chips that show measurements, as the feeder of `chips` takes them."""
        devices = []
        for number, wire in enumerate(wire for wire in self.chip if wire.feed is not None):
            bus = re.sub(r"^usart", "uart", wire.bus)
            devices.append(
                ChipDevice(
                    name=wire.name, chip=wire.chip, bus=bus, select=number if bus.startswith("spi") else 0,
                    address=wire.address, feed=wire.feed, axes=wire.axes,
                )
            )  # fmt: skip
        about = {"schema": 1, "id": self.id, "about": self.about, "source": self.source}
        return ChipBoard.model_validate({**about, "device": devices})


def pin_number(name: str) -> int:
    """PA0 is 0, PB3 is 19."""
    found = re.fullmatch(r"P([A-K])(\d|1[0-5])", name)
    if found is None:
        raise LinkError(f"'{name}' is no pin: PA0 to PK15")
    return 16 * (ord(found[1]) - ord("A")) + int(found[2])


def board_names() -> list[str]:
    """Boards that come with Ironbird."""
    return sorted(path.stem for path in (HERE / "boards").glob("*.toml"))


def load_mcu_board(name: str) -> Board:
    """A board by name, or from a TOML file of your own."""
    if not name.endswith(".toml") and name not in board_names():
        raise UnknownNameError("board", name, board_names())
    return _load(Path(name) if name.endswith(".toml") else HERE / "boards" / f"{name}.toml", Board)


@functools.cache
def load_device(name: str) -> Device:
    """A microcontroller by name."""
    known = sorted(path.stem for path in (HERE / "devices").glob("*.toml"))
    if name not in known:
        raise UnknownNameError("microcontroller", name, known)
    return _load(HERE / "devices" / f"{name}.toml", Device)


def _load(path: Path, kind: type[_T]) -> _T:
    try:
        with path.open("rb") as file:
            table: dict[str, Any] = read_toml(file.read(MOST_BYTES).decode())
        return kind.model_validate(table)
    except OSError as error:
        raise LinkError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LinkError(f"{path} is no TOML: {shortened(error)}") from None
    except ValidationError as error:
        said = "; ".join(f"{'.'.join(str(p) for p in e['loc'])}: {e['msg']}" for e in error.errors()[:8])
        raise LinkError(f"{path}: {shortened(said, 600)}; docs/guide/firmware.md shows the keys") from None
