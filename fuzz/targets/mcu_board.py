"""Boards with a microcontroller whose firmware is emulated."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from fuzz.target import Refused, attempt, file_of
from ironbird.boards.firmware.device import Board, load_mcu_board

WORDS = (
    "schema = 1\n",
    "id = ",
    "device = ",
    "stm32f407",
    "[[chip]]\n",
    "bus = ",
    "spi1",
    "select = ",
    "axes = ",
    "feed = ",
    "imu/1",
    "gpio = ",
)
MOST = 2048
FORMAT = "toml"


def check(data: bytes) -> bool | None:
    """Taken or refused."""
    board = attempt(load_mcu_board, str(file_of(data, "board.toml")))
    return not isinstance(board, Refused) or " is no TOML" not in str(board.error)


def check_table(table: dict[str, Any]) -> bool | None:
    """The grammar below tomllib."""
    try:
        Board.model_validate(table)
    except ValidationError as error:
        assert error.errors()
    return None
