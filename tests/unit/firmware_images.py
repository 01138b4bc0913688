"""Images of these tests, built once and kept."""

from __future__ import annotations

import functools
from pathlib import Path

from ironbird.boards.firmware.device import Board, load_mcu_board
from ironbird.boards.firmware.elf import Image, parse_elf
from ironbird.provant.build import build_image

IMAGES = Path(__file__).parent / "boards" / "firmware" / "images"


@functools.cache
def image_bytes(name: str, text: str = "") -> bytes:
    files = {"common.h": (IMAGES / "common.h").read_text()}
    files[f"{name}.c"] = text or (IMAGES / f"{name}.c").read_text()
    return build_image(name, files)


@functools.cache
def image(name: str, text: str = "") -> Image:
    return parse_elf(image_bytes(name, text), f"{name}.elf")


def wired_board() -> Board:
    table = load_mcu_board("stm32f4_discovery").model_dump(by_alias=True)
    table["chip"] = [
        {"name": "imu", "chip": "icm20689", "bus": "spi1", "select": "PA4"},
        {"name": "mag", "chip": "hmc5883l", "bus": "i2c1"},
    ]
    return Board.model_validate(table)
