"""Conversion of RFlySimSafe's fault packets to tables of a case file. See `faults/rflysimsafe.py`.

A packet has slots for eight ids and twenty parameters; slot i owns the parameters 2i and 2i + 1. A fault with more than
two parameters repeats its id in consecutive slots. Values that a packet does not set stay unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ironbird.errors import UnknownNameError
from ironbird.faults.rflysimsafe import IMUS, MAGNETOMETERS, MAP_A, MAP_B, MAP_C, RECEIVERS

MAPS = ("A", "B", "C")
FIRST_ID = 123450  # smallest fault id
SLOTS, FLOATS = 8, 20  # number of ids and of parameters in a packet
ARM_M = 0.225  # m, arm length of their vehicle
# satellites of a receiver; those of RFlySimSafe from the second on, without jamming: assumed, as in the table of cases
SATELLITES, THEIR_SATELLITES = 14, 10

Order = dict[str, Any]  # a fault table without times
Orders = tuple[list[Order], list[str]]  # fault tables, and texts about what has no counterpart

# Map B numbers the same faults otherwise. Assumed: the parameters of a fault of the same name are those of map A
B_AS_A = {
    123450: 123450, 123451: 123451, 123452: 123453, 123453: 123454, 123454: 123455, 123455: 123456, 123456: 123457,
    123457: 123458, 123458: 123459, 123459: 123540, 123540: 123541, 123541: 123542, 123542: 123544, 123543: 123545,
    123544: 123546, 123546: 123548,
}  # fmt: skip


def _cut(severity: float) -> float:
    return float(f"{min(max(severity, 0.0), 1.0):.6g}")


def _factors(fault: str, factors: Sequence[float], loss: Callable[[float], float]) -> Orders:
    orders, missing = [], []
    for number, factor in enumerate(factors, start=1):
        if factor > 1:
            missing.append(f"{fault} with factor {factor:g}: the fault of Ironbird loses, never gains")
        elif factor < 1:
            orders.append({"id": fault, "instance": number, "severity": _cut(loss(factor))})
    return orders, missing


def _axes(fault: str, shares: Sequence[float]) -> Orders:
    """One injection per axis; severities have no sign."""
    orders, missing = [], []
    for axis, share in enumerate(shares):
        if share < 0:
            missing.append(f"{fault} against axis {axis}: severity has no sign")
        elif share > 0:
            orders.append({"id": fault, "axis": axis, "severity": _cut(share)})
    return orders, missing


def _noise(fault: str, count: int, level: float, down: float) -> Orders:
    """Noise on every sensor of a kind, stronger along the vertical."""
    orders: list[Order] = []
    for instance in range(1, count + 1):
        if _cut(level) == _cut(down):
            orders.append({"id": fault, "instance": instance, "severity": _cut(level)})
        else:
            shares = (level, level, down)
            orders += [
                {"id": fault, "instance": instance, "axis": i, "severity": _cut(s)} for i, s in enumerate(shares)
            ]
    return orders, []


def _gps(gain: float, satellites: float) -> Orders:
    orders: list[Order] = []
    if gain > 0:
        level = (0.3 + 0.7 * gain) * 0.2 / math.sqrt(3) / 30.0
        orders += _noise("gnss.position_noise@1", RECEIVERS, level, 2 * level)[0]
    if satellites < THEIR_SATELLITES:
        severity = _cut(1 - satellites / SATELLITES)
        orders += [{"id": "gnss.jamming@1", "instance": i, "severity": severity} for i in range(1, RECEIVERS + 1)]
    return orders, []


def _one(fault: str, severity: float, **more: Any) -> Orders:
    return [{"id": fault, "severity": _cut(severity), **more}], []


def _gust(strength: float, per_minute: float) -> Orders:
    if not per_minute > 0:
        return [], ["a gust without arrivals"]
    return _one("wind.gust@1", strength / 20, axis=0, shape="intermittent", period_s=60 / per_minute, duty=0.5)


def _leak(ratio: float, rate: float) -> Orders:
    return (
        _one("load.leak@2", ratio / 0.99, shape="ramp", rise_s=1 / rate) if rate > 0 else ([], ["a leak without rate"])
    )


_TRANSLATIONS: dict[int, Callable[[Sequence[float]], Orders]] = {  # [RFlySimSafe] Init.m and QuadModelv, map A
    123450: lambda p: _factors("rotor.speed_loss@1", p[: 2 if len(p) <= 2 else 4], lambda f: 1 - f),
    123451: lambda p: _factors("rotor.blade_damage@1", [*p, 0, 0, 0, 0][:4], lambda f: 1 - f**2),
    123453: lambda p: _one("battery.power_off@1", 1.0),
    123454: lambda p: _one("battery.low_voltage@1", 1 - p[0]),
    123455: lambda p: _one("battery.low_capacity@1", (1 - p[0]) / 0.99),
    123456: lambda p: _one("load.drop@2", min(p[0], 0.95) / 0.99),
    123457: lambda p: _axes("load.shift@1", [p[0] * ARM_M * share / 0.05 for share in [*p[1:], 0, 0, 0][:3]]),
    123458: lambda p: _leak(p[0], p[1]),
    123459: lambda p: _axes("wind.steady@1", [component / 20 for component in p[:3]]),
    123540: lambda p: _gust(p[0], p[1]),
    123541: lambda p: _one("wind.turbulence@1", 2.5 * p[0] / 30),
    123542: lambda p: _one("wind.shear@1", p[0] / 10, axis=0),
    123544: lambda p: _noise("imu.accel_noise@1", IMUS, *_level(5, p[0], 0.1, 5.0, 2)),
    123545: lambda p: _noise("imu.gyro_noise@1", IMUS, *_level(5, p[0], 0.01, 1.0, 1)),
    123546: lambda p: _noise("mag.noise@1", MAGNETOMETERS, *_level(2, p[0], 1e-6, 5e-5, 1)),
    123548: lambda p: _gps(p[0], p[2] if len(p) > 2 else THEIR_SATELLITES),
}


def _level(scale: float, gain: float, bound: float, unit: float, down: float) -> tuple[float, float]:
    """Severity of a sensor's noise, horizontal and vertical: their uniform bound as a standard deviation."""
    level = scale * (0.2 + 0.8 * gain) * bound / math.sqrt(3) / unit
    return level, down * level


_NAMES: dict[str, Mapping[int, str]] = {"A": {id: entry.name for id, entry in MAP_A.items()}, "B": MAP_B, "C": MAP_C}


def translate(id: int, params: Sequence[float], map_name: str) -> Orders:
    """One fault of RFlySimSafe as injections of Ironbird without times, and texts about what has no counterpart."""
    if map_name not in MAPS:
        raise UnknownNameError("map of fault ids", map_name, MAPS)
    as_a = id if map_name == "A" else B_AS_A.get(id, 0) if map_name == "B" else 0
    if as_a not in _TRANSLATIONS:
        return [], [f"fault {id} of map {map_name} ({_NAMES[map_name].get(id, 'unknown there')})"]
    return _TRANSLATIONS[as_a]([*params, 0.0, 0.0] if len(params) < 2 else params)


@dataclass
class Slots:
    """Current content of the slots of their packet."""

    ids: list[int] = field(default_factory=lambda: [0] * SLOTS)
    floats: list[float] = field(default_factory=lambda: [0.0] * FLOATS)

    def put(self, ids: Sequence[int], floats: Sequence[float]) -> dict[int, list[float]]:
        """Update the slots with a packet; returns each of its faults with its parameters. Excess ones are ignored."""
        ids, floats = ids[:SLOTS], floats[:FLOATS]
        self.ids[: len(ids)] = ids
        self.floats[: len(floats)] = floats
        faults = {}
        for id in dict.fromkeys(id for id in ids if id >= FIRST_ID):
            slots = [i for i, known in enumerate(self.ids) if known == id]
            faults[id] = [self.floats[2 * i + k] for i in slots for k in (0, 1)]
        return faults
