"""MAV_CMD_INJECT_FAILURE of a client on pymavlink acts on the vehicle of a real PX4. Needs IRONBIRD_PX4."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ironbird.autopilots.px4.process import VARIABLE
from ironbird.flight import flight as flights
from ironbird.flight.order import load_order
from ironbird.protocols.mavlink.failures import TYPES, UNITS

pytestmark = [
    pytest.mark.autopilot,
    pytest.mark.limit(400),
    pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} names no PX4"),
]
TAKE_OFF, ARM, INJECT = 22, 400, 420
READY = 0x10000000


def ask(link: Any, command: int, *values: float) -> int:
    """The answer to a command."""
    link.mav.command_long_send(link.target_system, 1, command, 0, *values, *[0.0] * (7 - len(values)))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        answer = link.recv_match(type="COMMAND_ACK", blocking=True, timeout=1)
        if answer is not None and answer.command == command:
            return int(answer.result)
    raise AssertionError(f"no answer to command {command}")


def test_failures_of_a_client_break_the_vehicle_and_repeat_without_it(tmp_path: Path) -> None:
    mavutil = pytest.importorskip("pymavlink.mavutil")
    folder = tmp_path / "flown"
    words = ["fly", "quad_f450", "--control", "px4", "--time", "paced", "--speed", "3", "--pilot", "none"]
    command = [sys.executable, "-m", "ironbird.cli", *words, "--until", "90", "--out", str(folder)]
    link = mavutil.mavlink_connection("udpin:127.0.0.1:14550")
    flying = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert link.wait_heartbeat(timeout=120) is not None
        link.mav.heartbeat_send(6, 8, 0, 0, 0)
        while not (
            link.recv_match(type="SYS_STATUS", blocking=True, timeout=60).onboard_control_sensors_health & READY
        ):
            pass
        place = link.recv_match(type="GLOBAL_POSITION_INT", blocking=True, timeout=60)
        assert ask(link, TAKE_OFF, 0, 0, 0, *[math.nan] * 3, place.alt * 1e-3 + 10) == 0
        assert ask(link, ARM, 1) == 0
        while link.recv_match(type="GLOBAL_POSITION_INT", blocking=True, timeout=60).relative_alt < 5000:
            pass
        assert ask(link, INJECT, UNITS["rc_signal"], TYPES["off"], 1) == 3  # unsupported
        assert ask(link, INJECT, UNITS["motor"], TYPES["off"], 9) == 2  # it has four
        assert ask(link, INJECT, UNITS["gyro"], TYPES["stuck"], 2) == 0
        assert ask(link, INJECT, UNITS["gyro"], TYPES["ok"], 2) == 0
        assert ask(link, INJECT, UNITS["motor"], TYPES["off"], 1) == 0
        assert flying.wait(180) == 1  # it falls
    finally:
        flying.kill()
        flying.wait()
        link.close()
    order = load_order(folder / "order.toml")
    assert [fault.fault.id for fault in order.faults] == ["imu.gyro_stuck@1", "rotor.speed_loss@1"]
    again = flights.fly(order, folder=tmp_path / "again")
    assert [witness.effective for witness in again.witnesses] == [True, True]
    assert again.sha256 in (folder / "summary.json").read_text()
    assert again.sha256_of_all in (folder / "summary.json").read_text()


def test_the_failure_plugin_of_mavsdk_breaks_the_vehicle(tmp_path: Path) -> None:
    sdk = pytest.importorskip("mavsdk")
    failure = pytest.importorskip("mavsdk.plugins.failure")
    telemetry, action = (pytest.importorskip(f"mavsdk.plugins.{name}") for name in ("telemetry", "action"))
    folder = tmp_path / "flown"
    words = ["fly", "quad_f450", "--control", "px4", "--time", "paced", "--speed", "3", "--pilot", "none"]
    command = [sys.executable, "-m", "ironbird.cli", *words, "--until", "90", "--out", str(folder)]
    client = sdk.Mavsdk(sdk.Configuration.create_with_component_type(sdk.ComponentType.GROUND_STATION))
    flying = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        client.add_any_connection("udpin://127.0.0.1:14550")
        vehicle = client.first_autopilot(120.0)
        assert vehicle is not None
        state, hands, breaks = telemetry.Telemetry(vehicle), action.Action(vehicle), failure.Failure(vehicle)
        deadline = time.monotonic() + 120
        while not state.health_all_ok() and time.monotonic() < deadline:
            time.sleep(0.1)
        hands.arm()
        hands.takeoff()
        time.sleep(3.0)
        unit, how = failure.FailureUnit, failure.FailureType
        with pytest.raises(failure.FailureError) as error:
            breaks.inject(unit.SYSTEM_RC_SIGNAL, how.OFF, 1)
        assert error.value.result == failure.FailureResult.UNSUPPORTED
        breaks.inject(unit.SENSOR_GYRO, how.STUCK, 2)
        breaks.inject(unit.SENSOR_GYRO, how.OK, 2)
        breaks.inject(unit.SYSTEM_MOTOR, how.OFF, 1)
        assert flying.wait(180) == 1
    finally:
        flying.kill()
        flying.wait()
        client.destroy()
    order = load_order(folder / "order.toml")
    assert [fault.fault.id for fault in order.faults] == ["imu.gyro_stuck@1", "rotor.speed_loss@1"]
