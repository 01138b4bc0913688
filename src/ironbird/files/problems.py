"""Problems in files that users write: the place, what is wrong, and how to fix it."""

from __future__ import annotations

import contextlib
import errno
import functools
import itertools
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from ironbird.errors import UnknownNameError, shortened
from ironbird.files.same_keys import meant_keys
from ironbird.files.toml_text import KeyPath, Place, locate, place_of

Words = tuple[KeyPath, str, str]  # path of the key, message, fix

MOST_BYTES = 16 * 2**20  # bytes, limit for a file that users write
DEEPEST = 32  # limit for nested tables and lists

_NEEDS = {
    "float_type": "a number", "float_parsing": "a number", "finite_number": "a finite number",
    "int_type": "a whole number", "int_parsing": "a whole number", "int_from_float": "a whole number",
    "bool_type": "true or false", "bool_parsing": "true or false", "string_type": "a text in quotes",
    "list_type": "a list such as [1, 2]", "dict_type": "a table", "model_type": "a table",
}  # fmt: skip
_BOUNDS = {
    "greater_than": "greater than {gt:g}",
    "greater_than_equal": "of at least {ge:g}",
    "less_than": "less than {lt:g}",
    "less_than_equal": "of at most {le:g}",
}


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in a file: where, what, and how to cure it. `str(problem)` is all of it in a line.

    Attributes
    ----------
    file : str
        The file.
    line, column : int
        Where it is, from 1 on.
    key : str
        The key, for example `case.gust.wind.speed_mps`.
    message : str
        What is wrong.
    cure : str
        What to do.
    """

    file: str
    line: int
    column: int
    key: str
    message: str
    cure: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.key}: {self.message}; {self.cure}"


@dataclass(frozen=True)
class Source:
    """Content of a file; the line and column of its keys are computed when first needed."""

    path: Path
    data: dict[str, Any]
    text: str = field(repr=False)

    @functools.cached_property
    def places(self) -> dict[KeyPath, Place]:
        """Line and column of every key and list entry, by path."""
        return locate(self.text)

    def problem(self, path: KeyPath, message: str, cure: str) -> Problem:
        """The problem at a key of this file, with its line and column."""
        line, column = place_of(self.places, path)
        return Problem(str(self.path), line, column, self._name(path), message, cure)

    def _name(self, path: KeyPath) -> str:
        """Name of a path, e.g. `case.motor-loss.fault.1.severity`: list entries by id, else by number from 1."""
        parts = [part + 1 if isinstance(part, int) else part for part in path]
        if len(path) > 1 and isinstance(path[0], str) and isinstance(path[1], int):
            tables = self.data.get(path[0])
            table = tables[path[1]] if isinstance(tables, list) and path[1] < len(tables) else None
            if isinstance(table, Mapping) and isinstance(table.get("id"), str):
                parts[1] = table["id"]
        return ".".join(str(part) for part in parts) or "file"

    def refused(self, path: KeyPath) -> frozenset[str | int]:
        """Keys of the table at a path of which a part was left out; none of a whole file."""
        return frozenset()


@dataclass(frozen=True)
class Cut:
    """Data without some of its keys and entries, and where the others were."""

    original: Any
    data: Any
    without: frozenset[KeyPath]  # of the original
    kept: Mapping[KeyPath, list[int]]  # path of a list in the original -> numbers that its entries had there

    @classmethod
    def of(cls, original: Any, without: Iterable[KeyPath] = ()) -> Cut:
        """The data without what is at these paths."""
        paths, kept = frozenset(without), dict[KeyPath, list[int]]()

        def rest(value: Any, path: KeyPath) -> Any:
            if isinstance(value, Mapping):
                return {key: rest(entry, (*path, key)) for key, entry in value.items() if (*path, key) not in paths}
            if not isinstance(value, list):
                return value
            kept[path] = [number for number in range(len(value)) if (*path, number) not in paths]
            return [rest(value[number], (*path, number)) for number in kept[path]]

        return cls(original, rest(original, ()), paths, kept)

    def whole(self, path: KeyPath) -> KeyPath:
        """The path in the original of a path in the data."""
        found: KeyPath = ()
        for key in path:
            numbers = self.kept.get(found, [])
            found = (*found, numbers[key] if isinstance(key, int) and key < len(numbers) else key)
        return found

    def smaller(self, paths: Iterable[KeyPath]) -> Cut:
        """The data without what is at further paths; of a missing key, without the table that lacks it."""
        return Cut.of(self.original, self.without | {_existing(self.original, self.whole(path)) for path in paths})

    def accepted(self, grammar: type[BaseModel]) -> Cut | None:
        """The data without all that a grammar refuses; None if that is nothing."""
        cut = self
        while () not in cut.without:
            try:
                grammar.model_validate(cut.data)
                return cut
            except ValidationError as error:
                before, cut = cut, cut.smaller(_place(cut.data, dict(entry)) for entry in error.errors())
                if cut.without == before.without:
                    break
        return None


def _place(data: Any, entry: Mapping[str, Any]) -> KeyPath:
    """The path in the data of one of pydantic's errors."""
    path, _ = _data_path(data, entry["loc"], entry["type"])
    key = entry.get("ctx", {}).get("key")
    return (*path, key) if key else path


def _existing(data: Any, path: KeyPath) -> KeyPath:
    """The longest beginning of a path that the data have."""
    for number, key in enumerate(path):
        if not _has(data, key):
            return path[:number]
        data = data[key]
    return path


@dataclass(frozen=True)
class Rest(Source):
    """What is left of a file without what its grammar refuses; problems are placed in the whole file."""

    file: Source = field(kw_only=True)
    cut: Cut = field(kw_only=True)

    @classmethod
    def of(cls, file: Source, grammar: type[BaseModel]) -> Rest | None:
        """What a grammar accepts of a file; None if that is nothing."""
        cut = Cut.of(file.data).accepted(grammar)
        return None if cut is None else cls(file.path, cut.data, file.text, file=file, cut=cut)

    def problem(self, path: KeyPath, message: str, cure: str) -> Problem:
        """The problem at a key, with its line and column in the whole file."""
        return self.file.problem(self.cut.whole(path), message, cure)

    def refused(self, path: KeyPath) -> frozenset[str | int]:
        """Keys of the table at a path of which a part was left out."""
        place = self.cut.whole(path)
        size = len(place)
        return frozenset(one[size] for one in self.cut.without if one[:size] == place and len(one) > size)


@dataclass(frozen=True)
class Layers:
    """Files on top of one another, the top one first: a key of an upper file overrides the same key of a lower one.

    Tables are merged key by key; a list replaces the list below.
    """

    sources: tuple[Source, ...]

    @functools.cached_property
    def data(self) -> dict[str, Any]:
        """Content of all layers merged."""
        return functools.reduce(merged, (source.data for source in reversed(self.sources)))

    def problem(self, path: KeyPath, message: str, cure: str) -> Problem:
        """The problem at a key, placed in the topmost file that has the key."""
        sayers: list[tuple[Source, Any]] = [(source, source.data) for source in self.sources]
        for key in path:
            below = [(source, value[key]) for source, value in sayers if _has(value, key)]
            if not below:
                break
            tables = list(itertools.takewhile(lambda sayer: isinstance(sayer[1], dict), below))
            sayers = tables or below[:1]
        return sayers[0][0].problem(path, message, cure)


def merged(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """A table with the keys of `over` on top of those of `under`, merged recursively."""
    both = {key for key in over if isinstance(over[key], dict) and isinstance(under.get(key), dict)}
    return under | over | {key: merged(under[key], over[key]) for key in both}


def _has(value: Any, key: str | int) -> bool:
    if isinstance(value, list):
        return isinstance(key, int) and key < len(value)
    return isinstance(value, dict) and key in value


# ---------------------------------------------------------------------- reading


def unreadable(path: Path, why: str, cure: str, line: int = 1, column: int = 1) -> Problem:
    """Problem for a file that cannot be read at all."""
    return Problem(str(path), line, column, "file", why, cure)


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """All bytes of a regular file; `OSError` with a readable text for other kinds and for more than `most` bytes."""
    try:
        opened = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    except ValueError:  # a null byte, or an incomplete surrogate pair
        raise OSError(errno.EINVAL, "no file has such a name", str(path)) from None
    with opened as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        expected = min(most, status.st_size) + 1  # a buffer of the full limit would be slower than a small file needs
        raw = file.read(expected)
        if len(raw) == expected:  # the file is too large, is still growing, or reports no size
            raw += file.read(most + 1 - expected)
    if len(raw) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most / 2**20:g} MB", str(path))
    if (noted := _NOTED.get()) is not None:
        noted.append(Path(path))
    return raw


_NOTED: ContextVar[list[Path] | None] = ContextVar("noted", default=None)


@contextlib.contextmanager
def noting_reads() -> Iterator[list[Path]]:
    """List of the files that `read_bytes` reads inside the `with` block, in order."""
    before = _NOTED.set([])
    try:
        noted = _NOTED.get()
        assert noted is not None
        yield noted
    finally:
        _NOTED.reset(before)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # opening a pipe would block until a writer opens it


def read_source(path: Path, cure: str = "give the path of a TOML file") -> Source | Problem:
    """Content of a TOML file, or the problem that prevents reading it; `cure` is the advice for a missing file."""
    try:
        raw = read_bytes(path)
    except OSError as error:
        return unreadable(path, f"cannot read it: {error.strerror}", cure)
    try:
        text = raw.decode("utf-8-sig")  # some Windows editors write a byte order mark
    except UnicodeDecodeError as error:
        line, column = raw.count(b"\n", 0, error.start) + 1, error.start - raw.rfind(b"\n", 0, error.start)
        why = f"cannot read it: byte 0x{raw[error.start]:02x} is not UTF-8 text"
        return unreadable(path, why, "save the file as UTF-8", line, column)
    try:
        data = read_toml(text)
        return Source(path, data, text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = re.search(r"\(at line (\d+), column (\d+)\)", message)
        line, column = (int(place[1]), int(place[2])) if place else (text.count("\n") + 1, 1)
        why = shortened(message.partition(" (at")[0], 200)
        if (twice := _given_twice(why, text, line)) is not None:
            return unreadable(path, f"not valid TOML: {twice} is given twice", "keep one of the two", line, column)
        return unreadable(path, f"not valid TOML: {why}", "correct this line", line, column)


def _given_twice(why: str, text: str, line: int) -> str | None:
    """The key or table that a text has twice, by the parser's words and the line; None if that is not the problem."""
    if (table := re.match(r"Cannot declare \((.*)\) twice", why)) is not None:
        names = re.findall(r"'([^']*)'", table[1])
        return f"table [{'.'.join(names)}]"
    if why != "Cannot overwrite a value":
        return None
    key = re.match(r"\s*([^=\[\]{}]+?)\s*=", text.split("\n")[line - 1])
    return f"key '{shortened(key[1])}'" if key is not None else None


_NO_KEYS = re.compile(
    r""""{3}(?:\\.|[^\\])*?"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*+"|'[^'\n]*+'|#[^\n]*+""", re.DOTALL
)  # strings, quoted keys and comments
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{DEEPEST + 1},}}", re.ASCII)


def read_toml(text: str) -> dict[str, Any]:
    """Content of a TOML text; raises `TOMLDecodeError` also for texts on which the standard library fails otherwise."""
    # the standard library's parser needs time quadratic in the number of parts of a key
    if _LONG_KEY.search(_NO_KEYS.sub('""', text)):
        raise tomllib.TOMLDecodeError(f"it is nested too deeply; the most is {DEEPEST}")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise tomllib.TOMLDecodeError(f"it is nested too deeply; the most is {DEEPEST}") from None
    except ValueError as error:  # an integer of thousands of digits
        raise tomllib.TOMLDecodeError(str(error).partition(";")[0]) from None
    inside: list[Any] = [data]
    for _ in range(DEEPEST + 1):
        inside = [
            entry
            for value in inside
            for entry in (value.values() if isinstance(value, dict) else value)
            if isinstance(entry, dict | list)
        ]
        if not inside:
            return data
    raise tomllib.TOMLDecodeError(f"it is nested too deeply; the most is {DEEPEST}")


KINDS = {  # top-level keys of other Ironbird files: the kind of file, and the command that reads it
    "case": ("a case file", "'ironbird case check' and 'ironbird campaign run' take it"),
    "suite": ("a suite of cases", "'ironbird case check' and 'ironbird campaign run' take it"),
    "order": ("the order of a flight", "'ironbird repeat' takes it"),
    "item": ("a mission file", "'ironbird fly VEHICLE --mission FILE' takes it"),
    "template": ("a vehicle file", "'ironbird fly' and 'ironbird vehicle show' take it"),
    "base": ("a vehicle file", "'ironbird fly' and 'ironbird vehicle show' take it"),
    "terrain": ("a world file", "'ironbird world show' takes it"),
}


def other_kind(source: Source | Layers, *own: str) -> list[Problem]:
    """A problem if the top-level keys show that this is an Ironbird file of another kind."""
    if any(key in source.data for key in own):
        return []
    for key, (what, cure) in KINDS.items():
        if key in source.data:
            return [source.problem((), f"this is {what}", cure)]
    if not source.data:
        return [source.problem((), "the file is empty", "begin it with schema = 1, or give another")]
    return []


def schema_problems(source: Source | Layers, version: int) -> list[Problem]:
    """A problem if the file has no `schema` key or one of a version that is not supported."""
    schema = source.data.get("schema")
    if schema is None:
        return [source.problem(("schema",), "the file does not say its schema", f"begin it with schema = {version}")]
    if isinstance(schema, bool) or not isinstance(schema, int) or schema != version:
        cure = f"write schema = {version}, or use the version of Ironbird that the file was made for"
        return [
            source.problem(
                ("schema",), f"schema {shortened(repr(schema))} is not known; this version reads {version}", cure
            )
        ]
    return []


# ---------------------------------------------------------------------- grammar errors in words


def grammar_words(
    grammar: type[BaseModel],
    data: Any,
    error: ValidationError,
    *,
    number: str = "a number",
    patterns: Mapping[str, tuple[str, str]] | None = None,
) -> list[Words]:
    """Pydantic's validation errors as (path in the data, message, fix), one per path.

    `number` describes the values allowed in place of a number; `patterns` maps a regular expression to the message
    for a text that does not match and how to write it.
    """
    by_path: dict[KeyPath, tuple[str, list[str]]] = {}
    for entry in error.errors():
        path, value = _data_path(data, entry["loc"], entry["type"])
        message, cure = _words(grammar, path, dict(entry), value, number, patterns or {})
        cures = by_path.setdefault(_place(data, dict(entry)), (message, []))[1]
        cures += [cure] if cure not in cures else []
    return [(path, message, ", or ".join(cures)) for path, (message, cures) in by_path.items()]


def _data_path(data: Any, loc: tuple[int | str, ...], kind: str) -> tuple[KeyPath, Any]:
    """The part of a pydantic error location that exists in the data, without union tags, and the value there."""
    path: KeyPath = ()
    for number, key in enumerate(loc):
        if _has(data, key):
            path, data = (*path, key), data[key]
        elif number == len(loc) - 1 and kind == "missing":
            path = (*path, key)
    return path, data


def _words(
    grammar: type[BaseModel],
    path: KeyPath,
    entry: dict[str, Any],
    value: Any,
    number: str,
    patterns: Mapping[str, tuple[str, str]],
) -> tuple[str, str]:
    """Message and fix for one pydantic error."""
    kind, context = entry["type"], entry.get("ctx", {})
    if kind == "ironbird":
        return context["text"], context["cure"]
    if kind == "extra_forbidden":
        known = known_keys(grammar, path[:-1])
        unknown = UnknownNameError("key", str(path[-1]), known, meant=meant_keys(str(path[-1]), known))
        homes = _homes(grammar).get(str(path[-1]), [])[:3]
        cure = f"it belongs to {' or '.join(homes)}" if homes else near_words(unknown, "leave it out")
        return str(unknown).partition(";")[0], cure
    if kind == "missing":
        return f"{path[-1]} is missing", _addition(grammar, path)
    if kind == "literal_error":
        words = re.findall(r"'([^']*)'", str(context.get("expected", "")))
        unknown = UnknownNameError("word", str(value), words)
        return f"'{shortened(value)}' is not known here", near_words(unknown, f"one of {', '.join(words)}")
    if kind == "string_pattern_mismatch":
        pattern = str(context.get("pattern", ""))
        what, cure = patterns.get(pattern, ("in the right form", f"write a text that matches {pattern}"))
        return f"'{shortened(value)}' is not {what}", cure
    if kind == "model_type" and (keys := known_keys(grammar, path)):
        return f"{_shown(value)} does not fit here", f"write a table, such as {{ {keys[0]} = … }}"
    if kind == "list_type" and known_keys(grammar, (*path, 0)):
        return f"{_shown(value)} does not fit here", f"write [[{'.'.join(str(part) for part in path)}]]"
    if kind in _NEEDS:
        return (
            f"{_shown(value)} does not fit here",
            f"write {_NEEDS[kind] if _NEEDS[kind] != 'a number' else number}",
        )
    if kind in _BOUNDS:
        return f"{shortened(repr(value))} is outside its bounds", "write a number " + _BOUNDS[kind].format(**context)
    if kind in ("too_short", "too_long"):
        how, limit = ("few", "min_length") if kind == "too_short" else ("many", "max_length")
        return f"{len(value)} entries are too {how}", f"write {context[limit]}"
    if kind == "value_error":
        return _split(str(context["error"]))
    return f"{_shown(value)} does not fit here: {str(entry['msg'])[:1].lower()}{entry['msg'][1:]}", (
        "correct the value"
    )


def _shown(value: Any) -> str:
    """A value as a TOML file has it; of tables only that they are some."""
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list) and any(isinstance(entry, Mapping) for entry in value):
        return "a list of tables"
    return str(value).lower() if isinstance(value, bool) else shortened(repr(value))


def _split(text: str) -> tuple[str, str]:
    """The error text of a validator split into message and fix."""
    message, _, cure = text.partition("; ")
    if not cure and message.startswith("give "):
        return "what is given does not fit together", message
    return message, cure or "correct the value"


def _addition(grammar: type[BaseModel], path: KeyPath) -> str:
    """Advice on how to add a missing key."""
    name = ".".join(str(part) for part in path if not isinstance(part, int))
    kinds = _types_at(grammar, path)
    if kinds and all(_is_table(kind) for kind in kinds):
        return f"add a [{name}] table"
    if any(get_origin(kind) is list and known_keys(grammar, (*path, 0)) for kind in kinds):
        return f"add a [[{name}]] table"
    return f"add {path[-1]} = …"


def near_words(unknown: UnknownNameError, otherwise: str) -> str:
    """Advice with the known names that are closest to an unknown one, or the alternative text."""
    return f"did you mean {' or '.join(repr(name) for name in unknown.near)}?" if unknown.near else otherwise


# ---------------------------------------------------------------------- what a grammar knows


def known_keys(grammar: type[BaseModel], path: KeyPath) -> list[str]:
    """Keys allowed in the table at a path of the grammar."""
    return [key for kind in _types_at(grammar, path) if _is_table(kind) for key in _fields(kind)]


@functools.lru_cache(maxsize=1024)
def _types_at(grammar: type[BaseModel], path: KeyPath) -> list[Any]:
    """The types that a value at a path may have."""
    if not path:
        return [grammar]
    return [
        option
        for kind in _types_at(grammar, path[:-1])
        for inner in _below(kind, path[-1])
        for option in _options(inner)
    ]


def _below(kind: Any, key: str | int) -> Sequence[Any]:
    """Types of the entry `key` of a table or list type."""
    if _is_table(kind):
        fields = _fields(kind)
        return [fields[key]] if isinstance(key, str) and key in fields else []
    return get_args(kind)[-1:] if get_origin(kind) in (list, dict) else []


def _options(kind: Any) -> Iterator[Any]:
    """Member types of a union, without annotations."""
    if get_origin(kind) is Annotated:
        yield from _options(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for option in get_args(kind):
            yield from _options(option)
    elif kind is not type(None):
        yield kind


def _is_table(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


@functools.cache
def _fields(table: type[BaseModel]) -> dict[str, Any]:
    return {info.alias or name: info.annotation for name, info in table.model_fields.items()}


@functools.cache
def _homes(grammar: type[BaseModel]) -> dict[str, list[str]]:
    """For every key of a grammar, the headers of the tables that allow it."""
    by_key: dict[str, list[str]] = {}
    for key, home in _keys_of(grammar):
        homes = by_key.setdefault(key, [])
        homes += [home] if home not in homes else []
    return by_key


def _keys_of(kind: Any, name: str = "") -> Iterator[tuple[str, str]]:
    for option in _options(kind):
        if _is_table(option):
            for field, inner in _fields(option).items():
                yield field, f"[{name}]" if name else "the head of the file"
                yield from _keys_of(inner, f"{name}.{field}" if name else field)
        elif get_origin(option) in (list, dict):
            yield from _keys_of(get_args(option)[-1], name if get_origin(option) is list else f"{name}.NAME")
