"""Every kind of vehicle over MAVLink in lockstep: control changes hands, and a lost stream is noticed in time.

The simulation waits for the client, which says how far it may go: nothing depends on the speed of the computer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from mavlink_bench import ANY_PORT, MISSION, NAN, Bench
from pymavlink import mavutil

from ironbird.protocols.mavlink import numbers

POSITION_ONLY = 0b110111111000
AUTO_MISSION, OFFBOARD = 0x0404, 0x0006  # custom_mode >> 16
SETPOINT_MS, LOOK_MS = 100, 40
END_MS = 0xFFFFFFFF
PATIENCE_S = 60.0  # of the wall, for one answer


class Client:
    """A client that lets the vehicle go on, and remembers what it said."""

    def __init__(self, port: int) -> None:
        self.link: Any = mavutil.mavlink_connection(f"udpout:127.0.0.1:{port}", source_system=255)
        self.latest: dict[str, Any] = {}
        self.texts: list[tuple[int, str]] = []
        self.now_ms = 0

    def hear(self, met: Callable[[Any], bool]) -> Any:
        """The next message that meets a condition."""
        while True:
            message = self.link.recv_match(blocking=True, timeout=PATIENCE_S)
            assert message is not None, f"silence at {self.now_ms} ms; {self.texts[-3:]}"
            kind = message.get_type()
            self.latest[kind] = message
            if kind == "STATUSTEXT":
                self.texts.append((self.now_ms, message.text))
            if met(message):
                return message

    def until(self, t_ms: int) -> None:
        """Let the vehicle go on to a time."""
        self.now_ms = t_ms
        self.link.mav.system_time_send(0, t_ms)
        self.hear(lambda m: m.get_type() == "SYSTEM_TIME" and m.time_boot_ms >= t_ms)

    def steer(self, place: tuple[float, float, float], seconds: float) -> None:
        """A stream of set-points, each at its time."""
        for _ in range(round(seconds * 1000 / SETPOINT_MS)):
            self.now_ms += SETPOINT_MS
            self.link.mav.set_position_target_local_ned_send(
                self.now_ms, 1, 1, 1, POSITION_ONLY, *place, *[0.0] * 8
            )  # fmt: skip
            self.hear(lambda m: m.get_type() == "SYSTEM_TIME" and m.time_boot_ms >= self.now_ms)

    def ask(self, number: int, *params: float) -> int:
        """A command, and its answer."""
        self.link.mav.command_long_send(1, 1, number, 0, *params, *[0.0] * (7 - len(params)))
        return int(self.hear(lambda m: m.get_type() == "COMMAND_ACK" and m.command == number).result)

    def upload(self, rows: list[tuple[int, float, float, float]]) -> int:
        """A mission: command, latitude, longitude, height above home."""
        self.link.mav.mission_count_send(1, 1, len(rows), MISSION)
        while True:
            said = self.hear(lambda m: m.get_type() in ("MISSION_REQUEST_INT", "MISSION_ACK"))
            if said.get_type() == "MISSION_ACK":
                return int(said.type)
            command, latitude, longitude, height = rows[said.seq]
            place = round(latitude * 1e7), round(longitude * 1e7), height
            self.link.mav.mission_item_int_send(
                1, 1, said.seq, 3, command, 0, 1, 0.0, 0.0, 0.0, NAN, *place, MISSION
            )  # fmt: skip

    def shows(self, mode: int, within_s: float) -> None:
        """Until the heartbeat says a mode, in simulation time."""
        end_ms = self.now_ms + round(1000 * within_s)
        while "HEARTBEAT" not in self.latest or self.latest["HEARTBEAT"].custom_mode >> 16 != mode:
            assert self.now_ms < end_ms, f"mode {self.latest['HEARTBEAT'].custom_mode >> 16:#x}; {self.texts[-5:]}"
            self.until(self.now_ms + LOOK_MS)

    def close(self) -> None:
        self.link.close()


def flight(client: Client, made: Bench, height_m: float, climb_s: float, told: dict[str, float]) -> None:
    """Own mission, set-points from outside, no more of them, own mission again."""
    places = [made.rig.geodetic([north, 0.0, 0.0]) for north in (0.0, 4000.0)]
    flies = height_m > 0.0
    kinds = ((22,) if flies else ()) + (16,)
    rows = [
        (kind, *place[:2], height_m) for kind, place in zip(kinds, places if flies else places[1:], strict=True)
    ]  # fmt: skip
    client.until(4000)
    while client.ask(numbers.COMPONENT_ARM_DISARM, 1) != 0:
        assert client.now_ms < 60_000, client.texts
        client.until(client.now_ms + 500)
    assert client.upload(rows) == 0, client.texts
    assert client.ask(numbers.DO_SET_MODE, 1, 4, 4) == 0, client.texts
    client.until(client.now_ms + round(1000 * climb_s))
    client.shows(AUTO_MISSION, 5.0)

    place = (60.0, 20.0, -height_m)
    client.steer(place, 0.5)
    assert client.ask(numbers.DO_SET_MODE, 1, 6) == 0, client.texts
    client.steer(place, 1.5)
    client.shows(OFFBOARD, 0.5)
    assert client.latest["HEARTBEAT"].system_status != numbers.MAV_STATE_CRITICAL

    said_ms = client.now_ms
    while not any("failsafe: link" in text for _, text in client.texts):
        assert client.now_ms < said_ms + 6000, client.texts
        client.until(client.now_ms + LOOK_MS)
    told["lost_s"] = (client.now_ms - said_ms) * 1e-3
    client.until(client.now_ms + 1200)
    beat = client.latest["HEARTBEAT"]
    told["mode"], told["state"] = beat.custom_mode >> 16, beat.system_status

    assert client.ask(numbers.DO_SET_MODE, 1, 4, 4) == 0, client.texts
    client.shows(AUTO_MISSION, 3.0)
    client.until(client.now_ms + 1200)
    told["after"] = client.latest["HEARTBEAT"].system_status
    client.link.mav.system_time_send(0, END_MS)


@pytest.mark.parametrize(
    ("vehicle", "height_m", "climb_s"),
    [
        ("quad_f450", 6.0, 8.0),
        ("heli_xcell60", 6.0, 12.0),
        ("aerosonde", 40.0, 30.0),
        ("vtol_standard", 8.0, 12.0),
        ("tiltrotor_provant", 5.0, 12.0),
        ("car_escort", 0.0, 3.0),
        ("boat_otter", 0.0, 3.0),
        ("rov_bluerov2_heavy", 0.0, 3.0),
    ],
)
def test_control_changes_hands_in_flight_and_a_lost_stream_starts_the_failsafe(
    vehicle: str, height_m: float, climb_s: float
) -> None:
    made = Bench(vehicle, ANY_PORT, lockstep=True, connect=False)
    limit_s = made.commander.params()["navigator.link_timeout"]
    told: dict[str, float] = {}
    failed: list[BaseException] = []

    def work() -> None:
        client = Client(made.front.endpoints[0].port)  # type: ignore[attr-defined]
        try:
            flight(client, made, height_m, climb_s, told)
        except BaseException as error:  # told by the test, not by the thread
            failed.append(error)
            client.link.mav.system_time_send(0, END_MS)
        finally:
            client.close()

    thread = threading.Thread(target=work)
    try:
        thread.start()
        while not made.front.finished:
            assert made.rig.step(4), made.rig.state.stop_of()
            made.system.exchange(made.rig)
    finally:
        thread.join(PATIENCE_S)
        made.system.stop()

    if failed:
        raise failed[0]
    assert limit_s - 0.05 <= told["lost_s"] <= limit_s + 0.5  # its navigator looks a few times a second
    assert told["mode"] not in (OFFBOARD, AUTO_MISSION) and told["state"] == numbers.MAV_STATE_CRITICAL
    assert told["after"] != numbers.MAV_STATE_CRITICAL
