"""Translated models kept on disk: the C source of a diagram that was translated before is read back.

An entry is plain data, one line of JSON and the source, sealed as all entries of the cache are; everything else about a
model is made from the diagram, which is at hand. The key covers the whole description and the source of this package,
so that any change of either makes a new entry. Models with blocks from outside the package are not kept, because
their source may change unseen.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from ironbird.compiler import cache
from ironbird.compiler.describe import description_of
from ironbird.compiler.generate import Source
from ironbird.errors import IronbirdError
from ironbird.model.diagram import Diagram

FORMAT = 1


@functools.cache
def package_hash() -> str:
    """Hash of this package's source; read again only if a file was changed since it was read last."""
    root = Path(__file__).parents[1]
    files = sorted(_sources(str(root)))
    # The inode's own time (ctime) changes with every write, whatever a program sets the file's time to
    seen = hashlib.sha256(
        repr(
            [
                metadata.version("casadi"),
                *((name, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino) for name, s in files),
            ]
        ).encode()
    )
    path = cache.checked_folder() / "models" / f"{seen.hexdigest()}.package"
    known = cache.read_entry(path)
    if known is not None:
        return known.decode()
    digest = hashlib.sha256(metadata.version("casadi").encode())
    for name, _ in files:
        digest.update(os.path.relpath(name, root).encode() + b"\0" + Path(name).read_bytes())
    with contextlib.suppress(OSError, IronbirdError):
        cache.make_folder("models")
        cache.write_entry(path, digest.hexdigest().encode())
    return digest.hexdigest()


def _sources(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _sources(entry.path)
            elif entry.name.endswith((".py", ".h", ".c")):
                yield entry.path, entry.stat()


def description(diagram: Diagram) -> str | None:
    """Hash of a diagram's content, or None if models of it must not be kept."""
    if any(not type(block).__module__.startswith("ironbird.") for block in diagram.blocks.values()):
        return None
    return description_of(diagram)


def key_of(described: str, step_s: float, method: str) -> str:
    """The entry of a diagram by the hash of its content."""
    return hashlib.sha256(f"{FORMAT} {described} {step_s!r} {method} {package_hash()}".encode()).hexdigest()


def read(key: str) -> Source | None:
    """A kept model, or None; what is damaged, foreign or of another format counts as none."""
    data = cache.read_entry(_path(cache.checked_folder(), key))
    if data is None:
        return None
    head, _, text = data.partition(b"\n")
    try:
        content = json.loads(head)
        operations = content["operations"]
        if content["format"] != FORMAT or not all(isinstance(count, int) for count in operations.values()):
            return None
        return Source(text.decode(), {str(name): count for name, count in operations.items()})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def keep(key: str, source: Source) -> None:
    """Keep a model; not being able to is no error."""
    head = json.dumps({"format": FORMAT, "operations": source.operations})
    with contextlib.suppress(OSError, IronbirdError):
        path = _path(cache.cache_folder(), key)
        cache.make_folder("models")
        cache.write_entry(path, head.encode() + b"\n" + source.text.encode())
        for old in path.parent.glob("*.pickle"):  # of earlier versions; never read
            old.unlink()


def _path(folder: Path, key: str) -> Path:
    return folder / "models" / f"{key}.model"
