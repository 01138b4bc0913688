"""Mutations of XML that stay whole: values of texts and attributes changed, elements lost, doubled or moved.

A changed byte mostly breaks a document, and its reader never sees the rest.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from xml.parsers import expat

from fuzz.mutate import FAVOUR, Mutator

NUMBERS = (
    b"0", b"1", b"-1", b"1e-9", b"1e9", b"1e308", b"-1e308", b"1e999", b"nan", b"inf", b"", b" ", b"a", b"0 0 0",
    b"1 2 3", b"0 0 0 0 0 0", b"true", b"9" * 400, b"1,5", b"0x10", b"1_0",
)  # fmt: skip
BYTES = 0.65  # of all inputs are changed anywhere
_VALUES = re.compile(rb">([^<>]*\w[^<>]*)<|=\s*(?:\"([^\"<]*)\"|'([^'<]*)')")
_NUMBER = re.compile(rb"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
_CHANGES = (1, 1, 2, 3)
Span = tuple[int, int]


class Markup:
    """An endless supply of documents made from some; the first `skip` bytes of each are no part of it."""

    def __init__(self, bases: Sequence[bytes], words: Sequence[bytes], most: int, *, skip: int = 0) -> None:
        self._bases = list(bases)
        self._mutator = Mutator(0, words, most)
        self._most = most
        parts = [(base, _values(base), _elements(base, skip)) for base in bases]
        self._whole = [(base, values, inner) for base, values, inner in parts if values and inner]
        self._texts = [base[a:b] for base, values, _ in self._whole for a, b in values]
        self._elements = [base[a:b] for base, _, inner in self._whole for a, b in inner if b - a <= most // 4]

    def make(self, source: random.Random) -> bytes:
        """One of the documents with some changes, or with bytes changed."""
        draw = source.random
        if draw() < BYTES or not self._whole:
            self._mutator.random = source
            return self._mutator.make(self._bases)
        whole = self._whole
        base, values, inner = min([whole[int(draw() * len(whole))] for _ in range(FAVOUR)], key=_size)
        edits = []
        for _ in range(_CHANGES[int(draw() * len(_CHANGES))]):
            kind = draw()
            begin, end = (values if kind < 0.6 else inner)[int(draw() * len(values if kind < 0.6 else inner))]
            there = base[begin:end]
            if kind < 0.6:
                new = self._value(there, draw)
            elif kind < 0.7:
                new = b""
            elif kind < 0.8:
                new = there + there
            else:
                other = self._elements[int(draw() * len(self._elements))]
                new = other if kind < 0.9 else there + other
            edits.append((begin, end, new))
        edits.sort(reverse=True)
        data, last = base, len(base)
        for begin, end, new in edits:
            if end <= last:
                data, last = data[:begin] + new + data[end:], begin
        return data if len(data) <= self._most else base

    def _value(self, there: bytes, draw: Callable[[], float]) -> bytes:
        if draw() < 0.4:
            return self._texts[int(draw() * len(self._texts))].translate(None, b"\"'&")
        new = NUMBERS[int(draw() * len(NUMBERS))]
        if draw() < 0.5:
            new = b"%.4g" % ((draw() - 0.4) * 10.0 ** int(draw() * 6))
        numbers = [found.span() for found in _NUMBER.finditer(there)]
        if not numbers or draw() < 0.2:
            return new
        begin, end = numbers[int(draw() * len(numbers))]
        return there[:begin] + new + there[end:]


def _size(document: tuple[bytes, list[Span], list[Span]]) -> int:
    return len(document[0])


def _values(base: bytes) -> list[Span]:
    return [next(found.span(n) for n in (1, 2, 3) if found.span(n) != (-1, -1)) for found in _VALUES.finditer(base)]


def _elements(base: bytes, skip: int) -> list[Span]:
    """Where every element but the root begins and ends; none of what is no whole document."""
    parser = expat.ParserCreate()
    begun: list[int] = []
    found: list[Span] = []

    def end(name: str) -> None:
        begin = begun.pop()
        at = base.find(b">", begin) + 1
        if base[at - 2 : at] != b"/>":  # of an empty element the parser tells what follows it
            at = base.find(b">", skip + parser.CurrentByteIndex) + 1
        found.append((begin, at))

    parser.StartElementHandler = lambda name, attributes: begun.append(skip + parser.CurrentByteIndex)
    parser.EndElementHandler = end
    try:
        parser.Parse(base[skip:], True)
    except (expat.ExpatError, LookupError, ValueError):
        return []
    return found[:-1]
