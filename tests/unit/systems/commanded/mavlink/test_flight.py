"""Flights over MAVLink: arming, modes, set-points in all frames, sticks, missions, lockstep, loss of the stream."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from mavlink_bench import ANY_PORT, NAN, Bench, bench, item, upload

from ironbird.errors import LinkError
from ironbird.flight.flight import fly
from ironbird.flight.systems import read_options
from ironbird.protocols.mavlink import numbers
from ironbird.systems.commanded.front import ProgramFront, lasting
from ironbird.systems.commanded.kind import COMMANDED, CommandedSystem
from ironbird.systems.commanded.mavlink.front import SEEN_S

ACCEPTED, REJECTED = 0, 1
POSITION, VELOCITY, ACCELERATION = 0b111, 0b111000, 0b111000000
NO_YAW, NO_RATE = 0x400, 0x800
ALL = POSITION | VELOCITY | ACCELERATION | NO_YAW | NO_RATE
GIVEN = ("position", "position", "position", "velocity", "velocity", "velocity", "yaw", "yaw_rate")


@pytest.fixture(scope="module")
def flown() -> Iterator[Bench]:
    """In the air."""
    with bench() as made:
        made.fly()
        yield made


def asked(made: Bench, name: str) -> list[float]:
    """An input of the model."""
    flat = made.rig.state.model.flat
    return [float(value) for value in made.rig.stepper.inputs[flat.u.rows(name)]]


def local(made: Bench, frame: int, mask: int, *, p: Any = (0, 0, 0), v: Any = (0, 0, 0), a: Any = (0, 0, 0),
          yaw: float = 0.0, rate: float = 0.0, at_ms: int = 0) -> None:  # fmt: skip
    made.client.mav.set_position_target_local_ned_send(at_ms, 1, 1, frame, mask, *p, *v, *a, yaw, rate)


# ------------------------------------------------------------------------------ set-points


@pytest.mark.parametrize("frame", [1, 7, 8, 9, 12, 20])
def test_set_points_in_every_local_frame(flown: Bench, frame: int) -> None:
    """A position and a velocity, by the definition of each frame."""
    flown.go(0.02)
    here = flown.commander.estimate()
    heading = float(here.rpy[2])
    c, s = math.cos(heading), math.sin(heading)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    p, v = np.array([3.0, -2.0, -9.0]), np.array([1.0, 0.5, -0.25])
    local(flown, frame, ALL & ~POSITION & ~VELOCITY & ~NO_YAW, p=p, v=v, yaw=0.75)
    flown.step()
    body = frame in (8, 9, 12)
    wanted_p = turn @ p + here.p_N if body else p + here.p_N if frame == 7 else p
    wanted_v = turn @ v if body else v
    if frame != 20:  # its axes were fixed at the start: a heading of about zero
        assert asked(flown, "offboard_position") == pytest.approx(wanted_p.tolist(), abs=0.1)
        assert asked(flown, "offboard_velocity") == pytest.approx(wanted_v.tolist(), abs=0.02)
    else:
        assert asked(flown, "offboard_position") == pytest.approx(p.tolist(), abs=0.3)
    given = asked(flown, "offboard_given")
    assert given[:8] == [1, 1, 1, 1, 1, 1, 1, 0]
    assert asked(flown, "offboard_yaw")[0] == pytest.approx(0.75, abs=0.05 if frame == 20 else 1e-6)


@pytest.mark.parametrize("frame", [0, 5, 3, 6, 10, 11])
def test_set_points_in_every_global_frame(flown: Bench, frame: int) -> None:
    latitude, longitude, height = flown.rig.geodetic([12.0, -5.0, -20.0])
    above_sea = frame in (0, 5)
    flown.client.mav.set_position_target_global_int_send(
        0, 1, 1, frame, ALL & ~POSITION, round(latitude * 1e7), round(longitude * 1e7),
        height if above_sea else 20.0, *[0.0] * 8,
    )  # fmt: skip
    flown.step()
    assert asked(flown, "offboard_position") == pytest.approx([12.0, -5.0, -20.0], abs=0.02)


@pytest.mark.parametrize(
    ("use", "given"),
    [
        (POSITION, [1, 1, 1, 0, 0, 0, 0, 0]),
        (VELOCITY, [0, 0, 0, 1, 1, 1, 0, 0]),
        (POSITION & 0b100 | VELOCITY & 0b011000 | NO_YAW, [0, 0, 1, 1, 1, 0, 1, 0]),
        (VELOCITY | NO_RATE, [0, 0, 0, 1, 1, 1, 0, 1]),
    ],
)
def test_the_type_mask_is_honoured(flown: Bench, use: int, given: list[float]) -> None:
    local(flown, 1, ALL & ~use, p=(1, 2, -9), v=(0.1, 0.2, 0.3), a=(9, 9, 9), yaw=0.3, rate=0.1)
    flown.step()
    assert asked(flown, "offboard_given")[:8] == given
    assert asked(flown, "offboard_acceleration") == [0, 0, 0]


@pytest.mark.parametrize(
    ("frame", "mask", "p", "words"),
    [
        (1, ALL, (0, 0, 0), "asks for nothing"),
        (1, ALL & ~POSITION, (NAN, NAN, NAN), "asks for nothing"),
        (1, ALL & ~POSITION, (3e9, 0, 0), "out of range"),
        (2, ALL & ~POSITION, (1, 1, 1), "frame 2"),
        (1, 0x200, (0, 0, 0), "forces"),
    ],
)
def test_a_set_point_that_is_none_is_refused_in_words(
    flown: Bench, frame: int, mask: int, p: tuple[float, ...], words: str
) -> None:
    before = asked(flown, "offboard_position")
    flown.go(2.1)  # a stream is refused aloud every two seconds
    flown.texts.clear()
    local(flown, frame, mask, p=p)
    flown.until_said(words)
    assert asked(flown, "offboard_position") == before


def test_attitude_and_rates_with_thrust(flown: Bench) -> None:
    half = 0.1
    flown.client.mav.set_attitude_target_send(0, 1, 1, 0b111, [math.cos(half), math.sin(half), 0, 0], 0, 0, 0, 0.5)
    flown.step()
    assert asked(flown, "offboard_attitude") == pytest.approx([0.2, 0, 0], abs=1e-6)
    assert asked(flown, "offboard_thrust") == [0.5]
    flown.client.mav.set_attitude_target_send(0, 1, 1, 0x80, [1, 0, 0, 0], 0.1, -0.2, 0.3, 0.25)
    flown.step()
    assert asked(flown, "offboard_rates") == pytest.approx([0.1, -0.2, 0.3])
    flown.go(2.1)
    flown.texts.clear()
    flown.client.mav.set_attitude_target_send(0, 1, 1, 0b111, [0, 0, 0, 0], 0, 0, 0, 0.5)
    flown.until_said("no rotation")


def test_sticks_come_by_manual_control_and_by_overridden_channels(flown: Bench) -> None:
    flown.client.mav.manual_control_send(1, 250, -500, 750, 1000, 0)
    flown.step()
    assert asked(flown, "stick") == pytest.approx([-0.5, 0.25, 0.5, 1.0])
    flown.client.mav.rc_channels_override_send(1, 1, 1750, 1250, 1500, 1600, 0, 0, 0, 0)
    flown.step()
    assert asked(flown, "stick") == pytest.approx([0.5, 0.5, 0.0, 0.2])
    told = flown.of("RC_CHANNELS")
    assert (told.chan1_raw, told.chan2_raw, told.chan3_raw, told.chan4_raw) == (1750, 1250, 1500, 1600)
    flown.client.mav.rc_channels_override_send(1, 1, 65535, 65535, 1700, 65535, 0, 0, 0, 0)
    flown.step()
    assert asked(flown, "stick") == pytest.approx([0.5, 0.5, 0.4, 0.2])
    flown.client.mav.rc_channels_override_send(1, 1, 0, 0, 0, 0, 0, 0, 0, 0)
    flown.step()
    assert not any(flown.front.setpoints.channels)


# ------------------------------------------------------------------------------ flights


def test_arming_is_apart_from_take_off_and_a_flight_comes_back() -> None:
    with bench() as made:
        made.settle()
        assert made.command(numbers.COMPONENT_ARM_DISARM, 1) == ACCEPTED
        made.go(2.0)
        beat = made.latest["HEARTBEAT"]
        assert beat.base_mode & 128 and abs(made.latest["LOCAL_POSITION_NED"].vz) < 0.2
        assert made.commander.status().landed == "on_ground"
        assert made.command(numbers.COMPONENT_ARM_DISARM, 0) == ACCEPTED
        # a take-off that was asked for before arming begins with it, as with PX4
        home_m = made.front.home.height_m
        assert made.command(numbers.NAV_TAKEOFF, 0, 0, 0, NAN, NAN, NAN, home_m + 6.0) == ACCEPTED
        made.until(lambda m: m.get_type() == "HEARTBEAT" and m.custom_mode >> 16 == 0x0204)  # AUTO, TAKEOFF
        assert made.command(numbers.COMPONENT_ARM_DISARM, 1) == ACCEPTED
        made.until(lambda m: m.get_type() == "LOCAL_POSITION_NED" and m.z < -5.5, 30.0)
        assert made.command(numbers.COMPONENT_ARM_DISARM, 0) == REJECTED  # in the air
        made.until_said("in the air")
        # go to a place and hold there
        latitude, longitude, _ = made.rig.geodetic([8.0, 4.0, 0.0])
        made.client.mav.command_int_send(
            1, 1, 6, 192, 0, 0, -1, 1, 0, NAN, round(latitude * 1e7), round(longitude * 1e7), 7.0
        )  # fmt: skip
        made.until(
            lambda m: m.get_type() == "LOCAL_POSITION_NED" and math.dist((m.x, m.y, m.z), (8, 4, -7)) < 0.6, 30.0
        )  # fmt: skip
        # offboard needs a stream first; its loss starts the failsafe
        assert made.command(numbers.DO_SET_MODE, 1, 6) == REJECTED
        for _ in range(20):
            local(made, 1, ALL & ~POSITION, p=(0, 0, -7))
            made.go(0.1)
        assert made.command(numbers.DO_SET_MODE, 1, 6) == ACCEPTED
        for _ in range(60):
            local(made, 1, ALL & ~POSITION, p=(0, 0, -7))
            made.go(0.1)
        assert made.latest["HEARTBEAT"].custom_mode == 6 << 16
        assert math.hypot(made.latest["LOCAL_POSITION_NED"].x, made.latest["LOCAL_POSITION_NED"].y) < 1.0
        made.until_said("failsafe: link")
        made.until(lambda m: m.get_type() == "HEARTBEAT" and m.custom_mode >> 16 != 6)
        assert made.command(numbers.NAV_LAND) == ACCEPTED
        made.until(lambda m: m.get_type() == "HEARTBEAT" and not m.base_mode & 128, 60.0)
        made.until(lambda m: m.get_type() == "EXTENDED_SYS_STATE" and m.landed_state == 1)


def test_a_mission_is_flown_and_its_items_are_told() -> None:
    with bench() as made:
        made.settle()
        rows = [item(made, 0, 22, 0, 0, 6), item(made, 1, 178, 0, 0, 0, param1=1.0, param2=4.0, param3=-1, frame=2),
                item(made, 2, 16, 10, 0, 6), item(made, 3, 16, 10, 6, 6), item(made, 4, 21, 0, 0, 0)]  # fmt: skip
        assert upload(made, rows) == 0
        assert made.command(numbers.DO_SET_MODE, 1, 4, 4) == ACCEPTED  # AUTO, MISSION: begins with arming
        assert made.command(numbers.COMPONENT_ARM_DISARM, 1) == ACCEPTED
        heard: list[Any] = []
        while made.commander.armed:
            heard += made.go(0.5)
            assert made.rig.time_s < 120.0
        reached = [m.seq for m in heard if m.get_type() == "MISSION_ITEM_REACHED"]
        assert reached == sorted(set(reached)) and {2, 3} <= set(reached)
        assert made.commander.params()["navigator.cruise_speed"] == 4.0
        places = [(m.x, m.y) for m in heard if m.get_type() == "LOCAL_POSITION_NED"]
        for corner in ((10, 0), (10, 6), (0, 0)):
            assert min(math.dist(place, corner) for place in places) < 1.5
        made.go(1.1)  # it is told once a second
        assert made.latest["MISSION_CURRENT"].mission_state == numbers.MISSION_STATE_COMPLETE


# ------------------------------------------------------------------------------ lockstep


def script(port: int, jitter_s: float, states: list[tuple[int, float]]) -> None:
    """A client in lockstep: it says a time with each set-point and waits until the vehicle is there."""
    from pymavlink import mavutil

    client = mavutil.mavlink_connection(f"udpout:127.0.0.1:{port}", source_system=255)
    mav = client.mav

    def at(t_ms: int) -> None:
        while True:
            message = client.recv_match(blocking=True, timeout=20.0)
            assert message is not None
            if message.get_type() == "LOCAL_POSITION_NED":
                states.append((message.time_boot_ms, message.z))
            if message.get_type() == "SYSTEM_TIME" and message.time_boot_ms >= t_ms:
                return

    try:
        mav.system_time_send(0, 6000)
        at(6000)
        mav.set_position_target_local_ned_send(0, 1, 1, 1, ALL & ~POSITION, 0, 0, -3, *[0.0] * 8)
        mav.command_long_send(1, 1, 176, 0, 1, 6, 0, 0, 0, 0, 0)
        mav.command_long_send(1, 1, 400, 0, 1, 0, 0, 0, 0, 0, 0)
        for step in range(1, 60):
            t_ms = 6000 + 50 * step
            mav.set_position_target_local_ned_send(t_ms, 1, 1, 1, ALL & ~POSITION, 0.05 * step, 0, -3, *[0.0] * 8)
            at(t_ms)
            if jitter_s and step % 10 == 0:
                time.sleep(jitter_s)
        mav.system_time_send(0, 0xFFFFFFFF)
        at(0)
    finally:
        client.close()


def lockstep_flight(jitter_s: float) -> tuple[bytes, str, list[tuple[int, float]]]:
    made = Bench("quad_f450", ANY_PORT, lockstep=True, connect=False)
    states: list[tuple[int, float]] = []
    client = threading.Thread(target=script, args=(made.front.endpoints[0].port, jitter_s, states))  # type: ignore[attr-defined]
    try:
        client.start()
        while not made.front.finished:
            assert made.rig.step(4)
            made.system.exchange(made.rig)
        client.join(30.0)
        return made.rig.state.x.tobytes(), made.system.script(), states
    finally:
        made.system.stop()


def test_set_points_in_lockstep_repeat_bit_for_bit_however_slow_the_client_is() -> None:
    first, again = lockstep_flight(0.0), lockstep_flight(0.03)
    assert first[0] == again[0] and first[1] == again[1]
    assert first[2][-1][1] < -1.0  # it has flown


def test_in_lockstep_a_silent_client_ends_the_flight_with_a_sentence() -> None:
    made = Bench("quad_f450", ANY_PORT, lockstep=True, wait_s=0.3, connect=False)
    try:
        made.rig.step(4)
        with pytest.raises(LinkError, match=r"no client sent a time in 0\.3 s"):
            made.system.exchange(made.rig)
    finally:
        made.system.stop()


@pytest.mark.parametrize("flights", [0, 1, 2])
def test_the_run_ends_after_the_flights_that_were_asked_for(flights: int) -> None:
    with bench(flights=flights) as made:
        made.settle()  # armed and disarmed on the ground: no flight
        for number in (1, 2):
            made.fly(2.0)
            assert made.command(21) == 0
            while made.commander.armed:
                made.step()
            down_s = made.rig.time_s
            made.go(SEEN_S - 0.1)
            assert not made.front.finished
            made.go(0.2)
            assert made.front.finished == (number == flights), made.rig.time_s - down_s
            if made.front.finished:
                break
        end = made.front.announce()[-1]
    assert ("goes on after landings" in end) if not flights else ("landed and is disarmed" in end and "Ctrl-C" in end)


def test_a_rover_has_driven_when_it_is_disarmed() -> None:
    with bench("rover_differential") as made:
        made.settle()
        assert made.command(400, 1) == 0 and made.command(400, 0) == 0
        made.go(SEEN_S + 0.1)
        assert made.front.finished


@pytest.mark.clock
def test_a_recorded_flight_is_flown_as_fast_as_it_computes() -> None:
    made = fly("quad_f450", control=CommandedSystem(ProgramFront(lambda vehicle: lasting(vehicle, 8.0))), until_s=8.0)
    order = replace(made.order, control="commanded", options={"front": "mavlink"})

    for _ in range(5):  # a busy machine may need as long as the clock, but not each time
        again = fly(order)
        if again.wall_s < 7.0:
            break

    assert again.order.script and again.wall_s < 7.0  # by the clock it takes 8 s, however quick the machine is
    assert COMMANDED.pace(read_options(COMMANDED, {"front": "mavlink"}), "") == 1.0
