"""C texts of native readers as Ironbird builds them, with their tables, for the harnesses in `native/`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ironbird.autopilots.px4 import messages as px4
from ironbird.boards.chips.catalog import CHIPS, chip_class
from ironbird.boards.chips.chip import POWERED_NS
from ironbird.boards.firmware import machine
from ironbird.boards.firmware.device import load_device
from ironbird.boards.native_chips import chips_text
from ironbird.protocols.mavlink import codec
from ironbird.protocols.mavlink.dialect import crc_extras
from ironbird.provant import image
from ironbird.systems.ardupilot import link as ardupilot
from ironbird.systems.hardware import board

FOLDER = Path(__file__).parent / "native"


def _texts(*paths: Path) -> str:
    """Texts without the layouts that Python compares."""
    return "#define LAYOUT(...)\n" + "".join(path.read_text() for path in paths)


def _known() -> str:
    """Messages of MAVLink that are known."""
    known = crc_extras().items()
    return (
        f"#define KNOWN {len(known)}\n"
        f"static const uint32_t KNOWN_IDS[] = {{{', '.join(str(number) for number, _ in known)}}};\n"
        f"static const uint8_t KNOWN_EXTRAS[] = {{{', '.join(str(extra) for _, extra in known)}}};\n"
    )


def _chips() -> str:
    """All chips, their buses and addresses."""
    kinds = [chip_class(name) for name in CHIPS]
    numbers = {"spi": 0, "i2c": 1, "uart": 2}
    buses = ", ".join("{" + ", ".join(str(numbers[bus]) for bus in kind.buses) + "}" for kind in kinds)
    return chips_text() + (
        f"#define CHIP_COUNT {len(kinds)}\n#define CHIP_POWERED_NS ({POWERED_NS})\n"
        f"static const uint8_t CHIP_BUSES[][3] = {{{buses}}};\n"
        f"static const uint8_t CHIP_BUS_COUNT[] = {{{', '.join(str(len(kind.buses)) for kind in kinds)}}};\n"
        f"static const int64_t CHIP_ADDRESS[] = {{{', '.join(str(kind.address) for kind in kinds)}}};\n"
    )


def _mavlink() -> list[str]:
    return [_texts(codec.TEXT) + _known()]


def _px4() -> list[str]:
    return [_texts(*px4.TEXTS) + _known()]


def _cable() -> list[str]:
    """The exchange, and beside it what it is handed: another text, because names of the two meet."""
    return [_texts(*board.TEXTS), _px4()[0] + (FOLDER / "board_functions.h").read_text()]


def _firmware() -> list[str]:
    folder = image.SOURCE / "middleware"
    return ["".join((folder / name).read_text().replace('#include "frame.h"', "") for name in ("frame.h", "frame.c"))]


def _stm32() -> list[str]:
    """A microcontroller with its table of peripherals, DMA requests and memories, and chips on its buses."""
    tables = zip(("ROW", "REQUEST", "MEMORY"), machine.tables(load_device("stm32f407")), strict=True)
    text = _chips() + machine.core_text()
    for name, table in tables:
        rows = ", ".join("{" + ", ".join(map(str, row)) + "}" for row in table)
        text += f"static const fw_{name.lower()} {name}_TABLE[] = {{{rows}}};\n#define {name}_COUNT {len(table)}\n"
    return [text]


# First the text that the harness follows, then texts of their own
TEXTS: dict[str, Callable[[], list[str]]] = {
    "mavlink": _mavlink,
    "px4_stream": _px4,
    "board_cable": _cable,
    "state_text": lambda: [_texts(ardupilot.TEXT)],
    "chip_bus": lambda: [_chips()],
    "chip_board": lambda: [_chips()],
    "provant_frame": _firmware,
    "stm32": _stm32,
}
