"""Link faults in flights: ordered like all others, to as many packets as ordered, witnessed, and gone when they end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hil_board import BoardCable, StillClock
from hil_board import fly_by_hand as fly

from ironbird.campaign.suite import load_suite
from ironbird.errors import FaultError, IronbirdError
from ironbird.faults.catalog import parse_fault
from ironbird.flight.flight import Flight
from ironbird.flight.order import Order, make_order
from ironbird.flight.prepare import fit, prepare
from ironbird.ground.wires import Disturbed, Source, Wire
from ironbird.protocols.mavlink import dialect
from ironbird.protocols.mavlink.codec import Packer
from ironbird.rig.link_faults import FlownLinks
from ironbird.rig.rig import Rig, attach
from ironbird.systems.commanded.mavlink.connections import Channel
from ironbird.systems.hardware.bridge import Bridge
from ironbird.systems.hardware.kind import HARDWARE
from ironbird.systems.px4.faulty_link import SimulatorWays
from ironbird.transport.disturbance import HELD_S

OPTIONS: dict[str, Any] = {"udp": 1, "control_hz": 450.0, "priority": False, "ground_station": False}
Plug = Callable[[BoardCable], None]


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch) -> Plug:
    def put(cable: BoardCable) -> None:
        monkeypatch.setattr(HARDWARE, "_cable", lambda options: cable)
        monkeypatch.setattr(HARDWARE, "_clock", StillClock)

    return put


def ordered(*faults: str, until_s: float = 3.0, seed: int = 0) -> Order:
    made = make_order("quad_f450", control="hardware", options=OPTIONS, faults=faults, until_s=until_s, seed=seed)
    return replace(made, mission=None, mission_name="")


def flown(plug: Plug, *faults: str, **options: Any) -> tuple[Flight, BoardCable]:
    cable = BoardCable()
    plug(cable)
    return fly(ordered(*faults, **options)), cable


def sensors(cable: BoardCable) -> list[bytes]:
    return [payload for number, payload in cable.got if number == dialect.HIL_SENSOR.id]


@pytest.mark.parametrize("link", ["sensors", "actuators"])
def test_a_tenth_of_the_packets_is_lost_if_that_is_ordered(plug: Plug, link: str) -> None:
    flight, cable = flown(plug, f"route.drop@1:instance={link},severity=0.1,start=0.5,end=2.5")
    witness = flight.witnesses[0]
    assert witness.effective and witness.signal.startswith(f"route/{link}, ") and 0.5 <= witness.first_s < 0.7
    bound = 4.0 * math.sqrt(0.1 * 0.9 * 1000)  # four deviations of the binomial distribution
    if link == "sensors":
        lost = 1500 - len(sensors(cable))
        assert abs(lost - 100) < bound and abs(witness.largest - lost) <= 2  # heartbeats go the same way
    else:
        assert abs(witness.largest - 100) < bound
        assert flight.measured["lost_frames"] > 0


def test_outside_its_window_the_link_is_the_same_to_the_byte_and_seeds_repeat_it(plug: Plug) -> None:
    fault = "route.corrupt@1:instance=sensors,severity=0.5,start=1,end=2"
    clean, disturbed = flown(plug)[1], flown(plug, fault)[1]
    again, other = flown(plug, fault)[1], flown(plug, fault, seed=1)[1]
    got, whole = sensors(disturbed), sensors(clean)
    assert got[:499] == whole[:499] and got[-499:] == whole[-499:]
    assert len(sensors(disturbed)) < 1500 and sensors(disturbed) == sensors(again)
    assert sensors(other) != sensors(disturbed)


def test_a_cut_link_works_one_way_only_and_a_trigger_cuts_it(plug: Plug) -> None:
    flight, cable = flown(plug, "route.cut@1:instance=actuators,start=0.2,end=0.7,when=time > 1 s", until_s=2.5)
    witness = flight.witnesses[0]
    assert flight.triggered_s[0] == pytest.approx(1.01, abs=0.02)
    assert witness.first_s == pytest.approx(1.21, abs=0.02) and witness.largest == pytest.approx(250, abs=4)
    assert len(sensors(cable)) == 1250  # the other way nothing is missing


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        ("route.delay@1:instance=actuators,severity=0.05", "late"),
        ("route.jitter@1:instance=actuators,severity=0.05", "late"),
        ("route.duplicate@1:instance=actuators,severity=0.2", "doubled"),
        ("route.reorder@1:instance=actuators,severity=0.2", "late"),
        ("route.corrupt@1:instance=actuators,severity=0.2", "changed"),
        ("route.throttle@1:instance=actuators,severity=0.9", "late"),
        ("route.heartbeats_only@1:instance=sensors,start=1", "lost"),
        ("route.acks_only@1:instance=sensors,start=1", "lost"),
    ],
)
def test_each_fault_acts_and_says_what_it_did(plug: Plug, fault: str, word: str) -> None:
    flight, cable = flown(plug, fault, until_s=2.0)
    witness = flight.witnesses[0]
    assert witness.effective and f" {word}" in witness.signal
    after = [number for number, _ in cable.got][-100:]
    if "heartbeats" in fault:
        assert dialect.HEARTBEAT.id in after and len(sensors(cable)) == pytest.approx(500, abs=2)
    if "delay" in fault:  # 0.1 s of 2 s
        assert flight.measured["delay_ms"] == pytest.approx(100.0, abs=2.5)


def test_a_fault_that_meets_no_packet_is_void_and_one_of_no_link_is_refused(plug: Plug) -> None:
    flight, _ = flown(plug, "route.drop@1:instance=ground,start=1", until_s=2.0)
    assert flight.verdict == "void" and not flight.witnesses[0].effective
    with pytest.raises(FaultError, match=r"has route actuators, ground, sensors, vehicle, not rc"):
        flown(plug, "route.drop@1:instance=rc")
    with pytest.raises(FaultError, match="this control system has no link whose packets faults reach"):
        fly("quad_f450", mission="hover", until_s=1.0, faults=["route.drop@1:instance=ground"])


# ---------------------------------------------------------------------- the parts beside the cable


@pytest.fixture
def rig_with() -> Callable[..., tuple[Rig, FlownLinks]]:
    def make(*faults: str) -> tuple[Rig, FlownLinks]:
        order = ordered(*faults)
        fitted = fit(order)
        rig = attach(fitted.vehicle, prepare(fitted.model, [order]), until_s=5.0)
        rig.disturb_links(order.faults, 0)
        assert rig.links is not None
        rig.step(10)
        return rig, rig.links

    return make


def heartbeats(count: int) -> list[bytes]:
    packer = Packer()
    found = []
    for _ in range(count):
        packer.add(dialect.HEARTBEAT, 0, 2, 12, 0, 0, 3)
        found.append(bytes(packer.take()))
    return found


class ListWire(Wire):
    """What is to be heard, and what was sent."""

    name = "list"
    handle = -1
    answered = True

    def __init__(self, heard: list[bytes]) -> None:
        self.heard, self.sent = heard, list[bytes]()

    def read(self) -> Iterator[tuple[Source, bytes]]:
        while self.heard:
            yield ("x", 1), self.heard.pop(0)

    def send(self, packet: memoryview) -> None:
        self.sent.append(bytes(packet))

    def answer(self, source: Source) -> None:
        pass

    def close(self) -> None:
        pass


def test_telemetry_is_late_in_simulation_time_and_commands_are_lost(rig_with: Any) -> None:
    rig, links = rig_with("route.delay@1:instance=ground,severity=0.1", "route.cut@1:instance=vehicle")
    inner = ListWire(heartbeats(3))
    wire = Disturbed(inner, links.way("ground"), links.way("vehicle"))
    wire.send(memoryview(heartbeats(1)[0]))
    assert list(wire.read()) == [] and inner.sent == []
    rig.step(199)
    assert list(wire.read()) == []
    rig.step(1)
    assert [data for _, data in wire.read()] == heartbeats(3)  # 0.2 s later, whole and in order
    assert links.acted(rig.links._links["vehicle"].witnesses[0].injection).size == 1


def test_a_partner_of_the_server_hears_late_and_the_last_packet_of_a_reordered_link_comes(rig_with: Any) -> None:
    rig, links = rig_with("route.reorder@1:instance=ground,severity=1", "route.delay@1:instance=vehicle,severity=0.05")
    sent: list[bytes] = []
    channel = Channel("x", lambda data: sent.append(bytes(data)), sysid=1)
    channel.disturb(links)
    channel.disturb(links)
    channel.say(dialect.HEARTBEAT, 0, 2, 12, 0, 0, 3)
    channel.flush()
    assert sent == [] and channel.read(heartbeats(1)[0]) == []
    rig.step(round(1000 * HELD_S))
    assert [number for number, *_ in channel.late()] == [dialect.HEARTBEAT.id]
    assert len(sent) == 1  # nobody came to overtake it: it goes on alone


def test_the_bridge_of_a_cable_and_the_simulator_link_meet_them_too(rig_with: Any) -> None:
    rig, links = rig_with("route.cut@1:instance=vehicle", "route.delay@1:instance=sensors,severity=0.01")
    bridge = Bridge([9])
    try:
        bridge.disturb(links.way("ground"), links.way("vehicle"))
        assert bridge.from_ground() == b""
    finally:
        bridge.close()
    packer, ways = Packer(), SimulatorWays(links)
    assert not ways.takes_controls
    for at_us in (4000, 8000):
        packer.add(dialect.HIL_SENSOR, at_us, *[0.0] * 13, 1, 0)
    (_, length), newest_us = ways.out(packer.seal())
    assert (length, newest_us) == (0, -1)  # PX4 hears nothing yet and owes nothing
    rig.step(20)
    (_, length), newest_us = ways.out(packer.seal())
    assert length > 0 and newest_us == 8000


def test_outputs_of_px4_that_are_cut_never_arrive_and_others_do(rig_with: Any) -> None:
    rig, links = rig_with(
        "route.duplicate@1:instance=actuators,severity=1,end=0.5", "route.cut@1:instance=actuators,start=1"
    )
    ways = SimulatorWays(links)
    ways.put_controls(1, 1, (0.25,) * 16, 129)
    assert list(ways.arrived()) == [((0.25,) * 16, 129)] * 2
    rig.step(1000)
    ways.put_controls(2, 1, (0.5,) * 16, 129)
    assert list(ways.arrived()) == []


def test_a_case_may_order_them_and_a_wrong_one_is_told(tmp_path: Any) -> None:
    text = """schema = 1
[[case]]
id = "link"
title = "Telemetry with losses"
vehicle = "quad_f450"
mission = "hover"
control = "px4"
[[case.fault]]
id = "route.drop@1"
instance = "{}"
severity = 0.1
"""
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(text.format("ground"))
    bad.write_text(text.format("cellar"))
    assert load_suite(good)
    with pytest.raises(IronbirdError, match="cellar"):
        load_suite(bad)


def test_parser_and_text_agree_on_them() -> None:
    text = "route.drop@1:instance=ground,severity=0.1,start=5,end=15"
    assert parse_fault(text).text() == text
