"""PX4 as control system: its simulator link [PX4Sim] over TCP, in lockstep, one answer per step.

We are the server; PX4 connects, and each HIL_SENSOR of id 0 sets its clock and makes one step, which it answers with
one HIL_ACTUATOR_CONTROLS of the same time. Sensors go out as they are behind their fault taps, each group only when it
has a new sample, so a lost sensor is silent and a stuck one repeats itself.
Time. Before the first answer, and with vehicles that do not answer each step, steps are paced by the wall clock. Then a
step waits for its answer up to `answer_s`, and goes on without it: the step counts as late. A PX4 that is silent for
`patience_s` ends the run with an error, unless no gyroscope has given a sample: PX4 gives no outputs without one, and a
fault must not stop the clock.
Not sent: the battery and the rotors' speeds, for which the link has no message.
"""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ironbird.errors import LinkError
from ironbird.links import mavlink
from ironbird.links.geodesy import to_geodetic
from ironbird.links.mavlink import HIL_ACTUATOR_CONTROLS, Packer, Parser
from ironbird.links.px4_airframes import Airframe, airframe_of
from ironbird.links.px4_process import PILOT_PORT, SIMULATOR_PORT, Px4Process, open_port
from ironbird.links.rig import Receiver, Rig, Sensor
from ironbird.links.system import ControlSystem

# fields_updated of HIL_SENSOR, by group
ACCEL, GYRO, MAG, BARO, DIFF_PRESSURE = 0x0007, 0x0038, 0x01C0, 0x1A00, 0x0400
# Id 0 goes through 16 bits in PX4: outside, the conversion wraps round
ACCEL_LIMIT, GYRO_LIMIT = 9.80665 / 2048 * 32767, math.radians(2000) / 32768 * 32767
MOST_IMUS, MOST_MAGNETOMETERS, MOST_RECEIVERS = 3, 2, 3
ARMED = 0x80  # of HIL_ACTUATOR_CONTROLS.mode
TRUTH_S = 0.02  # between messages of the true state
STICKS_S = 0.02
SEA_LEVEL_PA, ISA_EXPONENT = 101325.0, 0.190263  # [ICAO7488]
ISA_SLOPE_M, ISA_SEA_LEVEL_C, ISA_LAPSE_CPM = 44330.77, 15.0, 0.0065
LIMITS = ("nearest", "farthest")  # of a rangefinder
NO_COURSE, SLOWEST_COURSE_MPS = 65535, 0.1
DOWN, LASER = 25, 0  # MAV_SENSOR_ORIENTATION, MAV_DISTANCE_SENSOR
NED, VISION = 1, 2  # MAV_FRAME, MAV_ESTIMATOR_TYPE
SLICE_S = 0.05  # between two looks at the process and the deadline
GIVE_UP = 20  # late steps after which we pace by the wall clock until an answer comes


class Px4(ControlSystem):
    """PX4 on a vehicle of the catalogue.

    With `process` it is started and ended here; without, it has to be started by hand (`PX4_SIM_HOST_ADDR=127.0.0.1`)
    and finds this side at TCP port 4560 + `instance`. `params` come on top of those of the airframe.
    """

    name = "PX4"
    step_ticks = 4  # 250 Hz, the rate that PX4's start-up sets for simulators

    def __init__(
        self, process: Px4Process | None = None, *, airframe: Airframe | None = None,
        params: Mapping[str, float] | None = None, instance: int | None = None, patience_s: float = 10.0,
        connect_s: float = 60.0, answer_s: float = 0.05,
    ) -> None:  # fmt: skip
        super().__init__()
        self.process = process
        self.airframe = airframe
        self.params = dict(params or {})
        self.instance = instance
        self.patience_s, self.connect_s, self.answer_s = patience_s, connect_s, answer_s
        self.armed = False
        self.sticks: Sequence[int] = ()  # microseconds of up to 18 channels, sent as RC_CHANNELS if there are any
        self.controls: tuple[float, ...] = (0.0,) * 16
        self._server: socket.socket | None = None
        self._socket: socket.socket | None = None

    # ------------------------------------------------------------------ start and stop

    @property
    def pilot_port(self) -> int:
        """UDP port to which PX4 sends its telemetry: a ground station binds it."""
        return PILOT_PORT + (self.instance or 0)

    def start(self, rig: Rig) -> None:
        """Open the port, start PX4 if it is ours, and wait until it is connected."""
        rate_hz = round(1 / (self.step_ticks * rig.state.model.step_s))
        self.airframe = (self.airframe or airframe_of(rig.vehicle, rate_hz=rate_hz)).with_params(self.params)
        self.instance, self._server = open_port(self.instance)
        if self.process is not None:
            self.process.start(self.airframe, rig.vehicle.spec.title, self.instance)
        self._socket = self._accept(rig)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._packer, self._parser = Packer(), Parser()
        self._outputs = Outputs(rig, self.airframe)
        self._messages = Messages(rig, self.airframe, self._packer)
        self._limit_s = -1.0
        self._answered = False  # at least once
        self._waiting = False  # steps are answered, so each waits for its answer
        self._late_steps = 0
        self._answer_us = -1
        self._heard_at = self._paced_at = time.perf_counter()
        self._sticks_at = 0.0
        self._armed_at = 0.0
        self.note(rig, "link", f"PX4 instance {self.instance} on TCP port {SIMULATOR_PORT + self.instance}")

    def _accept(self, rig: Rig) -> socket.socket:
        assert self._server is not None
        self._server.settimeout(SLICE_S)
        begin = time.perf_counter()
        while True:
            try:
                return self._server.accept()[0]
            except TimeoutError:
                if self.process is not None:
                    self.process.check()
                waited = time.perf_counter() - begin
                if waited > self.connect_s:
                    said = f"; it said: {self.process.said()}" if self.process is not None else ""
                    raise LinkError(
                        f"PX4 did not connect to TCP port {SIMULATOR_PORT + (self.instance or 0)} "
                        f"within {waited:.1f} s{said}"
                    ) from None

    def stop(self) -> None:
        """End it and close the port."""
        try:
            if self.process is not None:
                self.process.stop()
        finally:
            for open_ in (self._socket, self._server):
                if open_ is not None:
                    open_.close()
            self._socket = self._server = None

    # ------------------------------------------------------------------ exchange

    def exchange(self, rig: Rig) -> None:
        """One step of PX4: sensors out, controls in."""
        now_us = rig.time_us
        self._messages.add(now_us)
        if self.sticks and rig.time_s >= self._sticks_at:
            self._sticks_at = rig.time_s + STICKS_S
            values = [*self.sticks, *[0] * (18 - len(self.sticks))]
            self._packer.add(mavlink.RC_CHANNELS, now_us // 1000, *values, len(self.sticks), 255)
        self._send(rig)
        step_s = self.step_ticks * rig.state.model.step_s
        if self._waiting:
            if self._receive(rig, now_us, self.answer_s):
                self._late_steps = 0
            else:
                self._late(rig)
            self._paced_at = time.perf_counter()
        else:
            self._paced_at = max(self._paced_at + step_s, time.perf_counter() - step_s)
            answered = self._receive(rig, now_us, self._paced_at - time.perf_counter())
            assert self.airframe is not None
            self._waiting = answered and self.airframe.answers
            if not answered:
                self._look_for_silence(rig)
        self._outputs.place(rig, self.controls, self.armed, rig.time_s - self._armed_at)

    def _late(self, rig: Rig) -> None:
        self.traffic.late += 1
        self._late_steps += 1
        if self._late_steps >= GIVE_UP:
            self._waiting = False
            self._late_steps = 0
            self.note(rig, "link", f"PX4 has not answered {GIVE_UP} steps: on by the wall clock")
        self._look_for_silence(rig)

    def _look_for_silence(self, rig: Rig) -> None:
        """An error if PX4 should have answered and has not for too long."""
        if self.process is not None:
            self.process.check()
        assert self.airframe is not None
        now = time.perf_counter()
        if self._messages.gyro_silent:
            self._heard_at = now
        waited = now - self._heard_at
        patience = self.patience_s if self._answered else self.connect_s
        if self.airframe.answers and waited > patience:
            raise self.silent(rig, waited, "HIL_ACTUATOR_CONTROLS")

    def _send(self, rig: Rig) -> None:
        assert self._socket is not None
        frames = self._packer.take()
        self.traffic.sent += 1
        self.traffic.last_sent = "HIL_SENSOR"
        self._limit(self.patience_s)
        try:
            self._socket.sendall(frames)
        except TimeoutError:
            raise self.silent(rig, self.patience_s, "room for our messages") from None
        except OSError as error:
            raise self._cut(rig, error.strerror or str(error)) from None

    def _limit(self, wait_s: float) -> None:
        """How long the socket may wait; setting it costs a call of the system."""
        assert self._socket is not None
        if wait_s != self._limit_s:
            self._limit_s = wait_s
            self._socket.settimeout(wait_s)

    def _receive(self, rig: Rig, now_us: int, wait_s: float) -> bool:
        """Take what comes until the answer to this step is there or the wait is over."""
        assert self._socket is not None
        deadline = time.perf_counter() + wait_s
        while True:
            self._limit(max(wait_s, 0.0))
            try:
                data = self._socket.recv(4096)
            except (TimeoutError, BlockingIOError):
                return False
            except OSError as error:
                raise self._cut(rig, error.strerror or str(error)) from None
            if not data:
                raise self._cut(rig, "it closed the connection")
            for message, payload, _, _ in self._parser.feed(data):
                self._take(rig, message, payload)
            self.traffic.bad = self._parser.skipped
            if self._answer_us >= now_us:
                return True
            wait_s = deadline - time.perf_counter()
            if wait_s <= 0:
                return False

    def _take(self, rig: Rig, message: int, payload: bytes) -> None:
        self.traffic.received += 1
        if message != HIL_ACTUATOR_CONTROLS.id:
            known = mavlink.MESSAGES.get(message)
            self.traffic.last_received = known.name if known else f"message {message}"
            return
        self.traffic.last_received = HIL_ACTUATOR_CONTROLS.name
        time_us, flags, *controls, mode = HIL_ACTUATOR_CONTROLS.unpack(payload)
        if not self._answered:
            self._answered = True
            if not flags & 1:
                raise LinkError("this PX4 was built without lockstep: build it with the default board config")
        self._answer_us = time_us
        self._heard_at = time.perf_counter()
        self.controls = tuple(controls)
        armed = bool(mode & ARMED)
        if armed != self.armed:
            self.armed = armed
            self._armed_at = rig.time_s
            self.note(rig, "armed", "armed" if armed else "disarmed")

    def _cut(self, rig: Rig, why: str) -> LinkError:
        said = ""
        if self.process is not None:
            deadline = time.perf_counter() + 1.0
            while self.process.running() and time.perf_counter() < deadline:
                time.sleep(0.02)
            self.process.check()
            said = f"; it said: {self.process.said()}"
        return LinkError(
            f"the connection to PX4 broke at {rig.time_s:.3f} s of simulation time ({why}); received "
            f"{self.traffic.received} messages, last {self.traffic.last_received or 'nothing'}, and "
            f"{self.traffic.bad} bytes that could not be read{said}"
        )


class Outputs:
    """PX4's outputs to the vehicle's actuators."""

    def __init__(self, rig: Rig, airframe: Airframe) -> None:
        unknown = [place for place in airframe.channels if place and place not in rig.actuators]
        if unknown:
            raise LinkError(f"vehicle '{rig.vehicle.id}' has no actuator '{unknown[0]}'; it has {list(rig.actuators)}")
        self._rows = [(n, rig.actuators[place]) for n, place in enumerate(airframe.channels) if place]
        self._parked = [rig.actuators[place] for place in airframe.parked]
        self._released = [rig.actuators[place] for place in airframe.released]
        self._release_s = airframe.release_s

    def place(self, rig: Rig, controls: Sequence[float], armed: bool, since_s: float) -> None:
        """Hand over the controls; what is no number counts as zero."""
        inputs = rig.stepper.inputs
        for channel, row in self._rows:
            value = controls[channel]
            inputs[row] = value if -1.0 <= value <= 1.0 else 0.0 if value != value else math.copysign(1.0, value)
        for row in self._parked:
            inputs[row] = 0.0 if armed else 1.0
        if self._released and armed and since_s >= self._release_s:
            for row in self._released:
                inputs[row] = 1.0


class Messages:
    """The vehicle's sensors as messages of the simulator link."""

    def __init__(self, rig: Rig, airframe: Airframe, packer: Packer) -> None:
        self.rig = rig
        self.packer = packer
        self.gyro_silent = False  # no gyroscope has given a sample in this step
        self._home = rig.vehicle.spec.home
        self._turn = airframe.turn
        self._hover = quaternion_of(np.eye(3) if airframe.turn is None else airframe.turn.T)  # q_BH
        self._acoustic = airframe.acoustic
        self._imus = list(zip(rig.accels, rig.gyros, strict=True))[:MOST_IMUS]
        self._magnetometers: list[Sensor | None] = [*rig.magnetometers[:MOST_MAGNETOMETERS]]
        self._magnetometers += [None] * (len(self._imus) - len(self._magnetometers))
        self._barometer = None if airframe.acoustic or not rig.barometers else rig.barometers[0]
        self._airspeed = rig.airspeeds[0] if rig.airspeeds else None
        self._motion = true_motion(rig)
        self._truth_at = 0.0
        self._velocity: Numbers = ()
        self._last_us = 0
        self._flow_us = [0] * len(rig.flows)
        self._ranges = [
            (sensor, rig.held(f"range/{n}/chip.valid"), [_cm(_param(rig, f"range/{n}/chip.{name}")) for name in LIMITS])
            for n, sensor in enumerate(rig.rangefinders, start=1)
        ]
        self._flows = [
            (sensor, rig.held(f"flow/{n}/chip.rotation"), rig.held(f"flow/{n}/chip.quality"))
            for n, sensor in enumerate(rig.flows, start=1)
        ]
        self._no_sample: Sequence[float] = (0.0,) * 3

    def add(self, now_us: int) -> None:
        """Stage all that is new, HIL_SENSOR of id 0 first: that is PX4's clock."""
        self._add_inertial(now_us)
        for number, receiver in enumerate(self.rig.receivers[:MOST_RECEIVERS]):
            if receiver.position_N.fresh():
                if self._acoustic:
                    self._add_odometry(now_us, receiver)
                else:
                    self._add_fix(now_us, number, receiver)
        for number, (sensor, valid, limits) in enumerate(self._ranges):
            if sensor.fresh():
                quality = 100 if valid[0] > 0.5 else 1  # 0 would be unknown
                self.packer.add(
                    mavlink.DISTANCE_SENSOR, now_us // 1000, *limits, _cm(float(sensor.values[0])), LASER, number,
                    DOWN, 255, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, quality,
                )  # fmt: skip
        for number, (sensor, rotation, clear) in enumerate(self._flows):
            if sensor.fresh():
                self._add_flow(now_us, number, sensor, rotation, float(clear[0]))
        if now_us >= self._truth_at:
            self._truth_at = now_us + round(TRUTH_S * 1e6)
            self._add_truth(now_us)

    def _turned(self, values: np.ndarray) -> Sequence[float]:
        return values.tolist() if self._turn is None else (self._turn @ values).tolist()

    def _add_inertial(self, now_us: int) -> None:
        silent = True
        pressure, altitude, temperature, dynamic = 0.0, 0.0, 0.0, 0.0
        for number, (accel, gyro) in enumerate(self._imus):
            fields = 0
            a = w = m = self._no_sample
            if accel.fresh():
                fields = ACCEL
                a = self._turned(accel.values)
            if gyro.fresh():
                fields |= GYRO
                silent = False
                w = self._turned(gyro.values)
            magnetometer = self._magnetometers[number]
            if magnetometer is not None and magnetometer.fresh():
                fields |= MAG
                x, y, z = self._turned(magnetometer.values)
                m = (1e4 * x, 1e4 * y, 1e4 * z)  # T to gauss
            if number == 0:
                a = _inside(a, ACCEL_LIMIT)
                w = _inside(w, GYRO_LIMIT)
                if self._barometer is not None and self._barometer.fresh():
                    fields |= BARO
                    pascal = float(self._barometer.values[0])
                    pressure = 0.01 * pascal
                    altitude = ISA_SLOPE_M * (1 - (max(pascal, 1.0) / SEA_LEVEL_PA) ** ISA_EXPONENT)
                    temperature = ISA_SEA_LEVEL_C - ISA_LAPSE_CPM * altitude
                if self._airspeed is not None and self._airspeed.fresh():
                    fields |= DIFF_PRESSURE
                    dynamic = 0.01 * float(self._airspeed.values[0])
            if fields or number == 0:
                self.packer.add(
                    mavlink.HIL_SENSOR, now_us, *a, *w, *m, pressure, dynamic, altitude, temperature, fields, number
                )
        self.gyro_silent = silent

    def _add_fix(self, now_us: int, number: int, receiver: Receiver) -> None:
        latitude, longitude, height = to_geodetic(self._home, receiver.position_N.values)
        north, east, down = receiver.velocity_N.values.tolist()
        speed = math.hypot(north, east)
        course = NO_COURSE
        if speed > SLOWEST_COURSE_MPS:
            course = round(100 * math.degrees(math.atan2(east, north))) % 36000
        details = receiver.details
        self.packer.add(
            mavlink.HIL_GPS, now_us, _whole(1e7 * latitude, 32), _whole(1e7 * longitude, 32), _whole(1e3 * height, 32),
            _cm(float(details["eph"][0])), _cm(float(details["epv"][0])), _cm(speed), _whole(100 * north, 16),
            _whole(100 * east, 16), _whole(100 * down, 16), course, int(details["fix_type"][0]),
            int(details["satellites_used"][0]), number, 0,
        )  # fmt: skip

    def _add_odometry(self, now_us: int, receiver: Receiver) -> None:
        """A fix of position and velocity without attitude; covariances are of the chip's own accuracies."""
        details = receiver.details
        if details["fix_type"][0] < 3:
            return
        nan = math.nan
        eph, epv, speed = (float(details[name][0]) ** 2 for name in ("eph", "epv", "speed_accuracy"))
        position, motion = [nan] * 21, [nan] * 21
        position[0], position[6], position[11] = eph, eph, epv
        motion[0], motion[6], motion[11] = speed, speed, speed
        self.packer.add(
            mavlink.ODOMETRY, now_us, *receiver.position_N.values.tolist(), nan, nan, nan, nan,
            *receiver.velocity_N.values.tolist(), nan, nan, nan, *position, *motion, NED, NED, 0, VISION, 100,
        )  # fmt: skip

    def _add_flow(self, now_us: int, number: int, sensor: Sensor, rotation: np.ndarray, quality: float) -> None:
        passed_us = now_us - self._flow_us[number]
        self._flow_us[number] = now_us
        passed_s = 1e-6 * passed_us
        x, y = (passed_s * value for value in sensor.values.tolist())
        turn_x, turn_y = (passed_s * value for value in rotation.tolist())
        turn_z = passed_s * float(self._imus[0][1].values[2])
        self.packer.add(
            mavlink.HIL_OPTICAL_FLOW, now_us, passed_us, x, y, turn_x, turn_y, turn_z, 0, -1.0, 0, number,
            round(255 * quality),
        )  # fmt: skip

    def _add_truth(self, now_us: int) -> None:
        position, velocity, attitude, rates = self._motion()
        if self._turn is not None:
            attitude, rates = times(attitude, self._hover), (self._turn @ rates).tolist()
        latitude, longitude, height = to_geodetic(self._home, position)
        passed_s = 1e-6 * max(now_us - self._last_us, 1)
        before = self._velocity or velocity
        self._velocity, self._last_us = velocity, now_us
        self.packer.add(
            mavlink.HIL_STATE_QUATERNION, now_us, *attitude, *rates,
            _whole(1e7 * latitude, 32), _whole(1e7 * longitude, 32), _whole(1e3 * height, 32),
            *[_whole(100 * v, 16) for v in velocity], 0, 0,
            *[_whole(1000 * (v - b) / passed_s, 16) for v, b in zip(velocity, before, strict=True)],
        )  # fmt: skip


Numbers = Sequence[float]
Motion = Callable[[], tuple[Numbers, Numbers, Numbers, Numbers]]


def true_motion(rig: Rig) -> Motion:
    """Position and velocity in N, quaternion q_NB, and rates in B, of any body; planar ones stand upright."""
    flat = rig.state.model.flat
    names = {name.removeprefix("body.") for name in flat.x.start if name.startswith("body.")}
    if {"p", "q", "v", "w"} <= names:
        p, q, v, w = (rig.truth(name) for name in ("p", "q", "v", "w"))

        def moving() -> tuple[Numbers, Numbers, Numbers, Numbers]:
            attitude = q.tolist()
            return p.tolist(), turned(attitude, v.tolist()), attitude, w.tolist()

        return moving
    if not {"p", "yaw"} <= names:
        raise LinkError("the link to PX4 takes metres from home: set environment.earth to 'flat'")
    place, yaw = rig.truth("p"), rig.truth("yaw")
    ahead = rig.truth("v") if "v" in names else None
    turning = rig.truth("r") if "r" in names else None
    last = place.copy()

    def rolling() -> tuple[Numbers, Numbers, Numbers, Numbers]:
        half = 0.5 * float(yaw[0])
        attitude = (math.cos(half), 0.0, 0.0, math.sin(half))
        if ahead is not None:
            velocity = turned(attitude, [*ahead.tolist(), 0.0])
        else:
            velocity = ((place - last) / TRUTH_S).tolist()
            last[:] = place
        return place.tolist(), velocity, attitude, (0.0, 0.0, float(turning[0]) if turning is not None else 0.0)

    return rolling


def turned(q: Numbers, v: Numbers) -> Numbers:
    """A vector turned by a quaternion w x y z of unit length."""
    w, x, y, z = q
    a, b, c = v
    p, r, s = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return a + w * p + y * s - z * r, b + w * r + z * p - x * s, c + w * s + x * r - y * p


def times(p: Numbers, q: Numbers) -> Numbers:
    """The product of two quaternions."""
    a, b, c, d = p
    w, x, y, z = q
    return (
        a * w - b * x - c * y - d * z, a * x + b * w + c * z - d * y, a * y - b * z + c * w + d * x,
        a * z + b * y - c * x + d * w,
    )  # fmt: skip


def quaternion_of(rotation: np.ndarray) -> tuple[float, float, float, float]:
    """Quaternion w x y z of a rotation matrix, by its largest component."""
    m = rotation.tolist()
    trace = m[0][0] + m[1][1] + m[2][2]
    squares = [trace, m[0][0], m[1][1], m[2][2]]
    largest = squares.index(max(squares))
    if largest == 0:
        parts = [1 + trace, m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]]
    else:
        i = largest - 1
        j, k = (i + 1) % 3, (i + 2) % 3
        parts = [m[k][j] - m[j][k], 0.0, 0.0, 0.0]
        parts[1 + i] = 1 + 2 * m[i][i] - trace
        parts[1 + j], parts[1 + k] = m[j][i] + m[i][j], m[k][i] + m[i][k]
    size = math.sqrt(sum(part * part for part in parts))
    w, x, y, z = (part / size for part in parts)
    return w, x, y, z


def _inside(values: Sequence[float], limit: float) -> Sequence[float]:
    """Kept between two limits; what is no number is at the lower one."""
    return [limit if v > limit else v if v >= -limit else -limit for v in values]


def _whole(value: float, bits: int) -> int:
    """Rounded, and kept inside a signed integer; what is no number is zero."""
    if value != value:
        return 0
    limit = 2 ** (bits - 1) - 1
    return round(min(max(value, -limit), limit))


def _cm(value: float) -> int:
    """Centimetres of an unsigned 16-bit field; what is no number is the largest."""
    return 65535 if value != value else round(min(max(100 * value, 0.0), 65535.0))


def _param(rig: Rig, path: str) -> float:
    return float(rig.state.params[0, rig.state.model.param_rows(path), 0][0])
