"""Packets of RflySim's interface that are right, to begin with."""

from __future__ import annotations

from ironbird.links.rflysim.structs import LAYOUTS


def packets() -> list[bytes]:
    """One of each struct."""
    found = []
    for number, layout in enumerate(LAYOUTS):
        chosen = {
            name: wanted if isinstance(wanted, int) else wanted[number % len(wanted)]
            for name, wanted in layout.fixed.items()
        }
        found.append(layout.encode(**chosen))
    return found
