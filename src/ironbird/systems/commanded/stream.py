"""The recorded stream of commands: values of the model's inputs and when they were set; exact, as text.

    ironbird commands 1
    0 command=0.0
    3500 command=13.0 order=1.0  # arm
    4000 command=1.0 order=2.0   # take off to 10 m

Each line has the tick before which the inputs take these values, which then stay; numbers are the shortest that read
back to the same bits. Text after # is a comment. Parameters, missions and faults that came in flight are in the order
itself (`tunings`, `faults`), so that an order with this text as its script is complete.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ironbird.errors import OrderError, shortened

HEADER = "ironbird commands 1"
LONGEST = 200_000_000  # characters of a stream
WORDS = 120  # characters of a remark


@dataclass
class Stream:
    """Values of inputs by tick, in the order of time."""

    entries: list[tuple[int, dict[str, list[float]]]] = field(default_factory=list)
    remarks: dict[int, list[str]] = field(default_factory=dict)

    def text(self) -> str:
        """The stream as text that `parse_stream` reads."""
        lines = [HEADER]
        ticks = {tick for tick, _ in self.entries}
        entries = [*self.entries, *((tick, {}) for tick in self.remarks if tick not in ticks)]
        for tick, values in sorted(entries, key=lambda entry: entry[0]):
            words = [str(tick), *(f"{name}={','.join(map(repr, row))}" for name, row in values.items())]
            if remarks := self.remarks.get(tick):
                words.append("# " + "; ".join(remarks))
            lines.append(" ".join(words))
        return "\n".join(lines) + "\n"

    def remark(self, tick: int, words: str) -> None:
        """Add a comment to the line of a tick."""
        plain = " ".join(words.split())[:WORDS]
        self.remarks.setdefault(tick, []).append(plain.replace("#", ""))


def parse_stream(text: str, sizes: Mapping[str, int]) -> Stream:
    """Parse a stream for a model whose inputs have these sizes; `OrderError` names the line and the mistake."""
    if len(text) > LONGEST:
        raise OrderError(f"a stream of commands has {LONGEST} characters at most, this one {len(text)}")
    lines = text.strip().splitlines()
    if not lines or lines[0].strip() != HEADER:
        first = shortened(lines[0]) if lines else "nothing"
        raise OrderError(f"a stream of commands begins with '{HEADER}', not with '{first}'")
    stream = Stream()
    last = -1
    for number, line in enumerate(lines[1:], start=2):
        content, _, remark = line.partition("#")
        words = content.split()
        if not words:
            continue
        where = f"line {number} of the stream of commands"
        if not words[0].isascii() or not words[0].isdigit() or len(words[0]) > 15:
            raise OrderError(f"{where}: '{shortened(words[0])}' is no tick; give a whole number first")
        tick = int(words[0])
        if tick <= last:
            raise OrderError(f"{where}: tick {tick} comes after {last}; put the lines in the order of time")
        last = tick
        values = {}
        for word in words[1:]:
            name, _, numbers = word.partition("=")
            if name not in sizes:
                raise OrderError(f"{where}: the vehicle has no input '{shortened(name)}'; it has {', '.join(sizes)}")
            values[name] = _row(numbers, sizes[name], f"{where}: {name}")
        stream.entries.append((tick, values))
        if remark.strip():
            stream.remark(tick, remark)
    return stream


def _row(text: str, size: int, where: str) -> list[float]:
    try:
        row = [float(part) for part in text.split(",")]
    except ValueError:
        row = []
    if len(row) != size or not all(map(math.isfinite, row)):
        raise OrderError(f"{where} = '{shortened(text)}': give {size} finite number(s), separated by commas")
    return row


class Recorder:
    """Records how the inputs of a model change from one exchange to the next."""

    def __init__(self, places: Mapping[str, slice], inputs: np.ndarray) -> None:
        self.stream = Stream()
        self._places = places
        self._inputs = inputs
        self._before = np.full_like(inputs, np.nan)

    def note(self, tick: int) -> None:
        """Record the inputs that have changed since the last call."""
        changed = self._inputs != self._before
        if not changed.any():
            return
        values = {
            name: [float(value) for value in self._inputs[rows]]
            for name, rows in self._places.items()
            if changed[rows].any()
        }
        self._before[:] = self._inputs
        if self.stream.entries and self.stream.entries[-1][0] == tick:
            self.stream.entries[-1][1].update(values)
        else:
            self.stream.entries.append((tick, values))
