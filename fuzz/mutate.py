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


class Mutator:
    """An endless supply of inputs made from earlier ones; equal seeds give equal inputs."""

    def __init__(self, seed: int, words: Sequence[bytes], most: int) -> None:
        self.random, self.most = random.Random(seed), most
        self.words = [*words, *words, *NUMBERS, *SIGNS]

    def make(self, pool: Sequence[bytes]) -> bytes:
        """One input from the pool, changed in one to five places."""
        draw = self.random
        data = bytearray(draw.choice(pool))
        for _ in range(draw.choice((1, 1, 1, 2, 2, 3, 5))):
            self._change(data, pool)
        return bytes(data[: self.most])

    def _change(self, data: bytearray, pool: Sequence[bytes]) -> None:
        draw = self.random
        at = draw.randrange(len(data) + 1)
        end = min(len(data), at + draw.choice((1, 1, 2, 4, 8, 16, 64)))
        kind = draw.randrange(10)
        if kind == 0 and data:  # one bit
            data[min(at, len(data) - 1)] ^= 1 << draw.randrange(8)
        elif kind == 1:  # one byte
            data[at:end] = bytes([draw.randrange(256)])
        elif kind == 2:  # a piece lost
            del data[at:end]
        elif kind == 3:  # a piece doubled
            data[at:at] = data[at:end]
        elif kind in (4, 5):  # a word put in
            data[at:at] = draw.choice(self.words)
        elif kind == 6:  # a word in place of a piece
            data[at:end] = draw.choice(self.words)
        elif kind == 7:  # a number in place of a number
            begin = at
            while begin > 0 and data[begin - 1] in _DIGITS:
                begin -= 1
            while at < len(data) and data[at] in _DIGITS:
                at += 1
            data[begin:at] = draw.choice(NUMBERS)
        elif kind == 8:  # a piece of another input
            other = draw.choice(pool)
            place = draw.randrange(len(other) + 1)
            data[at:end] = other[place : place + draw.choice((4, 16, 64, 256))]
        elif draw.randrange(8) == 0:  # nested deeply
            opening, closing = draw.choice(NEST)
            depth = draw.choice((40, 200, 1100, DEEPEST))
            data[at:end] = opening * depth + data[at:end] + closing * draw.choice((0, depth))
        else:  # two pieces swapped
            data[at:end] = data[at:end][::-1]


_DIGITS = frozenset(b"0123456789.-+eE")
