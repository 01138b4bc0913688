"""RflySim's network interface over real sockets: a client written from the document flies a vehicle in lockstep.

The client is looked at in every exchange, before the vehicle, so that no test depends on the speed of the computer.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator

import pytest
from rflysim_client import Client, MavlinkClient, free_shift

from ironbird.errors import LinkError
from ironbird.flight.flight import Flight, fly
from ironbird.flight.order import make_order
from ironbird.rflysim.front import RflySimFront
from ironbird.rflysim.vehicle import Commandable
from ironbird.rflysim.verbs import grid_place
from ironbird.systems.commanded.kind import CommandedSystem

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

    def poll(self, commander: Commandable) -> None:
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
    assert {event.text for event in flight.autopilot_events} >= {"offboard", "armed"}
    assert flight.order.script and flight.repeats


def test_a_mavlink_client_does_the_same_and_reads_the_truth_between_the_autopilots_words() -> None:
    shift = free_shift()
    client = MavlinkClient(shift)

    def script() -> Script:
        client.arm(False)  # as the newest client begins
        yield from until(lambda: client.ready)
        client.velocity(0, 0, 0)
        yield
        client.arm(True)
        yield
        client.offboard()
        yield from until(lambda: client.armed)
        yield from square_circle_and_fault(client)

    flight, front = flown(client, script(), shift, mode="mavlink_full")

    assert front.over, f"the client did not come to its end: {client.estimate} {front.notes}"
    assert [witness.effective for witness in flight.witnesses] == [True]
    assert client.custom_mode == 6 << 16
    assert client.between[3:6] == pytest.approx(client.truth["pos"], abs=0.5)
    assert client.home[:2] == (401540302, 1162593683)
    assert client.named >= {
        "HEARTBEAT", "ATTITUDE", "ATTITUDE_QUATERNION", "LOCAL_POSITION_NED", "GLOBAL_POSITION_INT", "HOME_POSITION",
        "HIGHRES_IMU", "VIBRATION", "BATTERY_STATUS", "ATTITUDE_TARGET", "GPS_RAW_INT", "HIL_ACTUATOR_CONTROLS",
    }  # fmt: skip


def test_heartbeat_inertial_unit_and_a_new_place_are_served_on_request() -> None:
    shift = free_shift()
    client = Client(shift, vehicle=3)
    heard: dict[str, bytes] = {}
    with client.listening(20005 + shift) as beats, client.listening(31000 + shift) as samples:

        def script() -> Script:
            request = struct.pack("<4H4B6f", 12345, 0, 200, 31000 + shift, 127, 0, 0, 1, *[0.0] * 6)
            client.send(request, "model")
            client.send(struct.pack("<2i", 123450, 90), "model")
            while not {"beat", "imu"} <= heard.keys():
                for name, taken in (("beat", beats), ("imu", samples)):
                    for data in taken():
                        heard[name] = data
                yield
            place = struct.pack("<2i4b4B4f2d", 1234567, 3, 0, 1, 0, -1, *[0] * 4, 0, 0, 0, 90.0, 30.0, -20.0)
            client.send_to(place, 20002 + shift)
            while True:
                yield

        flight, front = flown(client, script(), shift, vehicle_id=3, map_north_m=4.0, map_east_m=2.0)

    checksum, vehicle, start_ms, now_ms, count = struct.unpack("<2i3q", heard["beat"])
    assert (checksum, vehicle) == (123456789, 3) and now_ms >= start_ms and count >= 1
    checksum, vehicle, _, *sample = struct.unpack("<2i1d6f", heard["imu"])
    assert (checksum, vehicle) == (1234567898, 3)
    assert sample[2] == pytest.approx(-9.8, abs=1.0)  # at rest
    assert client.truth["pos"][:2] == pytest.approx((4.0, 2.0), abs=0.2)  # in the map's frame
    assert front.placement is not None
    assert (front.placement.map_north_m, front.placement.map_east_m, front.placement.yaw_deg) == (30.0, -20.0, 90.0)
    assert flight.ended_s < 30


def test_a_viewer_gets_type_place_attitude_and_motor_speeds_of_the_flying_vehicle() -> None:
    shift = free_shift()
    client = Client(shift)
    shown: list[bytes] = []
    with client.listening(20010 + shift) as arrived:

        def script() -> Script:
            client.velocity(0, 0, 0)
            yield from until(lambda: client.ready)
            client.position(0, 0, -HEIGHT_M)
            while not client.near(0, 0, -HEIGHT_M):
                shown.extend(arrived())
                yield

        _, front = flown(client, script(), shift, mode="udp_full")

    assert front.over
    poses = [struct.unpack("<4i24f7d", data) for data in shown if len(data) == 168]
    actuators = [struct.unpack("<2i17d", data) for data in shown if len(data) == 144]
    assert {pose[:3] for pose in poses} == {(123456789, 1, 3)}  # checksum, number of the vehicle, quadcopter
    assert {numbers[:2] for numbers in actuators} == {(1234567894, 1)}
    assert poses[-1][29:32] == pytest.approx((0, 0, -HEIGHT_M), abs=1.5)  # m
    assert math.hypot(*poses[-1][10:14]) == pytest.approx(1.0, abs=1e-6)  # quaternion
    assert all(5000 < speed < 7000 for speed in poses[-1][14:18])  # 1/min: it hovers at about 6,000
    assert not any(poses[-1][18:22])  # four rotors
    assert all(0.4 < command < 0.8 for command in actuators[-1][3:7])


def test_a_port_that_is_taken_is_named_with_the_cure() -> None:
    shift = free_shift()
    other = Client(shift)
    with other.listening(30100 + shift), pytest.raises(LinkError, match=r"30\d+ is taken.*--start-index or --shift"):
        flown(other, iter(()), shift)


def test_vehicles_stand_on_a_square_grid() -> None:
    assert [grid_place(number, 5, 2.0) for number in range(5)] == [(0, 0), (0, 2), (0, 4), (2, 0), (2, 2)]
    assert grid_place(0, 1, 2.0) == (0, 0)


# ---------------------------------------------------------------------- other kinds of vehicles, the complete model


def wing(client: Client) -> Script:
    """UDP_Full as the newest client flies a plane: SendPosNEDExt with its bits, then SendVelYawAlt."""
    yield from until(lambda: client.ready)
    client._full(0x1000, 1, pos=(0, 0, -50))
    yield from until(lambda: client.estimate["pos"][2] < -45)
    client._full(0b000111000000, 1, pos=(0, 0, -55), vel=(math.pi / 2, 22.0, 0))
    yield from until(lambda: abs(client.truth["euler"][2] - math.pi / 2) < 0.2 and client.truth["pos"][2] < -52)


def drive(client: Client) -> Script:
    """Any mode: to a place by position, then on by velocity."""
    yield from until(lambda: client.ready)
    client.position(12, 4, 0)
    if isinstance(client, MavlinkClient):
        yield
        client.arm(True)
        client.offboard()
    yield from until(lambda: math.dist(client.truth["pos"][:2], (12, 4)) < 3.0)
    client.velocity(0, -0.8, 0)
    yield from until(lambda: client.truth["vel"][1] < -0.5)


def transition(client: Client) -> Script:
    """UDP_Simple 11 and 30: take off, then to wings and back."""
    yield from until(lambda: client.ready)
    client.setpoint = struct.pack("<2i4f", 1234567890, 11, 0, 0, -30, 0)
    yield
    client.setpoint = b""
    yield from until(lambda: client.truth["pos"][2] < -28)
    client.setpoint = struct.pack("<2i4f", 1234567890, 30, 4, 0, 0, 0)
    yield from until(lambda: math.hypot(*client.truth["vel"][:2]) > 10)
    client.setpoint = struct.pack("<2i4f", 1234567890, 30, 3, 0, 0, 0)
    yield from until(lambda: math.hypot(*client.truth["vel"][:2]) < 3)


@pytest.mark.parametrize(
    ("vehicle", "mode", "script", "state"),
    [
        ("aerosonde", "udp_full", wing, "truth"),
        ("car_escort", "udp_simple", drive, "truth"),
        ("boat_otter", "mavlink_simple", drive, "estimate"),
        ("vtol_standard", "udp_simple", transition, "estimate"),
    ],
)
def test_wings_cars_boats_and_vtols_fly_behind_the_ports(
    vehicle: str, mode: str, script: Callable[[Client], Script], state: str
) -> None:
    shift = free_shift()
    client = MavlinkClient(shift) if mode.startswith("mavlink") else Client(shift, simple=mode == "udp_simple")
    front = InStep(client, script(client), shift=shift, mode=mode)
    try:
        order = make_order(vehicle, until_s=90.0, options={"state": state})
        flight = fly(order, control=CommandedSystem(front, sees_truth=state == "truth"))
    finally:
        client.close()

    assert front.over, f"the client did not come to its end: {client.estimate} {client.truth} {front.notes}"
    assert flight.verdict == "pass", flight.judged.sentence
    estimated, true = client.estimate["pos"], client.truth["pos"]
    assert (
        estimated != true and math.dist(estimated, true) < 8.0
    )  # sensors and estimator work on, whatever control sees


def test_the_complete_model_takes_off_returns_and_lands_at_the_heights_of_the_document() -> None:
    """[RflyModel] 9.1.3 and 9.2.1.2: 10 m without a height; back at the present height; landing to a height."""
    shift = free_shift()
    client = Client(shift)
    armed, taking_off, position, landing, returning = 0b111, 1 << 8, 1 << 9, 1 << 10, 1 << 11
    has_place, local = 1, 1 << 13

    def script() -> Script:
        yield from until(lambda: client.ready)
        client.sil([armed | taking_off, 0], [])
        yield
        client.sil([armed | position, has_place | local], [30, 0, -3])  # not heard: it takes off
        yield from until(lambda: client.truth["pos"][2] < -9.5)
        assert math.hypot(*client.truth["pos"][:2]) < 1.0
        while not client.near(8, 0, -8):
            client.sil([armed | position, has_place | local], [8, 0, -8])
            yield
        client.sil([armed | returning, 0], [])
        yield from until(lambda: client.near(0, 0, -8))
        client.sil([armed | landing, 0], [0, 0, -4])
        yield from until(lambda: client.near(0, 0, -4))
        client.sil([armed | landing | returning, 0], [])  # landing before return
        yield from until(lambda: client.out_copter[1] == 0.0)  # down and disarmed

    flight, front = flown(client, script(), shift, until_s=120.0)

    assert front.over, f"the client did not come to its end: {client.estimate} {front.notes}"
    assert flight.verdict == "pass", flight.judged.sentence
    assert flight.log["body.p_NB_N"][:, 2].min() > -11.0
