"""Model inputs of RflySim (port 30100) as faults of the catalogue and parameters of the model.

A fault id depends on its map, see `faults/rflysimsafe.py`. An id without a counterpart is reported, not guessed. If the
id of an active fault is sent again, the earlier fault ends and a new one begins with the new parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ironbird.errors import FaultError, LinkError
from ironbird.faults.catalog import FAULTS, read_fault
from ironbird.faults.rflysimsafe import MAP_A, MAP_B, MAP_C
from ironbird.faults.rflysimsafe_orders import FIRST_ID, Slots, translate
from ironbird.faults.spec import Injection

KNOWN_IDS = frozenset({*MAP_A, *MAP_B, *MAP_C})
MOTOR_NOISE_ID = 111111  # of map B
MOST_FAULTS = 400  # of one flight: limit for a flood of packets

# FaultInParams [RFlySimSafe]: entry (from 0) -> fault, axis, what severity 1 is. Entries that are not here (periods of
# gusts, damping of sensors, directions) have no counterpart.
FAULT_PARAMS: Mapping[int, tuple[str, int | None, float]] = {
    0: ("link.noise@1", None, 0.3),  # motor noise gain
    1: ("wind.gust@1", 0, 20.0),
    3: ("wind.turbulence@1", None, 30.0),  # W20, m/s
    5: ("wind.shear@1", 0, 10.0),
    7: ("wind.gust@1", 0, 20.0),
    10: ("imu.accel_bias@1", 0, 5.0), 11: ("imu.accel_bias@1", 1, 5.0), 12: ("imu.accel_bias@1", 2, 5.0),
    14: ("imu.gyro_bias@1", 0, 1.0), 15: ("imu.gyro_bias@1", 1, 1.0), 16: ("imu.gyro_bias@1", 2, 1.0),
}  # fmt: skip

# rfly_ctrl [RflySim PHM documents]: id -> fault that adds a value, what severity 1 is
ADDED_IN_AUTOPILOT: Mapping[int, tuple[str, float]] = {
    123455: ("mag.bias@1", 5e-5),
    123456: ("gnss.position_bias@1", 30.0),
    123542: ("imu.accel_bias@1", 5.0),
}


@dataclass
class FaultDesk:
    """Turns packets into injections that begin now, and keeps those that are active."""

    map_name: str
    known: frozenset[str]  # paths of the vehicle's parameters
    init_params: Mapping[int, str] = field(default_factory=dict)  # entry of InitInParams -> path
    dyn_params: Mapping[int, str] = field(default_factory=dict)  # entry of DynModiParams -> path
    inject: Callable[[Injection], str | None] = lambda injection: None
    end: Callable[[Injection], str | None] = lambda injection: None
    set_param: Callable[[str, float], str | None] = lambda path, value: None
    said: Callable[[str], None] = lambda text: None
    slots: Slots = field(default_factory=Slots)
    count: int = 0
    _running: dict[object, tuple[list[dict[str, Any]], list[Injection]]] = field(default_factory=dict)

    def is_fault(self, ints: Sequence[int]) -> bool:
        """Whether the integers of a packet are fault ids; otherwise they are bits of commands."""
        return any(number in KNOWN_IDS or number == MOTOR_NOISE_ID for number in ints)

    def sil(self, ints: Sequence[int], floats: Sequence[float]) -> None:
        """Process a packet of fault ids and parameters."""
        if not all(map(math.isfinite, floats)):
            self.said("a fault with parameters that are not finite is left out")
            return
        if MOTOR_NOISE_ID in ints:
            self._put(("noise",), [{"id": "link.noise@1", "severity": min(max(floats[0] / 0.3, 0.0), 1.0)}], [])
        for id, owned in self.slots.put([number if number >= FIRST_ID else 0 for number in ints], floats).items():
            try:
                orders, missing = translate(id, owned, self.map_name)
            except (IndexError, ZeroDivisionError, OverflowError):
                orders, missing = [], [f"fault {id}: its parameters {owned} cannot be read"]
            self._put(id, orders, missing)

    def fault_params(self, mask: int, values: Sequence[float]) -> None:
        """Process FaultInParams: entries whose bit is set."""
        for entry, value in _chosen(mask, values):
            if entry not in FAULT_PARAMS:
                self.said(f"FaultInParams {entry + 1} has no counterpart here")
                continue
            fault, axis, unit = FAULT_PARAMS[entry]
            self._put(("fault_params", entry), *_signed(fault, axis, value / unit))

    def model_params(self, struct: str, mask: int, values: Sequence[float]) -> None:
        """Process InitInParams and DynModiParams: parameters of the model that the options name."""
        names = self.init_params if struct == "InitInParams" else self.dyn_params
        for entry, value in _chosen(mask, values):
            if entry not in names:
                option = "init-params" if struct == "InitInParams" else "dyn-params"
                self.said(f"{struct} {entry + 1} names no parameter; say which with --{option} {entry + 1}=PATH")
                continue
            refused = self.set_param(names[entry], value)
            self.said(f"{struct} {entry + 1}: {names[entry]} = {value:g}" + (f" refused: {refused}" if refused else ""))

    def autopilot(self, data: Sequence[float]) -> None:
        """Process rfly_ctrl: faults of map B inside PX4: an id, 1 replace or 2 add, values."""
        if not all(map(math.isfinite, data)):
            return
        id, how = int(data[0]), int(data[1])
        if how != 2 or id not in ADDED_IN_AUTOPILOT:
            self.said(f"rfly_ctrl {id}, {how} has no counterpart in the reference autopilot")
            return
        fault, unit = ADDED_IN_AUTOPILOT[id]
        orders: list[dict[str, Any]] = []
        missing: list[str] = []
        for axis, value in enumerate(data[2:5]):
            more, lacking = _signed(fault, axis, value / unit)
            orders, missing = orders + more, missing + lacking
        self._put(("rfly_ctrl", id), orders, missing)

    def hit(self) -> None:
        """Process a collision with another vehicle: the vehicle falls, as in RflySim's models."""
        self._put(("hit",), [{"id": "battery.power_off@1", "severity": 1.0}], [])

    # ------------------------------------------------------------------ inner

    def _put(self, key: object, orders: list[dict[str, Any]], missing: Iterable[str]) -> None:
        for text in missing:
            self.said(f"no counterpart: {text}")
        before = self._running.get(key)
        if before is not None and before[0] == orders:
            return  # clients repeat packets
        if before is not None:
            for injection in before[1]:
                refused = self.end(injection)
                if refused:
                    self.said(f"{injection.fault.id} goes on: {refused}")
        started = []
        for order in orders:
            for table in self._everywhere(order):
                if self.count >= MOST_FAULTS:
                    self.said(f"more than {MOST_FAULTS} faults in one flight: {table['id']} is left out")
                    continue
                try:
                    injection = read_fault(table)
                except FaultError as error:
                    self.said(f"{table['id']} left out: {error}")
                    continue
                self.count += 1
                refused = self.inject(injection)
                if refused:
                    self.said(f"{table['id']} refused: {refused}")
                else:
                    started.append(injection)
        self._running[key] = orders, started

    def _everywhere(self, order: dict[str, Any]) -> list[dict[str, Any]]:
        """Orders for every sensor of a kind: RflySim's vehicle has one of each, so its fault affects all here."""
        fault = FAULTS[order["id"]]
        family = fault.id.partition(".")[0]
        if not fault.has_severity:
            order = {key: value for key, value in order.items() if key != "severity"}
        if family not in ("imu", "mag", "gnss", "baro") or not fault.counts_instances:
            return [order]
        target = fault.changes[0].target
        instances = [number for number in range(1, 9) if target.replace("{instance}", str(number)) in self.known]
        return [order | {"instance": number} for number in instances] or [order]


def _signed(fault: str, axis: int | None, share: float) -> tuple[list[dict[str, Any]], list[str]]:
    if share < 0:
        return [], [f"{fault}, axis {axis}: severity has no sign"]
    if share == 0:
        return [], []
    order: dict[str, Any] = {"id": fault, "severity": min(share, 1.0)}
    return [order if axis is None else order | {"axis": axis}], []


def _chosen(mask: int, values: Sequence[float]) -> list[tuple[int, float]]:
    return [(n, value) for n, value in enumerate(values) if mask >> n & 1 and math.isfinite(value)]


def entries_of(text: str, option: str, most: int) -> dict[int, str]:
    """Parameter paths by entry (from 0), parsed from `1=body.mass,2=body.inertia[0]`."""
    paths = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        number, equals, path = (piece.strip() for piece in part.partition("="))
        if not equals or not path or not number.isascii() or not number.isdigit() or not 1 <= int(number[:4]) <= most:
            raise LinkError(f"--{option} '{part}': give NUMBER=PATH, numbers from 1 to {most}, e.g. 1=body.mass")
        paths[int(number) - 1] = path
    return paths
