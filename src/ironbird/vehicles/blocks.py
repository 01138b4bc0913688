"""Blocks by name, for `[replace]` in vehicle files: Ironbird's own by their class, those of packages and users.

The variable IRONBIRD_BLOCKS names a user's blocks (`mine=my_filter.py:MyFilter`), entry points of the group
`ironbird.blocks` those of an installed package.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

import ironbird.blocks
from ironbird.errors import IronbirdError, VehicleError
from ironbird.files.registry import Registry
from ironbird.model.block import Block

_CLASS = re.compile(r"^class (\w+)\(([^)]*)\)(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)


@functools.cache
def blocks() -> Registry[type[Block]]:
    """Registry of all blocks; Ironbird's own are listed from their source files without importing them."""
    return Registry(
        "blocks", _own(), Block, classes=True, what="block", listed_by="ironbird vehicle blocks", error=VehicleError
    )


def _own() -> dict[str, str]:
    """Names and homes of Ironbird's block classes with outputs, found by their base classes in the source files."""
    root = Path(ironbird.blocks.__path__[0])
    parents: dict[str, list[str]] = {}
    complete: set[str] = set()  # other classes only share ports or equations between blocks
    homes: dict[str, str] = {}
    for path in sorted(root.rglob("*.py")):
        module = ".".join(path.relative_to(root).with_suffix("").parts)
        for name, bases, content in _CLASS.findall(path.read_text(encoding="utf-8")):
            parents[name], homes[name] = bases.split(", "), f"ironbird.blocks.{module}:{name}"
            complete |= {name} if "def output(" in content else set()

    def line(name: str) -> set[str]:
        return {name}.union(*(line(parent) for parent in parents.get(name, ())))

    return {name: home for name, home in homes.items() if "Block" in line(name) and complete & line(name)}


def code_of_blocks(names: Iterable[str]) -> dict[str, str]:
    """Source files of the named blocks that are not Ironbird's own, and of what they import, each with its hash."""
    files: dict[str, str] = {}
    for name in names:
        with contextlib.suppress(IronbirdError, OSError):  # a missing block: the flight reports it
            if name in blocks() and blocks().load(name):
                files |= {str(f): hashlib.sha256(f.read_bytes()).hexdigest() for f in blocks().files_of(name)}
    return files
