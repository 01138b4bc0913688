"""Benches: for each fault of the catalogue, an order or a set-up in which its effect shows.

A fault of a part is flown on a vehicle that has it, one of wires on a board with chips, one of sight in a world, one of
firmware on the emulated board. Packets need no vehicle: they go over a link of the router. A chip whose FIFO overflows
is read by a special host, as the usual drivers do not use the FIFO.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ironbird.boards.board import load_board
from ironbird.boards.wiring import WireWitness, Wiring
from ironbird.faults.catalog import KNOWN, parse_fault
from ironbird.faults.spec import Fault, Injection
from ironbird.flight.order import Order, Weather, make_order
from ironbird.protocols.mavlink.codec import Packer
from ironbird.protocols.mavlink.dialect import ATTITUDE, COMMAND_ACK, HEARTBEAT
from ironbird.transport.disturbance import Disturbance, LinkWitness
from ironbird.transport.frames import Frame, FrameReader

MS = 1_000_000  # in ns
FIFO = "chip.overflow"  # is seen by a host that reads the FIFO
WINDY = Weather(4.0, 200.0, 6.0)  # so that all parts work


@dataclass(frozen=True)
class Bench:
    """A flight in which faults show; the first bench that claims a fault is used."""

    faults: tuple[str, ...]  # ids without versions, or how they begin, with a dot or line at the end
    vehicle: str = "quad_f450"
    control: str = "reference"
    mission: str | None = None
    instance: int | str = 1
    start_s: float = 8.0
    lasts_s: float = 2.0
    settings: Mapping[str, float] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    world: str = ""
    sight: tuple[Mapping[str, Any], ...] = ()
    weather: Weather = WINDY

    def claims(self, name: str) -> bool:
        """Whether this bench shows the fault with this id."""
        return any(name.startswith(f if f[-1] in "._" else f"{f}@") for f in self.faults)


def _chips(*faults: str, instance: str, start_s: float = 3.0, board: str = "pilotpi") -> Bench:
    return Bench(
        faults, control="chips", mission="hover", instance=instance, start_s=start_s, lasts_s=1.0,
        options={"board": board}, weather=Weather(),
    )  # fmt: skip


def _firmware(*faults: str, instance: int | str = 1, lasts_s: float = 2.0) -> Bench:
    return Bench(
        faults, vehicle="tiltrotor_provant", control="firmware", mission="spiral", instance=instance, start_s=10.0,
        lasts_s=lasts_s, weather=Weather(),
    )  # fmt: skip


USUAL = Bench(())
BENCHES = (
    Bench(("wheel.stuck", "wheel.hard_over"), "rover_differential", "truth", instance="left", lasts_s=4.5),
    Bench(("steering.", "wheel.", "road."), "car_escort", "truth", lasts_s=3.0),
    Bench(("servo.",), "aerosonde", "truth", instance="elevator"),
    Bench(("thruster.", "current.", "waves."), "boat_otter", "truth", settings={"current.speed": 0.2}),
    _chips("wire.swapped", instance="imu", board="pixhawk1"),
    _chips("wire.tx_", instance="gps", start_s=0.0),  # the host speaks to the receiver at its start
    _chips("chip.identity", instance="imu", start_s=0.0),  # which is asked at its start
    _chips("wire.rx_", "wire.lost", "wire.doubled", "wire.baud", instance="gps"),
    _chips("wire.scl_", "wire.sda_", instance="i2c1"),
    _chips("wire.nack", "wire.stretch", instance="mag"),
    _chips("wire.", "chip.", instance="imu"),
    _firmware("firmware.task_hung", instance=2, lasts_s=0.5),
    _firmware("firmware.peripheral_dead", instance="dma1"),
    _firmware("firmware.brown_out", lasts_s=0.05),
    _firmware("firmware."),
    Bench(
        ("sight.",), control="truth", instance="around", start_s=3.0, world="forest", weather=Weather(),
        sight=({"kind": "ring", "name": "around", "beams": 16, "max_m": 40.0},),
    ),
)  # fmt: skip


def bench_of(fault: Fault) -> Bench:
    """The bench that shows a fault."""
    return next((bench for bench in BENCHES if bench.claims(fault.id)), USUAL)


def usual_injection(text: str, known: Mapping[str, Fault] = KNOWN) -> Injection:
    """A fault as ordered, or, for an id alone, with the part and the times of its bench."""
    if ":" in text:
        return parse_fault(text, known)
    injection = parse_fault(text, known)
    bench, fault = bench_of(injection.fault), injection.fault
    instance = "ground" if fault.needs == "link" else bench.instance
    return replace(
        injection,
        instance=instance if fault.counts_instances else 1,
        start_s=bench.start_s,
        end_s=bench.start_s + bench.lasts_s,
    )


def bench_order(injection: Injection, vehicle: str | None = None) -> Order:
    """The flight that shows a fault, on its bench or on another vehicle."""
    bench = bench_of(injection.fault)
    if vehicle is not None:
        bench = replace(bench, vehicle=vehicle)
    ended = injection.end_s if np.isfinite(injection.end_s) else injection.start_s + bench.lasts_s
    return make_order(
        bench.vehicle,
        control=bench.control,
        mission=bench.mission,
        faults=[injection],
        weather=bench.weather,
        settings=bench.settings,
        options=bench.options,
        world=bench.world,
        sight=bench.sight,
        until_s=max(ended, injection.start_s + injection.rise_s) + bench.lasts_s,
    )


# ---------------------------------------------------------------------- packets


@dataclass(frozen=True)
class LinkRun:
    """Packets over one link: when each was sent, when it or its copy arrived, and what the fault did."""

    witness: LinkWitness
    sent_s: np.ndarray
    arrived_s: np.ndarray  # in the order of their arrival
    late_s: np.ndarray  # of those that arrived: how long they were on their way; NaN of changed ones


def over_link(injection: Injection, seed: int = 0) -> LinkRun:
    """Telemetry over a link with a fault: attitude at 50 Hz, a heartbeat and an acknowledgement per second."""
    link = Disturbance(str(injection.instance), [injection], seed)
    until_s = injection.start_s + 4.0 if not np.isfinite(injection.end_s) else injection.end_s + 2.0
    packets = _telemetry(until_s)
    sent = {packet.data: time_s for time_s, packet in packets}
    out: list[tuple[float, bytes]] = []
    for time_s, packet in packets:
        out += [(time_s, data) for data in link.overdue(time_s)]
        out += link.passes(time_s, packet)
    out.sort(key=lambda pair: pair[0])
    arrived = np.array([time_s for time_s, _ in out])
    late = np.array([time_s - sent.get(data, np.nan) for time_s, data in out])
    return LinkRun(link.witnesses[0], np.array([time_s for time_s, _ in packets]), arrived, late)


def _telemetry(until_s: float) -> list[tuple[float, Frame]]:
    packer, reader = Packer(), FrameReader()
    packets: list[tuple[float, Frame]] = []
    for number in range(round(50 * until_s)):
        packer.add(ATTITUDE, 20 * number, 0.1, 0.2, 0.3, 0.0, 0.0, 0.0)
        if number % 50 == 0:
            packer.add(HEARTBEAT, number, 2, 12, 0, 4, 3)
            packer.add(COMMAND_ACK, 400, 0, 0, number, 0, 0)
        packets += [(number / 50, frame) for frame in reader.feed(bytes(packer.take()))]
    return packets


# ---------------------------------------------------------------------- a FIFO


def read_fifo(injection: Injection) -> WireWitness:
    """A host that reads the FIFO of an inertial chip (that of a Pixhawk 4) every 1 ms, with a fault of the chip."""
    wiring = Wiring(load_board("pixhawk4"), [injection])
    device = wiring.board.device[0]
    for setting in (b"\x6b\x01", b"\x23\x78", b"\x6a\x50"):  # clock on, all axes into the FIFO, FIFO on
        wiring.spi(0, device.bus, device.select or 0, setting)
    for step in range(1, round(1000 * (injection.start_s + 0.1))):
        for request in (b"\xf2\0\0", b"\xba\0", b"\x6a\x54"):  # count, interrupt status, and empty it
            wiring.spi(step * MS, device.bus, device.select or 0, request)
    return wiring.witnesses[0]
