"""Peers that lie, flood, go silent or are somebody else: a client gives up in its deadline, with a sentence."""

from __future__ import annotations

import contextlib
import math
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pymavlink.dialects.v20 import ardupilotmega as m
from vehicle_double import Double

import ironbird as ib
from ironbird.errors import LinkError
from ironbird.ground.client.calls import Calls
from ironbird.ground.wires import Port
from ironbird.host.process import free_udp_port
from ironbird.protocols.mavlink import dialect
from ironbird.protocols.mavlink.codec import Packer
from ironbird.protocols.plan_file import PlanItem

LATE_S = 60.0  # machines are busy; a hang would be longer


@contextmanager
def gives_up(within_s: float, match: str) -> Iterator[None]:
    """A LinkError by the deadline, not before half of it."""
    begin = time.monotonic()
    with pytest.raises(LinkError, match=match):
        yield
    assert time.monotonic() - begin < within_s + LATE_S


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("nonsense", r"'nonsense' is no address of a vehicle; give udp:PORT"),
        ("udp:0", r"is no address"),
        ("udp:70000", r"is no address"),
        ("udpout:14550", r"is no address"),
        ("tcp:127.0.0.1:http", r"is no address"),
        ("serial:", r"is no address"),
        ("serial:/dev/no_such_board", r"there is no such device; is the board plugged in"),
    ],
)
def test_wrong_addresses_are_refused_with_the_right_forms(address: str, said: str) -> None:
    with pytest.raises(LinkError, match=said):
        ib.connect(address, within_s=1.0)


def test_nobody_there() -> None:
    port = free_udp_port()
    with gives_up(
        0.3, rf"UDP 127.0.0.1:{port}, no vehicle: 'the first heartbeat' not done within 0.3 s.*last message: none"
    ):
        ib.connect(f"udpout:127.0.0.1:{port}", within_s=0.3)
    with gives_up(0.5, r"TCP 127.0.0.1:\d+ cannot be reached: Connection refused.*tried for 0.5 s"):
        ib.connect(f"tcp:127.0.0.1:{port}", within_s=0.5)


def test_a_port_that_is_taken_is_said() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(LinkError, match=r"cannot be opened: Address already in use; `ironbird doctor`"):
            ib.connect(f"udp:{taken.getsockname()[1]}", within_s=0.2)


def test_a_vehicle_that_never_answers_a_command() -> None:
    with Double() as double, ib.connect(double.address) as v:
        double.deaf = {
            "COMMAND_LONG",
            "PARAM_REQUEST_READ",
            "PARAM_REQUEST_LIST",
            "MISSION_COUNT",
            "MISSION_REQUEST_LIST",
        }
        with gives_up(0.3, r"px4 \(system 1\): 'arming' not done within 0.3 s; last heartbeat: LOITER, disarmed"):
            v.arm(within_s=0.3)
        with gives_up(0.3, r"'parameter MC_ROLL_P' not done within 0.3 s; no answer: is the name right"):
            v.param("MC_ROLL_P", within_s=0.3)
        with gives_up(0.3, r"'the list of parameters' not done"):
            v.params(within_s=0.3)
        with gives_up(0.3, r"'the mission's length' not done"):
            v.download_mission(within_s=0.3)
        with gives_up(0.3, r"'upload of 1 mission items' not done"):
            v.upload_mission([PlanItem(16)], within_s=0.3)


def test_refusals_end_a_call_at_once_or_are_asked_again() -> None:
    with Double() as double, ib.connect(double.address) as v:
        double.refuse = {m.MAV_CMD_INJECT_FAILURE: m.MAV_RESULT_DENIED, 400: m.MAV_RESULT_TEMPORARILY_REJECTED}
        with pytest.raises(LinkError, match=r"'failure of gps 0: off' was refused; answer: denied"):
            v.inject("gps", "off", within_s=60.0)
        with gives_up(1.5, r"'arming' not done within 1.5 s; answer: temporarily rejected"):
            v.arm(within_s=1.5)
        assert sum(number == 400 for number, _ in double.commands) >= 1


def test_a_vehicle_that_says_yes_and_does_nothing() -> None:
    def never_armed(message: Any) -> Any:
        if message.get_type() == "HEARTBEAT":
            message.base_mode = 1
        return message

    with Double() as double, ib.connect(double.address) as v:
        double.before_send = never_armed
        with gives_up(0.5, r"'armed' not done within 0.5 s"):
            v.arm(within_s=0.5)
        with pytest.raises(LinkError, match=r"not armed: call arm"):
            v.goto(north=1.0)


def test_a_vehicle_that_drops_out_of_offboard_ends_the_way_there() -> None:
    with Double() as double, ib.connect(double.address) as v:
        v.arm()
        v.take_off(3)
        v.position(0, 0, -3)
        double.deaf = {"SET_POSITION_TARGET_LOCAL_NED"}  # it takes the stream for lost
        with gives_up(60.0, r"is given up: the vehicle changed from mode OFFBOARD to LOITER"):
            v.goto(north=500, down=-3, within_s=60.0)


def test_numbers_that_are_none_are_left_out() -> None:
    def spoiled(message: Any) -> Any:
        if message.get_type() == "LOCAL_POSITION_NED":
            message.x = float("nan")
        if message.get_type() == "ATTITUDE":
            message.yaw = float("inf")
        return message

    with Double() as double:
        double.before_send = spoiled
        with ib.connect(double.address) as v:
            told = v.wait_for(lambda told: told.bad > 3, "bad messages")
            assert all(value != value for value in (*told.position, *told.attitude))  # not a number, as at the start
            with gives_up(0.3, r"'a position' not done within 0.3 s"):
                v.position(1, 0, 0, frame="body", within_s=0.3)


def test_other_systems_and_strange_autopilots_are_named_and_not_obeyed() -> None:
    with (
        Double(system=7) as double,
        gives_up(0.5, r"no vehicle: .*received, but not from the vehicle: system 7 \(px4\)"),
    ):
        ib.connect(double.address, system=3, within_s=0.5)

    def strange(message: Any) -> Any:
        if message.get_type() == "HEARTBEAT":
            message.autopilot = m.MAV_AUTOPILOT_PPZ
        return message

    with Double() as double:
        double.before_send = strange
        with gives_up(0.5, r"system 1 \(autopilot 9, which is not known here\)"):
            ib.connect(double.address, within_s=0.5)


def test_an_impostor_with_the_same_system_id_is_not_heard() -> None:
    with Double() as double, ib.connect(double.address) as v, Double("ardupilot") as impostor:
        station = v._calls.station
        assert isinstance(station.wire, Port)
        impostor.peer = station.wire.socket.getsockname()
        impostor.armed = True
        time.sleep(0.5)
        assert not v.telemetry.armed and v.telemetry.autopilot == "px4"
        assert station.wire.peer == ("127.0.0.1", double.port)


def test_lies_about_lengths_end_in_a_sentence() -> None:
    def lie(message: Any) -> Any:
        if message.get_type() == "MISSION_COUNT":
            message.count = 60_000
        if message.get_type() == "PARAM_VALUE":
            message.param_count = 65_000
        return message

    with Double() as double:
        double.before_send = lie
        with ib.connect(double.address) as v:
            with pytest.raises(LinkError, match=r"'the mission's length' is 60000, more than any mission"):
                v.download_mission()
            with gives_up(1.0, r"'the list of parameters' not done within 1 s; 4 of 65000 came"):
                v.params(within_s=1.0)


def test_a_flood_does_not_hold_up_a_deadline() -> None:
    with Double() as double, ib.connect(double.address) as v:
        junk = os.urandom(1000)

        def flood(message: Any) -> Any:
            return [message, *[junk] * 50]

        double.before_send = flood
        with gives_up(0.5, r"'never' not done within 0.5 s"):
            v.wait_for(lambda _: False, "never", within_s=0.5)
        assert len(v.texts) <= 200


def test_a_connection_that_hangs_up_is_said_at_once() -> None:
    with Double(tcp=True) as double, ib.connect(double.address) as v:
        double.hang_up()
        with gives_up(60.0, r"TCP 127.0.0.1:\d+: the link is cut"):
            v.wait_for(lambda _: False, within_s=60.0)
        with pytest.raises(LinkError, match=r"the link is cut"):
            v.velocity(1, 0)


def test_silence_after_a_heartbeat_ends_in_the_deadline() -> None:
    with Double() as double, ib.connect(double.address) as v:
        double.silent = True
        with gives_up(0.4, r"'ready to be armed' not done within 0.4 s|'armed' not done"):
            v.wait_for(lambda _: False, "ready to be armed", within_s=0.4)


def test_a_closed_client_says_so_and_closing_ends_calls_that_wait() -> None:
    with Double() as double:
        v = ib.connect(double.address)
        v.close()
        v.close()
        with pytest.raises(LinkError, match=r"the connection is closed"):
            v.arm()


def test_errors_of_a_function_of_the_caller_are_the_callers() -> None:
    with Double() as double, ib.connect(double.address) as v:
        with pytest.raises(ZeroDivisionError):
            v.wait_for(lambda _: 1 / 0 > 0)
        assert v.telemetry.system == 1 and v.param("MC_ROLL_P") == 6.5  # the thread goes on


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda v: v.velocity(float("nan"), 0), r"velocity nan of a set-point is no number"),
        (lambda v: v.position(1e9, 0, 0), r"position 1000000000.0 of a set-point"),
        (lambda v: v.attitude(thrust=2.0), r"thrust is 2.0; give 0 to 1"),
        (lambda v: v.velocity(yaw=1.0, yaw_rate=1.0), r"a yaw or a yaw rate, not both"),
        (lambda v: v.velocity(1, 0, frame="moon"), r"frame 'moon' is not known"),
        (lambda v: v.position_global(100.0, 0.0, 10.0), r"no degrees on the earth"),
        (lambda v: v.take_off(-1.0), r"a take-off to -1.0 m"),
        (lambda v: v.speed(5.0, of="light"), r"a speed of 'light'; give one of air"),
        (lambda v: v.param("A" * 17), r"is no name of a parameter"),
        (lambda v: v.set_param("MC_ROLL_P", float("inf")), r"inf is no number to set"),
        (lambda v: v.set_mode("HYPERDRIVE"), r"PX4 has no mode 'HYPERDRIVE'"),
        (lambda v: v.arm(within_s=-1.0), r"a deadline of -1.0 s"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_before_anything_is_sent(double: Double, call: Any, said: str) -> None:
    with ib.connect(double.address) as v, pytest.raises(LinkError, match=said):
        call(v)


@pytest.fixture(scope="module")
def double() -> Iterator[Double]:
    with Double() as one:
        yield one


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_message_of_the_vehicle_leaves_the_client_standing(data: st.DataObject) -> None:
    """Random payloads of every message that it reads, from the vehicle itself."""
    packer = Packer(1, 1)
    packer.add(dialect.HEARTBEAT, 0, 2, 12, 1, 4, 3)
    calls = Calls(Port(0))
    core, station = calls.core, calls.station
    with contextlib.closing(core), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        assert isinstance(station.wire, Port)
        for _ in range(5):
            message = station._takers[data.draw(st.sampled_from(sorted(station._takers)))][0]
            payload = data.draw(st.binary(min_size=message.payload.size, max_size=message.payload.size))
            packer.add(message, *message.unpack(payload))
        sender.sendto(packer.take(), station.wire.socket.getsockname())
        future = core.submit(calls.wait_for(lambda _: True))
        deadline = time.monotonic() + 60.0
        while station.received < 6 and time.monotonic() < deadline:
            core.turn(0.0)
        assert station.received == 6 and future.done()
        numbers = [*calls.telemetry.position, *calls.telemetry.attitude, calls.telemetry.airspeed_mps]
        assert not any(map(math.isinf, numbers))
