"""Line and column of every key in a TOML text, and a TOML writer; the standard library provides neither."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from typing import Any

KeyPath = tuple[str | int, ...]
Place = tuple[int, int]  # line and column, from 1

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SPACE = re.compile(r"[ \t]*")
_GAP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")  # whitespace, line ends, comments
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}
_SCALAR = re.compile(r"[^\s,\]}#]+(?: \d\d:[^\s,\]}#]+)?")  # numbers, booleans, dates with a space before the time


class _Scanner:
    """Scanner of a valid TOML text that records the place of every key and array element."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.places: dict[KeyPath, Place] = {}
        self.lengths: dict[KeyPath, int] = {}  # number of tables so far in each array of tables

    def scan(self) -> dict[KeyPath, Place]:
        table: KeyPath = ()
        self._skip(_GAP)
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip(_GAP)
        return self.places

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        assert match is not None  # both patterns also match the empty string
        self.at = match.end()

    def _note(self, path: KeyPath, at: int) -> None:
        line = self.text.count("\n", 0, at) + 1
        self.places.setdefault(path, (line, at - self.text.rfind("\n", 0, at)))

    def _header(self) -> KeyPath:
        """Path of the table that the header `[a.b]` or `[[a.b]]` begins."""
        begin = self.at
        double = self.text.startswith("[[", self.at)
        self.at += 2 if double else 1
        keys = self._keys()
        self.at += 2 if double else 1
        path: KeyPath = ()
        for number, (key, _) in enumerate(keys):
            path = (*path, key)
            last = number == len(keys) - 1
            self._note(path, begin)
            if path in self.lengths and not (last and double):
                path = (*path, self.lengths[path] - 1)  # the last element of the array
        if double:
            self.lengths[path] = self.lengths.get(path, 0) + 1
            path = (*path, self.lengths[path] - 1)
        self._note(path, begin)
        return path

    def _keys(self) -> list[tuple[str, int]]:
        """The parts of a dotted key, each with its offset in the text."""
        parts = []
        while True:
            self._skip(_SPACE)
            begin = self.at
            if self.text[self.at] in "\"'":
                key = self._string()
            else:
                match = _BARE.match(self.text, self.at)
                assert match is not None
                key, self.at = match.group(), match.end()
            parts.append((key, begin))
            self._skip(_SPACE)
            if self.text[self.at] != ".":
                return parts
            self.at += 1

    def _pair(self, table: KeyPath) -> None:
        path = table
        for key, begin in self._keys():
            path = (*path, key)
            self._note(path, begin)
        self.at += 1  # =
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        self._skip(_SPACE)
        sign = self.text[self.at]
        if sign in "\"'":
            self._string()
        elif sign == "[":
            self._array(path)
        elif sign == "{":
            self._inline(path)
        else:
            match = _SCALAR.match(self.text, self.at)
            assert match is not None
            self.at = match.end()

    def _array(self, path: KeyPath) -> None:
        self.at += 1
        number = 0
        while True:
            self._skip(_GAP)
            if self.text[self.at] == "]":
                break
            if self.text[self.at] == ",":
                self.at += 1
                continue
            self._note((*path, number), self.at)
            self._value((*path, number))
            number += 1
        self.at += 1

    def _inline(self, path: KeyPath) -> None:
        self.at += 1
        while True:
            self._skip(_GAP)
            if self.text[self.at] == "}":
                break
            if self.text[self.at] == ",":
                self.at += 1
                continue
            self._pair(path)
        self.at += 1

    def _string(self) -> str:
        quote = self.text[self.at]
        if self.text.startswith(quote * 3, self.at):
            end = self._closing(quote * 3, self.at + 3)
            while self.text.startswith(quote, end + 3):  # up to two quotes may precede the closing three
                end += 1
            self.at = end + 3
            return ""  # a value, never a key
        end = self._closing(quote, self.at + 1)
        inner = self.text[self.at + 1 : end]
        self.at = end + 1
        return _unescape(inner) if quote == '"' else inner

    def _closing(self, quote: str, at: int) -> int:
        end = self.text.index(quote, at)
        if quote[0] == "'" or self.text.find("\\", at, end) < 0:
            return end
        while not self.text.startswith(quote, at):
            at += 2 if self.text[at] == "\\" else 1
        return at


def _unescape(text: str) -> str:
    """The value of a basic string, escapes replaced."""
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1]) or chr(int(match[1][1:], 16)), text)


def locate(text: str) -> dict[KeyPath, Place]:
    """Line and column of every key and array element of a valid TOML text, by path (`("case", 0, "fault", 1)`)."""
    return _Scanner(text.replace("\r\n", "\n")).scan()


def place_of(places: Mapping[KeyPath, Place], path: KeyPath) -> Place:
    """The place of a path, or of the nearest enclosing table."""
    while path and path not in places:
        path = path[:-1]
    return places.get(path, (1, 1))


# ---------------------------------------------------------------------- writing


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def value_text(value: Any) -> str:
    """A value as TOML on one line; tables as inline tables."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | str):
        return _text(value) if isinstance(value, str) else str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ("nan" if math.isnan(value) else f"{value:f}")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {value_text(v)}" for k, v in value.items()) + " }" if value else "{}"
    return "[" + ", ".join(value_text(v) for v in value) + "]"


def write_toml(data: Mapping[str, Any], headed: Collection[str]) -> str:
    """Data as TOML text: tables (and lists of tables) under the `headed` keys get headers, all others are inline."""
    lines: list[str] = []
    _write_table(data, (), headed, lines)
    return "\n".join(lines).strip() + "\n"


def _is_tables(value: Any) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list | tuple) and all(isinstance(v, Mapping) for v in value)
    )


def _write_table(data: Mapping[str, Any], path: tuple[str, ...], headed: Collection[str], lines: list[str]) -> None:
    with_header = [key for key, value in data.items() if key in headed and _is_tables(value)]
    lines += [f"{_key(key)} = {value_text(value)}" for key, value in data.items() if key not in with_header]
    for key in with_header:
        where = (*path, key)
        name = ".".join(_key(part) for part in where)
        tables = [data[key]] if isinstance(data[key], Mapping) else data[key]
        for table in tables:
            lines += [""] * (len(where) == 1)
            lines.append(f"[{name}]" if table is data[key] else f"[[{name}]]")
            _write_table(table, where, headed, lines)
