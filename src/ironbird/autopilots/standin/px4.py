"""A stand-in for PX4: it connects, requests the true state, sends one heartbeat, and answers each step [PX4].

A step is a HIL_SENSOR of id 0; its answer is one HIL_ACTUATOR_CONTROLS of the same time.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from ironbird.autopilots.px4.airframes import airframe_of
from ironbird.autopilots.px4.groups import ACCEL, BARO, DIFF_PRESSURE, GAUSS_T, GYRO, MAG
from ironbird.blocks.sensors.barometer import altitude_of
from ironbird.errors import LinkError
from ironbird.protocols.geodesy import to_local
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.protocols.mavlink.codec import Packer, Parser
from ironbird.rig.reference_autopilot import CONNECT_EVERY_S, ReferenceAutopilot

DISARMED = numbers.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED
ARMED = DISARMED | numbers.MAV_MODE_FLAG_SAFETY_ARMED
LOCKSTEP = 1  # flag of HIL_ACTUATOR_CONTROLS
HELLO = dialect.COMMAND_LONG.record(  # wants the true state each 5 ms
    command=numbers.SET_MESSAGE_INTERVAL, param1=dialect.HIL_STATE_QUATERNION.id, param2=5000.0
)
HEARTBEAT = dialect.HEARTBEAT.record(
    type=numbers.MAV_TYPE_QUADROTOR, autopilot=numbers.MAV_AUTOPILOT_PX4, mavlink_version=numbers.MAVLINK_VERSION
)
CONTROLS = 16
BOARD_CONTROL_HZ = 200.0  # of a board in HITL mode, until it is asked for another rate [PX4Hitl]


class Px4Side:
    """PX4's processing of the messages of the simulator link."""

    def __init__(self, pilot: ReferenceAutopilot, *, alone: bool = False) -> None:
        self.pilot = pilot
        self._places = (1, 2, 3) if alone else ()  # instances that a single sensor of each kind replaces
        airframe = airframe_of(pilot.vehicle)
        if airframe.water_Papm:
            raise LinkError(f"vehicle '{pilot.vehicle.id}': the stand-in knows no depth over PX4's link")
        self._turn = airframe.turn  # R_HB of a tail-sitter, whose axes in the messages are level in hover
        self.channels = airframe.channels  # place of the actuator on each output; empty is none
        self.time_us = 0
        self.sensors = 0  # HIL_SENSOR of id 0 so far
        self.control_hz = BOARD_CONTROL_HZ
        self._first_us: int | None = None
        self._home = pilot.vehicle.spec.home

    @property
    def _now_s(self) -> float:
        return (self.time_us - (self._first_us or 0)) * 1e-6

    def take(self, number: int, payload: bytes) -> bool:
        """Read a message; returns whether it advanced the clock."""
        if number == dialect.HIL_SENSOR.id:
            return self._take_sensor(dialect.HIL_SENSOR.unpack(payload))
        if number == dialect.HIL_GPS.id and self._first_us is not None:
            self._take_fix(dialect.HIL_GPS.unpack(payload))
        elif number == dialect.COMMAND_LONG.id:
            what, interval_us, *_, command, _, _, _ = dialect.COMMAND_LONG.unpack(payload)
            if command == numbers.SET_MESSAGE_INTERVAL and what == dialect.HIL_ACTUATOR_CONTROLS.id and interval_us > 0:
                self.control_hz = 1e6 / interval_us
        elif number == dialect.DISTANCE_SENSOR.id:
            values = dialect.DISTANCE_SENSOR.unpack(payload)
            self.pilot.sample(f"range/{values[5] + 1}/fault", values[3] * 0.01, self._now_s)
        return False

    def _take_sensor(self, values: tuple[Any, ...]) -> bool:
        time_us, updated, unit = values[0], values[14], values[15] + 1
        if self._first_us is None:
            if unit != 1:
                return False
            self._first_us = time_us
        if unit == 1:
            self.time_us = time_us
        now_s, pilot = self._now_s, self.pilot
        for place in self._places or (unit,):
            if updated & ACCEL == ACCEL:
                pilot.inertial_sample(f"imu/{place}/accel_fault", self._own_axes(values[1:4]), now_s)
            if updated & GYRO == GYRO:
                pilot.inertial_sample(f"imu/{place}/gyro_fault", self._own_axes(values[4:7]), now_s)
            if updated & MAG == MAG:
                field = self._own_axes([value * GAUSS_T for value in values[7:10]])
                pilot.sample(f"mag/{place}/fault", field, now_s)
        if updated & BARO == BARO:
            pilot.sample(f"baro/{unit}/altitude", float(altitude_of(ca.SX(values[10] * 100.0))), now_s)
        if updated & DIFF_PRESSURE:
            pilot.sample(f"airspeed/{unit}/fault", values[11] * 100.0, now_s)
        if unit != 1:
            return False
        self.sensors += 1
        return True

    def _own_axes(self, values: Sequence[float]) -> Sequence[float] | np.ndarray:
        return values if self._turn is None else self._turn.T @ np.array(values)

    def _take_fix(self, values: tuple[Any, ...]) -> None:
        _, latitude, longitude, height, eph, epv, _, *velocity = values[:10]
        kind, unit = values[11], values[13] + 1
        for place in self._places or (unit,):
            self.pilot.fix(
                place,
                to_local(self._home, latitude * 1e-7, longitude * 1e-7, height * 1e-3),
                [value * 0.01 for value in velocity],
                self._now_s,
                kind=float(kind),
                eph_m=eph * 0.01,
                epv_m=epv * 0.01,
            )

    def run(self) -> None:
        """Run the control system up to the clock's time."""
        self.pilot.advance(self._now_s)

    def controls(self) -> tuple[float, ...]:
        """Fields of HIL_ACTUATOR_CONTROLS for the present commands."""
        values = [0.0] * CONTROLS
        if self.pilot.armed:
            for number, place in enumerate(self.channels):
                if place in self.pilot.commands:
                    values[number] = float(self.pilot.commands[place][0])
        return (self.time_us, LOCKSTEP, *values, ARMED if self.pilot.armed else DISARMED)


def _answer(side: Px4Side, packer: Packer) -> None:
    side.run()
    packer.add(dialect.HIL_ACTUATOR_CONTROLS, *side.controls())


def run_px4(pilot: ReferenceAutopilot, *, host: str = "127.0.0.1", port: int = 4560, patience_s: float = 60.0) -> None:
    """Connect to a simulator as PX4 does and fly until the connection is closed."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            link = socket.create_connection((host, port), timeout=patience_s)
            break
        except OSError as error:
            if time.monotonic() > deadline:
                raise LinkError(f"no simulator listens on TCP {host}:{port} for {patience_s:g} s: {error}") from None
            time.sleep(CONNECT_EVERY_S)
    with link:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        side, parser, packer = Px4Side(pilot), Parser(), Packer()
        packer.add(dialect.COMMAND_LONG, *HELLO)
        packer.add(dialect.HEARTBEAT, *HEARTBEAT)
        try:
            link.sendall(packer.take())
            while True:
                data = link.recv(65536)
                if not data:
                    return
                moved = False
                for number, payload, _, _ in parser.feed(data):
                    if moved and number == dialect.HIL_SENSOR.id and not dialect.HIL_SENSOR.unpack(payload)[15]:
                        _answer(side, packer)  # of the step before: each has one
                    moved = side.take(number, payload) or moved
                if moved:  # after all of a write: ids 1 and 2 come behind id 0
                    _answer(side, packer)
                    link.sendall(packer.take())
        except TimeoutError:
            raise LinkError(f"the simulator on {host}:{port} is silent for {patience_s:g} s") from None
        except OSError:  # hung up
            return
