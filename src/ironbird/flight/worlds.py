"""The world that an order names: by name, by file, or by its text. World code is loaded only if one is named."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from ironbird.errors import WorldError
from ironbird.files.problems import Source, read_toml
from ironbird.vehicles.spec import Home

if TYPE_CHECKING:
    from ironbird.world.model import World

IN_TEXT = "\n"  # a world that stands in the order itself


def ordered_world(name: str) -> World:
    """A world by name, by the path of its file, or from its text; cached until the file changes."""
    if IN_TEXT in name:
        return _parsed(name)
    path = Path(name)
    changed_ns = path.stat().st_mtime_ns if name.endswith(".toml") and path.is_file() else 0
    return _loaded(name, changed_ns)


@functools.lru_cache(maxsize=16)
def _parsed(text: str) -> World:
    from ironbird.world.files import world_of

    try:
        return world_of(Source(Path("world.toml"), read_toml(text), text))
    except tomllib.TOMLDecodeError as error:
        raise WorldError(f"the world in the order is not valid TOML: {error}; give the text of a world file") from None


@functools.lru_cache(maxsize=16)
def _loaded(name: str, changed_ns: int) -> World:
    from ironbird.world.files import load_world

    return load_world(name)


def home_in(world: World, own: Home) -> Home:
    """A vehicle's home on the earth: the world's origin, if it has one, else its own."""
    if world.origin is None:
        return own
    place = world.origin
    return own.model_copy(
        update={"latitude_deg": place.latitude_deg, "longitude_deg": place.longitude_deg, "height_m": place.height_m}
    )
