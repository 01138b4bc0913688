"""Names for the components and failure types of MAV_CMD_INJECT_FAILURE [MAVLink2]."""

from __future__ import annotations

from ironbird.errors import UnknownNameError
from ironbird.protocols.mavlink.numbers import entries_of

UNITS = {name.lower().split("_", 1)[1]: number for name, number in entries_of("FAILURE_UNIT").items()}
TYPES = {name.lower(): number for name, number in entries_of("FAILURE_TYPE").items()}


def failure(unit: str, how: str) -> tuple[int, int]:
    """Numbers of a component and a failure type; `UnknownNameError` lists the known names."""
    if unit not in UNITS:
        raise UnknownNameError("unit", unit, UNITS, where="inject")
    if how not in TYPES:
        raise UnknownNameError("type of failure", how, TYPES, where="inject")
    return UNITS[unit], TYPES[how]
