"""Blocks for faults of a microcontroller: parameters of the vehicle's model that the machine reads."""

from __future__ import annotations

from collections.abc import Iterable

from ironbird.model.block import Block, Values, View
from ironbird.model.diagram import Diagram
from ironbird.model.signal import Out, Param

SAMPLE_S = 0.001
PERIPHERALS = ("usart2", "usart3", "dma1", "iwdg", "rcc", "gpiod")  # peripherals that the bench's firmware uses


class UpsetLine(Block):
    """Output of a fault of firmware from its parameter, with windows, shapes and triggers like all faults. Sampled."""

    source = "[ProVANT] Sec. 4"

    acts = Out(unit="1", doc="1 while the fault is there")
    size = Out(unit="1", doc="how much of it")
    active = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="1 orders the fault")
    amount = Param(unit="1", default=0.0, low=0.0, high=1.0, tunable=True, doc="what its severity means")

    def __init__(self) -> None:
        super().__init__(sample_s=SAMPLE_S)

    def output(self, x: View, u: View, p: View) -> Values:
        return {"acts": p.active, "size": p.amount}


def upset_paths(tasks: int, peripherals: Iterable[str] = PERIPHERALS) -> list[str]:
    """Paths of all fault blocks of a machine with so many tasks and these peripherals."""
    return [
        "mcu/ram", "mcu/register", "mcu/supply", "mcu/clock",
        *(f"mcu/task/{number}" for number in range(1, tasks + 1)),
        *(f"mcu/peripheral/{name}" for name in peripherals),
    ]  # fmt: skip


def add_upset_lines(diagram: Diagram, tasks: int, peripherals: Iterable[str] = PERIPHERALS) -> None:
    """Add the blocks for faults of a microcontroller to a vehicle."""
    for path in upset_paths(tasks, peripherals):
        diagram.add(path, UpsetLine())
