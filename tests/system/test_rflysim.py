"""RflySim's network interface over real sockets: a client written from the document flies a vehicle in lockstep.

The client is looked at in every exchange, before the vehicle, so that no test depends on the speed of the computer.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ironbird.flight.flight import Flight, fly
from ironbird.flight.order import make_order
from ironbird.links.commanded.commander import Commander
from ironbird.links.commanded.kind import CommandedSystem
from ironbird.links.rflysim.front import RflySimFront

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "links" / "rflysim"))
from client import Client, free_shift

Script = Iterator[None]
SQUARE = ((5.0, 0.0), (5.0, 5.0), (0.0, 5.0), (0.0, 0.0))
HEIGHT_M = 5.0


class InStep(RflySimFront):
    """The front end, with a client that acts before each of its looks: 100 packets a second, simple ones 30."""

    def __init__(self, client: Client, script: Script, **options: object) -> None:
        super().__init__(options)
        self.client, self.script = client, script
        self.over = False
        self._looks = 0

    def poll(self, commander: Commander) -> None:
        self.client.hear()
        self._looks += 1
        if self._looks % (8 if self.client.simple else 3) == 0:
            if next(self.script, "end") == "end":
                self.over = True
            elif self.client.setpoint:
                self.client.send(self.client.setpoint)
        super().poll(commander)

    @property
    def finished(self) -> bool:
        return self.over or super().finished


def flown(
    client: Client, script: Script, shift: int, *, until_s: float = 60.0, **options: object
) -> tuple[Flight, InStep]:
    front = InStep(client, script, shift=shift, **options)
    try:
        order = make_order("quad_f450", mission="hover", until_s=until_s)
        return fly(order, control=CommandedSystem(front)), front
    finally:
        client.close()


def until(holds: object) -> Script:
    while not holds():  # type: ignore[operator]
        yield


def square_circle_and_fault(client: Client) -> Script:
    client.velocity(0, 0, 0)
    yield from until(lambda: client.ready)
    client.position(0, 0, -HEIGHT_M)
    yield from until(lambda: client.near(0, 0, -HEIGHT_M))
    for x, y in SQUARE:
        client.position(x, y, -HEIGHT_M)
        yield from until(lambda x=x, y=y: client.near(x, y, -HEIGHT_M))
    headings: set[int] = set()
    began = client.truth["time"][0]
    while len(headings) < 8:
        angle = client.truth["time"][0] - began
        client.velocity(2 * math.cos(angle), 2 * math.sin(angle), 0)
        vx, vy, _ = client.estimate["vel"]
        if math.hypot(vx, vy) > 1.0:
            headings.add(int(math.degrees(math.atan2(vy, vx)) % 360 // 45))
        yield
    client.sil([123450], [1.0, 0.3])
    yield from until(lambda: client.truth["pos"][2] > -1.5)


@pytest.mark.parametrize("mode", ["udp_full", "udp_simple"])
def test_a_client_written_from_the_document_flies_square_and_circle_and_stops_a_motor(mode: str) -> None:
    shift = free_shift()
    client = Client(shift, simple=mode == "udp_simple")

    flight, front = flown(client, square_circle_and_fault(client), shift, mode=mode)

    assert front.over, f"the client did not come to its end: {front.notes}"
    assert [witness.injection.fault.id for witness in flight.witnesses] == ["rotor.speed_loss@1"]
    assert flight.witnesses[0].effective and flight.witnesses[0].injection.instance == 2  # their second motor
    assert client.truth["pos"][:2] == pytest.approx(client.estimate["pos"][:2], abs=3.0)
    assert client.home[:2] == (401540302, 1162593683)
    assert client.origin[:2] == pytest.approx((40.1540302, 116.2593683), abs=1e-9)
    assert client.out_copter[1] == 1.0
    assert 0 < client.actuators[0] <= 1
    assert client.lengths["state"] == ({120} if mode == "udp_full" else {52})
    assert client.lengths["truth"] >= {200, 264, 32, 168 if mode == "udp_full" else 112}
    assert {happening.text for happening in flight.happenings} >= {"offboard", "armed"}
    assert flight.order.script and flight.repeats
