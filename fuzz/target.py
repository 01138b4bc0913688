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
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from ironbird import errors
from ironbird.errors import IronbirdError

FOLDER = Path(__file__).parent
CORPUS, REGRESSIONS = FOLDER / "corpus", FOLDER / "regressions"
MOST = 4096  # bytes of an input, if a target does not say

T = TypeVar("T")
refusals: list[tuple[str, int]] = []  # where errors of ours came from since somebody emptied the list
SELDOM = 64  # of so many refusals one looks for near names: that takes a hundred times as long as a reader


def _seldom(search: Callable[..., list[str]]) -> Callable[..., list[str]]:
    calls = itertools.count()
    return lambda *arguments, **named: search(*arguments, **named) if next(calls) % SELDOM == 0 else []


def hasten() -> None:
    """Let errors name near names seldom, for this process and its children."""
    errors.difflib = SimpleNamespace(get_close_matches=_seldom(difflib.get_close_matches))  # type: ignore[assignment, attr-defined]


@dataclass(frozen=True)
class Refused:
    """What an attempt gives that ended with an error of ours."""

    error: IronbirdError


@dataclass(frozen=True)
class Target:
    """One reader under attack."""

    name: str
    check: Callable[[bytes], None]
    words: tuple[bytes, ...]
    most: int
    make: Callable[[random.Random], bytes] | None = None  # inputs of its own: rows of packets
    packets: Counter[str] = field(default_factory=Counter)  # that were handed over, by port and kind

    def kept(self) -> list[Path]:
        """Inputs that every run begins with: the corpus, and all that once crashed."""
        folders = (CORPUS / self.name, REGRESSIONS / self.name)
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
    return Target(name, module.check, words, getattr(module, "MOST", MOST), make, counted)


def attempt(reader: Callable[..., T], *arguments: Any, **named: Any) -> T | Refused:
    """The reader's answer, or its refusal; any other exception goes through and is a find."""
    try:
        return reader(*arguments, **named)
    except IronbirdError as error:
        assert str(error), f"{type(error).__name__} says nothing"
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        if place is not None:
            refusals.append((place.tb_frame.f_code.co_name, place.tb_lineno))
        return Refused(error)


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
    path = scratch() / name
    path.write_bytes(data)
    return path
