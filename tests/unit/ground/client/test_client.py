"""Calls of the client: against doubles made of pymavlink, and the reference autopilot behind its server."""

from __future__ import annotations

import asyncio
import inspect
import math
import time
from pathlib import Path
from typing import Any, Literal

import pytest
from pymavlink.dialects.v20 import ardupilotmega as m
from vehicle_double import HOME, Double

import ironbird as ib
from ironbird.errors import LinkError, UnknownNameError
from ironbird.ground.client.calls import Calls
from ironbird.host.process import free_udp_port
from ironbird.protocols.mavlink.failures import TYPES, UNITS
from ironbird.protocols.plan_file import Home as PlanHome
from ironbird.protocols.plan_file import LocalItem, PlanItem, from_mission, plan_text

Autopilot = Literal["px4", "ardupilot"]
BOTH: list[Autopilot] = ["px4", "ardupilot"]


def eventually(true: Any, within_s: float = 60.0) -> None:
    """Wait for something that a double hears in its own thread."""
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, "not heard"
        time.sleep(0.01)


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
@pytest.mark.parametrize("autopilot", BOTH)
def test_a_flight_is_the_same_calls_for_every_autopilot(autopilot: Autopilot, tcp: bool) -> None:
    with Double(autopilot, tcp=tcp) as double, ib.connect(double.address) as v:
        v.wait_ready()
        v.arm()
        assert double.armed and v.telemetry.armed
        v.take_off(5)
        v.goto(north=4, east=2, down=-5, yaw=0.5)
        assert math.dist(v.telemetry.position, (4, 2, -5)) < 1.0
        assert v.telemetry.mode == "offboard" and v.telemetry.autopilot == autopilot
        v.goto(north=2, east=0, down=0, frame="body")  # two metres ahead of here
        assert math.dist(v.telemetry.position, (4 + 2 * math.cos(0.5), 2 + 2 * math.sin(0.5), -5)) < 2.0
        v.land()
        v.wait_landed()
        v.wait_disarmed()
        assert not double.armed
        assert v.telemetry.battery_voltage_V == pytest.approx(12.1) and v.telemetry.battery_share == pytest.approx(0.87)
        assert v.telemetry.home == pytest.approx(HOME)


def test_a_set_point_is_sent_again_until_another_comes_and_ends_with_the_mode() -> None:
    with Double() as double, ib.connect(double.address) as v:
        v.arm()
        v.take_off(5)
        v.velocity(1.0, 2.0, -0.5, yaw_rate=0.1, frame="body")
        eventually(lambda: len(double.gaps) > 20)
        said = double.heard["SET_POSITION_TARGET_LOCAL_NED"]
        assert (said.vx, said.vy, said.vz, said.yaw_rate) == pytest.approx((1.0, 2.0, -0.5, 0.1))
        assert said.coordinate_frame == m.MAV_FRAME_BODY_NED and said.type_mask == 0x7 | 0x1C0 | 0x400
        assert (said.target_system, said.target_component) == (1, 1)
        v.acceleration(0.1, 0.2, 0.3)
        eventually(lambda: double.heard["SET_POSITION_TARGET_LOCAL_NED"].afx == pytest.approx(0.1))
        assert double.heard["SET_POSITION_TARGET_LOCAL_NED"].type_mask == 0x7 | 0x38 | 0xC00
        v.hold()
        count = len(double.gaps)
        time.sleep(0.3)
        assert len(double.gaps) <= count + 1  # one may have been on its way


def test_attitudes_are_quaternions_and_rates_are_masked_as_the_dialect_says() -> None:
    with Double() as double, ib.connect(double.address) as v:
        v.arm()
        v.attitude(0.1, -0.2, 1.0, thrust=0.6)
        said = double.heard["SET_ATTITUDE_TARGET"]
        from pymavlink.quaternion import Quaternion

        expected = Quaternion([0.1, -0.2, 1.0])
        assert said.q == pytest.approx(list(expected.q), abs=1e-6) and said.thrust == pytest.approx(0.6)
        assert said.type_mask == 0x7
        v.rates(0.5, 0.25, -0.5, thrust=0.4)
        eventually(lambda: double.heard["SET_ATTITUDE_TARGET"].type_mask == 0x80)
        assert double.heard["SET_ATTITUDE_TARGET"].body_pitch_rate == pytest.approx(0.25)


def test_sticks_are_manual_control() -> None:
    with Double() as double, ib.connect(double.address) as v:
        v.sticks(roll=0.5, pitch=-0.25, throttle=0.5, yaw=-1.0, buttons=5)
        eventually(lambda: "MANUAL_CONTROL" in double.heard)
        said = double.heard["MANUAL_CONTROL"]
        assert (said.x, said.y, said.z, said.r, said.buttons, said.target) == (-250, 500, 750, -1000, 5, 1)
        with pytest.raises(LinkError, match=r"stick roll is 2; give -1 to 1"):
            v.sticks(roll=2.0)


@pytest.mark.parametrize("autopilot", BOTH)
def test_missions_go_up_come_down_and_are_flown(autopilot: Autopilot, tmp_path: Path) -> None:
    items = [LocalItem(0, 0, 4, 0, "takeoff"), LocalItem(3, 1, 4, 0, "waypoint"), LocalItem(3, 1, 0, 0, "land")]
    plan = from_mission(items, PlanHome(*HOME))
    file = tmp_path / "square.plan"
    file.write_text(plan_text(plan, PlanHome(*HOME)))
    with Double(autopilot) as double, ib.connect(double.address) as v:
        v.wait_ready()
        v.upload_mission(file)
        down = v.download_mission()
        assert [(item.command, item.frame) for item in down] == [(item.command, item.frame) for item in plan]
        assert [item.latitude_deg for item in down] == pytest.approx([item.latitude_deg for item in plan], abs=1e-7)
        v.upload_mission(items)
        assert [item.command for item in v.download_mission()] == [item.command for item in plan]
        v.start_mission()
        v.wait_mission()
        eventually(lambda: not double.armed)
        v.upload_mission([])
        assert double.mission == []


@pytest.mark.parametrize("autopilot", BOTH)
def test_parameters_are_read_and_set_in_the_encoding_of_the_autopilot(autopilot: Autopilot) -> None:
    with Double(autopilot) as double, ib.connect(double.address) as v:
        assert v.param("COM_RCL_EXCEPT") == 4.0
        v.set_param("COM_RCL_EXCEPT", 7)
        assert double.params["COM_RCL_EXCEPT"] == (7, 6)
        v.loiter_radius(120.0)
        assert double.params["NAV_LOITER_RAD" if autopilot == "px4" else "WP_LOITER_RAD"][0] == 120.0
        assert v.params() == pytest.approx({name: value for name, (value, _) in double.params.items()})


def test_parameters_that_were_lost_are_asked_for_again() -> None:
    lost = {"MC_ROLL_P"}

    def lose_once(message: Any) -> Any:
        if message.get_type() == "PARAM_VALUE" and message.param_id in lost:
            lost.clear()
            return None
        return message

    with Double() as double, ib.connect(double.address) as v:
        double.before_send = lose_once
        assert set(v.params()) == set(double.params) and not lost


def test_faults_speeds_home_and_other_commands_have_their_numbers() -> None:
    with Double() as double, ib.connect(double.address) as v:
        v.inject("motor", "off", 2)
        v.speed(7.0)
        v.set_home(47.4, 8.5, 500.0)
        v.command(m.MAV_CMD_DO_CHANGE_SPEED, 0, 12.0)
    said = [(number, params[:3]) for number, params in double.commands if number != 511]
    assert said[0] == (m.MAV_CMD_INJECT_FAILURE, (m.FAILURE_UNIT_SYSTEM_MOTOR, m.FAILURE_TYPE_OFF, 2.0))
    assert said[1] == (m.MAV_CMD_DO_CHANGE_SPEED, (m.SPEED_TYPE_GROUNDSPEED, 7.0, -1.0))
    place = next(params for number, params in double.commands if number == m.MAV_CMD_DO_SET_HOME)
    assert place[4:] == (474_000_000, 85_000_000, 500.0)
    assert said[-1] == (m.MAV_CMD_DO_CHANGE_SPEED, (0.0, 12.0, 0.0))


def test_words_of_failures_are_those_of_the_dialect() -> None:
    for word, number in UNITS.items():
        names = [f"FAILURE_UNIT_{part}{word.upper()}" for part in ("SENSOR_", "SYSTEM_")]
        assert number in [getattr(m, name, None) for name in names], word
    for word, number in TYPES.items():
        assert number == getattr(m, f"FAILURE_TYPE_{word.upper()}")
    with (
        Double() as double,
        ib.connect(double.address) as v,
        pytest.raises(UnknownNameError, match=r"did you mean 'motor'"),
    ):
        v.inject("motr", "off")


def test_truth_is_shown_where_a_simulation_sends_it() -> None:
    with Double() as double:

        def with_truth(message: Any) -> Any:
            if message.get_type() != "LOCAL_POSITION_NED":
                return message
            half = math.sqrt(0.5)  # yaw by a right angle
            return [
                message,
                m.MAVLink_hil_state_quaternion_message(
                    2_000_000, [half, 0, 0, half], 0.1, 0.2, 0.3, 473_977_420, 85_455_940, 498_000, 100, -200, 300, 0,
                    0, 0, 0, 0,
                ),
            ]  # fmt: skip

        double.before_send = with_truth
        with ib.connect(double.address) as v:
            truth = v.wait_for(lambda told: told.truth is not None, "the truth").truth
    assert truth is not None and truth.attitude == pytest.approx((0.0, 0.0, math.pi / 2), abs=1e-6)
    assert truth.velocity == pytest.approx((1.0, -2.0, 3.0)) and truth.height_m == pytest.approx(498.0)
    assert truth.rates == pytest.approx((0.1, 0.2, 0.3)) and truth.time_s == pytest.approx(2.0)


def test_a_listening_client_hears_a_vehicle_that_speaks_first() -> None:
    port = free_udp_port()
    with Double() as double:
        double.peer = ("127.0.0.1", port)
        with ib.connect(f"udp:{port}") as v:
            v.arm()
            assert double.armed


def test_asyncio_has_every_call_and_several_wait_at_once() -> None:
    async def fly(address: str) -> ib.Telemetry:
        async with ib.aconnect(address) as v:
            await v.arm()
            await v.take_off(4)
            await v.velocity(0.0, 1.0)
            climbed, _ = await asyncio.gather(
                v.wait_for(lambda told: told.position[1] > 1.0, "a metre east"), v.param("MC_ROLL_P")
            )
            late = asyncio.create_task(v.wait_landed(60))
            await v.land()
            await late
            cancelled = asyncio.create_task(v.wait_for(lambda _: False))
            await asyncio.sleep(0.05)
            cancelled.cancel()
            with pytest.raises(asyncio.CancelledError):
                await cancelled
            return climbed

    with Double() as double:
        assert asyncio.run(fly(double.address)).position[1] > 1.0
        assert not double.armed


def test_both_faces_have_the_calls_of_the_core_with_their_words() -> None:
    calls = {name for name, thing in vars(Calls).items() if inspect.isgeneratorfunction(thing) and name[0] != "_"}
    for face in (ib.RemoteVehicle, ib.AsyncRemoteVehicle):
        assert calls - {"meet"} <= set(dir(face))
        for name in calls - {"meet"}:
            assert getattr(face, name).__doc__ == getattr(Calls, name).__doc__
            words = getattr(Calls, name).__doc__.lower()
            assert "wait" in words or "arms" in words, name  # each says what it waits for


def test_the_reference_autopilot_is_called_over_its_server() -> None:
    with ib.rehearsal() as address, ib.connect(address) as v:
        v.wait_ready()
        v.arm()
        v.take_off(3, within_s=300)
        assert v.telemetry.landed in ("taking off", "in the air") and v.telemetry.kind == "copter"
        v.goto(north=3, east=1, down=-3, yaw=0.3, within_s=300)
        assert math.dist(v.telemetry.position, (3, 1, -3)) < 1.5
        v.velocity(1.0, 0.0, 0.0, frame="body")
        fast = v.wait_for(lambda told: math.hypot(*told.velocity[:2]) > 0.7, "0.7 m/s", within_s=120).velocity
        assert math.atan2(fast[1], fast[0]) == pytest.approx(0.3, abs=0.35)  # along its heading, in gusts of none
        params = v.params()
        name = next(name for name, value in params.items() if 1.0 < value < 10.0)
        v.set_param(name, params[name])
        plan = [PlanItem(16, 3, (0.0, 0.0, 0.0, math.nan), v.telemetry.home[0], v.telemetry.home[1], 3.0)]
        v.upload_mission(plan)
        assert v.download_mission()[0].command == 16
        v.land()
        v.wait_landed(within_s=300)
        v.wait_disarmed()
