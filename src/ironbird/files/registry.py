"""Parts by name: those of Ironbird, of installed packages, and of the user.

A family of parts (control systems, blocks, chips, vehicle kinds, faults, worlds, exporters, page sections) is one
`Registry`: a table of names and homes (`module:OBJECT` or `file.py:OBJECT`). Installed packages add to it by entry
points of the group `ironbird.FAMILY`, users by the variable `IRONBIRD_FAMILY` (`name=file.py:OBJECT,…`). Names of
Ironbird's own parts cannot be taken by others. Files of vehicles and cases only name a part and never give the location
of its code, so that reading a file of another author runs no code that the user has not chosen.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, Generic, TypeVar

from ironbird.errors import IronbirdError, IronbirdWarning, UnknownNameError
from ironbird.files.named_code import NamedCodeError, load_home, named_homes, source_files

Part = TypeVar("Part")


@functools.lru_cache(maxsize=64)
def _installed(places: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Names and homes that installed packages add by entry points, by group; scanning all packages takes tens of ms."""
    found: dict[str, dict[str, str]] = {}
    for package in distributions():
        for entry in package.entry_points:
            found.setdefault(entry.group, {}).setdefault(entry.name, entry.value)  # of two versions the first counts
    return found


class Registry(Mapping[str, str], Generic[Part]):
    """Homes of the parts of one family by name: first Ironbird's own, then the user's, then installed packages'."""

    def __init__(
        self,
        family: str,
        own: Mapping[str, str],
        kind: Callable[..., Part] | Part | str,
        *,
        what: str,
        classes: bool = False,
        listed_by: str = "",
        error: type[IronbirdError] = IronbirdError,
    ) -> None:
        """`kind`: type (or base class) of the parts, or its home; `what`: noun for a part in error messages."""
        self.group = f"ironbird.{family}"
        self.variable = f"IRONBIRD_{family.upper()}"
        self._kind: Any = kind
        self._classes = classes
        self._own, self._what, self._listed_by, self._error = dict(own), what, listed_by, error

    def homes(self) -> dict[str, str]:
        """Home of every known part by name."""
        return {**_installed(tuple(sys.path)).get(self.group, {}), **self.named(), **self._own}

    def named(self) -> dict[str, str]:
        """Home of every part that the user's environment variable adds, by name."""
        try:
            return named_homes(self.variable)
        except NamedCodeError as error:
            raise self._error(str(error)) from None

    def __getitem__(self, name: str) -> str:
        """Home of a part; for Ironbird's own parts installed packages are not scanned."""
        return self._own[name] if name in self._own else self.homes()[name]

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self.homes()

    def __iter__(self) -> Iterator[str]:
        homes = self.homes()
        return iter([*self._own, *(name for name in homes if name not in self._own)])

    def __len__(self) -> int:
        return len(self.homes())

    def is_own(self, name: str) -> bool:
        """Whether a part is one of Ironbird's own."""
        return name in self._own

    def load(self, name: str) -> Part:
        """The part object; its module is imported on first use."""
        try:
            home = self[name]
        except KeyError:
            raise UnknownNameError(self._what, name, list(self), listed_by=self._listed_by) from None
        try:
            part: Part = load_home(home)
        except NamedCodeError as error:
            raise self._error(f"{self._what} '{name}' at {error}; see {self.variable}") from error
        kind = load_home(self._kind) if isinstance(self._kind, str) else self._kind
        if self._classes:
            if not (isinstance(part, type) and issubclass(part, kind)):
                raise self._error(f"{self._what} '{name}': {home} is no class of {kind.__name__} but {part!r}")
        elif not isinstance(part, kind):
            raise self._error(f"{self._what} '{name}': {home} is no {kind.__name__} but a {type(part).__name__}")
        return part

    def loadable(self) -> Iterator[tuple[str, Part]]:
        """Names and loaded parts; a user's or package's part that fails to load is skipped with a warning."""
        for name in self:
            try:
                yield name, self.load(name)
            except IronbirdError as error:
                if name in self._own:
                    raise
                warnings.warn(str(error), IronbirdWarning, stacklevel=2)

    def files_of(self, name: str) -> list[Path]:
        """Source files of a loaded part that is not Ironbird's own: its own and those of all modules that it imports.

        They are part of what defines a flight.
        """
        if name in self._own or name not in self:
            return []
        return source_files(self[name])
