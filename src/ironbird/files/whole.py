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

    If the process is killed or the disk is full, the old file stays; there is never half a file. A pipe or terminal is
    written directly; a symbolic link stays a link.
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


@contextmanager
def without_empty(folder: Path) -> Iterator[None]:
    """Context manager: removes the folder and its parents again if an error leaves those that it made empty."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        yield
    except BaseException:
        for path in made:
            if not path.is_dir() or any(path.iterdir()):
                break
            path.rmdir()
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file completely or not at all."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")
