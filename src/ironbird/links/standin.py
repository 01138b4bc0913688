"""Stand-in: the reference autopilot in a process of its own, behind the protocol of PX4 or of ArduPilot.

It lets anyone try a link without a foreign binary, and tests it: the same estimator, navigator and control laws as in a
flight with control `reference`, fed with what comes over the wire and nothing else. It behaves on the wire as the real
ones do: PX4 connects, asks for the true state, says one heartbeat and then answers each HIL_SENSOR of id 0 with one
HIL_ACTUATOR_CONTROLS of the same time [PX4Sim]; ArduPilot speaks first, waits for the state, and repeats its packet after
1.1 s [ArduPilotJson]. Not done: parameters, missions from a ground station, any MAVLink but that of the simulator link.
"""

from __future__ import annotations

import contextlib
import json
import math
import socket
import struct
import time
from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from ironbird.blocks.environment.magnetic_wmm import local_field
from ironbird.blocks.sensors.barometer import altitude_of
from ironbird.compiler.compiled import compile_model
from ironbird.errors import LinkError
from ironbird.links import mavlink
from ironbird.links.ardupilot_channels import SCALES, wire
from ironbird.links.geodesy import to_local
from ironbird.model.signal import Number
from ironbird.runtime.state import start
from ironbird.runtime.stepper import Stepper
from ironbird.vehicles.external import cut_vehicle
from ironbird.vehicles.load import load_vehicle

LONGEST_S = 24 * 3600.0
CONNECT_EVERY_S = 0.01
RESEND_S = 1.1  # measured on ArduPilot
FULL_CELL_V = 4.1
GAUSS_T = 1e-4
ACCEL, GYRO, MAG, BARO = 0x0007, 0x0038, 0x01C0, 0x1A00  # fields_updated of HIL_SENSOR, by group
ARMED, DISARMED, LOCKSTEP = 129, 1, 1  # mode and flags of HIL_ACTUATOR_CONTROLS
PX4_HELLO = (115.0, 5000.0, 0.0, 0.0, 0.0, 0.0, 0.0, 511, 0, 0, 0)  # HIL_STATE_QUATERNION each 5 ms
PX4_HEARTBEAT = (0, 2, 12, 0, 0, 3)  # quadrotor, PX4, MAVLink 3
GNSS_S, BARO_S, MAG_S = 0.2, 0.02, 0.02  # at which what ArduPilot's JSON gives is sampled
SPEED_ACCURACY_MPS, EPH_M, EPV_M = 0.25, 1.0, 1.5


class ReferenceAutopilot:
    """The control system of a vehicle without the vehicle: values of sensors in, commands of actuators out."""

    def __init__(
        self, vehicle: str, *, params: Mapping[str, Number] | None = None, arm_after_s: float | None = None
    ) -> None:
        self.vehicle = load_vehicle(vehicle, control="reference")
        diagram, self._feeds, self.driven = cut_vehicle(self.vehicle.diagram)
        settings: dict[str, Number] = dict(params or {})
        if arm_after_s is not None:
            settings["navigator.arm_time"] = arm_after_s
        model = compile_model(diagram)
        self.stepper = Stepper(start(model, params=settings), until_s=LONGEST_S, log=[], log_s=60.0)
        self._rows = {path: [model.flat.u.rows(name) for name in names] for path, names in self._feeds.items()}
        self.commands = {
            place: self.stepper.held[self.stepper.held_rows(path)] for place, path in self.driven.items()
        }
        self._armed = self.stepper.held[self.stepper.held_rows("navigator.armed")]
        self._done = self.stepper.held[self.stepper.held_rows("navigator.done")]
        if "monitor/battery.voltage" in self._feeds:  # neither link carries the battery to the autopilot
            self.feed("monitor/battery.voltage", FULL_CELL_V * float(diagram.value("vote/battery.cells")[0]))

    def feed(self, path: str, value: Number | np.ndarray) -> None:
        """Set what a sensor's output says; one that this autopilot does not read is ignored."""
        for rows in self._rows.get(path, ()):
            self.stepper.inputs[rows] = value

    def has(self, path: str) -> bool:
        """Whether it reads this output of a sensor."""
        return path in self._rows

    def inertial(self, number: int, accel: Any, gyro: Any, time_s: float) -> None:
        """A sample of one inertial unit; None is a group that is not in it."""
        if accel is not None:
            self.feed(f"imu/{number}/accel_fault.value", accel)
            self.feed(f"imu/{number}/accel_fault.stamp", time_s)
        if gyro is not None:
            self.feed(f"imu/{number}/gyro_fault.value", gyro)
            self.feed(f"imu/{number}/gyro_fault.stamp", time_s)

    def fix(self, number: int, position: Any, velocity: Any, accuracy: tuple[float, float], kind: float, time_s: float):  # type: ignore[no-untyped-def]  # noqa: E501
        ...
