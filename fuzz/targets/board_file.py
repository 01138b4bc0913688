"""Files of boards: which chips sit on which buses."""

from __future__ import annotations

from typing import Any

from fuzz.target import Refused, attempt
from ironbird.boards.board import board_of, parse_board
from ironbird.boards.chips.catalog import CHIPS

WORDS = (
    "schema = 1\n", "[[device]]\n", "name = ", "chip = ", *list(CHIPS)[:8], "bus = ", "spi1", "i2c2", "uart3", "axes = ", "+x",
    "-y", "select = ", "address = ", "feed = ", "imu/1", "scale = ", "[sysfs]\n", "pwm = ", "gpio = ", "about = ", "source = ",
)  # fmt: skip
MOST = 2048
FORMAT = "toml"


def check(data: bytes) -> bool | None:
    """Taken or refused."""
    board = attempt(parse_board, data, "fuzzed")
    return not isinstance(board, Refused) or board.at != "parse_board"


def check_table(table: dict[str, Any]) -> bool | None:
    """The same below tomllib."""
    attempt(board_of, table, "fuzzed")
    return None
