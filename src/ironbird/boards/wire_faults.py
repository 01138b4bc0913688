"""Wire faults in flights. The wires of a board are blocks of the vehicle's diagram, so that the kernel applies windows,
shapes and triggers of their faults like all others; this module transfers their outputs to the wires of the chips.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ironbird.blocks.sensors.wire import LINE, PLACE, Wire, WirePlace
from ironbird.boards.board import Board
from ironbird.boards.native_board import FirstDifference, NativeBoard
from ironbird.boards.wiring import I2C_LINES, SPI_LINES, UART_LINES
from ironbird.faults.spec import Injection
from ironbird.rig.own_witness import OwnWitness
from ironbird.rig.rig import Rig
from ironbird.vehicles.load import Vehicle

TICK_S = 0.001  # s between changes of wires
LINES = {"spi": SPI_LINES, "i2c": I2C_LINES, "uart": UART_LINES}


def places_of(board: Board) -> dict[str, Sequence[str]]:
    """Devices and I2C buses of a board that faults may name, each with its wires."""
    places: dict[str, Sequence[str]] = {}
    for device in board.device:
        places[device.name] = () if device.kind == "i2c" else LINES[device.kind]
        if device.kind == "i2c":
            places[device.bus] = I2C_LINES
    return places


def with_wires(vehicle: Vehicle, board: Board) -> Vehicle:
    """The vehicle with blocks for the wires of a board."""
    wired = vehicle.diagram.copied()
    for place, lines in places_of(board).items():
        wired.add(f"wire/{place}", WirePlace(sample_s=TICK_S))
        for line in lines:
            wired.add(f"wire/{place}/{line}", Wire(sample_s=TICK_S))
    return replace(vehicle, diagram=wired)


class BrokenWires:
    """Transfers the kernel's wire faults to the chips, and records the first difference for each fault."""

    def __init__(self, chips: NativeBoard, rig: Rig, injections: Sequence[Injection]) -> None:
        self.chips = chips
        self._held = rig.stepper.held
        self._parts: list[tuple[str, str, slice, tuple[str, ...]]] = []  # place, wire, rows of the state, names
        for place, lines in places_of(chips.board).items():
            self._parts.append((place, "", rig.stepper.held_rows(f"wire/{place}.state"), tuple(PLACE)))
            for line in lines:
                rows = rig.stepper.held_rows(f"wire/{place}/{line}.state")
                self._parts.append((place, line, rows, tuple(LINE)))
        first = min(rows.start for _, _, rows, _ in self._parts)
        last = max(rows.stop for _, _, rows, _ in self._parts)
        self._view = self._held[first:last]
        self._before = b""
        self._now = [self._held[rows].copy() for _, _, rows, _ in self._parts]
        self._waiting: list[Injection] = []  # with any end: a fault may be ended in flight
        for injection in injections:
            self.add(injection)
        self._watched: dict[int, str] = {}  # number of the fault: its place
        self.found: dict[Injection, FirstDifference] = {}

    def add(self, injection: Injection) -> None:
        """Record the first difference of one more fault, with absolute times; other faults than of wires are none."""
        if is_wire(injection):
            self._waiting.append(replace(injection, end_s=math.inf))

    def take(self, t: int) -> None:
        """Set the wires to the kernel's current values."""
        now = self._view.tobytes()
        if now != self._before:
            self._before = now
            self._change(t)
        if self._watched:
            self.look(t)

    def _change(self, t: int) -> None:
        for (place, line, rows, names), before in zip(self._parts, self._now, strict=True):
            values = self._held[rows]
            if np.array_equal(values, before):
                continue
            before[:] = values
            params = dict(zip(names, values.tolist(), strict=True))
            for number, injection in enumerate(self._waiting):
                if injection in self.found or number in self._watched or not _acts(injection, place, line, params, t):
                    continue
                self.chips.watch(place)
                self._watched[number] = place
            if line:
                self.chips.set_wire(place, line, params)
            else:
                self.chips.set_place(place, params, t)

    def look(self, t: int = 0) -> None:
        """Record differences on the wires since the last call, or in outputs at time `t`."""
        for number, place in list(self._watched.items()):
            difference = self.chips.first_difference(place, t)
            if difference is not None:
                self.found[self._waiting[number]] = difference
                del self._watched[number]

    def acted(self, injection: Injection) -> OwnWitness | None:
        """The witness of a wire fault; None for other faults."""
        if not is_wire(injection):
            return None
        difference = self.found.get(replace(injection, end_s=math.inf))
        if difference is None:
            return OwnWitness(f"wire/{injection.instance}", "1", float("nan"), 0.0)
        name = f"wire/{injection.instance}/{difference.line}, request {difference.request}, slot {difference.slot}"
        return OwnWitness(name, "1", difference.time_ns / 1e9, 1.0)


def _acts(injection: Injection, place: str, line: str, params: dict[str, float], t: int) -> bool:
    """Whether the current state of a wire or device is the effect of a fault."""
    if str(injection.instance) != place or t * 1e-9 < injection.start_s - 0.5 * TICK_S:
        return False
    neutral = {name: values[0] for name, values in (LINE if line else PLACE).items()}
    path = f"wire/{place}/{line}." if line else f"wire/{place}."
    names = [target.removeprefix(path) for target in injection.targets if target.startswith(path)]
    return any(params.get(name, 0.0) != neutral.get(name) for name in names if "/" not in name)


def is_wire(injection: Injection) -> bool:
    """Whether a fault is one of wires and chips."""
    return all(target.startswith("wire/") for target in injection.targets)
