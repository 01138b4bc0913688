"""Cache of translated models on disk: the C source of a diagram that was translated before.

An entry is plain data, one line of JSON and the source, sealed like all entries of the cache; the rest of a model is
derived from the diagram. The key covers the whole description and the source of this package, so that any change of
either gives a new entry. Models with blocks from outside the package are not cached, because their source may change
unnoticed.
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

FORMAT = 2


@functools.cache
def package_hash() -> str:
    """Hash of this package's source; computed again only if a file has changed since."""
    root = Path(__file__).parents[1]
    files = sorted(_sources(str(root)))
    # The inode change time (ctime) changes with every write, even if a program sets the modification time
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
    """Hash of a diagram's content; None if its models must not be cached."""
    if any(not type(block).__module__.startswith("ironbird.") for block in diagram.blocks.values()):
        return None
    return description_of(diagram)


def key_of(described: str, step_s: float, method: str) -> str:
    """Cache key of a diagram, from the hash of its content, the step in s and the integration method."""
    return hashlib.sha256(f"{FORMAT} {described} {step_s!r} {method} {package_hash()}".encode()).hexdigest()


def read(key: str) -> Source | None:
    """The cached source of a model; None if there is none, or it is damaged or of another format."""
    data = cache.read_entry(_path(cache.checked_folder(), key))
    if data is None:
        return None
    head, _, text = data.partition(b"\n")
    try:
        content = json.loads(head)
        operations = content["operations"]
        if content["format"] != FORMAT or not all(isinstance(count, int) for count in operations.values()):
            return None
        return Source(text.decode(), {str(name): count for name, count in operations.items()}, float(content["slack"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def keep(key: str, source: Source) -> None:
    """Store a model in the cache; a failure is ignored."""
    head = json.dumps({"format": FORMAT, "operations": source.operations, "slack": source.slack})
    with contextlib.suppress(OSError, IronbirdError):
        path = _path(cache.cache_folder(), key)
        cache.make_folder("models")
        cache.write_entry(path, head.encode() + b"\n" + source.text.encode())
        for old in path.parent.glob("*.pickle"):  # files of earlier versions, never read
            old.unlink()


def _path(folder: Path, key: str) -> Path:
    return folder / "models" / f"{key}.model"
