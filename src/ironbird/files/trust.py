"""Trust: what the user named by hand. Programs, front ends and cables that a file alone names are not opened.

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
    cables: frozenset[str] = frozenset()  # serial ports by name, ports of UDP by number

    @staticmethod
    def by_hand(*options: Mapping[str, object] | None) -> Trust:
        """The trust in what these options of control systems name, which the user gave in this very call."""
        found: dict[str, list[object]] = {
            key: [given[key] for given in options if given and given.get(key) is not None]
            for key in ("folder", "front", "port", "udp")
        }
        return Trust(
            frozenset(_place(folder) for folder in found["folder"] if isinstance(folder, str | Path)),
            frozenset(front for front in found["front"] if isinstance(front, str)),
            frozenset(str(cable) for cable in (*found["port"], *found["udp"])),
        )

    def check_cable(self, cable: str | int) -> None:
        """`LinkError` if the user did not name a serial port or a port of UDP."""
        if str(cable) not in self.cables:
            raise LinkError(
                f"port '{cable}' is named by a file alone, and files of others may name any: if you trust it, fly with "
                f"'ironbird fly … --port {cable}' (or --udp), or ib.fly(order, trust=ib.Trust.by_hand(order.options))"
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
