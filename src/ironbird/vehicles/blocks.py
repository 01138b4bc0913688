"""Blocks by name, for `[replace]` in vehicle files: Ironbird's own by their class, those of packages and users.

The variable IRONBIRD_BLOCKS says where a user's block is (`mine=my_filter.py:MyFilter`), entry points of the group
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
    """The registry of all blocks; Ironbird's own are found in its files without importing them."""
    return Registry(
        "blocks", _own(), Block, classes=True, what="block", listed_by="ironbird vehicle blocks", error=VehicleError
    )


def _own() -> dict[str, str]:
    """Names and homes of the classes that are blocks with outputs, as the files say whose children they are."""
    root = Path(ironbird.blocks.__path__[0])
    parents: dict[str, list[str]] = {}
    complete: set[str] = set()  # the others are ports or equations that several blocks share
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
    """The files of the blocks of these names that are not Ironbird's own, each with its hash."""
    found = {}
    for name in names:
        with contextlib.suppress(IronbirdError, OSError):  # it is not there: the flight will say so
            if name in blocks() and blocks().load(name) and (file := blocks().file_of(name)) is not None:
                found[str(file)] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found
