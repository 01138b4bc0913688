"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Context manager: a temporary file in the same folder that replaces `path` at the end.

    A process that is killed or a disk that is full before leaves what was there, never half a file. What is no file
    (a pipe, a terminal) is written as it is; a link stays a link.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        yield path
        return
    part = path.with_name(f".ironbird-{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file completely or not at all."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
