"""Mutations of tables: what a reader of TOML, JSON or YAML is given by the library that reads the text.

The libraries are not ours; a changed byte of a text seldom gets past them. A table that is changed at one value, key
or entry always does, and takes a tenth of the time. Tables hold what all three formats can say: texts, numbers, truth,
lists and tables (and nothing, where the format has it).
"""

from __future__ import annotations

import marshal
import operator
import random
from collections.abc import Callable, Sequence
from typing import Any

from fuzz.mutate import FAVOUR

NUMBERS = (
    0, 1, -1, 2, 3, 7, 64, 1000, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63) - 1, 10**30, 10**400, 0.0, -0.0, 0.5, 1.0,
    -1.0, 1e-9, 1e-320, 1e9, 1e22, 1e308, -1e308, float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
TEXTS = (
    "",
    " ",
    "a",
    "$a",
    "\0",
    "é",
    "\U0001f600",
    "../a",
    "a" * 300,
    "1",
    "1e999",
    "nan",
    "=1+1",
    "a\nb",
    '"',
    "'",
    "\\",
)
OTHERS: tuple[Any, ...] = (
    True,
    False,
    [],
    {},
    [[]],
    [{}],
    [0],
    [1.0, 2.0],
    [1.0, 2.0, 3.0],
    ["a"],
    {"a": 1},
    {"a": {}},
)
DEEP = 20  # of a value inside lists
SMALL = 12  # places; of smaller tables none is preferred, or all would come from the same few
WHOLE = 0.125  # of all tables, made from one that the reader takes
Path = tuple[Any, ...]
_Entry = tuple[int, Any, list[Path]]  # how large it is, the table, its places


def dumped(table: Any) -> bytes:
    """A table as bytes, fast: equal tables have equal bytes."""
    return marshal.dumps(table, 2)


def loaded(data: bytes) -> Any:
    """The inverse of `dumped`."""
    return marshal.loads(data)


class Tables:
    """An endless supply of tables made from earlier ones."""

    def __init__(self, bases: Sequence[Any], words: Sequence[str], *, null: bool, more: Sequence[Any] = ()) -> None:
        self.null = null  # whether the format has it; then the whole may be something else than a table
        self.keys = [*words, *{key for base in bases for key in _keys(base)}]
        self.values = [*NUMBERS, *NUMBERS, *TEXTS, *words, *OTHERS, *((None,) * 4 if null else ()), *more]
        self._pool: list[_Entry] = []
        self._whole: list[_Entry] = []
        for base in bases:
            self.add(base)

    def add(self, table: Any) -> None:
        """Change this one too, from now on."""
        paths = list(_paths(table, ()))
        self._pool.append((max(len(paths), SMALL), table, paths))

    def favour(self, is_taken: Callable[[Any], bool]) -> None:
        """Begin with those that a reader takes, one time in some: with a change they are still right elsewhere."""
        self._whole = [entry for entry in self._pool if is_taken(entry[1])]

    def make(self, source: random.Random) -> Any:
        """One of the pool, the smallest of some, changed in one to three places; the pool itself never changes."""
        draw, pool = source.random, self._pool
        if self._whole and draw() < WHOLE:
            pool = self._whole
        many = len(pool)
        _, table, paths = min([pool[int(draw() * many)] for _ in range(FAVOUR)], key=_size)
        for _ in range(_CHANGES[int(draw() * len(_CHANGES))]):
            changed = self._changed(table, paths[int(draw() * len(paths))], draw)
            table = changed if self.null or isinstance(changed, dict) else table
        return table

    def _changed(self, table: Any, path: Path, draw: Any) -> Any:
        """A copy of the containers along a path, with a change at its end; no change if it is gone."""
        if path and type(table) not in _BOXES:
            return table
        top: Any = [table]
        inside: Any = top
        key: Any = 0
        for step in path:
            copy = inside[key] = inside[key].copy()
            inside, key = copy, step
            if type(copy) is dict:
                if step not in copy:
                    return top[0]
            elif type(step) is not int or step >= len(copy):
                return top[0]
            if type(copy[step]) not in _BOXES:
                break
        kind, value = int(draw() * 16), inside[key]
        if kind < 5:  # a number or text becomes another of its kind, or something else
            inside[key] = self._near(value, draw)
        elif kind < 7:
            inside[key] = self.values[int(draw() * len(self.values))]
        elif kind < 9 and inside is not top:  # lost
            del inside[key]
        elif kind == 9 and isinstance(inside, dict):  # under another name
            inside[self.keys[int(draw() * len(self.keys))]] = inside.pop(key)
        elif kind < 12:  # something more
            if isinstance(value, dict):
                inside[key] = {**value, self.keys[int(draw() * len(self.keys))]: self._other(draw)}
            elif isinstance(value, list):
                at = int(draw() * (len(value) + 1))
                inside[key] = [*value[:at], self._other(draw), *value[at:]]
            elif isinstance(inside, dict):
                inside[self.keys[int(draw() * len(self.keys))]] = self._other(draw)
        elif kind == 12 and isinstance(value, list) and value:  # an entry again
            inside[key] = [*value, value[int(draw() * len(value))]]
        elif kind == 13:  # in a list or a table
            inside[key] = [value] if draw() < 0.5 else {self.keys[int(draw() * len(self.keys))]: value}
        elif kind == 14 and draw() < 0.05:
            for _ in range(DEEP):
                inside[key] = [inside[key]]
        else:
            inside[key] = self._other(draw)
        return top[0]

    def _near(self, value: Any, draw: Any) -> Any:
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return value + int((draw() - 0.5) * 10) if draw() < 0.5 else int((draw() - 0.3) * 10 ** int(draw() * 7))
        if isinstance(value, float):
            return (
                value * _FACTORS[int(draw() * len(_FACTORS))]
                if draw() < 0.5
                else (draw() - 0.3) * 10.0 ** int(draw() * 6)
            )
        if isinstance(value, str):
            at = int(draw() * (len(value) + 1))
            piece = _SIGNS[int(draw() * len(_SIGNS))] if draw() < 0.7 else self.keys[int(draw() * len(self.keys))]
            return value[:at] + piece + value[at + int(draw() * 3) :]
        return self._other(draw)

    def _other(self, draw: Any) -> Any:
        """A value from anywhere: of another table, or one that readers stumble over."""
        if draw() < 0.5:
            return self.values[int(draw() * len(self.values))]
        _, value, paths = self._pool[int(draw() * len(self._pool))]
        for step in paths[int(draw() * len(paths))]:
            value = value[step]
        return value


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {key for key in value if isinstance(key, str)}.union(*map(_keys, value.values()))
    return set().union(*map(_keys, value)) if isinstance(value, list) else set()


def _paths(value: Any, path: Path) -> list[Path]:
    found = [path]
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found += _paths(entry, (*path, key))
    return found


_size = operator.itemgetter(0)
_BOXES = frozenset((dict, list))
_CHANGES = (1, 1, 1, 2, 2, 3)
_FACTORS = (-1.0, 0.0, 0.5, 1.0000001, 2.0, 10.0, 1e3, 1e-3, 1e9)
_SIGNS = ("", "0", "9", "-", ".", "e", "(", ")", "[", "]", " ", "=", ",", ":", "$", "a", "_", "/", "@", "\n", "é")
