"""Faults of a machine: applied as the vehicle's model outputs them, with their effect as the witness.

A bit flip happens once, when its fault begins. Its witness is the bit itself, and the later messages of the core.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ironbird.boards.firmware.machine import Machine, Registers
from ironbird.boards.firmware.upset_line import upset_paths
from ironbird.faults.spec import Injection
from ironbird.rig.own_witness import OwnWitness
from ironbird.rig.rig import Rig

REGISTERS = (*(f"r{i}" for i in range(13)), "sp", "lr", "pc")
WAKE_S, SLICE_S = 2e-3, 2e-6  # s to wait for a core that executes, and s of one try
RAM = 0x20000000


@dataclass
class Upset:
    """One fault place of a machine, and what happened there."""

    path: str
    on: bool = False
    first_s: float = math.nan
    size: float = 0.0
    detail: str = ""


@dataclass
class Upsets:
    """Applies the faults of the model to a machine."""

    machine: Machine
    rig: Rig
    turns: tuple[str, ...]  # symbols of the tasks' cycle counters
    places: dict[str, Upset] = field(default_factory=dict)
    waiting: bool = False  # waiting for the first effect of a fault

    def __post_init__(self) -> None:
        held = self.rig.state.model.flat.held.start
        rows: list[int] = []
        for path in upset_paths(len(self.turns), [row.name for row in self.machine.device.peripheral]):
            if f"{path}.acts" in held:
                self.places[path] = Upset(path)
                rows += [self.rig.stepper.held_rows(f"{path}.{name}").start for name in ("acts", "size")]
        self._rows, self._seen = np.array(rows, np.intp), b""
        symbols = self.machine.image.symbols
        ends = [value + size for value, size in symbols.values() if size and RAM <= value < RAM + (1 << 20)]
        self.ram_bytes = max(ends, default=RAM + 4) - RAM

    def apply(self, before_s: float) -> None:
        """Apply active faults; called before the machine runs on from a time."""
        now = self.rig.stepper.held[self._rows]
        if now.tobytes() == self._seen:
            return
        self._seen = now.tobytes()
        for upset, acts, size in zip(self.places.values(), now[::2].tolist(), now[1::2].tolist(), strict=True):
            on = acts > 0.5
            if on != upset.on or (on and upset.path == "mcu/clock" and size != upset.size):
                upset.on = on
                self._change(upset, on, size, before_s)
        self.waiting = any(upset.on and math.isnan(upset.first_s) for upset in self.places.values())

    def _change(self, upset: Upset, on: bool, amount: float, now_s: float) -> None:
        machine, path = self.machine, upset.path
        if path == "mcu/ram" and on:
            bit = min(int(amount * 8 * self.ram_bytes), 8 * self.ram_bytes - 1)
            address = RAM + bit // 8
            cell = machine.store(address, 1)
            cell[0] ^= 1 << bit % 8
            machine.changed()
            upset.first_s, upset.size = now_s, float(1 << bit % 8)
            upset.detail = f"bit {bit % 8} of {machine.image.at(address)}"
        elif path == "mcu/register" and on:
            self._flip_register(upset, amount, now_s)
        elif path.startswith("mcu/task/"):
            number = int(path.rpartition("/")[2]) - 1
            machine.hang(number, machine.image.address(self.turns[number]), on)
        elif path.startswith("mcu/peripheral/"):
            machine.kill(path.rpartition("/")[2], on)
        elif path == "mcu/supply":
            machine.hold(on)
            if on:
                upset.first_s, upset.size, upset.detail = now_s, 1.0, "reset by a low supply"
        elif path == "mcu/clock":
            machine.drift(amount if on else 0.0)
            upset.size = amount
            if on and math.isnan(upset.first_s):
                upset.first_s, upset.detail = now_s, f"clock at {machine.figures().clock_Hz / 1e6:.6f} MHz"

    def _flip_register(self, upset: Upset, amount: float, now_s: float) -> None:
        machine, end_s = self.machine, now_s + WAKE_S
        while machine.time_s < end_s and machine.figures().sleeping:
            machine.run(machine.time_s + SLICE_S)
        values = machine.registers()
        bit = min(int(amount * 32 * len(REGISTERS)), 32 * len(REGISTERS) - 1)
        name, mask = REGISTERS[bit // 32], 1 << bit % 32
        flip(values, name, mask)
        place = machine.image.at(machine.registers().pc)
        machine.set_registers(values)
        upset.first_s, upset.size, upset.detail = now_s, float(mask), f"bit {bit % 32} of {name} in {place}"

    def look(self, now_s: float) -> None:
        """Record effects on dead peripherals and hung tasks; called after the machine has run."""
        if not self.waiting:
            return
        for path, upset in self.places.items():
            if not upset.on or not math.isnan(upset.first_s):
                continue
            name = path.rpartition("/")[2]
            if path.startswith("mcu/task/") and self.machine.hang_hits(int(name) - 1):
                upset.first_s, upset.size, upset.detail = now_s, 1.0, f"hang in {self.turns[int(name) - 1]}"
            elif path.startswith("mcu/peripheral/") and self.machine.refused(name):
                upset.first_s, upset.size, upset.detail = now_s, 1.0, f"refused access to {name}"

    def acted(self, injection: Injection, outcome: str) -> OwnWitness | None:
        """The witness of a fault of this machine; None for other faults."""
        path = injection.targets[0].rpartition(".")[0]
        upset = self.places.get(path)
        if upset is None:
            return None
        detail = upset.detail or path
        return OwnWitness(detail + (f", then {outcome}" if outcome else ""), "1", upset.first_s, upset.size)


def flip(values: Registers, name: str, mask: int) -> None:
    """Flip bits of a register by its name; `sp` is the stack pointer in use."""
    if name.startswith("r"):
        values.r[int(name[1:])] ^= mask
        return
    if name == "sp":
        name = "psp" if values.control & 2 and not values.xpsr & 0x1FF else "msp"
    setattr(values, name, getattr(values, name) ^ mask)
