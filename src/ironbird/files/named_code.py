"""Code of users by name: `NAME=FILE.py:OBJECT` or `NAME=MODULE:OBJECT` in an environment variable.

A part that is no code is named by its file or folder: `NAME=FILE.toml`, `NAME=FOLDER/`.

Files of vehicles and cases only name such code and never give its location: reading a file of another author runs no
code that the user has not chosen.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any


class NamedCodeError(Exception):
    """An environment variable that names user code cannot be read, or the code cannot be loaded."""


def named_homes(variable: str) -> dict[str, str]:
    """Names and homes (`file.py:OBJECT` or `module:OBJECT`) in an environment variable."""
    homes = {}
    for part in filter(None, (text.strip() for text in os.environ.get(variable, "").split(","))):
        name, equals, home = part.partition("=")
        if not equals or not (":" in home or _is_data(home.strip())):
            raise NamedCodeError(
                f"{variable}: '{part}' is not NAME=FILE.py:OBJECT, NAME=MODULE:OBJECT or NAME=FILE.toml"
            )
        homes[name.strip()] = home.strip()
    return homes


def _is_data(home: str) -> bool:
    return home.endswith((".toml", "/"))


@functools.cache
def load_home(home: str) -> Any:
    """The object at a home, imported once; for a home that is a data file or a folder, its path."""
    if _is_data(home):
        return Path(home).resolve()
    place, _, name = home.rpartition(":")
    try:
        if place.endswith(".py"):
            path = Path(place).resolve()
            spec = importlib.util.spec_from_file_location(
                f"ironbird_named_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}", path
            )
            if spec is None or spec.loader is None:
                raise ImportError(f"{path} cannot be loaded")
            module = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = module
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(place)
        return getattr(module, name)
    except (Exception, SystemExit) as error:  # user code may raise any exception
        raise NamedCodeError(f"{home} cannot be loaded: {type(error).__name__}: {error}") from error


def source_file(home: str) -> Path | None:
    """The source file of a home, if it is a file or a module that is already imported; else None."""
    place = home.rpartition(":")[0]
    source = place if place.endswith(".py") else getattr(sys.modules.get(place), "__file__", None)
    return Path(source).resolve() if source else None
