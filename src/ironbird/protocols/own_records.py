"""What an autopilot's own log shows of a fault: what it received, beside what it received in the healthy flight.

In virtual time two flights are equal to the last bit until a fault acts, so a record of a sensor that differs between
their logs shows that the autopilot received the fault. A sensor's record may also differ because the vehicle flies
another way by then: so it has to differ no later than the true motion does, which both autopilots log as well.
Rotors, loads, links and the air have no record of their own: what shows them is the inertial sensors.

Not looked at: parameters (a SIM_ parameter of ArduPilot that was set is no proof that a sensor moved).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ironbird.errors import LinkError
from ironbird.protocols.autopilot_log import open_ulog
from ironbird.protocols.dataflash import read_dataflash

LOOK_S = 5.0  # after the first difference, within which its size is measured
LATE_S = 0.1  # by which a sensor's record may be later than the motion's: they are written at their own rates
BATTERY_LATE_S = 0.6  # the same of a battery, reported twice a second, whose voltage moves the rotors at once
Table = Mapping[str, np.ndarray]


class Place(NamedTuple):
    """Columns of a record; `instance` counts from 0, None is the autopilot's choice of several."""

    record: str
    columns: tuple[str, ...]
    unit: str
    instance: int | None = None


@dataclass(frozen=True)
class Sight:
    """Where a log first differs from the healthy one in what it received of a part."""

    record: str  # and column
    first_s: float  # on the autopilot's clock; infinite if it never differs
    size: float  # largest difference within LOOK_S; NaN if only the rows' times differ
    unit: str
    moved_s: float  # when the true motion in the log differs
    direct: bool  # whether a sensor shows it, not its consequences
    late_s: float = LATE_S  # by which it may be later than the motion

    @property
    def seen(self) -> bool:
        """Whether the log shows the fault."""
        return math.isfinite(self.first_s) and (not self.direct or self.first_s <= self.moved_s + self.late_s)

    def sentence(self) -> str:
        """For people."""
        if not math.isfinite(self.first_s):
            return "its log shows nothing of it"
        if not self.seen:
            return f"{self.record} differs only after the vehicle has left its way"
        size = f" by up to {self.size:.3g} {self.unit}" if math.isfinite(self.size) else ": samples are missing"
        return f"{self.record}{size}"


def _axes(stem: str) -> tuple[str, ...]:
    return tuple(f"{stem}[{i}]" for i in range(3))


def _px4_places(family: str, number: int) -> list[Place]:
    """Topics of PX4 [PX4] by the family of a fault; a sensor's own topic is logged once a second, the chosen often."""
    own = number - 1
    first = own == 0  # the first of several sensors is in charge at the beginning
    accel = [Place("sensor_accel", ("x", "y", "z"), "m/s^2", own)]
    gyro = [Place("sensor_gyro", ("x", "y", "z"), "rad/s", own)]
    if first:
        accel.insert(0, Place("sensor_combined", _axes("accelerometer_m_s2"), "m/s^2"))
        gyro.insert(0, Place("sensor_combined", _axes("gyro_rad"), "rad/s"))
    mag = [
        Place("vehicle_magnetometer", _axes("magnetometer_ga"), "G"), Place("sensor_mag", ("x", "y", "z"), "G", own),
    ]  # fmt: skip
    gnss = [
        Place("sensor_gps", ("latitude_deg", "longitude_deg"), "deg", own),
        Place("sensor_gps", ("altitude_msl_m", "eph"), "m", own),
        Place("sensor_gps", ("vel_n_m_s", "vel_e_m_s", "vel_d_m_s"), "m/s", own),
        Place("vehicle_gps_position", ("latitude_deg", "longitude_deg"), "deg"),
        Place("vehicle_gps_position", ("vel_n_m_s", "vel_e_m_s", "vel_d_m_s"), "m/s"),
        Place("vehicle_gps_position", ("altitude_msl_m", "eph"), "m"),
    ]
    baro = [Place("vehicle_air_data", ("baro_pressure_pa",), "Pa"), Place("sensor_baro", ("pressure",), "Pa", own)]
    return {
        "accel": accel, "gyro": gyro, "imu": [*accel, *gyro], "mag": mag, "gnss": gnss, "baro": baro,
        "range": [Place("distance_sensor", ("current_distance",), "m", own)],
        "flow": [
            Place("vehicle_optical_flow", ("pixel_flow[0]", "pixel_flow[1]"), "rad"),
            Place("sensor_optical_flow", ("pixel_flow[0]", "pixel_flow[1]"), "rad", own),
        ],
        "airspeed": [
            Place("airspeed", ("indicated_airspeed_m_s",), "m/s"),
            Place("differential_pressure", ("differential_pressure_pa",), "Pa"),
        ],
        "battery": [Place("battery_status", ("voltage_v",), "V", 0)],
    }.get(family, [])  # fmt: skip


def _ardupilot_places(family: str, number: int) -> list[Place]:
    """Records of ArduPilot [ArduPilotCode] LogStructure.h by the family of a fault."""
    own = number - 1
    accel = [Place("IMU", ("AccX", "AccY", "AccZ"), "m/s^2", own), Place("IMU", ("AH",), "", own)]
    gyro = [Place("IMU", ("GyrX", "GyrY", "GyrZ"), "rad/s", own), Place("IMU", ("GH",), "", own)]
    return {
        "accel": accel, "gyro": gyro, "imu": [*accel, *gyro],
        "mag": [Place("MAG", ("MagX", "MagY", "MagZ"), "mG", own), Place("MAG", ("Health",), "", own)],
        "gnss": [
            Place("GPS", ("Lat", "Lng"), "deg", own), Place("GPS", ("Alt",), "m", own),
            Place("GPS", ("Spd", "VZ"), "m/s", own), Place("GPS", ("Status", "NSats"), "", own),
            Place("GPA", ("HAcc",), "m", own),
        ],
        "baro": [Place("BARO", ("Press",), "Pa", own), Place("BARO", ("H",), "", own)],
        "range": [Place("RFND", ("Dist",), "m", own)],
        "airspeed": [Place("ARSP", ("DiffPress", "Airspeed"), "", own)],
        "battery": [Place("BAT", ("Volt",), "V", 0)],
    }.get(family, [])  # fmt: skip


MOTION = {
    ".ulg": [
        Place("vehicle_angular_velocity_groundtruth", _axes("xyz"), "rad/s"),
        Place("vehicle_local_position_groundtruth", ("vx", "vy", "vz"), "m/s"),
    ],
    ".bin": [Place("SIM2", ("VN", "VE", "VD"), "m/s")],
}
FAMILIES = {  # faults whose first word does not name a sensor
    "environment.magnetic_anomaly": "mag", "environment.gnss_denied": "gnss",
}  # fmt: skip
SENSORS = ("imu", "mag", "gnss", "baro", "range", "flow", "airspeed", "battery")  # families of places
INSTANCES = ("I", "Inst", "Instance")  # columns of DataFlash records that number the sensor


def places_of(fault: str, instance: int | str, ending: str) -> tuple[list[Place], bool]:
    """Where a log shows a fault (its id without version), and whether that is the sensor itself."""
    places = _px4_places if ending == ".ulg" else _ardupilot_places
    first, _, second = fault.partition(".")
    family = FAMILIES.get(fault, second.partition("_")[0] if first == "imu" else first)
    number = instance if isinstance(instance, int) else 1
    own = places(family if family in ("accel", "gyro") or first != "imu" else "imu", number)
    return (own, True) if own else (places("imu", 1), False)


class Records(NamedTuple):
    """What a log has of sensors and of the true motion, in memory."""

    ending: str  # of the log's name
    tables: dict[tuple[str, int], Table]  # by name and instance


def read_records(log: Path) -> Records:
    """The records of all sensors in a log; `LinkError` if it cannot be read."""
    ending = log.suffix.lower()
    if ending not in MOTION:
        raise LinkError(f"{log.name} is no log of an autopilot (.ulg or .BIN)")
    places = _px4_places if ending == ".ulg" else _ardupilot_places
    own = [place for family in SENSORS for place in places(family, 1)]
    wanted = {place.record for place in (*own, *MOTION[ending])} | {"ERR"}  # written also when all else stands still
    return Records(ending, _read(log, wanted))


def sight_of(fault: str, instance: int | str, faulted: Records, healthy: Records) -> Sight:
    """What the first of two logs shows of a fault; `LinkError` if they are not of one autopilot."""
    if healthy.ending != faulted.ending:
        raise LinkError(f"{faulted.ending} and {healthy.ending} are no two logs of one autopilot")
    own, direct = places_of(fault, instance, faulted.ending)
    logs = [faulted.tables, healthy.tables]
    moved_s = min((first for first, *_ in _differences(MOTION[faulted.ending], *logs)), default=math.inf)
    found = min(_differences(own, *logs), default=None, key=lambda entry: entry[0])
    if found is None:
        return Sight("", math.inf, math.nan, "", moved_s, direct)
    first_s, size, name, unit = found
    late_s = BATTERY_LATE_S if fault.startswith("battery.") else LATE_S
    return Sight(name, first_s, size, unit, moved_s, direct, late_s)


def _read(path: Path, wanted: set[str]) -> dict[tuple[str, int], Table]:
    """Records by name and instance."""
    if path.suffix.lower() == ".ulg":
        topics = open_ulog(path, sorted(wanted)).data_list
        return {(topic.name, topic.multi_id): topic.data for topic in topics if len(topic.data.get("timestamp", ()))}
    try:
        tables = read_dataflash(path, wanted).tables
    except OSError as error:
        raise LinkError(f"{path.name} cannot be read: {error.strerror or error}") from None
    found: dict[tuple[str, int], Table] = {}
    for name, table in tables.items():
        column = next((column for column in INSTANCES if column in table), None)
        numbers = table[column] if column else np.zeros(len(table["TimeUS"]), int)
        for number in np.unique(numbers).tolist():
            found[name, int(number)] = {key: values[numbers == number] for key, values in table.items()}
    return found


def _times_s(table: Table) -> np.ndarray:
    return np.asarray(table["timestamp" if "timestamp" in table else "TimeUS"], float) * 1e-6


def _differences(
    places: list[Place], faulted: Mapping[tuple[str, int], Table], healthy: Mapping[tuple[str, int], Table]
) -> Iterator[tuple[float, float, str, str]]:
    """First time, size, name and unit of each place that differs; instance None is the first there is.

    Rows that end while the log goes on are missing ones.
    """
    last_s = max((float(_times_s(table)[-1]) for table in faulted.values()), default=0.0)
    for place in places:
        key = (place.record, place.instance or 0)
        if key not in faulted or key not in healthy:
            continue
        a, b = faulted[key], healthy[key]
        columns = [column for column in place.columns if column in a and column in b]
        times = [_times_s(table) for table in (a, b)]
        rows = min(map(len, times))
        late = times[0][:rows] != times[1][:rows]
        name = f"{place.record} {place.instance + 1}" if place.instance is not None else place.record
        for column in columns:
            x, y = (np.asarray(table[column][:rows], float) for table in (a, b))
            differs = np.flatnonzero(late | ~((x == y) | (np.isnan(x) & np.isnan(y))))
            if not len(differs):
                if rows < len(times[1]) and times[1][rows] + LATE_S < last_s:
                    yield float(times[1][rows]), math.nan, f"{name} {column}", place.unit
                continue
            row = int(differs[0])
            at_s = float(min(times[0][row], times[1][row]))
            near = ~late & (times[0][:rows] >= at_s) & (times[0][:rows] <= at_s + LOOK_S)
            size = float(np.nanmax(np.abs(x - y)[near])) if near.any() else math.nan
            if late[row] or math.isnan(size):
                size = math.nan
            yield at_s, size, f"{name} {column}", place.unit
