"""Telemetry: estimates and measurements of the vehicle, in streams of messages with rates that a partner can set.

Rates are in simulation time. Values are the autopilot's own, as with a real vehicle: the estimate, not the truth;
sensor values after fault injection; its commands to the actuators. Units and signs: [MAVLink2].
"""

from __future__ import annotations

import calendar
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.protocols.atmosphere import pressure_height_m
from ironbird.protocols.geodesy import to_geodetic
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.protocols.mavlink.dialect import MESSAGES
from ironbird.rig.commander.commander import Commander
from ironbird.rig.commander.gauges import Status
from ironbird.rig.commander.stand import Motion
from ironbird.systems.commanded.mavlink import identity
from ironbird.systems.commanded.mavlink.connections import Channel
from ironbird.systems.commanded.mavlink.missions import Missions
from ironbird.systems.commanded.mavlink.modes import shown
from ironbird.systems.commanded.mavlink.place import Home
from ironbird.transport.cable import FRAMING
from ironbird.vehicles import places as at

Fields = tuple[Any, ...]
RATES_HZ = {  # default rates; about those of PX4's link to a companion computer [PX4]
    dialect.HEARTBEAT: 1.0,
    dialect.SYS_STATUS: 2.0,
    dialect.SYSTEM_TIME: 1.0,
    dialect.GPS_RAW_INT: 5.0,
    dialect.ATTITUDE: 25.0,
    dialect.ATTITUDE_QUATERNION: 10.0,
    dialect.LOCAL_POSITION_NED: 20.0,
    dialect.GLOBAL_POSITION_INT: 10.0,
    dialect.SERVO_OUTPUT_RAW: 4.0,
    dialect.MISSION_CURRENT: 1.0,
    dialect.GPS_GLOBAL_ORIGIN: 0.2,
    dialect.RC_CHANNELS: 2.0,
    dialect.VFR_HUD: 5.0,
    dialect.ATTITUDE_TARGET: 5.0,
    dialect.POSITION_TARGET_LOCAL_NED: 5.0,
    dialect.HIGHRES_IMU: 10.0,
    dialect.ALTITUDE: 5.0,
    dialect.BATTERY_STATUS: 0.5,
    dialect.ESTIMATOR_STATUS: 1.0,
    dialect.VIBRATION: 0.5,
    dialect.HOME_POSITION: 0.5,
    dialect.EXTENDED_SYS_STATE: 2.0,
    dialect.CURRENT_MODE: 0.5,
}
MOST_HZ = 250.0  # once in an exchange
LINE_SHARE = 0.7  # of a serial line that telemetry may fill: answers need room
LANDED = {
    "on_ground": numbers.MAV_LANDED_STATE_ON_GROUND,
    "in_air": numbers.MAV_LANDED_STATE_IN_AIR,
    "taking_off": numbers.MAV_LANDED_STATE_TAKEOFF,
    "landing": numbers.MAV_LANDED_STATE_LANDING,
}
PHASES = {  # of vehicles with wings and rotors
    "transition": numbers.MAV_VTOL_STATE_TRANSITION_TO_FW,
    "cruise": numbers.MAV_VTOL_STATE_FW,
    "back-transition": numbers.MAV_VTOL_STATE_TRANSITION_TO_MC,
}
ALWAYS = (
    numbers.MAV_SYS_STATUS_SENSOR_3D_GYRO
    | numbers.MAV_SYS_STATUS_SENSOR_3D_ACCEL
    | numbers.MAV_SYS_STATUS_SENSOR_ANGULAR_RATE_CONTROL
    | numbers.MAV_SYS_STATUS_SENSOR_ATTITUDE_STABILIZATION
    | numbers.MAV_SYS_STATUS_SENSOR_XY_POSITION_CONTROL
    | numbers.MAV_SYS_STATUS_SENSOR_Z_ALTITUDE_CONTROL
    | numbers.MAV_SYS_STATUS_SENSOR_MOTOR_OUTPUTS
)
ESTIMATED = (
    numbers.ESTIMATOR_ATTITUDE
    | numbers.ESTIMATOR_VELOCITY_HORIZ
    | numbers.ESTIMATOR_VELOCITY_VERT
    | numbers.ESTIMATOR_POS_HORIZ_REL
    | numbers.ESTIMATOR_POS_HORIZ_ABS
    | numbers.ESTIMATOR_POS_VERT_ABS
)
FIX_3D = 3
GAUSS_T, MILLIBAR_PA = 1e-4, 100.0
UNKNOWN_16, UNKNOWN_8 = 65535, 255
VIBRATION_SHARE = 0.01  # of a new sample in the level of vibration [PX4]
CELLS = 10
IMU_UPDATED = [  # of accelerometers, gyroscopes, magnetometers, barometers, airspeed sensors
    numbers.bits_of("HIGHRES_IMU_UPDATED", *names.split())
    for names in ("XACC YACC ZACC", "XGYRO YGYRO ZGYRO", "XMAG YMAG ZMAG", "ABS_PRESSURE PRESSURE_ALT", "DIFF_PRESSURE")
]
NO_VELOCITY_OR_ACCELERATION = 0b0000_1001_1111_1000  # only position and yaw are reported


class Telemetry:
    """Builds messages of one vehicle and sends each partner those that are due."""

    def __init__(self, commander: Commander, missions: Missions, home: Home, sticks: Callable[[], list[int]]) -> None:
        self.commander, self.missions, self.home = commander, missions, home
        self.mode: Callable[[], str] = lambda: self.status.mode  # as it is reported
        self.offered: Callable[[], frozenset[str]] = frozenset  # modes that can be commanded
        self._sticks = sticks
        self._type = identity.type_of(commander.vehicle)
        self._version = identity.version_fields(commander.vehicle)
        spec = commander.vehicle.spec
        self._epoch_us = calendar.timegm((int(spec.home.year), 1, 1, 0, 0, 0)) * 1_000_000
        self._ready_s = commander.params().get(at.NAVIGATOR.arm_time, 0.0)  # the estimator settles until then
        self._vibration = np.zeros(3)
        self._accel: np.ndarray | None = None
        self._news: set[int] = set()
        self._beat_at = 0.0
        self._motion: Motion | None = None
        self._status: Status | None = None
        self._makers: dict[int, Callable[[], Fields]] = {
            dialect.HEARTBEAT.id: self._heartbeat,
            dialect.SYS_STATUS.id: self._sys_status,
            dialect.SYSTEM_TIME.id: lambda: (self._epoch_us + commander.time_us, self._ms),
            dialect.GPS_RAW_INT.id: self._gps,
            dialect.ATTITUDE.id: lambda: (self._ms, *self.motion.rpy, *self.motion.w_B),
            dialect.ATTITUDE_QUATERNION.id: lambda: (self._ms, *self.motion.q_NB, *self.motion.w_B, 0, 0, 0, 0),
            dialect.LOCAL_POSITION_NED.id: lambda: (self._ms, *self.motion.p_N, *self.motion.v_N),
            dialect.GLOBAL_POSITION_INT.id: self._global_position,
            dialect.SERVO_OUTPUT_RAW.id: self._servos,
            dialect.MISSION_CURRENT.id: missions.state,
            dialect.GPS_GLOBAL_ORIGIN.id: self._origin,
            dialect.RC_CHANNELS.id: lambda: (self._ms, *sticks(), 4 if any(sticks()) else 0, UNKNOWN_8),
            dialect.VFR_HUD.id: self._hud,
            dialect.ATTITUDE_TARGET.id: self._attitude_target,
            dialect.POSITION_TARGET_LOCAL_NED.id: self._position_target,
            dialect.HIGHRES_IMU.id: self._imu,
            dialect.ALTITUDE.id: self._altitude,
            dialect.BATTERY_STATUS.id: self._battery,
            dialect.AUTOPILOT_VERSION.id: lambda: self._version,
            dialect.PROTOCOL_VERSION.id: identity.protocol_fields,
            dialect.HIL_STATE_QUATERNION.id: self._truth,  # only on request
            dialect.ESTIMATOR_STATUS.id: self._estimator,
            dialect.VIBRATION.id: lambda: (commander.time_us, *self._vibration, 0, 0, 0),
            dialect.HOME_POSITION.id: self._home,
            dialect.EXTENDED_SYS_STATE.id: self._extended,
            dialect.CURRENT_MODE.id: self._current_mode,
        }

    # ------------------------------------------------------------------------------------------ streams

    def knows(self, number: int) -> bool:
        """Whether a message with this number can be requested."""
        return number in self._makers or number == dialect.AVAILABLE_MODES.id

    def streams(self, number: int) -> bool:
        """Whether a message with this number can be requested as a stream."""
        return number in self._makers

    def tell(self, channel: Channel, number: int, which: int = 0) -> bool:
        """Send one message now; returns False for an unknown number. `which` selects one of several, such as a mode."""
        if number == dialect.AVAILABLE_MODES.id:
            first = which or 1
            fields = identity.mode_fields(first, self.offered())
            while fields is not None:
                channel.say(dialect.AVAILABLE_MODES, *fields)
                first += 1
                fields = identity.mode_fields(first, self.offered()) if not which else None
            return first > (which or 1)
        channel.say(MESSAGES[number], *self._makers[number]())
        return True

    def news(self, number: int) -> None:
        """Send a message to all partners with the next poll."""
        self._news.add(number)

    def set_interval(self, channel: Channel, number: int, interval_s: float) -> None:
        """Set the interval at which a partner gets a message: 0 is the default rate, below 0 is never."""
        if interval_s == 0.0:
            channel.interval_s.pop(number, None)
        else:
            channel.interval_s[number] = math.inf if interval_s < 0 else max(interval_s, 1.0 / MOST_HZ)
        channel.next_s.pop(number, None)

    def interval_us(self, channel: Channel, number: int) -> int:
        """Interval for MESSAGE_INTERVAL in µs: -1 is never, 0 is unknown."""
        if number not in self._makers:
            return 0
        interval_s = self._interval_s(channel, number)
        return round(min(interval_s * 1e6, 2**31 - 1)) if math.isfinite(interval_s) else -1

    def _interval_s(self, channel: Channel, number: int) -> float:
        interval = channel.interval_s.get(number)
        if interval is not None:
            return interval
        rate = RATES_HZ.get(MESSAGES[number], 0.0)
        if not rate:
            return math.inf
        return 1.0 / rate / (1.0 if number == dialect.HEARTBEAT.id else self._slowed(channel))

    def _slowed(self, channel: Channel) -> float:
        """Factor on the default rates at which a serial line can carry all messages."""
        if channel.room_per_s is None:
            return 1.0
        load = sum(rate * (message.payload.size + FRAMING) for message, rate in RATES_HZ.items())
        return min(1.0, LINE_SHARE * channel.room_per_s / load)

    def poll(self, channels: Sequence[Channel]) -> None:
        """Send what is due. Heartbeats are also due by the wall clock: a slow simulation is not a dead vehicle."""
        self._motion = self._status = None
        self._feel()
        now_s = self.commander.time_s
        beat = time.monotonic() - self._beat_at >= 1.0
        if beat:
            self._beat_at = time.monotonic()
        made: dict[int, Fields] = {}
        for channel in channels:
            for number in self._makers:
                due = channel.next_s.get(number)
                if due is None:
                    interval_s = self._interval_s(channel, number)
                    due = channel.next_s[number] = now_s if math.isfinite(interval_s) else math.inf
                forced = number in self._news or (beat and number == dialect.HEARTBEAT.id)
                if now_s + 1e-9 < due and not forced:
                    continue
                if number not in made:
                    made[number] = self._makers[number]()
                channel.say(MESSAGES[number], *made[number])
                if now_s + 1e-9 >= due:
                    channel.next_s[number] = max(due + self._interval_s(channel, number), now_s)
        self._news.clear()

    def _feel(self) -> None:
        """Update the level of vibration: change of the accelerometer from one poll to the next [PX4]."""
        accels = self.commander.rig.accels
        if accels:
            new = np.array(accels[0].values, float)
            if self._accel is not None:
                self._vibration += VIBRATION_SHARE * (np.abs(new - self._accel) - self._vibration)
            self._accel = new

    # ------------------------------------------------------------------------------------------ messages

    @property
    def motion(self) -> Motion:
        """The autopilot's estimate of the motion, computed once per poll."""
        if self._motion is None:
            self._motion = self.commander.estimate()
        return self._motion

    @property
    def status(self) -> Status:
        """The autopilot's state, computed once per poll."""
        if self._status is None:
            self._status = self.commander.status()
        return self._status

    @property
    def _ms(self) -> int:
        return self.commander.time_us // 1000 & 0xFFFFFFFF

    def _heartbeat(self) -> Fields:
        status, mode = self.status, shown(self.mode())
        base = mode.base | (numbers.MAV_MODE_FLAG_SAFETY_ARMED if status.armed else 0)
        state = numbers.MAV_STATE_ACTIVE if status.armed else numbers.MAV_STATE_STANDBY
        if status.armed and status.failsafes:
            state = numbers.MAV_STATE_CRITICAL
        if status.mode == "terminated":
            state = numbers.MAV_STATE_EMERGENCY
        return (mode.custom, self._type, numbers.MAV_AUTOPILOT_PX4, base, state, numbers.MAVLINK_VERSION)

    def _current_mode(self) -> Fields:
        mode = shown(self.mode())
        return (mode.custom, mode.custom, mode.standard)

    def _sys_status(self) -> Fields:
        status, rig = self.status, self.commander.rig
        present = ALWAYS | numbers.MAV_SYS_STATUS_PREARM_CHECK | numbers.MAV_SYS_STATUS_AHRS
        for parts, flag in (
            (rig.magnetometers, numbers.MAV_SYS_STATUS_SENSOR_3D_MAG),
            (rig.barometers, numbers.MAV_SYS_STATUS_SENSOR_ABSOLUTE_PRESSURE),
            (rig.airspeeds, numbers.MAV_SYS_STATUS_SENSOR_DIFFERENTIAL_PRESSURE),
            (rig.receivers, numbers.MAV_SYS_STATUS_SENSOR_GPS),
        ):
            present |= flag if parts else 0
        if not rig.receivers:  # the position is known without GNSS, but ground stations check this flag only
            present |= numbers.MAV_SYS_STATUS_SENSOR_GPS
        health = present
        if rig.receivers and status.gnss_fix < FIX_3D:
            health &= ~numbers.MAV_SYS_STATUS_SENSOR_GPS
        if not status.healthy or self.commander.time_s < self._ready_s:
            health &= ~(numbers.MAV_SYS_STATUS_AHRS | numbers.MAV_SYS_STATUS_PREARM_CHECK)
            health &= ~numbers.MAV_SYS_STATUS_SENSOR_GPS  # MAVSDK waits for this one before it arms
        if any(self._sticks()):
            present |= numbers.MAV_SYS_STATUS_SENSOR_RC_RECEIVER
            health |= numbers.MAV_SYS_STATUS_SENSOR_RC_RECEIVER
        volts = _whole(status.battery_voltage_V * 1000, UNKNOWN_16, 0, 65534)
        amps = _whole(status.battery_current_A * 100, -1, -32768, 32767)
        share = _whole(status.battery_share * 100, -1, 0, 100)
        return (present, present, health, 0, volts, amps, 0, 0, 0, 0, 0, 0, share, 0, 0, 0)

    def _gps(self) -> Fields:
        rig, status = self.commander.rig, self.status
        if not rig.receivers:
            return (self.commander.time_us, 0, 0, 0, UNKNOWN_16, UNKNOWN_16, 0, 0, 0, UNKNOWN_8, 0, 0, 0, 0, 0, 0)
        receiver = rig.receivers[0]
        latitude, longitude, height = self._degrees(receiver.position_N.values)
        v_N = receiver.velocity_N.values
        speed = math.hypot(float(v_N[0]), float(v_N[1]))
        course = math.degrees(math.atan2(float(v_N[1]), float(v_N[0]))) % 360.0
        eph, epv = status.eph_m, status.epv_m
        return (
            self.commander.time_us, latitude, longitude, height, _whole(eph * 100, UNKNOWN_16, 0, 65534),
            _whole(epv * 100, UNKNOWN_16, 0, 65534), _whole(speed * 100, UNKNOWN_16, 0, 65534),
            _whole(course * 100, UNKNOWN_16, 0, 35999), _whole(status.gnss_fix, 0, 0, 8),
            _whole(status.satellites, UNKNOWN_8, 0, 254), height, _whole(eph * 1000, 0, 0, 2**32 - 1),
            _whole(epv * 1000, 0, 0, 2**32 - 1), 0, 0, 0,
        )  # fmt: skip

    def _degrees(self, p_N: Sequence[float] | np.ndarray) -> tuple[int, int, int]:
        latitude, longitude, height = to_geodetic(self.home.origin, p_N)
        most = 2**31 - 1
        return (
            _whole(latitude * 1e7, 0, -most, most),
            _whole(longitude * 1e7, 0, -most, most),
            _whole(height * 1e3, 0, -most, most),
        )

    def _truth(self) -> Fields:
        """The true state, as simulators report it; accelerations are specific forces in body axes, 1e-3 g."""
        true = self.commander.truth()
        air = _whole(self.status.airspeed_mps * 100, 0, 0, 65535)
        felt = (_whole(float(a) / STANDARD_GRAVITY_MPS2 * 1e3, 0, -32768, 32767) for a in true.a_B)
        return (
            self.commander.time_us, *true.q_NB, *true.w_B, *self._degrees(true.p_N), *_speeds(true.v_N), air, air,
            *felt,
        )  # fmt: skip

    def _global_position(self) -> Fields:
        motion = self.motion
        latitude, longitude, height = self._degrees(motion.p_N)
        above_home = _whole((self.home.p_N[2] - motion.p_N[2]) * 1e3, 0, -(2**31), 2**31 - 1)
        return (self._ms, latitude, longitude, height, above_home, *_speeds(motion.v_N), self._heading_cdeg())

    def _heading_cdeg(self) -> int:
        return _whole(math.degrees(float(self.motion.rpy[2])) * 100 % 36000, UNKNOWN_16, 0, 35999)

    def _origin(self) -> Fields:
        return (*self._degrees((0.0, 0.0, 0.0)), self.commander.time_us)

    def _home(self) -> Fields:
        latitude, longitude, height = self._degrees(self.home.p_N)
        nan = math.nan
        return (latitude, longitude, height, *self.home.p_N, 1, 0, 0, 0, nan, nan, nan, self.commander.time_us)

    def _servos(self) -> Fields:
        values = [
            _whole(1500 + 500 * value if _both_ways(place) else 1000 + 1000 * value, 0, 0, 65535)
            for place, value in self.commander.actuators().items()
        ][:16]
        values += [0] * (16 - len(values))
        return (self.commander.time_us & 0xFFFFFFFF, *values[:8], 0, *values[8:])

    def _hud(self) -> Fields:
        motion, status = self.motion, self.status
        ground = math.hypot(float(motion.v_N[0]), float(motion.v_N[1]))
        air = status.airspeed_mps if math.isfinite(status.airspeed_mps) else ground
        height = self.home.origin.height_m - float(motion.p_N[2])
        throttle = _whole(status.throttle * 100, 0, 0, 100)
        return (air, ground, height, -float(motion.v_N[2]), self._heading_cdeg() // 100, throttle)

    def _attitude_target(self) -> Fields:
        yaw = self.status.yaw_set if math.isfinite(self.status.yaw_set) else float(self.motion.rpy[2])
        half = 0.5 * yaw
        return (self._ms, math.cos(half), 0.0, 0.0, math.sin(half), 0.0, 0.0, 0.0, self.status.throttle, 0b0000_0111)

    def _position_target(self) -> Fields:
        status = self.status
        mask = NO_VELOCITY_OR_ACCELERATION
        return (self._ms, *status.position_set, *[0.0] * 6, status.yaw_set, 0.0, mask, numbers.FRAME_LOCAL_NED)

    def _imu(self) -> Fields:
        rig = self.commander.rig
        accel, gyro = (parts[0].values if parts else np.zeros(3) for parts in (rig.accels, rig.gyros))
        field = rig.magnetometers[0].values / GAUSS_T if rig.magnetometers else np.zeros(3)
        pressure = float(rig.barometers[0].values[0]) if rig.barometers else 0.0
        difference = float(rig.airspeeds[0].values[0]) if rig.airspeeds else 0.0
        height = pressure_height_m(pressure) if pressure > 0 else 0.0
        updated = sum(
            bits
            for parts, bits in zip(
                (rig.accels, rig.gyros, rig.magnetometers, rig.barometers, rig.airspeeds), IMU_UPDATED, strict=True
            )
            if parts
        )
        return (
            self.commander.time_us, *accel, *gyro, *field, pressure / MILLIBAR_PA, difference / MILLIBAR_PA, height,
            0.0, updated, 0,
        )  # fmt: skip

    def _altitude(self) -> Fields:
        down = float(self.motion.p_N[2])
        sea, home = self.home.origin.height_m - down, self.home.p_N[2] - down
        return (self.commander.time_us, sea, sea, -down, home, math.nan, math.nan)

    def _battery(self) -> Fields:
        status = self.status
        volts = _whole(status.battery_voltage_V * 1000, UNKNOWN_16, 0, 65534)
        amps = _whole(status.battery_current_A * 100, -1, -32768, 32767)
        share = _whole(status.battery_share * 100, -1, 0, 100)
        return (
            -1, -1, 32767, volts, *[UNKNOWN_16] * (CELLS - 1), amps, 0, numbers.MAV_BATTERY_FUNCTION_PROPULSION,
            numbers.MAV_BATTERY_TYPE_LIPO, share, 0, 1, 0, 0, 0, 0, 0, 0,
        )  # fmt: skip

    def _estimator(self) -> Fields:
        status = self.status
        flags = ESTIMATED if status.healthy else numbers.ESTIMATOR_ATTITUDE
        accuracy = [value if math.isfinite(value) else 0.0 for value in (status.eph_m, status.epv_m)]
        return (self.commander.time_us, *[0.0] * 6, *accuracy, flags)

    def _extended(self) -> Fields:
        phase = numbers.MAV_VTOL_STATE_UNDEFINED
        if self.commander.kind.transitions:
            phase = PHASES.get(self.status.mode, numbers.MAV_VTOL_STATE_MC)
        return (phase, LANDED.get(self.status.landed, numbers.MAV_LANDED_STATE_UNDEFINED))


def _speeds(v_N: np.ndarray) -> list[int]:
    """Velocity components as int16 in cm/s, from m/s."""
    return [_whole(float(v) * 100, 0, -32768, 32767) for v in v_N]


def _both_ways(place: str) -> bool:
    """Whether an actuator ranges from -1 to 1: all but rotors and throttles."""
    return not place.startswith(("rotor", "throttle", "engine", "motor"))


def _whole(value: float, unknown: int, least: int, most: int) -> int:
    """A number rounded and limited to an integer range; `unknown` if it is NaN."""
    return min(max(round(value), least), most) if math.isfinite(value) else unknown
