"""Mutations of inputs by plain means, from a seed: for machines without atheris, and for speed."""

from __future__ import annotations

import random
from collections.abc import Sequence

NUMBERS = (
    b"0", b"-1", b"1e308", b"1e-300", b"1e999", b"nan", b"inf", b"-inf", b"9" * 400, b"18446744073709551616",
    b"9223372036854775808", b"0x10", b"1_000", b"\xc2\xb2", b"\xd9\xa3", b"true", b"null", b"[]", b"{}", b"''",
    b'"' + b"a" * 300 + b'"',
)  # fmt: skip
SIGNS = (
    b"(",
    b")",
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b"=",
    b".",
    b":",
    b"\n",
    b" ",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"'",
    b'"',
)
NEST = ((b"(", b")"), (b"[", b"]"), (b"{\"a\":", b"}"), (b"not ", b""), (b"-", b""), (b"a.", b""))  # fmt: skip
DEEPEST = 3000
SMALL = 48  # bytes; of shorter inputs none is preferred, or all would come from the same few
FAVOUR = 6  # of so many inputs the shortest is changed: it takes less time, and a change meets something more often


class Mutator:
    """An endless supply of inputs made from earlier ones; equal seeds give equal inputs.

    Numbers come from `random()` times a bound: `randrange` and `choice` take five times as long, which is half of the
    time of a fast reader.
    """

    def __init__(self, seed: int, words: Sequence[bytes], most: int) -> None:
        self.random, self.most = random.Random(seed), most
        self.words = [*words, *words, *NUMBERS, *SIGNS]

    def make(self, pool: Sequence[bytes]) -> bytes:
        """One input from the pool, the shortest of some, changed in one to three places."""
        draw, many = self.random.random, len(pool)
        data = bytearray(min([pool[int(draw() * many)] for _ in range(FAVOUR)], key=_size))
        for _ in range(_CHANGES[int(draw() * len(_CHANGES))]):
            self._change(data, pool)
        return bytes(data) if len(data) <= self.most else bytes(data[: self.most])

    def _change(self, data: bytearray, pool: Sequence[bytes]) -> None:
        draw = self.random.random
        length = len(data)
        at = int(draw() * (length + 1))
        end = at + _LENGTHS[int(draw() * len(_LENGTHS))]
        end = min(end, length)
        kind = int(draw() * 10)
        if kind == 0 and data:  # one bit
            data[min(at, length - 1)] ^= 1 << int(draw() * 8)
        elif kind == 1:  # one byte
            data[at:end] = _BYTES[int(draw() * 256)]
        elif kind == 2:  # a piece lost
            del data[at:end]
        elif kind == 3:  # a piece doubled
            data[at:at] = data[at:end]
        elif kind in (4, 5):  # a word put in
            data[at:at] = self.words[int(draw() * len(self.words))]
        elif kind == 6:  # a word in place of a piece
            data[at:end] = self.words[int(draw() * len(self.words))]
        elif kind == 7:  # a number in place of a number
            begin = at
            while begin > 0 and data[begin - 1] in _DIGITS:
                begin -= 1
            while at < length and data[at] in _DIGITS:
                at += 1
            data[begin:at] = self._number()
        elif kind == 8:  # a piece of another input
            other = pool[int(draw() * len(pool))]
            place = int(draw() * (len(other) + 1))
            data[at:end] = other[place : place + _PIECES[int(draw() * 4)]]
        elif draw() < 0.125:  # nested deeply
            opening, closing = NEST[int(draw() * len(NEST))]
            depth = _DEPTHS[int(draw() * len(_DEPTHS))]
            data[at:end] = opening * depth + data[at:end] + closing * (depth if draw() < 0.5 else 0)
        else:  # two pieces swapped
            data[at:end] = data[at:end][::-1]

    def _number(self) -> bytes:
        """One that readers stumble over, or any other."""
        draw = self.random.random
        if draw() < 0.5:
            return NUMBERS[int(draw() * len(NUMBERS))]
        return b"%d" % int(draw() * 1000) if draw() < 0.5 else b"%.4g" % ((draw() - 0.5) * 10.0 ** int(draw() * 9))


def _size(data: bytes) -> int:
    return max(len(data), SMALL)


_CHANGES = (1, 1, 1, 1, 2, 2, 3)
_LENGTHS = (1, 1, 2, 4, 8, 16, 64)
_PIECES = (4, 16, 64, 256)
_DEPTHS = (40, 40, 40, 200, 200, 1100, DEEPEST)
_BYTES = tuple(bytes([number]) for number in range(256))
_DIGITS = frozenset(b"0123456789.-+eE")
