"""All faults by id, and the grammar in which they are ordered."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ironbird.errors import FaultError, UnknownNameError, shortened
from ironbird.faults import (
    battery,
    firmware,
    link,
    load,
    rotor,
    route,
    sensor,
    sight,
    steering,
    surface,
    surroundings,
    water,
    wheel,
    wire,
)
from ironbird.faults.spec import Fault, Injection

FAMILIES = (sensor, rotor, surface, steering, wheel, battery, load, link, surroundings, water, firmware)
FAULTS: dict[str, Fault] = {fault.id: fault for family in FAMILIES for fault in family.FAULTS}
# Those of wires and chips act where sensors are chips on buses, those of links where packets go to and fro, those of
# sight where sensors see a world
KNOWN = FAULTS | wire.WIRE_FAULTS | route.ROUTE_FAULTS | sight.SIGHT_FAULTS

KEYS = ("instance", "axis", "severity", "start", "end", "shape", "rise", "period", "duty", "duration")
WORDS = ("instance", "shape", "when")  # keys whose values may be words
GRAMMAR = (
    "ID:key=value,…[,when=PREDICATE]  keys: " + ", ".join(KEYS) + " (times in seconds, severity 0 to 1, axis 0 to 2, "
    "instance the number or name of a part); "
    "with when, times count from the moment at which the predicate on signals first holds"
)


def parse_fault(text: str, known: Mapping[str, Fault] = KNOWN) -> Injection:
    """Read `rotor.speed_loss@1:instance=1,severity=0.2,start=5`; the inverse of `Injection.text`.

    Faults of wires and chips (`ironbird.faults.wire`), of links (`ironbird.faults.route`) and of sensors that see a
    world (`ironbird.faults.sight`) are written alike.
    """
    name, _, rest = text.partition(":")
    name = name.strip()
    if name not in known:
        raise UnknownNameError("fault", name, known, listed_by="ironbird faults")
    table: dict[str, Any] = {"id": name}
    rest, when, predicate = rest.partition("when=")
    for part in filter(None, (p.strip() for p in rest.split(","))):
        key, equals, value = (s.strip() for s in part.partition("="))
        if not equals:
            raise FaultError(
                f"fault '{shortened(text)}': '{shortened(part)}' is not key=value; the grammar is {GRAMMAR}"
            )
        if key not in KEYS:
            raise FaultError(f"fault '{shortened(text)}': " + str(UnknownNameError("key", key, KEYS)))
        table[f"{key}_s" if key in ("start", "end", "rise", "period", "duration") else key] = _value(text, key, value)
    if when:
        table["when"] = predicate
    if "instance" in table and not known[name].counts_instances:
        raise FaultError(f"fault '{shortened(text)}': {name} has no instances; leave the key out")
    return read_fault(table, known=known)


def _value(text: str, key: str, value: str) -> float | str:
    if key == "instance":
        return int(value) if value.isascii() and value.isdecimal() and len(value) <= 9 else value
    if key in WORDS:
        return value
    try:
        number = int(value) if key == "axis" and len(value) <= 9 else float(value)
    except ValueError:
        raise FaultError(f"fault '{shortened(text)}': {key} needs a number, got '{shortened(value)}'") from None
    if not math.isfinite(number) or (key == "axis" and not isinstance(number, int)):
        raise FaultError(f"fault '{shortened(text)}': {key} must be finite, got '{shortened(value)}'")
    return number


def read_fault(table: Mapping[str, Any], *, old: bool = False, known: Mapping[str, Fault] = KNOWN) -> Injection:
    """An order from a table of a case file without ranges; the inverse of `Injection.table`.

    With `old`, a severity is passed over where it has no meaning: earlier versions took and recorded any.
    """
    values: dict[str, Any] = {key: v if key in WORDS else float(v) for key, v in table.items() if key != "id"}
    if isinstance(values.get("instance"), float):
        values["instance"] = int(values["instance"])
    if "axis" in values:
        values["axis"] = int(values["axis"])
    if "duration_s" in values and "end_s" in values:
        raise FaultError(f"{table['id']}: both end and duration are given; keep one")
    if "duration_s" in values:
        values["end_s"] = values.get("start_s", 0.0) + values.pop("duration_s")
    fault = known[table["id"]]
    if old and not fault.has_severity:
        values.pop("severity", None)
    return Injection(fault, **values)
