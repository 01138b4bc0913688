"""Stick files: CSV with the columns time_s, roll, pitch, throttle, yaw, buttons; recorded, and flown again as a case.

Sticks stay as they are until the next row. Numbers are written so that they read back to the same bits.
"""

from __future__ import annotations

import bisect
import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path

from ironbird.errors import LinkError, shortened
from ironbird.files.problems import read_bytes
from ironbird.systems.commanded.sticks.layout import Layout
from ironbird.systems.commanded.sticks.source import MOST_BUTTONS, Sticks

COLUMNS = ["time_s", "roll", "pitch", "throttle", "yaw", "buttons"]
MOST_ROWS = 1_000_000
LATEST_S = 1e7
Row = tuple[float, Sticks]


def stick_text(rows: Sequence[Row]) -> str:
    """Text of a stick file as `parse_sticks` reads it; rows that change nothing are left out, except the last."""
    lines = [",".join(COLUMNS)]
    before: Sticks | None = None
    for place, (time_s, now) in enumerate(rows):
        if now != before or place == len(rows) - 1:
            values = (time_s, now.roll, now.pitch, now.throttle, now.yaw)
            lines.append(",".join(map(repr, map(float, values))) + f",{now.buttons}")
        before = now
    return "\n".join(lines) + "\n"


def load_sticks(path: Path | str) -> list[Row]:
    """Read a stick file; `LinkError` names the file, the line and the cure."""
    try:
        text = read_bytes(Path(path)).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LinkError(f"stick file {path} cannot be read: {error}") from None
    return parse_sticks(text, str(path))


def parse_sticks(text: str, where: str = "stick file") -> list[Row]:
    """Rows of a stick file's text, which must be in the order of time; `where` names the file in errors."""
    rows: list[Row] = []
    try:
        table = list(csv.reader(io.StringIO(text)))
    except csv.Error as error:
        raise LinkError(f"{where}: no CSV: {error}") from None
    if not table or [cell.strip() for cell in table[0]] != COLUMNS:
        raise LinkError(f"{where}: the first line must be '{','.join(COLUMNS)}'")
    if len(table) > MOST_ROWS:
        raise LinkError(f"{where}: {len(table)} lines; {MOST_ROWS} at most")
    for number, cells in enumerate(table[1:], start=2):
        if not cells:
            continue
        at = f"{where}: line {number}"
        try:
            time_s, *sticks = (float(cell) for cell in cells[:5])
            buttons = int(cells[5])
            extra = cells[6:]
        except (ValueError, IndexError):
            raise LinkError(f"{at}: '{shortened(','.join(cells))}' is not five numbers and a whole one") from None
        if extra or len(sticks) != 4:
            raise LinkError(f"{at} has {len(cells)} columns; {len(COLUMNS)} are needed")
        if not all(-1.0 <= value <= 1.0 for value in sticks) or not 0 <= buttons < 1 << MOST_BUTTONS:
            raise LinkError(f"{at}: sticks must be from -1 to 1, buttons from 0 to {(1 << MOST_BUTTONS) - 1}")
        if not 0.0 <= time_s <= LATEST_S or (rows and time_s <= rows[-1][0]) or math.isnan(time_s):
            raise LinkError(f"{at}: time {time_s!r} s must rise from line to line, from 0 on")
        rows.append((time_s, Sticks(sticks[0], sticks[1], sticks[2], sticks[3], buttons)))
    if not rows:
        raise LinkError(f"{where}: there are no rows below the first line; write one for each change of the sticks")
    return rows


class StickFile:
    """A stick file as a source of stick positions: the same positions at the same times."""

    def __init__(self, rows: Sequence[Row], layout: Layout | None = None, name: str = "stick file") -> None:
        self.name = name
        self._rows, self._times = list(rows), [time_s for time_s, _ in rows]
        self._layout = layout or Layout()
        self._next = 0  # first row whose buttons were not processed yet
        self._actions: list[str] = []
        self._buttons = 0
        self.finished = False

    def read(self, time_s: float) -> Sticks:
        """Stick positions of the last row that is not later than `time_s`."""
        place = bisect.bisect_right(self._times, time_s + 1e-9)  # ticks are whole milliseconds
        for row in self._rows[self._next : place]:
            self._actions += self._layout.actions(self._buttons, row[1].buttons)
            self._buttons = row[1].buttons
        self._next = max(self._next, place)
        self.finished = place == len(self._rows)
        return self._rows[place - 1][1] if place else Sticks()

    def actions(self) -> list[str]:
        """Actions of the buttons that were pressed since the last call."""
        actions, self._actions = self._actions, []
        return actions

    def close(self) -> None:
        """Do nothing: the file was read as a whole."""
