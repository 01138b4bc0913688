"""Trust: programs, front ends and ports that the user named directly; those named only by a file are not opened.

Code that receives the user's input (the command line, `ib.fly`, the app) makes a `Trust` of it and passes it on with
the order; an order is plain data and does not record who wrote it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ironbird.errors import LinkError

VARIABLE = "IRONBIRD_TRUSTED"  # folders whose programs may be started, in the syntax of PATH


@dataclass(frozen=True)
class Trust:
    """Programs, front ends and ports that a flight may use, as the user named them by hand.

    `ib.Trust.by_hand(options)` trusts what options of a control system name.

    Parameters
    ----------
    folders : frozenset of Path, default empty
        Folders whose programs may be started.
    fronts : frozenset of str, default empty
        Front ends that may be opened.
    cables : frozenset of str, default empty
        Serial ports by name, UDP ports by number.
    """

    folders: frozenset[Path] = frozenset()
    fronts: frozenset[str] = frozenset()
    cables: frozenset[str] = frozenset()  # serial ports by name, UDP ports by number

    @staticmethod
    def by_hand(*options: Mapping[str, object] | None) -> Trust:
        """Trust in the folders, front ends and ports of control-system options that the user gave in this call."""
        values: dict[str, list[object]] = {
            key: [option[key] for option in options if option and option.get(key) is not None]
            for key in ("folder", "front", "port", "udp")
        }
        return Trust(
            frozenset(_place(folder) for folder in values["folder"] if isinstance(folder, str | Path)),
            frozenset(front for front in values["front"] if isinstance(front, str)),
            frozenset(str(cable) for cable in (*values["port"], *values["udp"])),
        )

    def check_cable(self, cable: str | int) -> None:
        """Raise `LinkError` if the user did not name this serial port or UDP port."""
        if str(cable) not in self.cables:
            raise LinkError(
                f"port '{cable}' is named by a file alone, and files of others may name any: if you trust it, fly with "
                f"'ironbird fly … --port {cable}' (or --udp), or ib.fly(order, trust=ib.Trust.by_hand(order.options))"
            )

    def check_folder(self, folder: str, variable: str) -> None:
        """Raise `LinkError` if neither the user nor the environment (`variable`, IRONBIRD_TRUSTED) named it."""
        named = [os.environ.get(variable, ""), *os.environ.get(VARIABLE, "").split(os.pathsep)]
        if _place(folder) not in self.folders | {_place(place) for place in named if place}:
            raise LinkError(
                f"a program in '{folder}' is named by a file alone, and files of others may name any: if you trust it, "
                f"set {variable}={folder}"
            )


NO_TRUST = Trust()  # only what the environment names is trusted


def _place(folder: str | Path) -> Path:
    return Path(folder).expanduser().resolve()
