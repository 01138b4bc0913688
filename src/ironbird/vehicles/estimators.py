"""Estimators of the reference autopilot by name: those that are shipped, and blocks of users.

A block of a user is a class that takes `sample_s` and has the ports of an estimator (`ironbird.blocks.estimators`;
`ComplementaryFilter` has the fewest). The variable IRONBIRD_BLOCKS says where it is (`mine=my_filter.py:MyFilter`), and
`estimator = "mine"` in `[sensors]` of a vehicle file uses it, in flights, cases and campaigns.
"""

from __future__ import annotations

import hashlib
import inspect

from ironbird.blocks.estimators.complementary import ComplementaryFilter
from ironbird.blocks.estimators.ekf import ErrorStateEkf
from ironbird.errors import UnknownNameError, VehicleError
from ironbird.files.named_code import NamedCodeError, load_home, named_homes, source_file
from ironbird.model.block import Block

VARIABLE = "IRONBIRD_BLOCKS"
SHIPPED: dict[str, type[Block]] = {"ekf": ErrorStateEkf, "complementary": ComplementaryFilter}


def estimator_class(name: str) -> type[Block]:
    """The class of an estimator."""
    if name in SHIPPED:
        return SHIPPED[name]
    try:
        homes = named_homes(VARIABLE)
        if name not in homes:
            unknown = UnknownNameError("estimator", name, [*SHIPPED, *homes])
            raise VehicleError(f"{unknown}; {VARIABLE}={name}=FILE.py:CLASS names one of your own")
        found = load_home(homes[name])
    except NamedCodeError as error:
        raise VehicleError(f"estimator '{name}': {error}; see {VARIABLE}") from error
    if not inspect.isclass(found) or not issubclass(found, Block):
        raise VehicleError(f"estimator '{name}': {homes[name]} is no class of blocks but {found!r}")
    return found


def code_of_estimator(name: str) -> dict[str, str]:
    """The file of a user's estimator with its hash; nothing of a shipped one."""
    if name in SHIPPED:
        return {}
    file = source_file(named_homes(VARIABLE).get(name, ""))
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest()} if file is not None and file.is_file() else {}
