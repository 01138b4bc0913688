"""All faults by id, and the grammar in which they are ordered."""

from __future__ import annotations

import math
from typing import Any

from ironbird.errors import FaultError, UnknownNameError
from ironbird.faults import battery, link, load, rotor, sensor, steering, surface, surroundings, water, wheel
from ironbird.faults.spec import SHAPES, Fault, Injection

FAMILIES = (sensor, rotor, surface, steering, wheel, battery, load, link, surroundings, water)
FAULTS: dict[str, Fault] = {fault.id: fault for family in FAMILIES for fault in family.FAULTS}

_KEYS = {
    "instance": "instance", "axis": "axis", "severity": "severity", "start": "start_s", "end": "end_s",
    "shape": "shape", "rise": "rise_s", "period": "period_s", "duty": "duty", "duration": "duration",
}  # fmt: skip
GRAMMAR = (
    "ID:key=value,…[,when=PREDICATE]  keys: " + ", ".join(_KEYS) + " (times in seconds, severity 0 to 1, axis 0 to 2, "
    "instance the number or name of a part); "
    "with when, times count from the moment at which the predicate on signals first holds"
)


def parse_fault(text: str) -> Injection:
    """Read `rotor.speed_loss@1:instance=1,severity=0.2,start=5`."""
    name, _, rest = text.partition(":")
    name = name.strip()
    if name not in FAULTS:
        raise UnknownNameError("fault", name, FAULTS)
    fault = FAULTS[name]
    values: dict[str, Any] = {}
    rest, when, predicate = rest.partition("when=")
    if when:
        values["when"] = predicate.strip()
    for part in filter(None, (p.strip() for p in rest.split(","))):
        key, equals, value = (s.strip() for s in part.partition("="))
        if not equals:
            raise FaultError(f"fault '{text}': '{part}' is not key=value; the grammar is {GRAMMAR}")
        if key not in _KEYS:
            raise FaultError(f"fault '{text}': " + str(UnknownNameError("key", key, _KEYS)))
        if key == "shape":
            if value not in SHAPES:
                raise FaultError(f"fault '{text}': shape '{value}' is not step, ramp or intermittent")
            values["shape"] = value
            continue
        if key == "instance":
            values["instance"] = _part(text, value)
            continue
        try:
            values[_KEYS[key]] = int(value) if key == "axis" else float(value)
        except ValueError:
            raise FaultError(f"fault '{text}': {key} needs a number, got '{value}'") from None
        if not math.isfinite(values[_KEYS[key]]):
            raise FaultError(f"fault '{text}': {key} must be finite, got '{value}'")
    if "duration" in values:
        values["end_s"] = values.get("start_s", 0.0) + values.pop("duration")
    if "instance" in values and not fault.counts_instances:
        raise FaultError(f"fault '{text}': {fault.id} has no instances; leave the key out")
    return Injection(fault, **values)


def _part(text: str, value: str) -> int | str:
    """The number of a part, or its name (a surface, a wheel)."""
    if value.isdecimal():
        return int(value)
    if not value.replace("_", "a").isalnum():
        raise FaultError(f"fault '{text}': instance is a number or a name, not '{value}'")
    return value
