"""Estimators of the reference autopilot by name: the built-in ones, and blocks of packages and users.

A block of a user is a class that takes `sample_s` and has the ports of an estimator (`ironbird.blocks.estimators`;
`ComplementaryFilter` has the fewest). The variable IRONBIRD_BLOCKS names it (`mine=my_filter.py:MyFilter`), and
`estimator = "mine"` in `[sensors]` of a vehicle file uses it, in flights, cases and campaigns.
"""

from __future__ import annotations

from ironbird.blocks.estimators.complementary import ComplementaryFilter
from ironbird.blocks.estimators.ekf import ErrorStateEkf
from ironbird.errors import UnknownNameError, VehicleError
from ironbird.model.block import Block
from ironbird.vehicles.blocks import blocks

SHIPPED: dict[str, type[Block]] = {"ekf": ErrorStateEkf, "complementary": ComplementaryFilter}


def estimator_class(name: str) -> type[Block]:
    """The block class of an estimator by its name."""
    if name in SHIPPED:
        return SHIPPED[name]
    others = blocks()
    if name not in others:
        unknown = UnknownNameError("estimator", name, [*SHIPPED, *others])
        raise VehicleError(f"{unknown}; {others.variable}={name}=FILE.py:CLASS names one of your own")
    return others.load(name)
