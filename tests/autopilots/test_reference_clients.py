"""Ground stations that nobody here wrote fly the reference autopilot: `ironbird serve … --front mavlink`."""

from __future__ import annotations

import importlib
import math
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from belongings import wait_for
from test_outside_clients import Proxy, package

from ironbird.protocols.geodesy import to_geodetic
from ironbird.vehicles.load import load_spec

pytestmark = pytest.mark.autopilot
SPEED, UNTIL_S = 4.0, 900.0
ANSWER_S, LEG_S = 60.0, 150.0  # patience of the tests, wall time


class Served:
    """A vehicle in a process of its own that speaks to a port of ours."""

    def __init__(self, vehicle: str, folder: Path) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.spec = load_spec(vehicle)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ironbird.cli", "serve", vehicle, "--front", "mavlink", "--speed", str(SPEED),
             "--until", str(UNTIL_S), "--option", f"links=udp:127.0.0.1:{self.port}", "--option", "flights=0",
             "--out", str(folder / "out")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def close(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    made = Served(request.param, tmp_path)
    yield made
    made.close()


class Sdk:
    """A client on MAVSDK."""

    def __init__(self, port: int) -> None:
        sdk = package("mavsdk")
        names = ("action", "mission", "offboard", "param", "telemetry")
        self.plugins = {name: importlib.import_module(f"mavsdk.plugins.{name}") for name in names}
        self.client = sdk.Mavsdk(sdk.Configuration.create_with_component_type(sdk.ComponentType.GROUND_STATION))
        self.client.add_any_connection(f"udpin://127.0.0.1:{port}")
        vehicle = self.client.first_autopilot(ANSWER_S)
        assert vehicle is not None
        self.action, self.mission, self.offboard, self.param, self.telemetry = (
            getattr(self.plugins[name], name.capitalize())(vehicle) for name in names
        )
        wait_for(self.telemetry.health_all_ok, ANSWER_S, "health in MAVSDK")

    def place(self) -> tuple[float, float, float]:
        """North, east, height."""
        at = self.telemetry.position_velocity_ned().position
        return at.north_m, at.east_m, -at.down_m

    def near(self, north: float, east: float, within_m: float) -> bool:
        """Whether it is at a place."""
        return math.dist(self.place()[:2], (north, east)) < within_m


def fly_mission(sdk: Sdk, home: Any, corners: list[tuple[float, float]], height_m: float, speed_mps: float) -> None:
    """Upload, read back, fly to the end."""
    plugin, items = sdk.plugins["mission"], []
    for north, east in corners:
        latitude, longitude, _ = to_geodetic(home, [north, east, 0.0])
        items.append(
            plugin.MissionItem(
                latitude_deg=latitude, longitude_deg=longitude, relative_altitude_m=height_m, speed_m_s=speed_mps,
                is_fly_through=True,
            )
        )  # fmt: skip
    sdk.mission.upload_mission(plugin.MissionPlan(items))
    assert len(sdk.mission.download_mission().mission_items) == len(corners)
    sdk.mission.start_mission()
    wait_for(sdk.mission.is_mission_finished, LEG_S, "end of the mission")


@pytest.mark.parametrize(
    ("served", "height_m", "far_m", "within_m", "speed_mps"),
    [("quad_f450", 8.0, 15.0, 2.0, 4.0), ("aerosonde", 100.0, 400.0, 130.0, 25.0),
     ("rover_differential", 0.0, 6.0, 1.5, 1.0)],
    indirect=["served"],
)  # fmt: skip
def test_mavsdk_flies_a_mission_and_offboard(
    served: Served, height_m: float, far_m: float, within_m: float, speed_mps: float
) -> None:
    package("mavsdk")
    sdk = Sdk(served.port)
    try:
        parameters = sdk.param.get_all_params()
        assert len(parameters.float_params) > 500
        speed = sdk.param.get_param_float("MPC_XY_CRUISE")
        sdk.param.set_param_float("MPC_XY_CRUISE", speed)
        sdk.action.arm()
        if height_m:
            sdk.action.takeoff()
            wait_for(lambda: sdk.place()[2] > 5.0, LEG_S, "take-off")
        plugin = sdk.plugins["offboard"]
        sdk.offboard.set_position_ned(plugin.PositionNedYaw(far_m, 0.0, -height_m, 0.0))
        sdk.offboard.start()
        wait_for(lambda: sdk.near(far_m, 0.0, within_m), LEG_S, "the place asked for")
        sdk.offboard.set_velocity_ned(plugin.VelocityNedYaw(0.0, speed_mps, 0.0, 90.0))
        wait_for(lambda: sdk.place()[1] > within_m, LEG_S, "the way east")
        if served.spec.template in ("multicopter", "fixed_wing"):
            sdk.offboard.set_attitude(plugin.Attitude(8.0, 2.0, 90.0, 0.55))
            wait_for(lambda: sdk.telemetry.attitude_euler().roll_deg > 5.0, ANSWER_S, "the bank asked for")
        sdk.offboard.set_position_ned(plugin.PositionNedYaw(0.0, 0.0, -height_m, 0.0))
        sdk.offboard.stop()
        square = [(far_m, 0.0), (far_m, far_m), (0.0, far_m)]
        fly_mission(sdk, served.spec.home, square, height_m, speed_mps)
        sdk.action.return_to_launch()
        wait_for(lambda: sdk.near(0.0, 0.0, 3 * within_m), LEG_S, "the way home")
    finally:
        sdk.client.destroy()


@pytest.mark.parametrize("served", ["quad_f450"], indirect=True)
def test_mavproxy_loads_a_mission_and_flies_it(served: Served, tmp_path: Path) -> None:
    package("MAVProxy")
    home, rows = served.spec.home, ["QGC WPL 110"]
    rows.append(f"0 1 0 16 0 0 0 0 {home.latitude_deg} {home.longitude_deg} {home.height_m} 1")
    for number, (north, east, command) in enumerate([(0, 0, 22), (12, 0, 16), (12, 9, 16), (0, 0, 21)], start=1):
        latitude, longitude, _ = to_geodetic(home, [north, east, 0.0])
        rows.append(f"{number} 0 3 {command} 0 0 0 0 {latitude:.7f} {longitude:.7f} {7 if command != 21 else 0} 1")
    plan = tmp_path / "plan.txt"
    plan.write_text("\n".join(row.replace(" ", "\t") if row[0].isdigit() else row for row in rows) + "\n")
    folder = tmp_path / "mavproxy"
    folder.mkdir()
    proxy = Proxy(f"udpin:127.0.0.1:{served.port}", folder)
    try:
        proxy.expect(r"Detected vehicle 1:1 on link 0", seconds=ANSWER_S)
        proxy.expect(r"Received \d{3,} parameters", seconds=LEG_S)
        proxy.expect(r"Got MISSION_ACK: TYPE_MISSION: ACCEPTED", again=f"wp load {plan}")
        proxy.expect(r"DO_SET_MODE: ACCEPTED", again="long DO_SET_MODE 1 4 4")
        proxy.expect(r"\bARMED", again="arm throttle")
        proxy.expect(r"Mode MISSION", seconds=LEG_S)
        proxy.expect(r"\bDISARMED", seconds=LEG_S)
    finally:
        proxy.close()
