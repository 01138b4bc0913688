"""Watches: numbers whose least and greatest value between two rows of a log the kernel keeps, tick by tick.

A log has a row every few ticks. What lies between two rows (a rate for 4 ms, a fault shorter than a row) is kept by the
kernel as two numbers for each watched program: row k has the extremes from its own tick to before that of row k + 1,
the last row to the end. A value that is not a number in that time makes both NaN.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ironbird.errors import RunError
from ironbird.runtime.interface import MOST_WATCHED, Programs
from ironbird.runtime.lane_columns import lane_columns
from ironbird.runtime.predicate import Op, Predicate

BEYOND = 1e300  # of any signal


@dataclass(frozen=True)
class Code:
    """Some programs in the form of the kernel (`ib_programs`); the arrays must outlive the run that reads them."""

    code: np.ndarray
    constants: np.ndarray
    first: np.ndarray

    @staticmethod
    def of(programs: Iterable[Predicate]) -> Code:
        """Programs one after the other."""
        code: list[int] = []
        constants: list[float] = []
        first = [0]
        for program in programs:
            shift = len(constants)
            for op, argument in program.code:
                code += [op, argument + shift if op == Op.PUSH_CONSTANT else argument]
            constants += program.constants
            first.append(len(code) // 2)
        return Code(np.array([*code, 0, 0], np.int64), np.array([*constants, 0.0]), np.array(first, np.int64))

    @property
    def empty(self) -> bool:
        """Whether there is no program."""
        return len(self.first) == 1

    def record(self) -> Programs:
        """The structure that the kernel reads."""
        return Programs(*(int(array.ctypes.data) for array in (self.code, self.constants, self.first)))


@dataclass(frozen=True)
class Watches:
    """Which programs the kernel watches for each block of lanes, and the extremes that it found.

    Attributes
    ----------
    slots : tuple of dict
        For each block: program -> its place in `data`.
    data : array
        [block, row, 2 x place, lane in block]: least, then greatest.
    """

    slots: tuple[dict[Predicate, int], ...]
    data: np.ndarray
    code: Code
    first: np.ndarray  # [block + 1], in `order`
    order: np.ndarray  # numbers of programs, block by block
    signals: np.ndarray  # rows of the loggable signals that the programs read

    @staticmethod
    def make(programs: Sequence[Sequence[Predicate]], size: tuple[int, int, int], signals: int) -> Watches:
        """Room for the extremes of some programs, given for each lane.

        `size` is the number of blocks, rows and lanes in a block, `signals` that of the loggable signals of the model.
        """
        blocks, rows, width = size
        numbers: dict[Predicate, int] = {}
        slots: list[dict[Predicate, int]] = []
        for block in range(blocks):
            own = dict.fromkeys(p for lane in programs[block * width : (block + 1) * width] for p in lane)
            slots.append({program: place for place, program in enumerate(own)})
            for program in own:
                program.check_rows(signals)
                numbers.setdefault(program, len(numbers))
        order = np.array([*(numbers[program] for own in slots for program in own), 0], np.int64)
        first = np.concatenate([[0], np.cumsum([len(own) for own in slots])]).astype(np.int64)
        most = max((len(own) for own in slots), default=0)
        data = np.full((blocks, rows, 2 * most, width), np.nan)
        read = dict.fromkeys(at for program in numbers for op, at in program.code if op == Op.PUSH_SIGNAL)
        if numbers and not read:  # programs of time and constants alone: the kernel batches by the number of signals
            read = {0: None}
        if len(read) > MOST_WATCHED:
            raise RunError(f"requirements and faults of one run watch {len(read)} signals; at most {MOST_WATCHED} are")
        places = {row: place for place, row in enumerate(read)}
        moved = [
            replace(program, code=tuple((op, places[at] if op == Op.PUSH_SIGNAL else at) for op, at in program.code))
            for program in numbers
        ]
        return Watches(tuple(slots), data, Code.of(moved), first, order, np.array([*read], np.int64))

    @property
    def count(self) -> int:
        """Most programs of a block."""
        return self.data.shape[2] // 2

    def with_more(self, programs: Sequence[Predicate], row: int | None, signals: int) -> Watches:
        """These programs and more for every block from now on, in the middle of row `row` or between two rows.

        Until then there is nothing of the new ones, also of that row; `signals` is the number of those of the model.
        """
        blocks, rows, _, width = self.data.shape
        lanes = [(*own, *programs) for own in self.slots for _ in range(width)]
        more = Watches.make(lanes, (blocks, rows, width), signals)
        more.data[:, :, : self.data.shape[2]] = self.data
        if row is not None:
            for block, own in enumerate(self.slots):
                more.begin_within(row, block, len(own))
        return more

    def begin_within(self, row: int, block: int | None = None, place: int = 0) -> None:
        """Prepare the extremes of a row (of programs from `place` on) for a run that begins within it."""
        blocks = slice(None) if block is None else block
        self.data[blocks, row, 2 * place :: 2], self.data[blocks, row, 2 * place + 1 :: 2] = np.inf, -np.inf

    def join_row(self, later: Watches) -> None:
        """Add to the last row what the first row of a later part has, which begins within it."""
        last, first = self.data[:, -1], later.data[:, 0]
        last[:, ::2], last[:, 1::2] = np.minimum(last[:, ::2], first[:, ::2]), np.maximum(last[:, 1::2], first[:, 1::2])

    def rows(self, first: int, last: int) -> Watches:
        """View of the rows from `first` to before `last`."""
        return replace(self, data=self.data[:, first:last])

    def blocks(self, first: int, last: int) -> Watches:
        """View of the blocks from `first` to before `last`, to be read only."""
        return replace(self, data=self.data[first:last], slots=self.slots[first:last])

    def followed_by(self, later: Watches) -> Watches:
        """These rows and later ones of the same programs."""
        if self.slots != later.slots:
            raise RunError("two parts of a log watch different programs; they cannot be joined")
        return replace(self, data=np.concatenate([self.data, later.data], axis=1))

    def extremes(self, program: Predicate, lanes: int) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest value of a program for the first lanes, each [lane, row]; NaN where it is not watched."""
        blocks, rows, _, width = self.data.shape
        places = {own.get(program) for own in self.slots[:blocks]}
        if len(places) == 1 and None not in places:
            both = lane_columns(self.data, 2 * places.pop(), 2)  # type: ignore[operator]
        else:
            both = np.full((2, blocks * width, rows), np.nan)
            for block, own in enumerate(self.slots[:blocks]):
                if program in own:
                    part = lane_columns(self.data[block : block + 1], 2 * own[program], 2)
                    both[:, block * width : (block + 1) * width] = part
        return both[0, :lanes], both[1, :lanes]

    def of_lane(self, program: Predicate, lane: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Least and greatest value of a program for one lane, each [row]; None if it is not watched there."""
        block, place = divmod(lane, self.data.shape[3])
        slot = self.slots[block].get(program)
        return (
            None if slot is None else (self.data[block, :, 2 * slot, place], self.data[block, :, 2 * slot + 1, place])
        )


@functools.lru_cache(maxsize=4096)
def watch_signal(row: int, from_s: float = 0.0) -> tuple[Predicate, Predicate]:
    """The programs whose least and whose greatest value are those of one loggable signal of a model from a time on.

    Before that time they are beyond all values, so that what lies before it in the same row is none of them.
    """
    plain = Predicate(f"signal {row}", ((Op.PUSH_SIGNAL, row),), ())
    if from_s <= 0.0:
        return plain, plain
    later = (
        (Op.PUSH_SIGNAL, row), (Op.PUSH_TIME, 0), (Op.PUSH_CONSTANT, 0), (Op.LESS, 0), (Op.PUSH_CONSTANT, 1),
        (Op.MULTIPLY, 0), (Op.ADD, 0),
    )  # fmt: skip
    return (
        Predicate(f"least of signal {row} from {from_s!r} s", later, (from_s, BEYOND)),
        Predicate(f"greatest of signal {row} from {from_s!r} s", later, (from_s, -BEYOND)),
    )
