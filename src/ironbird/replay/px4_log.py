"""A ULog of PX4 as input for a whole PX4: the sensors that it holds, at their logged times, and what commanded it.

What a log keeps is less than what PX4 got: its usual profile holds one inertial unit (`sensor_combined`) at full rate,
calibrated and integrated to the estimator's steps, and one each of magnetometer, barometer and receiver as the
estimator gets them. So a replay of a log has the estimator's input of one unit, not the drivers' of all, and its
estimates are near those of the log, not equal; the table of the replay says what was given and what was not.

- The inertial unit's samples go through PX4's simulated driver, which rounds to 16 bits: 0.061 °/s and 0.0048 m/s^2.
  Samples of PX4's own simulations are such numbers already and stay as they are.
- Parameters of estimator, sensors' processing, controllers and airframe are those of the log, without calibrations and
  device identities, which are in the logged values already.
- A log that begins later than `SOON_S` after the start of PX4 is preceded by `BEFORE_S` of its first samples in
  reverse, in which PX4 starts and its estimator settles. One that begins in flight is not followed well at first.
- PX4 is armed, disarmed and switched between modes when the log says so. Missions are not uploaded and sticks are not
  moved, so its own set-points are others than in flight; its outputs go nowhere.

Not given: optical flow, odometry, further receivers and distance sensors than the first.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.autopilots.px4.airframe import AUTOSTART, Airframe
from ironbird.autopilots.px4.groups import ACCEL, BARO, DIFF_PRESSURE, GYRO, MAG
from ironbird.autopilots.px4.messages import ACCEL_LIMIT, GYRO_LIMIT
from ironbird.autopilots.px4.process import COMMAND_PORT, PILOT_PORT, SIMULATOR_PORT
from ironbird.constants import SEA_LEVEL_DENSITY_KGPM3, STANDARD_GRAVITY_MPS2
from ironbird.errors import LinkError
from ironbird.host.process import FOLDER
from ironbird.host.virtual_time.record import CONNECTED, DATAGRAM, EMPTIED, NEXT, STREAM, TIME, Entry
from ironbird.protocols import atmosphere
from ironbird.protocols.autopilot_log import Topics, open_ulog
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.protocols.mavlink.codec import Packer
from ironbird.replay.builds import AUTOPILOTS
from ironbird.replay.recording import Recording

SOON_S, BEFORE_S = 3.0, 15.0
SLOWEST_HZ = 50.0  # of an inertial unit that an estimator can use
ACCEL_LSB, GYRO_LSB = STANDARD_GRAVITY_MPS2 / 2048, math.radians(2000) / 32768
INSIDE = 0.25  # of a step beyond a 16-bit number, so that cutting off gives that number
FIRST_US = 4000  # of the messages
ARM, SET_MODE, FORCE = 400, 176, 21196.0
ARMED = 2  # of vehicle_status.arming_state
BEATS_US = 1_000_000
CLASSES = {  # of MAV_TYPE: start-up file of the kind
    **dict.fromkeys((2, 3, 13, 14, 15), "rc.mc_defaults"), 1: "rc.fw_defaults",
    **dict.fromkeys(range(19, 26), "rc.vtol_defaults"),
}  # fmt: skip
MODES = {  # of vehicle_status.nav_state: main and sub mode of MAV_CMD_DO_SET_MODE
    0: (1, 0), 1: (2, 0), 2: (3, 0), 3: (4, 4), 4: (4, 3), 5: (4, 5), 10: (5, 0), 15: (7, 0), 17: (4, 2), 18: (4, 6),
}  # fmt: skip
TAKEN = ("EKF2_", "IMU_", "SENS_MAG_", "SENS_BARO_", "ASPD_", "LNDMC_", "LNDFW_", "MC_", "MPC_", "FW_", "VT_", "CA_")
QUAD = {"CA_AIRFRAME": 0, "CA_ROTOR_COUNT": 4} | {
    f"CA_ROTOR{n}_{axis}": value
    for n, place in enumerate(((0.15, 0.15, 0.05), (-0.15, -0.15, 0.05), (0.15, -0.15, -0.05), (-0.15, 0.15, -0.05)))
    for axis, value in zip(("PX", "PY", "KM"), place, strict=True)
}
SAFE = {  # nothing but the log commands
    "COM_DISARM_PRFLT": -1.0, "COM_DISARM_LAND": -1.0, "COM_RC_IN_MODE": 4, "NAV_DLL_ACT": 0, "COM_LOW_BAT_ACT": 0,
    "CBRK_SUPPLY_CHK": 894281,
}  # fmt: skip

Data = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class _Stream:
    """Samples of one sensor: times in µs of the log, values by row, and how a row becomes messages."""

    name: str
    times_us: np.ndarray
    values: np.ndarray

    def before(self, begin_us: int, length_us: int) -> _Stream:
        """The samples with those of the beginning in reverse before it."""
        mirrored = (self.times_us > begin_us) & (self.times_us <= begin_us + length_us)
        times = 2 * begin_us - self.times_us[mirrored][::-1]
        return _Stream(self.name, np.r_[times, self.times_us], np.r_[self.values[mirrored][::-1], self.values])


def recording_of(path: Path) -> Recording:
    """A ULog as the recording of a flight; `LinkError` says what it lacks."""
    ulog = open_ulog(path, None)
    topics = Topics(ulog.data_list)
    params = dict(ulog.initial_parameters)
    defaults = _class_of(path, topics, params)
    streams, rows = _sensors(path, topics)
    begin_us, shift_us = int(streams[0].times_us[0]), 0
    if begin_us * 1e-6 > SOON_S:
        shift_us = round(BEFORE_S * 1e6) + FIRST_US - begin_us
        streams = [stream.before(begin_us, round(BEFORE_S * 1e6)) for stream in streams]
        rows["before the log"] = f"{BEFORE_S:g} s of its first samples in reverse: PX4 starts, its estimator settles"
    taken = {name: value for name, value in params.items() if name.startswith(TAKEN)}
    rows["parameters"] = f"{len(taken)} of {len(params)} in the log: estimator, filters, controllers, geometry"
    rate_hz = 1e6 / float(np.median(np.diff(streams[0].times_us)))
    airframe = Airframe(defaults, (), {}).with_params(
        QUAD | taken | SAFE | {f"PWM_MAIN_FUNC{n + 1}": 101 + n for n in range(int(taken.get("CA_ROTOR_COUNT", 4)))}
        | {"EKF2_MULTI_IMU": 1, "SENS_IMU_MODE": 1, "IMU_INTEG_RATE": round(rate_hz), "IMU_GYRO_RATEMAX": 400}
    )  # fmt: skip
    orders = _orders(topics)
    rows["commands"] = (
        "; ".join(f"{words} at {(at_us - begin_us) * 1e-6:.1f} s" for at_us, words, _ in orders) or "none"
    )
    about = _about(airframe.script(f"replay of {path.name}"))

    def entries() -> Iterator[Entry]:
        return _entries(streams, orders, shift_us)

    shift_s = shift_us * 1e-6
    begin_s = (begin_us + shift_us) * 1e-6
    return Recording(AUTOPILOTS["px4"], about, entries, path, exact=False, shift_s=shift_s, begin_s=begin_s, rows=rows)


def _class_of(path: Path, topics: Topics, params: Mapping[str, Any]) -> str:
    status = topics("vehicle_status")
    own = int(status["system_type"][-1]) if status is not None and "system_type" in status else 0
    kind = int(params.get("MAV_TYPE", 0)) or own
    if kind not in CLASSES:
        raise LinkError(
            f"{path.name} is of a vehicle of MAV_TYPE {kind}: logs of multicopters, fixed wings and VTOLs are replayed "
            f"(MAV_TYPE {', '.join(map(str, sorted(CLASSES)))})"
        )
    return CLASSES[kind]


def _columns(data: Data, name: str, count: int = 3) -> np.ndarray:
    return np.column_stack([np.asarray(data[f"{name}[{i}]"], float) for i in range(count)])


def _sensors(path: Path, topics: Topics) -> tuple[list[_Stream], dict[str, str]]:
    """The sensors that a log holds, the inertial unit first, and the rows about them for the table."""
    combined = topics("sensor_combined")
    if combined is None or len(combined["timestamp"]) < 2:
        raise LinkError(
            f"{path.name} has no topic sensor_combined, PX4's inertial unit: log with SDLOG_PROFILE 1 (default) or "
            "with 2 (estimator replay)"
        )
    rate_hz = 1e6 / float(np.median(np.diff(combined["timestamp"].astype(np.int64))))
    if rate_hz < SLOWEST_HZ:
        raise LinkError(f"{path.name} has its inertial unit at {rate_hz:.1f} Hz: an estimator needs {SLOWEST_HZ:g} Hz")
    inertial = np.column_stack([_columns(combined, "accelerometer_m_s2"), _columns(combined, "gyro_rad")])
    made = (_stream("inertial unit", combined, inertial), *(make(topics) for make in MAKERS))
    found = [stream for stream in made if stream is not None]
    for name in LOOKED:
        if all(stream.name != name for stream in found):
            raise LinkError(
                f"{path.name} has no samples of a {name} (looked in {', '.join(LOOKED[name])}): it cannot be replayed"
            )
    rates = {s.name: 1e6 * (len(s.times_us) - 1) / max(int(s.times_us[-1] - s.times_us[0]), 1) for s in found}
    rows = {"sensors": ", ".join(f"{name} {rate:.3g} Hz" for name, rate in rates.items())}
    units = max(len(topics.numbers("vehicle_imu")), len(topics.numbers("sensor_gyro")), 1)
    if units > 1:
        rows["not in the log"] = f"full rate of {units - 1} of {units} inertial units, so one EKF runs"
    return found, rows


def _stream(name: str, data: Data, values: np.ndarray) -> _Stream | None:
    times = np.asarray(data["timestamp"], np.int64)
    whole = np.isfinite(values).all(axis=1) & np.r_[True, np.diff(times) > 0]
    return _Stream(name, times[whole], values[whole]) if whole.sum() > 1 else None


def _magnetometer(topics: Topics) -> _Stream | None:
    for topic in ("vehicle_magnetometer", "sensor_combined"):
        data = topics(topic)
        if data is not None and "magnetometer_ga[0]" in data:
            return _stream("magnetometer", data, _columns(data, "magnetometer_ga"))
    data = topics("sensor_mag")
    return None if data is None else _stream("magnetometer", data, np.column_stack([data[axis] for axis in "xyz"]))


def _barometer(topics: Topics) -> _Stream | None:
    data = topics("vehicle_air_data")
    if data is not None and "baro_pressure_pa" in data:
        return _stream("barometer", data, np.asarray(data["baro_pressure_pa"], float)[:, None])
    data = topics("sensor_combined")
    if data is not None and "baro_alt_meter" in data:
        pressure = np.array([atmosphere.pressure_at_Pa(height) for height in data["baro_alt_meter"].tolist()])
        return _stream("barometer", data, pressure[:, None])
    data = topics("sensor_baro")
    if data is None:
        return None
    pressure = np.asarray(data["pressure"], float)
    return _stream("barometer", data, np.where(pressure < 2000, 100 * pressure, pressure)[:, None])


def _receiver(topics: Topics) -> _Stream | None:
    data = topics("vehicle_gps_position") or topics("sensor_gps")
    if data is None:
        return None
    if "latitude_deg" in data:
        place = [1e7 * data["latitude_deg"], 1e7 * data["longitude_deg"], 1e3 * data["altitude_msl_m"]]
    else:
        place = [data["lat"], data["lon"], data["alt"]]
    speed = [100 * data[f"vel_{axis}_m_s"] for axis in "ned"]
    rest = [100 * data["eph"], 100 * data["epv"], data["fix_type"], data["satellites_used"]]
    return _stream("receiver", data, np.column_stack([np.asarray(v, float) for v in (*place, *speed, *rest)]))


def _airspeed(topics: Topics) -> _Stream | None:
    data = topics("airspeed")
    if data is None:
        return None
    speed = np.asarray(data["indicated_airspeed_m_s"], float)
    return _stream("airspeed", data, (0.5 * SEA_LEVEL_DENSITY_KGPM3 * speed * np.abs(speed))[:, None])


def _distance(topics: Topics) -> _Stream | None:
    data = topics("distance_sensor")
    if data is None:
        return None
    names = ("min_distance", "max_distance", "current_distance", "orientation", "signal_quality")
    if any(name not in data for name in names):
        return None
    return _stream("distance", data, np.column_stack([np.asarray(data[name], float) for name in names]))


MAKERS = (_magnetometer, _barometer, _receiver, _airspeed, _distance)
LOOKED = {
    "inertial unit": ("sensor_combined",),
    "magnetometer": ("vehicle_magnetometer", "sensor_combined", "sensor_mag"),
    "barometer": ("vehicle_air_data", "sensor_combined", "sensor_baro"),
    "receiver": ("vehicle_gps_position", "sensor_gps"),
}


def _orders(topics: Topics) -> list[tuple[int, str, tuple[float, ...]]]:
    """When PX4 was armed, disarmed and switched to another mode: time in µs, words, and values of COMMAND_LONG."""
    status = topics("vehicle_status")
    if status is None:
        return []
    orders: list[tuple[int, str, tuple[float, ...]]] = []
    armed, mode = False, -1
    for at_us, state, nav in zip(status["timestamp"], status["arming_state"], status["nav_state"], strict=True):
        if int(nav) != mode and int(nav) in MODES:
            mode = int(nav)
            main, sub = MODES[mode]
            orders.append((int(at_us), f"mode {main}.{sub}", (1.0, main, sub, 0, 0, 0, 0, SET_MODE)))
        if (int(state) == ARMED) != armed:
            armed = not armed
            words = "armed" if armed else "disarmed"
            orders.append((int(at_us), words, (float(armed), FORCE, 0, 0, 0, 0, 0, ARM)))
    return orders


def _about(script: str) -> dict[str, Any]:
    """How PX4 is started: as `Px4Process` does."""
    airframes = "etc/init.d-posix/airframes"
    return {
        "autopilot": "px4",
        "binary": "px4",
        "command": ["-d", f"{FOLDER}/etc", "-w", f"{FOLDER}/work", "-i", "0"],
        "cwd": "work",
        "settings": {
            "PX4_SYS_AUTOSTART": str(AUTOSTART),
            "PX4_SIM_HOST_ADDR": "127.0.0.1",
            "PX4_SIMULATOR": "ironbird",
        },
        "folders": ["etc", "etc/init.d-posix", airframes, "work"],
        "files": {f"{airframes}/{AUTOSTART}_ironbird": script},
        "streams": [SIMULATOR_PORT],
        "ports": [PILOT_PORT],
        "slack_ns": 0,
        "thread_seed": 0,
    }


def _entries(
    streams: Sequence[_Stream], orders: Sequence[tuple[int, str, tuple[float, ...]]], shift_us: int
) -> Iterator[Entry]:
    """Messages at the times of the inertial unit; of the other sensors what came since the last one."""
    yield Entry(CONNECTED)
    packer, ground = Packer(), Packer(255, 190, 1024)
    inertial, *others = streams
    due = list(heapq.merge(*(_tagged(stream) for stream in others), key=lambda one: one[0]))
    place, order, beat_us = 0, 0, -1
    armed: tuple[float, ...] = ()
    first = int(inertial.times_us[0]) + shift_us
    for now_us in range(FIRST_US, first, FIRST_US):  # PX4 starts before its log does
        yield from _step(packer, now_us, inertial.values[0], ())
    for at_us, sample in zip(inertial.times_us.tolist(), inertial.values, strict=True):
        now_us = at_us + shift_us
        begin = place
        while place < len(due) and due[place][0] <= at_us:
            place += 1
        yield from _step(packer, now_us, sample, due[begin:place])
        if now_us >= beat_us:
            beat_us = now_us + BEATS_US
            ground.add(dialect.HEARTBEAT, 0, numbers.MAV_TYPE_GCS, 8, 0, 4, 3)
            if armed:  # again, as its estimator may get ready later than that of the log; no news if it is armed
                ground.add(dialect.COMMAND_LONG, *armed, 1, 1, 0)
        while order < len(orders) and orders[order][0] <= at_us:
            values = orders[order][2]
            ground.add(dialect.COMMAND_LONG, *values, 1, 1, 0)
            if values[7] == ARM:
                armed = values if values[0] else ()
            order += 1
        if sent := bytes(ground.take()):
            yield Entry(DATAGRAM, PILOT_PORT, f"u{COMMAND_PORT}", sent)
        yield Entry(EMPTIED, PILOT_PORT)


def _tagged(stream: _Stream) -> Iterator[tuple[int, str, np.ndarray]]:
    for at_us, values in zip(stream.times_us.tolist(), stream.values, strict=True):
        yield at_us, stream.name, values


def _step(
    packer: Packer, now_us: int, inertial: np.ndarray, others: Sequence[tuple[int, str, np.ndarray]]
) -> Iterator[Entry]:
    newest = {name: values for _, name, values in others}
    fields = [0.0] * 13
    fields[:3] = _rounded(inertial[:3], ACCEL_LSB, ACCEL_LIMIT)
    fields[3:6] = _rounded(inertial[3:6], GYRO_LSB, GYRO_LIMIT)
    bits = ACCEL | GYRO
    if "magnetometer" in newest:
        bits |= MAG
        fields[6:9] = newest["magnetometer"].tolist()
    if "barometer" in newest:
        bits |= BARO
        pressure = float(newest["barometer"][0])
        fields[9], fields[11] = 0.01 * pressure, atmosphere.pressure_height_m(pressure)
        fields[12] = 15.0
    if "airspeed" in newest:
        bits |= DIFF_PRESSURE
        fields[10] = 0.01 * float(newest["airspeed"][0])
    packer.add(dialect.HIL_SENSOR, now_us, *fields, bits, 0)
    if "receiver" in newest:
        _add_fix(packer, now_us, newest["receiver"].tolist())
    if "distance" in newest:
        low, high, distance, orientation, quality = newest["distance"].tolist()
        whole = [min(max(round(100 * value), 0), 65535) for value in (low, high, distance)]
        packer.add(
            dialect.DISTANCE_SENSOR, now_us // 1000, *whole, 0, 0, int(orientation), 255, *[0.0] * 6,
            max(int(quality), 0) or 1,
        )  # fmt: skip
    yield Entry(STREAM, SIMULATOR_PORT, data=bytes(packer.take()))
    yield Entry(NEXT, data=TIME.pack(1000 * now_us))


def _rounded(values: np.ndarray, step: float, limit: float) -> list[float]:
    """Values at which PX4's driver, which cuts off, finds the nearest 16-bit number."""
    whole = np.round(np.clip(values, -limit, limit) / step)
    return list((step * (whole + INSIDE * np.sign(whole))).tolist())


def _add_fix(packer: Packer, now_us: int, values: Sequence[float]) -> None:
    latitude, longitude, height, north, east, down, eph, epv, kind, satellites = map(round, values)
    speed = min(round(math.hypot(north, east)), 65535)
    course = round(100 * math.degrees(math.atan2(east, north))) % 36000 if speed > 10 else 65535
    packer.add(
        dialect.HIL_GPS, now_us, latitude, longitude, height, min(eph, 65535), min(epv, 65535), speed, north, east,
        down, course, kind, satellites, 0, 0,
    )  # fmt: skip
