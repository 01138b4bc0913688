"""Code of users by name: `NAME=FILE.py:OBJECT` or `NAME=MODULE:OBJECT` in an environment variable.

A part that is no code is named by its file or folder: `NAME=FILE.toml`, `NAME=FOLDER/`.

Files of vehicles and cases only name such code and never give its location: reading a file of another author runs no
code that the user has not chosen.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
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


# ---------------------------------------------------------------------- what a home brings along


def source_files(home: str) -> list[Path]:
    """The source file of a home and those of all modules that it imports, directly or through others.

    Modules of Ironbird, of Python and of installed packages are left out, but not those of the home's own package. The
    `import` statements are read, also those in functions; modules that are imported by a computed name are not found.
    """
    first = source_file(home)
    if first is None:
        return []
    place = home.rpartition(":")[0]
    package = "" if place.endswith(".py") else place
    found: dict[Path, str] = {first: package}
    waiting = [first]
    while waiting:
        file = waiting.pop()
        changed_ns = file.stat().st_mtime_ns if file.is_file() else 0
        for name, source in _modules_in(file, changed_ns, found[file]):
            own = bool(package) and name.partition(".")[0] == package.partition(".")[0]
            if source not in found and (own or not _is_installed(source)):
                found[source] = name
                waiting.append(source)
    return sorted(found)


@functools.lru_cache(maxsize=4096)
def _modules_in(file: Path, changed_ns: int, module: str) -> tuple[tuple[str, Path], ...]:
    """Names and source files of the modules that a source file imports; a campaign asks for each of its flights."""
    pairs = ((name, _file_of_module(name, file.parent)) for name in dict.fromkeys(_imported(file, module)))
    return tuple((name, source) for name, source in pairs if source is not None)


def _imported(file: Path, module: str) -> Iterator[str]:
    """Names of all modules that a source file may import, with their packages."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):  # whoever loads it says why
        return
    parents = module.split(".") if file.stem == "__init__" else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = parents[: len(parents) - node.level + 1] if node.level else []
            base = ".".join(filter(None, [*above, node.module]))
            names = [".".join(filter(None, [base, alias.name])) for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[: count + 1]) for count in range(len(parts)))


def _file_of_module(name: str, folder: Path) -> Path | None:
    """The source file of a module, which is not imported for that; a `folder` is searched after Python's path."""
    loaded = getattr(sys.modules.get(name), "__file__", None)
    if loaded:
        return Path(loaded).resolve()
    path: Sequence[str] | None = [*sys.path, str(folder)]
    spec = None
    for part in name.split("."):
        try:
            spec = importlib.machinery.PathFinder.find_spec(part, path)
        except (ImportError, ValueError, AttributeError):
            return None
        if spec is None:
            return None
        path = list(spec.submodule_search_locations or [])
    return Path(spec.origin).resolve() if spec and spec.origin and spec.origin.endswith(".py") else None


@functools.cache
def _installed_places() -> tuple[Path, ...]:
    """Folders of Ironbird and of Python's own library."""
    python = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    return (Path(__file__).resolve().parents[1], *(Path(place).resolve() for place in python if place))


def _is_installed(file: Path) -> bool:
    """Whether a source file belongs to Ironbird, to Python or to an installed package."""
    if {"site-packages", "dist-packages"} & set(file.parts):
        return True
    return any(file.is_relative_to(place) for place in _installed_places())
