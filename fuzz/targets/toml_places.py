"""Where each key of a TOML file stands: our own reader of places, held against the standard library's of values."""

from __future__ import annotations

import random
from typing import Any

from fuzz.files import refilled
from ironbird.files.problems import Problem, Source, read_source
from ironbird.files.toml_text import KeyPath

WORDS = (
    "[a]\n", "[[a]]\n", "[a.b]\n", "[[a.b]]\n", "a.b = ", '"a b" = ', "'c' = ", "{ x = 1, y = 2 }", "[1, 2]", '"""', "'''",
    "\\u00e9", "\\U0001F600", "# c\n", "1979-05-27 07:32:00", "0x1f", "1_0", "+inf", "nan", "\r\n", "\t", "= ", "\\\n",
)  # fmt: skip
MOST = 1200
HEADS = ("[a]", "[b.c]", "[[d]]", "[[a.e]]", "[ 'f g' . h ]", '["\\u00e9".a]', "[d.a]", "[[d.b]]", "[a.b]", "[ a . c ]")
KEYS = ("a", "b", "c", "d", "a.b", "c . d", '"e f"', "'g'.h", '"\\t"', "1", "-_", "b.c.d", '""', '"a"', "x")
VALUES = (
    "1", "-0x1f", "+1_0", "1e9", "inf", "-nan", "true", "1979-05-27", "1979-05-27T07:32:00Z", "07:32:00.5", '""', "''",
    '"a\\"b # c"', "'a = [b'", '"""\n[x]\na = 1"""', "'''\n'a' = 1\n'''", '"""a\\\n   b"""', '"\\U0001F600="', "[]", "{}",
)  # fmt: skip
BLANKS = ("", "", "", " ", "\t", "  ")
ENDS = ("\n", "\n", "\n", "\r\n", " # a = 1\n", "\n\n", "\n  ")


def make(draw: random.Random) -> bytes:
    """Lines that are valid each by itself: what is wrong is how they fit together."""

    def one(options: tuple[str, ...]) -> str:
        return options[int(draw.random() * len(options))]

    def value(depth: int) -> str:
        kind = draw.random()
        if depth == 0 or kind < 0.6:
            return one(VALUES)
        parts = [value(depth - 1) for _ in range(int(draw.random() * 4))]
        if kind < 0.8:
            return f"[{one(BLANKS)}{one((', ', ',', ', # b]' + chr(10))).join(parts)}{one(BLANKS)}]"
        return "{" + ", ".join(f"{one(KEYS)}{one(BLANKS)}= {part}" for part in parts) + "}"

    lines = []
    for _ in range(1 + int(draw.random() * 5)):
        head = draw.random() < 0.3
        lines.append(one(HEADS) if head else f"{one(KEYS)}{one(BLANKS)}={one(BLANKS)}{value(2)}")
        lines.append(one(ENDS))
    return "".join(lines).encode()


def check(data: bytes) -> bool | None:
    """Every key of a file that is valid has a place in it."""
    source = read_source(refilled(data, "some.toml"))
    if isinstance(source, Problem):
        assert str(source)
        return False
    _has_places(source, source.data, ())
    return None


def _has_places(source: Source, value: Any, path: KeyPath) -> None:
    if path:
        assert path in source.places, f"{path} has no place"
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        _has_places(source, inner, (*path, key))
