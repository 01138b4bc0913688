"""Names of the vehicles of the catalogue: without anything else, since Tab asks for them."""

from __future__ import annotations

import os
from pathlib import Path

CATALOG = Path(__file__).parent / "catalog"


def vehicle_ids() -> list[str]:
    """Names of all vehicles in the catalogue.

    Returns
    -------
    list of str
        In alphabetical order.

    Examples
    --------
    >>> "quad_f450" in ib.vehicle_ids()
    True
    """
    return sorted(name.removesuffix(".toml") for name in os.listdir(CATALOG) if name.endswith(".toml"))
