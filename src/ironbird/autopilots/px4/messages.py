"""Sensors as messages of PX4's simulator link, and controls to actuators; shared by socket and cable.

Sensors are sent with their faults applied, each group only when it has a new sample, so a lost sensor is silent and a
stuck one repeats itself [PX4Sim]. Messages of every step (inertial units, magnetometers, barometer, airspeed) and the
exchange over a socket are native code; receivers, rangefinders, flows and the truth are packed when they are due.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import math
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ironbird.autopilots.px4.airframe import Airframe
from ironbird.autopilots.px4.odometry import Odometry
from ironbird.blocks.actuators.motor import IDLE_THROTTLE
from ironbird.compiler.native_text import CLOCK, load_texts
from ironbird.constants import SEA_LEVEL_PRESSURE_PA, STANDARD_GRAVITY_MPS2, TROPOSPHERE_LAPSE_KPM
from ironbird.errors import LinkError
from ironbird.protocols import atmosphere
from ironbird.protocols.geodesy import metres_per_degree, to_geodetic
from ironbird.protocols.mavlink import codec, dialect
from ironbird.protocols.mavlink.codec import Packer, known_messages
from ironbird.protocols.mavlink.numbers import MAV_DISTANCE_SENSOR_LASER, MAV_SENSOR_ROTATION_PITCH_270
from ironbird.rig.rig import Receiver, Rig, Sensor
from ironbird.rotations import from_matrix, multiply, rotate_one

TEXTS = (CLOCK, codec.MESSAGES, codec.TEXT, Path(__file__).parent / "c" / "ib_px4.c")
# PX4 converts samples of id 0 to 16 bits: values outside wrap around
ACCEL_LIMIT, GYRO_LIMIT = STANDARD_GRAVITY_MPS2 / 2048 * 32767, math.radians(2000) / 32768 * 32767
MOST_IMUS, MOST_MAGNETOMETERS, MOST_RECEIVERS, MOST_SLOW, MOST_OUTPUTS = 3, 2, 3, 8, 16
MOST_BAROMETERS = 2
TRUTH_S = 0.04  # between messages of the true state
LIMITS = ("nearest", "farthest")  # of a rangefinder
ANSWERED, CLOSED, NOT_SENT = 1, -1, -3  # of `ib_turn`; 0 is that the time is over, the rest are errors
RECEIVED = 8192  # bytes of room for what comes


class _Sensor(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("stamp", ctypes.c_void_p), ("seen", ctypes.c_double)]


class _Imu(ctypes.Structure):
    _fields_ = [("accel", _Sensor), ("gyro", _Sensor), ("mag", _Sensor)]


class _Inertial(ctypes.Structure):
    """The C structure `ib_inertial` of c/ib_px4.c."""

    _fields_ = [
        ("imus", ctypes.c_int64), ("imu", _Imu * MOST_IMUS), ("baro", _Sensor * MOST_BAROMETERS),
        ("airspeed", _Sensor),
        ("turn", ctypes.c_void_p), ("accel_limit", ctypes.c_double), ("gyro_limit", ctypes.c_double),
        ("sea_level", ctypes.c_double), ("exponent", ctypes.c_double), ("slope", ctypes.c_double),
        ("celsius", ctypes.c_double), ("lapse", ctypes.c_double), ("silent", ctypes.c_int64),
        ("slow", ctypes.c_int64), ("other", _Sensor * MOST_SLOW), ("due", ctypes.c_int64),
    ]  # fmt: skip


class _Wire(ctypes.Structure):
    """The C structure `ib_wire` of c/ib_px4.c."""

    _fields_ = [
        ("send", ctypes.c_void_p), ("recv", ctypes.c_void_p), ("poll", ctypes.c_void_p), ("clock", ctypes.c_void_p),
        ("ids", ctypes.c_void_p), ("extras", ctypes.c_void_p), ("known", ctypes.c_int64),
        ("buffer", ctypes.c_void_p), ("size", ctypes.c_int64), ("kept", ctypes.c_int64),
        ("tally", ctypes.c_int64 * 2), ("received", ctypes.c_int64), ("last", ctypes.c_int64),
        ("answers", ctypes.c_int64), ("answer_us", ctypes.c_uint64), ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_int64), ("controls", ctypes.c_double * 16), ("tap", ctypes.c_void_p),
        ("tap_size", ctypes.c_int64), ("tapped", ctypes.c_int64),
    ]  # fmt: skip


class _Fix(ctypes.Structure):
    """The C structure `ib_fix` of c/ib_px4.c."""

    _fields_ = [
        ("place", _Sensor), ("speed", ctypes.c_void_p), ("eph", ctypes.c_void_p), ("epv", ctypes.c_void_p),
        ("kind", ctypes.c_void_p), ("satellites", ctypes.c_void_p), ("latitude", ctypes.c_double),
        ("longitude", ctypes.c_double), ("height", ctypes.c_double), ("north_m", ctypes.c_double),
        ("east_m", ctypes.c_double),
    ]  # fmt: skip


_Rows = ctypes.c_int64 * MOST_OUTPUTS


class _Outputs(ctypes.Structure):
    """The C structure `ib_outputs` of c/ib_px4.c."""

    _fields_ = [
        ("inputs", ctypes.c_void_p), ("count", ctypes.c_int64), ("channel", _Rows), ("row", _Rows),
        ("rotor", _Rows), ("idle", ctypes.c_double),
        ("parked", ctypes.c_int64), ("parked_row", _Rows), ("released", ctypes.c_int64), ("released_row", _Rows),
        ("release_s", ctypes.c_double), ("governed", ctypes.c_int64), ("drive", ctypes.c_int64),
        ("brake", ctypes.c_int64), ("ahead", ctypes.c_void_p), ("full", ctypes.c_double), ("gain", ctypes.c_double),
        ("drive_most", ctypes.c_double), ("brake_most", ctypes.c_double),
        ("joints", ctypes.c_int64), ("joint_row", _Rows), ("angle", ctypes.c_void_p), ("turning", ctypes.c_void_p),
        ("travel", ctypes.c_double), ("joint_gain", ctypes.c_double), ("joint_damping", ctypes.c_double),
    ]  # fmt: skip


STRUCTURES: dict[str, type[ctypes.Structure]] = {
    "ib_sensor": _Sensor,
    "ib_imu": _Imu,
    "ib_inertial": _Inertial,
    "ib_wire": _Wire,
    "ib_fix": _Fix,
    "ib_outputs": _Outputs,
}


@functools.cache
def _library() -> ctypes.CDLL:
    library = load_texts(*TEXTS, structures=STRUCTURES)
    library.ib_stage_inertial.restype = library.ib_turn.restype = ctypes.c_int64
    library.ib_stage_inertial.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p]
    library.ib_turn.argtypes = [
        ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_double,
    ]  # fmt: skip
    library.ib_stage_fix.restype = ctypes.c_int64
    library.ib_stage_fix.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int64, ctypes.c_void_p]
    library.ib_place.restype = None
    library.ib_place.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_double]
    return library


def native_functions() -> dict[str, int]:
    """Addresses of the C functions that other native code calls, by name."""
    names = ("ib_stage_inertial", "ib_stage_fix", "ib_place", "ib_seal", "ib_scan")
    addresses = {name: ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value for name in names}
    return {name: address for name, address in addresses.items() if address is not None}


class Wire:
    """Receives PX4's bytes on a connected socket until the answer to a step has arrived."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        libc = ctypes.CDLL(None)
        self._buffer = ctypes.create_string_buffer(RECEIVED)
        ids, extras = known_messages()

        def entry(name: str) -> int | None:
            return ctypes.cast(getattr(libc, name), ctypes.c_void_p).value

        self.state = _Wire(
            send=entry("send"),
            recv=entry("recv"),
            poll=entry("poll"),
            clock=entry("clock_gettime"),
            ids=ctypes.addressof(ids),
            extras=ctypes.addressof(extras),
            known=len(ids),
            buffer=ctypes.addressof(self._buffer),
            size=RECEIVED,
            last=-1,
        )
        self._turn, self._at = _library().ib_turn, ctypes.addressof(self.state)

    def keep_received(self) -> None:
        """From now on store the received bytes for `received`."""
        self._kept = ctypes.create_string_buffer(RECEIVED)
        self.state.tap, self.state.tap_size = ctypes.addressof(self._kept), RECEIVED

    def received(self) -> bytes:
        """All bytes received since the last call."""
        data = self._kept.raw[: self.state.tapped]
        self.state.tapped = 0
        return data

    def turn(self, frames: tuple[int, int], asked_us: int, wait_s: float) -> bool:
        """Receive the answer to the step `asked_us` (-1: none is due), then send frames (address, length).

        Returns False, and sends nothing, if no answer came within `wait_s`. `BlockingIOError` if there is no room for
        the frames, another `OSError` if the connection is broken.
        """
        result = self._turn(self._at, self._socket.fileno(), *frames, asked_us, wait_s)
        if result >= 0:
            return bool(result == ANSWERED)
        number = ctypes.get_errno()
        if result == CLOSED:
            raise ConnectionResetError(0, "it closed the connection")
        if result == NOT_SENT and number == errno.EAGAIN:  # SO_SNDTIMEO is over
            raise BlockingIOError(number, os.strerror(number))
        raise OSError(number, os.strerror(number))


class Outputs:
    """Maps PX4's outputs to the vehicle's actuators."""

    def __init__(self, rig: Rig, airframe: Airframe) -> None:
        unknown = [place for place in airframe.channels if place and place not in rig.actuators]
        if unknown:
            raise LinkError(f"vehicle '{rig.vehicle.id}' has no actuator '{unknown[0]}'; it has {list(rig.actuators)}")
        rows = [(n, rig.actuators[place]) for n, place in enumerate(airframe.channels) if place]
        governor = airframe.governor
        self._speed = rig.truth("v") if governor is not None else np.zeros(1)
        self._inputs = rig.stepper.inputs
        self.native = _Outputs(
            inputs=self._inputs.ctypes.data,
            count=len(rows),
            channel=_Rows(*(channel for channel, _ in rows)),
            row=_Rows(*(row for _, row in rows)),
            rotor=_Rows(*(place.startswith("rotor/") for place in airframe.channels if place)),
            idle=IDLE_THROTTLE,  # PX4's 0 is the lowest pulse of an armed motor, NaN a stopped motor
            parked=len(airframe.parked),
            parked_row=_Rows(*(rig.actuators[place] for place in airframe.parked)),
            released=len(airframe.released),
            released_row=_Rows(*(rig.actuators[place] for place in airframe.released)),
            release_s=airframe.release_s,
            ahead=self._speed.ctypes.data,
        )
        if governor is not None:
            self.native.governed = 1
            self.native.drive, self.native.brake = rig.actuators[governor.drive], rig.actuators[governor.brake]
            self.native.full, self.native.gain = governor.full_mps, governor.gain_1ps
            self.native.drive_most, self.native.brake_most = governor.drive_mps2, governor.brake_mps2
        if (joints := airframe.joints) is not None:
            self._angles = rig.truth("a"), rig.truth("b")  # encoders without error
            self.native.joints = len(joints.places)
            self.native.joint_row = _Rows(*(rig.actuators[place] for place in joints.places))
            self.native.angle, self.native.turning = (view.ctypes.data for view in self._angles)
            self.native.travel, self.native.joint_gain = joints.travel_rad, joints.gain_1prad
            self.native.joint_damping = joints.damping_sprad
        self._place, self._at = _library().ib_place, ctypes.addressof(self.native)
        self._controls = (ctypes.c_double * MOST_OUTPUTS)()

    def place(self, controls: Sequence[float], armed: bool, since_s: float) -> None:
        """Apply the controls to the actuators; NaN counts as zero. `since_s` is the time since arming."""
        self._controls[: len(controls)] = list(controls)
        self._place(self._at, ctypes.addressof(self._controls), armed, since_s)


class Messages:
    """The vehicle's sensors as messages of the simulator link; `barometers` is how many this PX4 accepts."""

    def __init__(
        self, rig: Rig, airframe: Airframe, packer: Packer, *, truth: bool = True, barometers: int = 1
    ) -> None:
        self.rig = rig
        self.packer = packer
        self._home = rig.vehicle.spec.home
        self._turn = airframe.turn
        self._hover = from_matrix(np.eye(3) if airframe.turn is None else airframe.turn.T)  # q_BH
        self._odometry = odometry_of(rig, packer, airframe) if airframe.water_Papm else None
        self._imus = list(zip(rig.accels, rig.gyros, strict=True))[:MOST_IMUS]
        self._receivers = rig.receivers[:MOST_RECEIVERS] if self._odometry is None else []
        self.inertial, self._keep = self._prepared(airframe, barometers)
        self.fixes = [self._fix(receiver) for receiver in self._receivers]
        self._stage_inertial, self._stage_fix = _library().ib_stage_inertial, _library().ib_stage_fix
        self._inertial_at = ctypes.addressof(self.inertial)
        self._motion = true_motion(rig)
        self._truth_at = 0.0 if truth else math.inf  # of the next message of the true state, µs
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

    def _prepared(self, airframe: Airframe, barometers: int) -> tuple[_Inertial, np.ndarray | None]:
        """Pointers of the sensors for native code, and an array that must live as long."""

        rig, place = self.rig, _place
        magnetometers: list[Sensor | None] = [*rig.magnetometers[:MOST_MAGNETOMETERS], *[None] * MOST_IMUS]
        imus = [_Imu(place(a), place(g), place(m)) for (a, g), m in zip(self._imus, magnetometers, strict=False)]
        slow = [*(receiver.position_N for receiver in self._receivers), *rig.rangefinders, *rig.flows]
        if len(slow) > MOST_SLOW:
            raise LinkError(f"PX4 takes {MOST_SLOW} receivers, rangefinders and flows together, not {len(slow)}")
        above = [] if airframe.water_Papm else rig.barometers[: min(barometers, MOST_BAROMETERS)]
        turn = None if airframe.turn is None else np.ascontiguousarray(airframe.turn, dtype=float)
        inertial = _Inertial(
            imus=len(imus),
            imu=(_Imu * MOST_IMUS)(*imus),
            baro=(_Sensor * MOST_BAROMETERS)(*map(place, above)),
            airspeed=place(rig.airspeeds[0] if rig.airspeeds else None),
            turn=None if turn is None else turn.ctypes.data,
            accel_limit=ACCEL_LIMIT,
            gyro_limit=GYRO_LIMIT,
            sea_level=SEA_LEVEL_PRESSURE_PA,
            exponent=atmosphere.EXPONENT,
            slope=atmosphere.SCALE_M,
            celsius=atmosphere.SEA_LEVEL_C,
            lapse=TROPOSPHERE_LAPSE_KPM,
            slow=len(slow),
            other=(_Sensor * MOST_SLOW)(*map(place, slow)),
        )
        return inertial, turn

    def _fix(self, receiver: Receiver) -> _Fix:
        """Pointers of a GNSS receiver for native code."""
        north_m, east_m = metres_per_degree(self._home.latitude_deg)
        eph, epv, kind, satellites = (
            receiver.details[name].ctypes.data for name in ("eph", "epv", "fix_type", "satellites_used")
        )
        return _Fix(
            place=_place(receiver.position_N),
            speed=receiver.velocity_N.values.ctypes.data,
            eph=eph,
            epv=epv,
            kind=kind,
            satellites=satellites,
            latitude=self._home.latitude_deg,
            longitude=self._home.longitude_deg,
            height=self._home.height_m,
            north_m=north_m,
            east_m=east_m,
        )

    @property
    def silent_gyros(self) -> int:
        """Number of gyroscopes without a sample in this step."""
        return int(self.inertial.silent)

    @property
    def odometry(self) -> Odometry | None:
        """Source of ODOMETRY with the acoustic position; None except for underwater vehicles."""
        return self._odometry

    @property
    def gyros(self) -> int:
        """Number of gyroscopes of the vehicle."""
        return len(self._imus)

    def add(self, now_us: int) -> None:
        """Queue messages of all new samples, HIL_SENSOR of id 0 first: that is PX4's clock."""
        self.packer.grow(self._stage_inertial(self._inertial_at, now_us, self.packer.place))
        if self._odometry is not None:
            self._odometry.add(now_us)
        if self.inertial.due:
            self._add_slow(now_us)
        if now_us >= self._truth_at:
            self._truth_at = now_us + round(TRUTH_S * 1e6)
            self._add_truth(now_us)

    def _add_slow(self, now_us: int) -> None:
        for number, receiver in enumerate(self._receivers):
            if receiver.position_N.fresh():
                at = ctypes.addressof(self.fixes[number])
                self.packer.grow(self._stage_fix(at, now_us, number, self.packer.place))
        for number, (sensor, valid, limits) in enumerate(self._ranges):
            if sensor.fresh():
                quality = 100 if valid[0] > 0.5 else 1  # 0 would be unknown
                self.packer.add(
                    dialect.DISTANCE_SENSOR,
                    now_us // 1000,
                    *limits,
                    _cm(float(sensor.values[0])),
                    MAV_DISTANCE_SENSOR_LASER,
                    number,
                    MAV_SENSOR_ROTATION_PITCH_270,
                    255,
                    *[0.0] * 6,
                    quality,
                )
        for number, (sensor, rotation, clear) in enumerate(self._flows):
            if sensor.fresh():
                self._add_flow(now_us, number, sensor, rotation, float(clear[0]))

    def _add_flow(self, now_us: int, number: int, sensor: Sensor, rotation: np.ndarray, quality: float) -> None:
        passed_us = now_us - self._flow_us[number]
        self._flow_us[number] = now_us
        passed_s = 1e-6 * passed_us
        x, y = (passed_s * value for value in sensor.values.tolist())
        turn_x, turn_y = (passed_s * value for value in rotation.tolist())
        turn_z = passed_s * float(self._imus[0][1].values[2])
        self.packer.add(
            dialect.HIL_OPTICAL_FLOW,
            now_us,
            passed_us,
            x,
            y,
            turn_x,
            turn_y,
            turn_z,
            0,
            -1.0,
            0,
            number,
            round(255 * quality),
        )

    def _add_truth(self, now_us: int) -> None:
        position, velocity, attitude, rates = self._motion()
        if self._turn is not None:
            attitude, rates = multiply(attitude, self._hover).tolist(), (self._turn @ rates).tolist()
        latitude, longitude, height = to_geodetic(self._home, position)
        passed_s = 1e-6 * max(now_us - self._last_us, 1)
        before = self._velocity or velocity
        self._velocity, self._last_us = velocity, now_us
        self.packer.add(
            dialect.HIL_STATE_QUATERNION,
            now_us,
            *attitude,
            *rates,
            _whole(1e7 * latitude, 32),
            _whole(1e7 * longitude, 32),
            _whole(1e3 * height, 32),
            *[_whole(100 * v, 16) for v in velocity],
            0,
            0,
            *[_whole(1000 * (v - b) / passed_s, 16) for v, b in zip(velocity, before, strict=True)],
        )


def _place(sensor: Sensor | None) -> _Sensor:
    """Pointers of a sensor for native code."""
    if sensor is None:
        return _Sensor(None, None, 0.0)
    return _Sensor(sensor.values.ctypes.data, sensor.stamp.ctypes.data, sensor.seen)


def odometry_of(rig: Rig, packer: Packer, airframe: Airframe) -> Odometry:
    """The navigation unit of an underwater vehicle; the air above is that of [ICAO7488]."""
    surface = atmosphere.pressure_at_Pa(rig.vehicle.spec.home.height_m)
    return Odometry(rig, packer, surface_Pa=surface, water_Papm=airframe.water_Papm)


Numbers = Sequence[float]
Motion = Callable[[], tuple[Numbers, Numbers, Numbers, Numbers]]


def true_motion(rig: Rig) -> Motion:
    """Position and velocity in N, quaternion q_NB, and rates in B of any body; planar bodies are upright."""
    flat = rig.state.model.flat
    names = {name.removeprefix("body.") for name in flat.x.start if name.startswith("body.")}
    if {"p", "q", "v", "w"} <= names:
        p, q, v, w = (rig.truth(name) for name in ("p", "q", "v", "w"))

        def moving() -> tuple[Numbers, Numbers, Numbers, Numbers]:
            attitude = q.tolist()
            return p.tolist(), rotate_one(attitude, v.tolist()), attitude, w.tolist()

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
            velocity = rotate_one(attitude, [*ahead.tolist(), 0.0])
        else:
            velocity = ((place - last) / TRUTH_S).tolist()
            last[:] = place
        return place.tolist(), velocity, attitude, (0.0, 0.0, float(turning[0]) if turning is not None else 0.0)

    return rolling


def _whole(value: float, bits: int) -> int:
    """A number rounded and limited to a signed integer of `bits` bits; NaN becomes zero."""
    if value != value:
        return 0
    limit = 2 ** (bits - 1) - 1
    return round(min(max(value, -limit), limit))


def _cm(value: float) -> int:
    """Metres as centimetres in an unsigned 16-bit field; NaN becomes the largest value."""
    return 65535 if value != value else round(min(max(100 * value, 0.0), 65535.0))


def _param(rig: Rig, path: str) -> float:
    return float(rig.state.params[0, rig.state.model.param_rows(path), 0][0])
