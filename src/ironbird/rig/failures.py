"""MAV_CMD_INJECT_FAILURE: failures of MAVLink as faults of the catalogue [MAVLink2].

Instance 0 means all units. Failures without a counterpart are refused with a list of those that have one.
"""

from __future__ import annotations

import itertools
import math
from typing import Protocol

from ironbird.errors import IronbirdError
from ironbird.faults.catalog import FAULTS
from ironbird.faults.spec import Injection
from ironbird.protocols.mavlink.failures import TYPES, UNITS

OK = TYPES["ok"]
_SENSOR = {"off": "dropout", "stuck": "stuck", "garbage": "noise", "wrong": "bias", "delayed": "delay"}
_TAPS = {
    "gyro": "imu.gyro_", "accel": "imu.accel_", "mag": "mag.", "baro": "baro.", "optical_flow": "flow.",
    "distance_sensor": "range.", "airspeed": "airspeed.",
}  # fmt: skip
FAULT_OF = {  # unit and type of failure -> fault of the catalogue, at full severity
    **{(unit, how): f"{tap}{effect}@1" for unit, tap in _TAPS.items() for how, effect in _SENSOR.items()},
    ("gps", "off"): "gnss.jamming@1",
    ("gps", "stuck"): "gnss.position_stuck@1",
    ("gps", "garbage"): "gnss.position_noise@1",
    ("gps", "wrong"): "gnss.position_bias@1",
    ("gps", "delayed"): "gnss.position_delay@1",
    ("motor", "off"): "rotor.speed_loss@1",
    ("motor", "stuck"): "rotor.stuck@1",
    ("motor", "slow"): "rotor.slow_response@1",
    ("battery", "off"): "battery.power_off@1",
}
MOST_UNITS = 16
_UNIT_OF = {number: word for word, number in UNITS.items()}
_TYPE_OF = {number: word for word, number in TYPES.items()}


class Breaks(Protocol):
    """A vehicle whose parts can be made to fail and to work again."""

    def inject(self, injection: Injection) -> str | None:
        """Begin a fault; returns the reason of a refusal, or None."""

    def end(self, injection: Injection) -> str | None:
        """End a fault that was begun by the same injection; returns the reason of a refusal, or None."""


def has_counterpart(unit: float, how: float) -> bool:
    """Whether a failure of MAVLink is a fault of the catalogue, or the end of one."""
    part, kind = _UNIT_OF.get(_number(unit)), _TYPE_OF.get(_number(how))
    known = {unit_ for unit_, _ in FAULT_OF}
    return (part, kind) in FAULT_OF or (part in known and kind == _TYPE_OF[OK])


def _number(value: float) -> int:
    return int(value) if math.isfinite(value) else -1


class Failures:
    """Failures that ground stations have injected and not ended."""

    def __init__(self, commander: Breaks) -> None:
        self._commander = commander
        self._active: dict[tuple[str, int], list[Injection]] = {}

    def take(self, unit: float, how: float, instance: float) -> str | None:
        """Begin or, with the type OK, end a failure; returns the reason of a refusal, or None."""
        if not all(math.isfinite(value) and value == round(value) for value in (unit, how, instance)):
            return "unit, type and instance are whole numbers"
        part, kind, number = _UNIT_OF.get(int(unit)), _TYPE_OF.get(int(how)), int(instance)
        if part is None or kind is None or not 0 <= number <= MOST_UNITS:
            return f"no failure has unit {unit:g}, type {how:g} and instance {instance:g}"
        if int(how) == OK:
            return self._end(part, number)
        name = FAULT_OF.get((part, kind))
        if name is None:
            able = ", ".join(sorted(word for unit_, word in FAULT_OF if unit_ == part))
            return f"'{part}' cannot be '{kind}' here" + (f"; it can be {able}" if able else "")
        return self._begin(part, name, number)

    def _begin(self, part: str, name: str, number: int) -> str | None:
        injections: list[Injection] = []
        reason: str | None = None
        for place in itertools.count(1) if number == 0 else (number,):
            try:
                injection = Injection(FAULTS[name], instance=place)
            except IronbirdError as error:
                return str(error)
            reason = self._commander.inject(injection)
            if reason is not None or place == MOST_UNITS:
                break
            injections.append(injection)
        if not injections:
            return reason
        self._active.setdefault((part, number), []).extend(injections)
        return None

    def _end(self, part: str, number: int) -> str | None:
        keys = [key for key in self._active if key[0] == part and number in (0, key[1])]
        if not keys:
            return f"no failure of '{part}' is active"
        reasons = [self._commander.end(injection) for key in keys for injection in self._active.pop(key)]
        return next(filter(None, reasons), None)
