"""Ground stations that nobody here wrote command the real autopilots: `ironbird sitl … --pilot none`."""

from __future__ import annotations

import importlib
import json
import math
import os
import re
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from belongings import Belongings, wait_for

import ironbird as ib
from ironbird.autopilots.px4.process import find_px4
from ironbird.autopilots.px4.version import release_of
from ironbird.protocols.geodesy import to_geodetic
from ironbird.vehicles.load import load_spec

pytestmark = pytest.mark.autopilot
SPEED = 2.0  # times real time: clients live in wall time
UNTIL_S = 300.0
CONNECT_S, ANSWER_S, LEG_S = 60.0, 60.0, 120.0  # patience of the tests, wall time
HEIGHT_M = 10.0
TAKE_OFF, LAND, SET_MODE, ARM, INTERVAL, REQUEST_MESSAGE = 22, 21, 176, 400, 511, 512  # MAV_CMD
PREARM = 0x10000000  # MAV_SYS_STATUS_PREARM_CHECK
GLOBAL_POSITION, COPTER_GUIDED, COPTER_LAND = 33, 4, 9


def package(name: str) -> Any:
    """A package of locks/requirements-clients.lock."""
    return pytest.importorskip(name, reason=f"{name} is missing: pip install -r locks/requirements-clients.lock")


class Watched:
    """A run that another ground station commands."""

    def __init__(self, belongings: Belongings, out: Path) -> None:
        self.out, self.belongings = out, belongings
        self.run = belongings.run(
            "--pilot", "none", "--speed", str(SPEED), "--until", str(UNTIL_S), "--out", str(out)
        )  # fmt: skip
        assert self.run.stdout is not None
        self.announced = self.run.stdout.readline()
        wait_for(belongings.autopilots, CONNECT_S, "start of the autopilot")

    def address(self, pattern: str) -> str:
        """What was printed for clients."""
        found = re.search(pattern, self.announced)
        assert found, self.announced
        return found.group(0)

    def finish(self) -> dict[str, str]:
        """Wait for the end by itself, look for leftovers; returns the summary."""
        _, said = self.run.communicate(timeout=LEG_S)
        assert self.run.returncode == 0, said
        self.belongings.check_nothing_left()
        assert self.autopilot_events("finished") == ["landed and disarmed"]
        summary: dict[str, str] = json.loads((self.out / "summary.json").read_text())
        return summary

    def autopilot_events(self, kind: str) -> list[str]:
        """What our passive ground station saw."""
        return [h["text"] for h in json.loads((self.out / "autopilot_events.json").read_text()) if h["kind"] == kind]

    def position(self) -> list[tuple[float, float, float]]:
        """North, east and height along the flight, the truth."""
        table = pyarrow.parquet.read_table(self.out / "flight.parquet")
        north, east, down = (table[f"body.p_NB_N[{i}]"].to_pylist() for i in range(3))
        return [(n, e, -d) for n, e, d in zip(north, east, down, strict=True)]


@pytest.fixture
def watched(belongings: Belongings, tmp_path: Path) -> Iterator[Watched]:
    made = Watched(belongings, tmp_path / "out")
    yield made
    if made.run.poll() is None:
        made.run.kill()
        made.run.communicate()


# ------------------------------------------------------------------------------ pymavlink


class Script:
    """A script of a user, on pymavlink."""

    def __init__(self, address: str) -> None:
        from pymavlink import mavutil

        deadline = time.monotonic() + CONNECT_S
        while True:
            try:
                self.link = mavutil.mavlink_connection(address, source_system=255)
                break
            except OSError:  # it does not listen yet
                assert time.monotonic() < deadline
                time.sleep(0.2)
        assert self.link.wait_heartbeat(timeout=CONNECT_S) is not None
        self._beat = 0.0
        self.texts: list[str] = []

    def until(self, met: Callable[[Any], bool], what: str, again: Callable[[], None] | None = None) -> Any:
        """The first message of the vehicle that meets a condition; says `again` until then."""
        deadline, said = time.monotonic() + ANSWER_S, 0.0
        while time.monotonic() < deadline:
            now = time.monotonic()
            if now - self._beat > 0.5:
                self._beat = now
                self.link.mav.heartbeat_send(6, 8, 0, 0, 4)
            if again is not None and now - said > 1.0:
                said = now
                again()
            message = self.link.recv_match(blocking=True, timeout=0.1)
            if message is not None and message.get_type() == "STATUSTEXT":
                self.texts.append(message.text)
            if message is not None and message.get_srcSystem() == self.link.target_system and met(message):
                return message
        raise AssertionError(f"not within {ANSWER_S} s: {what}; last texts: {self.texts[-5:]}")

    def command(self, number: int, *params: float) -> None:
        """Until it is accepted."""
        full = [*params, *[0.0] * (7 - len(params))]
        self.until(
            lambda m: m.get_type() == "COMMAND_ACK" and m.command == number and m.result == 0, f"command {number}",
            lambda: self.link.mav.command_long_send(self.link.target_system, 1, number, 0, *full),
        )  # fmt: skip

    def param(self, name: str) -> Any:
        """One parameter, as it comes."""
        return self.until(
            lambda m: m.get_type() == "PARAM_VALUE" and m.param_id == name, f"parameter {name}",
            lambda: self.link.mav.param_request_read_send(self.link.target_system, 1, name.encode(), -1),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("autopilot", "address"),
    [("px4", r"udpin:127\.0\.0\.1:\d+"), ("ardupilot", r"udpin:127\.0\.0\.1:\d+"),
     ("ardupilot", r"tcp:127\.0\.0\.1:\d+")],
    indirect=["autopilot"], ids=["px4-udp", "ardupilot-udp", "ardupilot-tcp"],
)  # fmt: skip
def test_a_script_on_pymavlink_arms_takes_off_and_lands(watched: Watched, address: str) -> None:
    px4 = watched.belongings.autopilot == "px4"
    script = Script(watched.address(address))
    try:
        rotors = script.param("CA_ROTOR_COUNT" if px4 else "FRAME_CLASS")
        value = struct.unpack("<i", struct.pack("<f", rotors.param_value))[0] if px4 else rotors.param_value
        assert value == (4 if px4 else 1)  # a quadrotor
        script.command(INTERVAL, GLOBAL_POSITION, 2e5)
        if px4:
            script.until(
                lambda m: m.get_type() == "SYS_STATUS" and m.onboard_control_sensors_health & PREARM, "readiness"
            )  # fmt: skip
            home = script.until(lambda m: m.get_type() == "HOME_POSITION", "home")
            script.command(TAKE_OFF, 0, 0, 0, math.nan, math.nan, math.nan, 1e-3 * home.altitude + HEIGHT_M)
            script.command(ARM, 1)
        else:
            script.command(INTERVAL, 193, 2e5)
            script.until(lambda m: m.get_type() == "EKF_STATUS_REPORT" and m.flags & 0x10, "a position")
            script.command(SET_MODE, 1, COPTER_GUIDED)
            script.command(ARM, 1)
            script.command(TAKE_OFF, 0, 0, 0, 0, 0, 0, HEIGHT_M)
        script.until(
            lambda m: m.get_type() == "GLOBAL_POSITION_INT" and m.relative_alt > 800 * HEIGHT_M, "the height"
        )  # fmt: skip
        if px4:
            script.command(LAND)
        else:
            script.command(SET_MODE, 1, COPTER_LAND)
        script.until(lambda m: m.get_type() == "HEARTBEAT" and not m.base_mode & 128, "disarmed")
    finally:
        script.link.close()
    summary = watched.finish()
    assert float(summary["greatest height"].split()[0]) == pytest.approx(HEIGHT_M, abs=2.0)
    assert {"armed", "disarmed"} <= set(watched.autopilot_events("armed"))


def counted(script: Script, kind: int) -> Any:
    """The length of one of its lists."""
    return script.until(
        lambda m: m.get_type() == "MISSION_COUNT" and m.mission_type == kind, f"list {kind}",
        lambda: script.link.mav.mission_request_list_send(script.link.target_system, 1, kind),
    )  # fmt: skip


def test_the_start_up_of_qgroundcontrol_is_answered(watched: Watched) -> None:
    """Its InitialConnectStateMachine, message by message: version, parameters, mission, fence, rally points, home."""
    px4 = watched.belongings.autopilot == "px4"
    script = Script(watched.address(r"udpin:127\.0\.0\.1:\d+"))
    mav, target = script.link.mav, script.link.target_system
    try:

        def requested(number: int, name: str) -> Any:
            return script.until(
                lambda m: m.get_type() == name, name,
                lambda: mav.command_long_send(target, 1, REQUEST_MESSAGE, 0, number, 0, 0, 0, 0, 0, 0),
            )  # fmt: skip

        version = requested(148, "AUTOPILOT_VERSION")
        assert version.capabilities & 8192  # MAVLink 2
        if px4:
            number = version.flight_sw_version >> 24, version.flight_sw_version >> 16 & 255
            assert number == release_of(find_px4()).number
        found: dict[int, str] = {}
        mav.param_request_list_send(target, 1)
        first = script.until(lambda m: m.get_type() == "PARAM_VALUE" and m.param_index < m.param_count, "a parameter")
        found[first.param_index] = first.param_id
        deadline = time.monotonic() + LEG_S
        while len(found) < first.param_count:
            assert time.monotonic() < deadline, f"{len(found)} of {first.param_count} parameters"
            came = script.link.recv_match(type="PARAM_VALUE", blocking=True, timeout=1.0)
            if came is not None and came.param_index < first.param_count:
                found[came.param_index] = came.param_id
            elif came is None:  # what was lost is asked for by its number
                for index in sorted(set(range(first.param_count)) - set(found))[:10]:
                    mav.param_request_read_send(target, 1, b"", index)
        assert ("MPC_THR_HOVER" if px4 else "MOT_THST_HOVER") in found.values()
        for kind in (0, 1, 2):  # mission, fence, rally points
            counted(script, kind)
        script.until(
            lambda m: m.get_type() == "HOME_POSITION", "home",
            lambda: mav.command_long_send(target, 1, REQUEST_MESSAGE, 0, 242, 0, 0, 0, 0, 0, 0),
        )  # fmt: skip
    finally:
        script.link.close()
    watched.run.send_signal(signal.SIGINT)
    watched.run.communicate(timeout=LEG_S)
    assert watched.run.returncode == 130
    watched.belongings.check_nothing_left()


# ------------------------------------------------------------------------------ our own client


@pytest.mark.parametrize(
    ("autopilot", "address"),
    [("px4", r"udpin:127\.0\.0\.1:\d+"), ("ardupilot", r"tcp:127\.0\.0\.1:\d+")],
    indirect=["autopilot"], ids=["px4-udp", "ardupilot-tcp"],
)  # fmt: skip
def test_our_client_flies_set_points_and_lands(watched: Watched, address: str) -> None:
    with ib.connect(watched.address(address), within_s=CONNECT_S) as v:
        assert v.telemetry.autopilot == watched.belongings.autopilot
        v.wait_ready(within_s=240.0)
        v.arm(within_s=LEG_S)
        v.take_off(HEIGHT_M, within_s=LEG_S)
        v.goto(north=10.0, east=5.0, down=-HEIGHT_M, yaw=0.0, within_s=LEG_S)
        v.velocity(2.0, 0.0, 0.0, frame="body")
        v.wait_for(lambda told: math.hypot(*told.velocity[:2]) > 1.0, "a metre a second", within_s=LEG_S)
        v.land()
        v.wait_disarmed(within_s=LEG_S)
    summary = watched.finish()
    assert float(summary["greatest height"].split()[0]) == pytest.approx(HEIGHT_M, abs=2.0)


# ------------------------------------------------------------------------------ MAVSDK


@pytest.mark.parametrize("autopilot", ["px4"], indirect=True)
def test_mavsdk_uploads_a_mission_and_flies_it(watched: Watched) -> None:
    sdk = package("mavsdk")
    plugins = {name: importlib.import_module(f"mavsdk.plugins.{name}") for name in ("action", "mission", "telemetry")}
    home = load_spec("quad_f450").home
    corners = [(15.0, 0.0), (15.0, 15.0), (0.0, 15.0)]
    items = []
    for north, east in corners:
        latitude, longitude, _ = to_geodetic(home, [north, east, 0.0])
        items.append(
            plugins["mission"].MissionItem(
                latitude_deg=latitude, longitude_deg=longitude, relative_altitude_m=HEIGHT_M, speed_m_s=5.0,
                is_fly_through=False, acceptance_radius_m=1.5,
            )
        )  # fmt: skip
    client = sdk.Mavsdk(sdk.Configuration.create_with_component_type(sdk.ComponentType.GROUND_STATION))
    try:
        client.add_any_connection(watched.address(r"udpin://127\.0\.0\.1:\d+"))
        vehicle = client.first_autopilot(CONNECT_S)
        assert vehicle is not None
        telemetry = plugins["telemetry"].Telemetry(vehicle)
        mission, action = plugins["mission"].Mission(vehicle), plugins["action"].Action(vehicle)
        wait_for(telemetry.health_all_ok, ANSWER_S, "health in MAVSDK")
        mission.set_return_to_launch_after_mission(True)
        mission.upload_mission(plugins["mission"].MissionPlan(items))
        assert len(mission.download_mission().mission_items) == len(items)
        action.arm()
        mission.start_mission()
        wait_for(mission.is_mission_finished, LEG_S, "end of the mission in MAVSDK")
        wait_for(lambda: not telemetry.armed(), LEG_S, "disarmed in MAVSDK")
    finally:
        client.destroy()
    watched.finish()
    flown = watched.position()
    for north, east in corners:
        assert min(math.dist(place, (north, east, HEIGHT_M)) for place in flown) < 3.0
    assert math.hypot(*flown[-1][:2]) < 3.0


# ------------------------------------------------------------------------------ MAVProxy


class Proxy:
    """MAVProxy in a terminal."""

    def __init__(self, address: str, folder: Path) -> None:
        program = Path(sys.executable).parent / "mavproxy.py"
        command = [sys.executable, "-u", str(program), "--master", address, "--state-basedir", str(folder)]
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip
        self.said = ""
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line

    def type(self, line: str) -> None:
        """A command of the user."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def expect(self, pattern: str, again: str = "", seconds: float = ANSWER_S) -> None:
        """Until it says something; a command is typed again every few seconds until then."""
        deadline, typed = time.monotonic() + seconds, 0.0
        while not re.search(pattern, self.said):
            assert time.monotonic() < deadline, f"MAVProxy did not say '{pattern}' but: {self.said}"
            assert self.process.poll() is None, self.said
            if again and time.monotonic() - typed > 3.0:
                typed = time.monotonic()
                self.type(again)
            time.sleep(0.05)

    def close(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)  # it has children
        self.process.wait()
        self._thread.join()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


def test_mavproxy_reads_all_parameters_and_flies(watched: Watched, tmp_path: Path) -> None:
    package("MAVProxy")
    px4 = watched.belongings.autopilot == "px4"
    folder = tmp_path / "mavproxy"
    folder.mkdir()
    proxy = Proxy(watched.address(r"udpin:127\.0\.0\.1:\d+"), folder)
    try:
        proxy.expect(r"Detected vehicle 1:1 on link 0", seconds=CONNECT_S)
        proxy.expect(r"Received \d{3,} parameters", seconds=LEG_S)
        if px4:
            proxy.expect(r"GPS lock at \d+ meters")
            above_sea_m = load_spec("quad_f450").home.height_m + HEIGHT_M
            proxy.expect(
                r"NAV_TAKEOFF: ACCEPTED|Mode TAKEOFF", again=f"long NAV_TAKEOFF 0 0 0 nan nan nan {above_sea_m:.1f}"
            )
            proxy.expect(r"\bARMED", again="arm throttle")
            proxy.expect(r"Takeoff detected")
            time.sleep(8.0 / SPEED)
            proxy.expect(r"NAV_LAND: ACCEPTED|Mode LAND", again="long NAV_LAND")
        else:
            proxy.expect(r"EKF3 IMU0 is using GPS", seconds=LEG_S)
            proxy.expect(r"Mode GUIDED", again="mode guided")
            proxy.expect(r"\bARMED|Arming motors", again="arm throttle")
            proxy.expect(r"NAV_TAKEOFF: ACCEPTED", again=f"takeoff {HEIGHT_M:g}")
            time.sleep(14.0 / SPEED)
            proxy.expect(r"Mode LAND", again="mode land")
        proxy.expect(r"\bDISARMED|Disarming motors|Disarmed by", seconds=LEG_S)
    finally:
        proxy.close()
    summary = watched.finish()
    assert float(summary["greatest height"].split()[0]) > 2.0


# ------------------------------------------------------------------------------ our own calls


def ahead(seen: Any) -> bool:
    """Whether it moves with 1 m/s where its nose points."""
    course = math.atan2(seen.velocity[1], seen.velocity[0])
    return 0.6 < math.hypot(*seen.velocity[:2]) < 1.4 and abs(math.remainder(course - seen.attitude[2], math.tau)) < 0.4


def test_our_python_calls_fly_both_autopilots_alike(watched: Watched) -> None:
    """The same program for PX4 and ArduPilot: `ib.connect`, as in docs/guide/control-from-python.md."""
    link = "udpin://" if watched.belongings.autopilot == "px4" else "udpin:"  # where programs, ground stations listen
    port = watched.address(link + r"127\.0\.0\.1:\d+").rpartition(":")[2]
    with ib.connect(f"udp:{port}", within_s=CONNECT_S) as v:
        assert v.telemetry.autopilot == watched.belongings.autopilot and v.telemetry.kind == "copter"
        v.wait_ready(within_s=120.0)
        v.arm(within_s=ANSWER_S)
        v.take_off(HEIGHT_M, within_s=LEG_S)
        assert v.telemetry.height_m == pytest.approx(HEIGHT_M, abs=1.5)
        v.goto(north=15.0, east=5.0, down=-HEIGHT_M, within_s=LEG_S)
        v.velocity(0.0, 2.0, 0.0, within_s=ANSWER_S)
        v.wait_for(
            lambda seen: seen.velocity[1] > 1.5 and abs(seen.velocity[0]) < 0.7, "2 m/s to the east", within_s=ANSWER_S
        )
        v.velocity(1.0, 0.0, 0.0, frame="body", within_s=ANSWER_S)
        v.wait_for(ahead, "1 m/s ahead", within_s=ANSWER_S)
        v.land(within_s=LEG_S)
    watched.finish()
    north, east, height = (max(row) for row in zip(*watched.position(), strict=True))
    assert north > 13.0 and east > 5.0 and height == pytest.approx(HEIGHT_M, abs=2.0)
