"""What targets share: an attempt that may be refused, text and files from bytes, and the list of all targets."""

from __future__ import annotations

import atexit
import difflib
import functools
import importlib
import itertools
import json
import os
import random
import shutil
import sqlite3
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

from fuzz.tables import Tables
from ironbird import errors
from ironbird.errors import IronbirdError
from ironbird.files.problems import Source
from ironbird.files.toml_text import write_toml

FOLDER = Path(__file__).parent
CORPUS, REGRESSIONS = FOLDER / "corpus", FOLDER / "regressions"
MOST = 4096  # bytes of an input, if a target does not say

T = TypeVar("T")
refusals: list[tuple[str, int]] = []  # where errors of ours came from since somebody emptied the list
SELDOM = 1024  # of so many refusals one looks for near names: that takes a hundred times as long as a reader


def _seldom(search: Callable[..., list[str]]) -> Callable[..., list[str]]:
    searches = now_and_then(SELDOM)
    return lambda *arguments, **named: search(*arguments, **named) if searches() else []


_haste: list[bool] = []  # an entry if this process hastens


def hasten() -> None:
    """Let errors name near names seldom, and look at texts as `in_haste` says, in this process and its children."""
    _haste.append(True)
    errors.difflib = SimpleNamespace(get_close_matches=_seldom(difflib.get_close_matches))  # type: ignore[assignment, attr-defined]


class Refused(NamedTuple):
    """What an attempt gives that ended with an error of ours."""

    error: IronbirdError
    at: str  # name of the function that raised it


def _no_tables(table: Any) -> Any:
    raise TypeError("this target takes bytes")


@dataclass(frozen=True)
class Target:
    """One reader under attack."""

    name: str
    check: Callable[[bytes], bool | None]  # False: refused at first sight
    words: tuple[bytes, ...]
    most: int
    make: Callable[[random.Random], bytes] | None = None  # inputs of its own: rows of packets
    packets: Counter[str] = field(default_factory=Counter)  # that were handed over, by port and kind
    tables: Callable[[], Tables] | None = None  # what the reader is given by a library of others
    check_table: Callable[[Any], bool | None] = _no_tables
    text: Callable[[Any], bytes] = _no_tables  # of a table, as `check` takes it

    def kept(self) -> list[Path]:
        """Inputs that every run begins with: the corpus, and all that once crashed."""
        return kept(self.name)


def kept(name: str) -> list[Path]:
    """Inputs of a target that were kept."""
    folders = (CORPUS / name, REGRESSIONS / name)
    return sorted(path for folder in folders if folder.is_dir() for path in folder.iterdir())


def names() -> list[str]:
    """All targets."""
    return sorted(path.stem for path in (FOLDER / "targets").glob("*.py") if path.stem != "__init__")


def load(name: str) -> Target:
    """A target by its name."""
    module = importlib.import_module(f"fuzz.targets.{name}")
    words = tuple(word.encode() if isinstance(word, str) else word for word in getattr(module, "WORDS", ()))
    make, packets = getattr(module, "make", None), getattr(module, "PACKETS", None)
    counted: Counter[str] = Counter() if packets is None else packets
    target = Target(name, module.check, words, getattr(module, "MOST", MOST), make, counted)
    if not hasattr(module, "check_table"):
        return target
    form = FORMATS[module.FORMAT]
    names = [word for word in getattr(module, "WORDS", ()) if isinstance(word, str)]

    def tables() -> Tables:
        found = [form.read(path.read_bytes()) for path in target.kept()]
        bases = [table for table in found if isinstance(table, dict) or (form.null and table is not None)]
        return Tables(bases, [_bare(word) for word in names], null=form.null, more=form.more)

    return replace(target, tables=tables, check_table=module.check_table, text=form.write)


class Format(NamedTuple):
    """How tables are read from a text and written as one."""

    read: Callable[[bytes], Any]  # None if it is no text of this format
    write: Callable[[Any], bytes]
    null: bool  # whether it knows nothing, and wholes that are no tables
    more: tuple[Any, ...] = ()  # values that only this format knows


def _read_toml(data: bytes) -> Any:
    try:
        return _plain(tomllib.loads(data.decode("utf-8-sig")))
    except (ValueError, RecursionError):
        return None


def _read_json(data: bytes) -> Any:
    try:
        return _plain(json.loads(data))
    except (ValueError, RecursionError):
        return None


def _read_yaml(data: bytes) -> Any:
    import yaml

    try:
        return _plain(yaml.safe_load(data))
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _read_sqlite(data: bytes) -> Any:
    """Rows of the first table."""
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(data)
            connection.row_factory = sqlite3.Row
            (name,) = connection.execute("select name from sqlite_master where type = 'table'").fetchone()
            return [dict(row) for row in connection.execute(f"select * from {_quoted(name)}")]
    except (sqlite3.Error, ValueError, TypeError, UnicodeError):
        return None


def _write_sqlite(rows: Any) -> bytes:
    """A database of RFlySimSafe with such rows; a whole that is none has no rows."""
    rows = [row for row in rows if isinstance(row, dict) and row] if isinstance(rows, list) else []
    names = list(dict.fromkeys(name for row in rows for name in row)) or ["CaseID"]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"create table FaultCase ({', '.join(map(_quoted, names))})")
        for row in rows:
            places = ", ".join("?" * len(row))
            connection.execute(
                f"insert into FaultCase ({', '.join(map(_quoted, row))}) values ({places})", list(row.values())
            )
        connection.commit()
        return connection.serialize()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _plain(value: Any) -> Any:
    """Without dates and keys that are no texts."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return value if isinstance(value, str | int | float | None) else str(value)


FORMATS = {
    "toml": Format(_read_toml, lambda table: write_toml(table, ()).encode("utf-8", "replace"), False),
    "json": Format(_read_json, lambda table: json.dumps(table).encode(), True),
    "sqlite": Format(_read_sqlite, _write_sqlite, True, (b"", b"2,1;1,1,5;2,3,0,0,-20", b"\xff\0", 2**63 - 1)),
    "yaml": Format(_read_yaml, lambda table: json.dumps(table).encode(), True),
}


def _bare(word: str) -> str:
    """A word of a text as a key or value: `[[case]]`, `seeds = [1]` and `"name": ` as their names."""
    return word.strip(" \n\t[]{}\"':=,").partition("=")[0].strip(" \"'").partition('"')[0]


def source_of(table: dict[str, Any], name: str) -> Source:
    """A table as if it had been read from a file; its keys have no places."""
    return Source(path_of(name), table, "")


def path_of(name: str) -> Path:
    """Where a file of this process is, or would be."""
    return _path(name, os.getpid())


@functools.cache
def _path(name: str, process: int) -> Path:
    return _scratch(process) / name


def attempt(reader: Callable[..., T], *arguments: Any, **named: Any) -> T | Refused:
    """The reader's answer, or its refusal; any other exception goes through and is a find."""
    try:
        return reader(*arguments, **named)
    except IronbirdError as error:
        assert str(error), f"{type(error).__name__} says nothing"
        place = error.__traceback__
        assert place is not None
        while place.tb_next is not None:
            place = place.tb_next
        name = place.tb_frame.f_code.co_name
        refusals.append((name, place.tb_lineno))
        return Refused(error, name)


def now_and_then(count: int) -> Callable[[], bool]:
    """Whether this is one of so many times, the first among them: for looks that take longer than the reader."""
    calls = itertools.count()
    return lambda: next(calls) % count == 0


def in_haste(count: int) -> Callable[[], bool]:
    """The same while mutations are tried, and always before: all that may be wrong with a kept input is looked at."""
    now = now_and_then(count)
    return lambda: not _haste or now()


def text_of(data: bytes) -> str:
    """Bytes as the text of a file; what is no UTF-8 becomes a sign of its own."""
    return data.decode("utf-8", "replace")


def argument_of(data: bytes) -> str:
    """Bytes as a word of the command line: no zero bytes, and bytes that are no UTF-8 as Python hands them on."""
    return data.replace(b"\0", b"").decode("utf-8", "surrogateescape")


def json_of(data: bytes) -> Any:
    """Bytes as JSON, or None: for readers that get values which a JSON reader has accepted."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def scratch_of(process: int) -> Path:
    """A folder for the files of a process, in memory where there is one."""
    memory = Path("/dev/shm")
    folder = memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())
    return folder / f"ironbird-fuzz-{process}"


@functools.cache
def _scratch(process: int) -> Path:
    folder = scratch_of(process)
    folder.mkdir(mode=0o700)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def scratch() -> Path:
    """The folder of this process; removed at its end, that of a child by the runner."""
    return _scratch(os.getpid())


def file_of(data: bytes, name: str) -> Path:
    """Bytes as a file."""
    path = path_of(name)
    with open(path, "wb", buffering=0) as file:
        file.write(data)
    return path
