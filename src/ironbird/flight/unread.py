"""Signals that nothing of a vehicle reads: a fault on one of them changes no flight, however large it is.

The airspeed sensor of a quadcopter is one, and the magnetic field under a control system that knows the true state.
"""

from __future__ import annotations

import functools

from ironbird.flight.order import Order
from ironbird.flight.systems import INSIDE
from ironbird.vehicles import places as at
from ironbird.vehicles.load import load_vehicle


def is_read(order: Order, signal: str, reads: frozenset[str] | None = None) -> bool:
    """Whether the part that gives a signal has an effect on the vehicle's motion.

    Control systems outside may read every sensor, but for those that are known to have read certain signals (`reads`);
    signals that the vehicle's file does not have count as read.
    """
    if order.control in INSIDE:
        known, reading = _blocks(order.vehicle, order.control, frozenset())
    elif reads is not None:
        known, reading = _blocks(order.vehicle, "external", reads)
    else:
        return True
    block = signal.rpartition(".")[0]
    return block not in known or block in reading


@functools.lru_cache(maxsize=64)
def _blocks(vehicle: str, control: str, reads: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """All blocks of a vehicle, and those from which signals lead to its body or to what is read of it."""
    diagram = load_vehicle(vehicle, control=control).diagram
    sources: dict[str, set[str]] = {}
    for port, signals in diagram.links.items():
        sources.setdefault(port.rpartition(".")[0], set()).update(signal.rpartition(".")[0] for signal in signals)
    reading, left = set[str](), [at.BODY.path, *(signal.rpartition(".")[0] for signal in reads)]
    while left:
        block = left.pop()
        if block not in reading:
            reading.add(block)
            left += sources.get(block, ())
    return frozenset(diagram.blocks), frozenset(reading)
