"""Stand-in: the reference autopilot in a process of its own, behind the protocol of PX4 or of ArduPilot.

It lets anyone try a link without a foreign binary, and tests it: the same estimator, navigator and control laws as in a
flight with control `reference`, fed with what comes over the wire and nothing else. On the wire it behaves as the real
ones do: PX4 connects, asks for the true state, says one heartbeat and then answers each HIL_SENSOR of id 0 with one
HIL_ACTUATOR_CONTROLS of the same time [PX4]; ArduPilot speaks first, waits for the state, and repeats its packet after
1.1 s [ArduPilotJson]; as a PX4 board on a cable it gives controls by its own clock [PX4Hitl]. Not done: parameters,
missions from a ground station, any MAVLink but that of the simulator link; depth, and a battery over PX4's link.
"""

from __future__ import annotations

import contextlib
import json
import math
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from ironbird.blocks.environment.magnetic_wmm import local_field
from ironbird.blocks.sensors.barometer import altitude_of
from ironbird.compiler.compiled import compile_model
from ironbird.errors import LinkError
from ironbird.links import mavlink
from ironbird.links.ardupilot.channels import SCALES, wire
from ironbird.links.geodesy import to_local
from ironbird.links.hardware.cable import Cable
from ironbird.links.px4.airframes import airframe_of
from ironbird.links.realtime import WallClock, undisturbed
from ironbird.model.signal import Number
from ironbird.runtime.state import start
from ironbird.runtime.stepper import Stepper
from ironbird.vehicles.external import cut_vehicle
from ironbird.vehicles.load import Vehicle, load_vehicle

LONGEST_S = 24 * 3600.0
CONNECT_EVERY_S = 0.01
RESEND_S = 1.1  # measured on ArduPilot
FULL_CELL_V = 4.1
GAUSS_T = 1e-4
ACCEL, GYRO, MAG, BARO = 0x0007, 0x0038, 0x01C0, 0x1A00  # fields_updated of HIL_SENSOR, by group
DIFF_PRESSURE = 0x0400
CARRIED = ("imu/", "mag/", "baro/", "gnss/", "airspeed/", "range/", "log/", "monitor/battery.")  # what links can carry
SEA_LEVEL_KGPM3 = 1.225
ARMED, DISARMED, LOCKSTEP = 129, 1, 1  # mode and flags of HIL_ACTUATOR_CONTROLS
PX4_HELLO = (115.0, 5000.0, 0.0, 0.0, 0.0, 0.0, 0.0, 511, 0, 0, 0)  # wants HIL_STATE_QUATERNION each 5 ms
PX4_HEARTBEAT = (0, 2, 12, 0, 0, 3)  # quadrotor, PX4, MAVLink 3
CONTROLS = 16
CATCH_UP_S = 0.5
BOARD_CONTROL_HZ, SET_MESSAGE_INTERVAL = 200.0, 511  # of a board in HITL mode [PX4Hitl]
GNSS_S, BARO_S, MAG_S = 0.2, 0.02, 0.02  # between samples of what ArduPilot's JSON gives as truth
EPH_M, EPV_M, SPEED_ACCURACY_MPS, FIXED = 1.0, 1.5, 0.25, 3.0
SERVOS, SERVO_MAGIC, FRAME_RATE_HZ = struct.Struct("<HHI16H"), 18458, 1000


class ReferenceAutopilot:
    """The control system of a vehicle without the vehicle: values of sensors in, commands of actuators out."""

    def __init__(
        self, vehicle: Vehicle | str, *, params: Mapping[str, Number] | None = None, arm_after_s: float | None = None
    ) -> None:  # fmt: skip
        if not isinstance(vehicle, Vehicle):
            vehicle = load_vehicle(vehicle, control="reference")
        self.vehicle = vehicle
        diagram, feeds, driven = cut_vehicle(self.vehicle.diagram)
        read = {source.rpartition(".")[0] for sources in diagram.links.values() for source in sources}
        read |= {path.rpartition(".")[0] for path in driven.values()}  # what is in no way read is no control system
        strange = [
            path for path, targets in feeds.items()
            if not path.startswith(CARRIED) and any(target.rpartition(".")[0] in read for target in targets)
        ]  # fmt: skip
        if strange:
            raise LinkError(
                f"vehicle '{vehicle.id}': its control system reads {strange[0]}, for which the links have no message"
            )
        settings: dict[str, Number] = dict(params or {})
        if arm_after_s is not None:
            if "navigator.arm_time" not in diagram.param_paths():
                raise LinkError(f"vehicle '{vehicle.id}' knows no arming, so it cannot wait for {arm_after_s:g} s")
            settings["navigator.arm_time"] = arm_after_s
        model = compile_model(diagram)
        self.stepper = Stepper(start(model, params=settings), until_s=LONGEST_S, log=[], log_s=60.0)
        self._rows = {path: [model.flat.u.rows(name) for name in names] for path, names in feeds.items()}
        self.commands = {place: self.view(path) for place, path in driven.items()}
        names = model.flat.held.start
        self._armed = self.view("navigator.armed") if "navigator.armed" in names else None
        self._disarmed = self.view("navigator.disarmed") if "navigator.disarmed" in names else None
        self._tick = 0
        for path in feeds:
            if path.endswith(".stamp"):
                self.feed(path, -1.0)
        self._has_log = "log/1/fault.value" in feeds
        if "monitor/battery.voltage" in feeds:  # until a link says another; PX4's has no message for it
            self.feed("monitor/battery.voltage", FULL_CELL_V * float(diagram.value("vote/battery.cells")[0]))

    def view(self, path: str) -> np.ndarray:
        """A view of an output of the control system."""
        return self.stepper.held[self.stepper.held_rows(path)]

    @property
    def armed(self) -> bool:
        """Whether the motors may turn; vehicles that know no arming always are."""
        if self._armed is not None:
            return bool(self._armed[0] > 0.5)
        return self._disarmed is None or bool(self._disarmed[0] < 0.5)

    def feed(self, path: str, value: Number | np.ndarray | Sequence[float]) -> None:
        """Set what a sensor's output says; one that this autopilot does not read is passed over."""
        for rows in self._rows.get(path, ()):
            self.stepper.inputs[rows] = value

    def sample(self, place: str, value: Number | np.ndarray | Sequence[float], time_s: float) -> None:
        """A new sample of a sensor behind its tap."""
        self.feed(f"{place}.value", value)
        self.feed(f"{place}.stamp", time_s)

    def fix(
        self, number: int, position_N: np.ndarray | Sequence[float], velocity_N: np.ndarray | Sequence[float],
        time_s: float, *, kind: float = FIXED, eph_m: float = EPH_M, epv_m: float = EPV_M,
    ) -> None:  # fmt: skip
        """A fix of a satellite receiver."""
        self.sample(f"gnss/{number}/position_fault", position_N, time_s)
        self.sample(f"gnss/{number}/velocity_fault", velocity_N, time_s)
        chip = f"gnss/{number}/chip"
        for name, value in (
            ("fix_type", kind), ("eph", eph_m), ("epv", epv_m), ("speed_accuracy", SPEED_ACCURACY_MPS),
        ):  # fmt: skip
            self.feed(f"{chip}.{name}", value)

    def advance(self, time_s: float) -> None:
        """Run up to this time and, at the first call, one step more."""
        model = self.stepper.state.model
        tick = round(time_s / model.step_s) + 1
        if tick > self._tick:
            if self._has_log:  # the links have no message for a speed log: speed over ground stands in for it
                attitude = self.view("estimator.R_NB").reshape(3, 3, order="F")
                over_ground = attitude.T @ self.view("estimator.v_NB_N")
                self.feed("log/1/fault.value", over_ground)
            self.stepper.step(tick - self._tick)
            self._tick = tick


class Px4Side:
    """What PX4 does with the messages of the simulator link."""

    def __init__(self, pilot: ReferenceAutopilot, *, alone: bool = False) -> None:
        self.pilot = pilot
        self._places = (1, 2, 3) if alone else ()  # with one sensor of each kind, it stands in for the others
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
        """Read a message; true when it moved the clock."""
        if number == mavlink.HIL_SENSOR.id:
            return self._take_sensor(mavlink.HIL_SENSOR.unpack(payload))
        if number == mavlink.HIL_GPS.id and self._first_us is not None:
            self._take_fix(mavlink.HIL_GPS.unpack(payload))
        elif number == mavlink.COMMAND_LONG.id:
            what, interval_us, *_, command, _, _, _ = mavlink.COMMAND_LONG.unpack(payload)
            if command == SET_MESSAGE_INTERVAL and what == mavlink.HIL_ACTUATOR_CONTROLS.id and interval_us > 0:
                self.control_hz = 1e6 / interval_us
        elif number == mavlink.DISTANCE_SENSOR.id:
            values = mavlink.DISTANCE_SENSOR.unpack(payload)
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
                pilot.sample(f"imu/{place}/accel_fault", self._own_axes(values[1:4]), now_s)
            if updated & GYRO == GYRO:
                pilot.sample(f"imu/{place}/gyro_fault", self._own_axes(values[4:7]), now_s)
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
                place, to_local(self._home, latitude * 1e-7, longitude * 1e-7, height * 1e-3),
                [value * 0.01 for value in velocity], self._now_s, kind=float(kind), eph_m=eph * 0.01,
                epv_m=epv * 0.01,
            )  # fmt: skip

    def run(self) -> None:
        """Have the control system catch up with the clock."""
        self.pilot.advance(self._now_s)

    def controls(self) -> tuple[float, ...]:
        """Fields of HIL_ACTUATOR_CONTROLS."""
        values = [0.0] * CONTROLS
        if self.pilot.armed:
            for number, place in enumerate(self.channels):
                if place in self.pilot.commands:
                    values[number] = float(self.pilot.commands[place][0])
        return (self.time_us, LOCKSTEP, *values, ARMED if self.pilot.armed else DISARMED)


def _answer(side: Px4Side, packer: mavlink.Packer) -> None:
    side.run()
    packer.add(mavlink.HIL_ACTUATOR_CONTROLS, *side.controls())


def run_px4(pilot: ReferenceAutopilot, *, host: str = "127.0.0.1", port: int = 4560, patience_s: float = 60.0) -> None:
    """Connect to a simulator as PX4 does and fly until it hangs up."""
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
        side, parser, packer = Px4Side(pilot), mavlink.Parser(), mavlink.Packer()
        packer.add(mavlink.COMMAND_LONG, *PX4_HELLO)
        packer.add(mavlink.HEARTBEAT, *PX4_HEARTBEAT)
        try:
            link.sendall(packer.take())
            while True:
                data = link.recv(65536)
                if not data:
                    return
                moved = False
                for number, payload, _, _ in parser.feed(data):
                    if moved and number == mavlink.HIL_SENSOR.id and not mavlink.HIL_SENSOR.unpack(payload)[15]:
                        _answer(side, packer)  # of the step before: each has one
                    moved = side.take(number, payload) or moved
                if moved:  # after all of a write: ids 1 and 2 come behind id 0
                    _answer(side, packer)
                    link.sendall(packer.take())
        except TimeoutError:
            raise LinkError(f"the simulator on {host}:{port} is silent for {patience_s:g} s") from None
        except OSError:  # hung up
            return


@dataclass
class Heard:
    """What a board heard over its cable, from the first sensors on."""

    seconds: float = 0.0
    sensors: int = 0
    fixes: int = 0
    controls: int = 0  # sent while it heard something
    lost: int = 0  # frames that are missing by their numbers
    garbage: int = 0  # bytes that belong to no frame

    def data(self) -> dict[str, float]:
        """With rates: of sensors from the first to the last."""
        passed = max(self.seconds, 1e-9)
        rates = {"sensor_hz": max(self.sensors - 1, 0) / passed, "gnss_hz": self.fixes / passed}
        return {**vars(self), **rates, "control_hz": self.controls / passed}


def run_px4_board(
    pilot: ReferenceAutopilot, cable: Cable, *, patience_s: float = 30.0, connect_s: float = 600.0,
    clock: WallClock | None = None, priority: bool = True,
) -> Heard:  # fmt: skip
    """As a PX4 board on a cable: sensors come when they come, controls leave by its own clock; until it hangs up.

    As PX4 it gives controls 200 times a second until MAV_CMD_SET_MESSAGE_INTERVAL asks for another rate.
    """
    clock = clock or WallClock()
    side, parser, packer = Px4Side(pilot, alone=True), mavlink.Parser(count_lost=True), mavlink.Packer()
    heard = Heard()
    first_at, last_at, beat_at = 0.0, clock.now(), -math.inf
    due, sent = 0.0, 0
    rest = b""
    cable.open()
    with contextlib.closing(cable), undisturbed(priority=priority):
        while True:
            try:
                data = cable.read()
            except OSError:  # hung up
                break
            now = clock.now()
            for number, payload, _, _ in parser.feed(data) if data else ():
                last_at = now
                heard.fixes += number == mavlink.HIL_GPS.id
                if side.take(number, payload):
                    side.run()
            if side.sensors:
                if not heard.sensors:
                    first_at = due = now
                heard.sensors, heard.seconds = side.sensors, last_at - first_at
                heard.controls = sent if data else heard.controls
                if now >= due:  # late ones are made up for
                    due = max(due + 1.0 / side.control_hz, now - CATCH_UP_S)
                    sent += 1
                    packer.add(mavlink.HIL_ACTUATOR_CONTROLS, *side.controls())
            if now - beat_at >= 1.0:
                beat_at = now
                packer.add(mavlink.HEARTBEAT, *PX4_HEARTBEAT)
            rest += packer.take()
            if rest:
                try:
                    rest = rest[cable.write(memoryview(rest)) :]
                except OSError:
                    break
            if now - last_at > (patience_s if side.sensors else connect_s):
                if side.sensors:
                    break
                raise LinkError(f"{cable.name}: no sensors came over the cable for {connect_s:g} s")
            cable.wait((due if side.sensors else now + 0.1) - clock.now())
    heard.lost, heard.garbage = parser.lost, parser.skipped
    return heard


class ArduPilotSide:
    """What ArduPilot does with the state: its own satellites, barometer and compass from the true motion."""

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
        """Read a state and run up to its time."""
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
            field = rotation(state["quaternion"]).T @ self._field_N
            for unit in (1, 2):
                pilot.sample(f"mag/{unit}/fault", field, now_s)
        if "airspeed" in state:
            pilot.sample("airspeed/1/fault", 0.5 * SEA_LEVEL_KGPM3 * state["airspeed"] ** 2, now_s)
        if "battery" in state:
            pilot.feed("monitor/battery.voltage", state["battery"]["voltage"])
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
            wanted = round(offset + (-value if channel.reverse else value) / scale)
            pwm[channel.number - 1] = min(max(wanted, 1000), 2000)
        return SERVOS.pack(SERVO_MAGIC, FRAME_RATE_HZ, frame, *pwm)


def run_ardupilot(
    pilot: ReferenceAutopilot, *, host: str = "127.0.0.1", port: int = 9002, patience_s: float = 60.0
) -> None:
    """Speak to a simulator as ArduPilot does, until it is silent for `patience_s` after it has answered once."""
    side = ArduPilotSide(pilot)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.connect((host, port))
        link.settimeout(RESEND_S)
        frame, heard, answered = 0, time.monotonic(), False
        while True:
            with contextlib.suppress(OSError):  # nobody there yet
                link.send(side.servos(frame))
            try:
                line = link.recv(65536)
            except OSError as error:
                if time.monotonic() - heard > patience_s:
                    if answered:
                        return
                    raise LinkError(f"no simulator answers on UDP {host}:{port} for {patience_s:g} s") from None
                if not isinstance(error, TimeoutError):  # refused: nobody listens
                    time.sleep(CONNECT_EVERY_S if not answered else RESEND_S)
                continue
            try:
                side.take(json.loads(line))
            except (ValueError, KeyError, TypeError):
                continue  # as ArduPilot: ignored, and the packet is repeated
            heard, answered = time.monotonic(), True
            frame += 1


def rotation(q: Sequence[float]) -> np.ndarray:
    """R_NB of a quaternion w, x, y, z."""
    w, x, y, z = (value / math.hypot(*q) for value in q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
