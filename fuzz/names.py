"""The F450 as conditions see it, without compiling it: signals in the kernel's order, aliases, words."""

from __future__ import annotations

import functools
from dataclasses import replace

from ironbird.conditions.names import Names
from ironbird.flight.outline import outline

WORDS = (
    "always", "eventually", "historically", "once", "until", "not ", "and", "or", "implies", "within", "end", "rise(",
    "fall(", "truth(", "abs(", "sqrt(", "acos(", "min(", "max(", "hypot(", "norm(", "altitude", "mode", "item", "time",
    "body.p_NB_N[2]", "tilt", "fault_active", "crashed", "mission", '"take-off"', "land", " m", " m/s", " deg", " %",
    " s", " ms", "<", "<=", "==", "!=", ">", "+", "-", "*", " / ", "[0, 5 s]", "[end - 5 s, end]", "1e308", "1e-320",
    "mm^-99", "km^99", "m^2", "0", "(", ")", ",",
)  # fmt: skip


KEPT = ("body.", "air.", "terrain.", "navigator.", "battery.", "rotor/1/")


@functools.cache
def f450_names() -> Names:
    """Names of the quadcopter with its reference control, without most of its parts."""
    names = outline("quad_f450", "reference").names
    units = {name: unit for name, unit in names.units.items() if name.startswith(KEPT) or name in names.derived}
    return replace(names, units=units, rows={name: names.rows[name] for name in units if name in names.rows})
