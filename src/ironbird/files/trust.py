"""Trust: what the user named by hand. Programs and front ends that a file alone names are not started and not opened.

Whoever takes the user's words (the command line, `ib.fly`, the app) makes a `Trust` of them and passes it on with the
order; an order itself is data and says nothing about where it came from.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ironbird.errors import LinkError

VARIABLE = "IRONBIRD_TRUSTED"  # folders whose programs may be started, as PATH lists them


@dataclass(frozen=True)
class Trust:
    """Folders whose programs a flight may start, and front ends that it may open, because the user named them."""

    folders: frozenset[Path] = frozenset()
    fronts: frozenset[str] = frozenset()

    @staticmethod
    def by_hand(options: Mapping[str, object] | None) -> Trust:
        """The trust in what these options of a control system name, which the user gave in this very call."""
        given = options or {}
        folder, front = given.get("folder"), given.get("front")
        return Trust(
            frozenset({_place(folder)} if isinstance(folder, str | Path) else ()),
            frozenset({front} if isinstance(front, str) else ()),
        )

    def check_folder(self, folder: str, variable: str) -> None:
        """`LinkError` if neither the user nor the environment (`variable`, IRONBIRD_TRUSTED) named a folder."""
        named = [os.environ.get(variable, ""), *os.environ.get(VARIABLE, "").split(os.pathsep)]
        if _place(folder) not in self.folders | {_place(place) for place in named if place}:
            raise LinkError(
                f"a program in '{folder}' is named by a file alone, and files of others may name any: if you trust it, "
                f"set {variable}={folder}"
            )


NO_TRUST = Trust()  # in nothing but what the environment names


def _place(folder: str | Path) -> Path:
    return Path(folder).expanduser().resolve()
