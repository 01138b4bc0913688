"""A stand-in for ArduPilot: sends first, waits for the state, repeats its packet after 1.1 s [ArduPilotJson]."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ironbird.autopilots.ardupilot.channels import SCALES, wire
from ironbird.blocks.environment.magnetic_wmm import local_field
from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3
from ironbird.errors import LinkError
from ironbird.rig.reference_autopilot import CONNECT_EVERY_S, ReferenceAutopilot
from ironbird.rotations import matrix

RESEND_S = 1.1  # measured on ArduPilot
GNSS_S, BARO_S, MAG_S = 0.2, 0.02, 0.02  # between samples of what ArduPilot's JSON gives as truth
SERVOS, SERVO_MAGIC, FRAME_RATE_HZ = struct.Struct("<HHI16H"), 18458, 1000


class ArduPilotSide:
    """ArduPilot's processing of the state: simulates satellites, barometer and compass from the true motion."""

    def __init__(self, pilot: ReferenceAutopilot) -> None:
        self.pilot = pilot
        home = pilot.vehicle.spec.home
        self.wiring = wire(pilot.vehicle.spec)
        field = local_field(home.latitude_rad, home.longitude_rad, home.height_m, home.year)["field_home"]
        self._field_N = np.array(field)
        self._home_m = home.height_m
        self._next = {"gnss": 0.0, "baro": 0.0, "mag": 0.0}

    def _due(self, sensor: str, now_s: float, every_s: float) -> bool:
        if now_s + 1e-9 < self._next[sensor]:
            return False
        self._next[sensor] += every_s
        return True

    def take(self, state: Mapping[str, Any]) -> None:
        """Read a state and run the autopilot up to its time."""
        now_s = float(state["timestamp"])
        pilot = self.pilot
        for unit in (1, 2, 3):
            pilot.sample(f"imu/{unit}/accel_fault", state["imu"]["accel_body"], now_s)
            pilot.sample(f"imu/{unit}/gyro_fault", state["imu"]["gyro"], now_s)
        if self._due("gnss", now_s, GNSS_S):
            for unit in (1, 2):
                pilot.fix(unit, state["position"], state["velocity"], now_s)
        if self._due("baro", now_s, BARO_S):
            pilot.sample("baro/1/altitude", self._home_m - state["position"][2], now_s)
        if self._due("mag", now_s, MAG_S):
            field = matrix(np.asarray(state["quaternion"])).T @ self._field_N
            for unit in (1, 2):
                pilot.sample(f"mag/{unit}/fault", field, now_s)
        if "airspeed" in state:
            pilot.sample("airspeed/1/fault", 0.5 * SEA_LEVEL_DENSITY_KGPM3 * state["airspeed"] ** 2, now_s)
        if "battery" in state:
            for name in ("voltage", "current"):
                pilot.feed(f"monitor/battery.{name}", state["battery"][name])
        if "rng_1" in state:
            pilot.sample("range/1/fault", state["rng_1"], now_s)
        pilot.advance(now_s)

    def servos(self, frame: int) -> bytes:
        """The packet of servo outputs."""
        pwm = [0] * 16
        for channel in self.wiring.channels:
            offset, scale, _, _ = SCALES[channel.kind]
            if channel.place not in self.pilot.commands or channel.kind == "launch":
                continue
            value = float(self.pilot.commands[channel.place][0]) if self.pilot.armed else 0.0
            pulse = round(offset + (-value if channel.reverse else value) / scale)
            pwm[channel.number - 1] = min(max(pulse, 1000), 2000)
        return SERVOS.pack(SERVO_MAGIC, FRAME_RATE_HZ, frame, *pwm)


def run_ardupilot(
    pilot: ReferenceAutopilot, *, host: str = "127.0.0.1", port: int = 9002, patience_s: float = 60.0
) -> None:
    """Connect to a simulator as ArduPilot does, until it is silent for `patience_s` after its first answer."""
    side = ArduPilotSide(pilot)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.connect((host, port))
        link.settimeout(RESEND_S)
        frame, last, answered = 0, time.monotonic(), False
        while True:
            with contextlib.suppress(OSError):  # not there yet
                link.send(side.servos(frame))
            try:
                line = link.recv(65536)
            except OSError as error:
                if time.monotonic() - last > patience_s:
                    if answered:
                        return
                    raise LinkError(f"no simulator answers on UDP {host}:{port} for {patience_s:g} s") from None
                if not isinstance(error, TimeoutError):  # refused: not listening
                    time.sleep(CONNECT_EVERY_S if not answered else RESEND_S)
                continue
            try:
                side.take(json.loads(line))
            except (ValueError, KeyError, TypeError):
                continue  # as ArduPilot: ignored, and the packet is repeated
            last, answered = time.monotonic(), True
            frame += 1
