"""Flattened models kept on disk: a diagram that was translated before is read back instead.

The key covers the whole description and the source of this package, so that any change of either makes a new entry.
Models with blocks from outside the package are not kept, because their source may change unseen.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import tempfile
from importlib import metadata
from pathlib import Path

from ironbird.compiler.flatten import Flat
from ironbird.compiler.generate import Source
from ironbird.compiler.native import cache_folder
from ironbird.model.diagram import Diagram


@functools.cache
def package_hash() -> str:
    """Hash of this package's source."""
    digest = hashlib.sha256(metadata.version("casadi").encode())
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*")):
        if path.suffix in (".py", ".h", ".c"):
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def key_of(diagram: Diagram, step_s: float, method: str) -> str | None:
    """The entry of a diagram, or None if it must not be kept."""
    if any(not type(block).__module__.startswith("ironbird.") for block in diagram.blocks.values()):
        return None
    description = pickle.dumps((diagram, step_s, method))
    return hashlib.sha256(description + package_hash().encode()).hexdigest()


def read(key: str) -> tuple[Flat, Source] | None:
    """A kept model, or None; a damaged entry counts as none."""
    with contextlib.suppress(Exception):
        flat, source = pickle.loads((_folder() / f"{key}.pickle").read_bytes())
        if isinstance(flat, Flat) and isinstance(source, Source):
            return flat, source
    return None


def keep(key: str, flat: Flat, source: Source) -> None:
    """Keep a model; not being able to is no error."""
    with contextlib.suppress(OSError):
        folder = _folder()
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(pickle.dumps((flat, source)))
        os.replace(name, folder / f"{key}.pickle")


def _folder() -> Path:
    return cache_folder() / "models"
