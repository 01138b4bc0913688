"""A ULog of PX4 as the log of a flight, for versions from 2016 (1.4) on: renamed fields are known by both names.

Ironbird's own ULog files (`ironbird fly --ulog`) are read too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ironbird.protocols.autopilot_log import (
    FIX_3D,
    OTHER_FORM,
    PX4_STATES,
    Topics,
    changes_of,
    last_before,
    open_ulog,
    ulog_is_whole,
)
from ironbird.protocols.flight_log import (
    ERROR,
    INFO,
    WARNING,
    FlightLog,
    Message,
    ParamChange,
    Topic,
    grouped,
    length_of,
)
from ironbird.protocols.flight_log import run_parts as run
from ironbird.protocols.geodesy import to_local
from ironbird.protocols.mavlink.numbers import entries_of
from ironbird.protocols.own_states import Change, of_px4
from ironbird.rotations import euler

Data = Mapping[str, np.ndarray]
ARMED = 2  # of VehicleStatus.arming_state
RELEASES = {0: "development", 64: "alpha", 128: "beta", 192: "release candidate"}  # last byte of ver_sw_release
MOST_OUTPUTS = 16
FIRST_ACCELERATION = (
    0x010D0000  # version 1.13: from there on vibration is an acceleration, before a velocity of one step
)
FIRST_UTC_US = 1_262_304_000_000_000  # 2010: a receiver without a fix counts from another time
LEVEL_OF = {"0": ERROR, "1": ERROR, "2": ERROR, "3": ERROR, "4": WARNING}  # of the Linux kernel; others are information


def read_px4_flight(path: Path) -> FlightLog:
    """Read a ULog; one that is damaged or cut off yields what is whole in it, with a note."""
    ulog = open_ulog(path, None)
    system = str(ulog.msg_info_dict.get("sys_name", "PX4"))
    log = FlightLog(path, "ulog", "ULog of PX4" if system == "PX4" else f"ULog of {system}")
    if ulog.file_corruption or not ulog_is_whole(path):
        log.notes.append("the file is damaged or cut off; what could be read is shown")
    begin_us = _begin_us(ulog)
    topics = _Timed(ulog.data_list, begin_us)
    log.topics = topics.all
    run(log, _Px4(log, topics, ulog, begin_us))
    log.length_s = length_of(log)
    return log


def _begin_us(ulog: Any) -> int:
    """The time at which the log begins: that of its header, unless all samples are far from it."""
    firsts = [int(d.data["timestamp"][0]) for d in ulog.data_list if len(d.data.get("timestamp", ()))]
    begin = int(ulog.start_timestamp)
    return begin if not firsts or any(0 <= first - begin < 60e6 for first in firsts) else min(firsts)


class _Timed(Topics):
    """Topics with times in seconds from the beginning of the log, as the field `time_s`."""

    def __init__(self, data_list: list[Any], begin_us: int) -> None:
        self.all: list[Topic] = []
        made = []
        for one in data_list:
            stamps = np.asarray(one.data.get("timestamp", ()), np.float64)
            if not len(stamps):
                continue
            time_s = (stamps - begin_us) * 1e-6
            fields = {name: values for name, values in one.data.items() if name != "timestamp"}
            name = one.name if one.multi_id == 0 else f"{one.name}_{one.multi_id}"
            self.all.append(Topic(name, time_s, grouped(fields)))
            made.append(SimpleNamespace(name=one.name, multi_id=one.multi_id, data={**one.data, "time_s": time_s}))
        super().__init__(made)

    def first_of(self, *names: str) -> tuple[str, Data] | None:
        """The first of these topics that has rows."""
        for name in names:
            if (data := self(name)) is not None:
                return name, data
        return None


def _columns(data: Data, name: str, count: int) -> list[np.ndarray]:
    return [np.asarray(data[f"{name}[{i}]"], float) for i in range(count)]


def _either(data: Data, *names: str) -> np.ndarray | None:
    """The first of these fields that is there."""
    return next((np.asarray(data[name], float) for name in names if name in data), None)


def _euler(q: list[np.ndarray]) -> np.ndarray | None:
    """Roll, pitch and yaw [row, 3] of quaternions; NaN where there is none; None without any."""
    stacked = np.column_stack(q)
    length = np.linalg.norm(stacked, axis=1)
    known = np.isfinite(length) & (length > 0.5)
    if not known.any():
        return None
    stacked[~known] = (1.0, 0.0, 0.0, 0.0)
    found = euler(stacked / np.where(known, length, 1.0)[:, None])
    found[~known] = np.nan
    return np.asarray(found)


@dataclass
class _Px4:
    """Each quantity of a log of PX4 apart."""

    log: FlightLog
    topics: _Timed
    ulog: Any
    begin_us: int

    def __iter__(self) -> Iterator[tuple[str, Callable[[], None]]]:
        yield "facts", self.facts
        yield "position", self.position
        yield "set-points of position", self.position_set
        yield "attitude", self.attitude
        yield "set-points of attitude", self.attitude_set
        yield "rates", self.rates
        yield "set-points of rates", self.rates_set
        yield "acceleration", self.acceleration
        yield "outputs", self.outputs
        yield "battery", self.battery
        yield "GNSS", self.gnss
        yield "estimator", self.estimator
        yield "innovations", self.innovations
        yield "vibration", self.vibration
        yield "airspeed", self.airspeed
        yield "height sensors", self.heights
        yield "sticks", self.sticks
        yield "processor", self.load
        yield "modes", self.modes
        yield "landing", self.landed
        yield "messages", self.messages
        yield "parameters", self.parameters
        yield "own states", self.states
        yield "dropouts", self.dropouts
        yield "Ironbird's signals", self.ironbird

    def facts(self) -> None:
        info, facts = self.ulog.msg_info_dict, self.log.facts
        status = self.topics("vehicle_status")
        if status is not None and "system_type" in status:
            kinds = {number: name for name, number in entries_of("MAV_TYPE").items()}
            facts["vehicle"] = kinds.get(int(status["system_type"][-1]), "").replace("_", " ").lower()
        if "SYS_AUTOSTART" in self.ulog.initial_parameters:
            facts["airframe"] = f"SYS_AUTOSTART {self.ulog.initial_parameters['SYS_AUTOSTART']:g}"
        facts["firmware"] = " ".join(filter(None, (_text(info, "sys_name"), _release(info))))
        facts["branch"], facts["commit"] = _text(info, "ver_sw_branch"), _text(info, "ver_sw")[:12]
        facts["hardware"] = " ".join(filter(None, (_text(info, "ver_hw"), _text(info, "ver_hw_subtype"))))
        facts["processor"], facts["system"] = _text(info, "sys_mcu"), _text(info, "sys_os_name")
        for word in ("vehicle", "control", "seed", "faults"):  # of Ironbird's own files
            facts[word] = _text(info, f"ironbird_{word}") or facts.get(word, "")
        self.log.is_simulated = _text(info, "sys_name") == "Ironbird" or "SITL" in _text(info, "ver_hw")
        self.log.facts = {name: text for name, text in facts.items() if text}

    def position(self) -> None:
        data = self.topics("vehicle_local_position")
        if data is None:
            return
        for name, keys, flags, unit in (
            ("position", "x y z", ("xy_valid", "z_valid"), "m"),
            ("velocity", "vx vy vz", ("v_xy_valid", "v_z_valid"), "m/s"),
        ):
            columns = [np.asarray(data[key], float) for key in keys.split()]
            valid = [np.asarray(data[flag]) != 0 if flag in data else np.ones(len(columns[0]), bool) for flag in flags]
            for column, good in zip(columns, (valid[0], valid[0], valid[1]), strict=True):
                column[~good] = np.nan
            self.log.add(name, "vehicle_local_position", data["time_s"], columns, unit)

    def position_set(self) -> None:
        data = self.topics("vehicle_local_position_setpoint")
        if data is not None:
            for name, keys, unit in (("position_set", "x y z", "m"), ("velocity_set", "vx vy vz", "m/s")):
                columns = [data[key] for key in keys.split()]
                self.log.add(name, "vehicle_local_position_setpoint", data["time_s"], columns, unit)
        data = self.topics("trajectory_setpoint")
        if data is not None and "position[0]" in data:  # from version 1.13 on
            self.log.add("position_set", "trajectory_setpoint", data["time_s"], _columns(data, "position", 3), "m")
            self.log.add("velocity_set", "trajectory_setpoint", data["time_s"], _columns(data, "velocity", 3), "m/s")

    def attitude(self) -> None:
        data = self.topics("vehicle_attitude")
        if data is not None and (angles := _euler(_columns(data, "q", 4))) is not None:
            self.log.add("attitude", "vehicle_attitude", data["time_s"], list(angles.T), "rad")

    def attitude_set(self) -> None:
        data = self.topics("vehicle_attitude_setpoint")
        if data is None:
            return
        angles = _euler(_columns(data, "q_d", 4)) if "q_d[0]" in data else None
        columns = list(angles.T) if angles is not None else [data[f"{axis}_body"] for axis in ("roll", "pitch", "yaw")]
        self.log.add("attitude_set", "vehicle_attitude_setpoint", data["time_s"], columns, "rad")

    def rates(self) -> None:
        for topic, name in (("vehicle_angular_velocity", "xyz"), ("sensor_combined", "gyro_rad")):
            data = self.topics(topic)
            if data is not None and f"{name}[0]" in data:
                self.log.add("rates", topic, data["time_s"], _columns(data, name, 3), "rad/s")

    def rates_set(self) -> None:
        data = self.topics("vehicle_rates_setpoint")
        if data is not None:
            columns = [data[axis] for axis in ("roll", "pitch", "yaw")]
            self.log.add("rates_set", "vehicle_rates_setpoint", data["time_s"], columns, "rad/s")

    def acceleration(self) -> None:
        """The accelerometer that was logged fastest: vibration is looked for in it."""
        found = []
        for topic, keys in (
            ("sensor_combined", [f"accelerometer_m_s2[{i}]" for i in range(3)]),
            ("sensor_accel", ["x", "y", "z"]),
            ("vehicle_acceleration", [f"xyz[{i}]" for i in range(3)]),
        ):
            data = self.topics(topic)
            if data is not None and keys[0] in data and len(data["time_s"]) > 1:
                span = float(data["time_s"][-1] - data["time_s"][0])
                found.append((len(data["time_s"]) / max(span, 1e-3), topic, data["time_s"], [data[k] for k in keys]))
        if found:
            _, topic, time_s, columns = max(found, key=lambda one: one[0])
            self.log.add("acceleration", topic, time_s, columns, "m/s^2")

    def outputs(self) -> None:
        names: list[str] = []
        columns: list[np.ndarray] = []
        base: np.ndarray | None = None
        for topic, word, most in (("actuator_motors", "motor", 12), ("actuator_servos", "servo", 8)):
            data = self.topics(topic)
            if data is None:
                continue
            time_s = data["time_s"]
            base = time_s if base is None else base
            for i, column in enumerate(_columns(data, "control", most)):
                used = np.isfinite(column)  # PX4 writes NaN for what is not there, or stopped
                if used.any() and (word == "motor" or np.any(column[used] != 0)):
                    names.append(f"{word} {i + 1}")
                    columns.append(np.where(used, column, 0.0)[last_before(time_s, base)])
        self.log.rotors = sum(name.startswith("motor") for name in names)
        if base is not None and columns:
            self.log.add("output", "actuator_motors", base, columns, "1", names=names, hold=True)
            return
        pulses = self._pulses()
        if pulses is not None:
            base, names, columns = pulses
            self.log.add("output", "actuator_outputs", base, columns, "s", names=names, hold=True)

    def _pulses(self) -> tuple[np.ndarray, list[str], list[np.ndarray]] | None:
        """Outputs that moved, of the group of outputs that moved most: (times, names, pulse lengths in s)."""
        best: tuple[float, tuple[np.ndarray, list[str], list[np.ndarray]]] | None = None
        for number in self.topics.numbers("actuator_outputs"):
            data = self.topics("actuator_outputs", number)
            assert data is not None
            names, columns, moved = [], [], 0.0
            for i in range(MOST_OUTPUTS):
                pulse = np.asarray(data.get(f"output[{i}]", ()), float)
                on = pulse[(pulse > 500) & (pulse < 2500)] if len(pulse) else pulse
                if len(on) and np.ptp(on) > 1:
                    names.append(f"output {i + 1}")
                    columns.append(np.where((pulse > 500) & (pulse < 2500), pulse, np.nan) * 1e-6)
                    moved += float(np.std(on))
            if columns and (best is None or moved > best[0]):
                best = moved, (data["time_s"], names, columns)
        return None if best is None else best[1]

    def battery(self) -> None:
        data = self.topics("battery_status")
        if data is None:
            return
        time_s = data["time_s"]
        voltage = np.asarray(data["voltage_v"], float)
        self.log.add("battery_voltage", "battery_status", time_s, [voltage], "V", keep=voltage > 0.5)
        current, remaining = np.asarray(data["current_a"], float), _either(data, "remaining")
        self.log.add("battery_current", "battery_status", time_s, [current], "A", keep=current >= 0)  # -1: not known
        used = _either(data, "discharged_mah")
        if used is not None and current.max(initial=0.0) > 0:
            self.log.add("battery_used", "battery_status", time_s, [3.6 * used], "A*s", keep=used >= 0)
        if remaining is not None:
            self.log.add("battery_remaining", "battery_status", time_s, [remaining], "1", keep=remaining >= 0)
        if "cell_count" in data and data["cell_count"].max() > 0:
            self.log.facts["battery cells"] = str(int(data["cell_count"].max()))

    def gnss(self) -> None:
        found = self.topics.first_of("vehicle_gps_position", "sensor_gps")
        if found is None:
            return
        name, data = found
        time_s, fix = data["time_s"], np.asarray(data["fix_type"], float)
        new = "latitude_deg" in data
        place = [data["latitude_deg"], data["longitude_deg"], data["altitude_msl_m"]] if new else [
            1e-7 * data["lat"], 1e-7 * data["lon"], 1e-3 * data["alt"]
        ]  # fmt: skip
        self.log.add("gnss_place", name, time_s, place, "1", keep=fix >= FIX_3D)
        self.log.add("satellites", name, time_s, [data["satellites_used"]], "1", hold=True)
        self.log.add("fix", name, time_s, [fix], "1", hold=True)
        if "hdop" in data:
            self.log.add("hdop", name, time_s, [data["hdop"]], "1", keep=(data["hdop"] > 0) & (data["hdop"] < 99))
        if "eph" in data:
            good = (data["eph"] > 0) & (data["eph"] < 1000)
            self.log.add("gnss_accuracy", name, time_s, [data["eph"], data["epv"]], "m", keep=good)
        self._local(name)
        utc = np.asarray(data.get("time_utc_usec", ()), np.float64)
        rows = np.flatnonzero((utc > FIRST_UTC_US) & (utc < 2 * FIRST_UTC_US))
        if len(rows):
            row = int(rows[0])
            since = timedelta(microseconds=float(utc[row])) - timedelta(seconds=float(time_s[row]))
            self.log.started = datetime(1970, 1, 1, tzinfo=UTC) + since

    def _local(self, source: str) -> None:
        """The receiver's track in metres about the origin of the estimator, or about its own first place."""
        series = self.log.series.get("gnss_place")
        if series is None:
            return
        data = self.topics("vehicle_local_position")
        rows = np.flatnonzero(np.isfinite(series.values).all(axis=1))
        origin = series.values[rows[0]].tolist()
        if data is not None and "ref_lat" in data:
            known = np.flatnonzero((np.abs(data["ref_lat"]) > 0) & np.isfinite(data["ref_lat"]))
            if len(known):  # before version 1.5 in 1e-7 degrees
                scale = 1e-7 if np.abs(data["ref_lat"][known[-1]]) > 90 else 1.0
                last = known[-1]
                origin = [scale * float(data[key][last]) for key in ("ref_lat", "ref_lon")]
                origin.append(float(data["ref_alt"][last]))
        home = SimpleNamespace(latitude_deg=origin[0], longitude_deg=origin[1], height_m=origin[2])
        local = np.array([to_local(home, *row) for row in series.values.tolist()])
        self.log.add("gnss_position", source, series.time_s, list(local.T), "m")

    def _primary(self, topic: str) -> Data | None:
        """A topic of the estimator that was in charge at the end, or its first instance."""
        selector = self.topics("estimator_selector_status")
        number = int(selector["primary_instance"][-1]) if selector is not None else 0
        found = self.topics(topic, number)
        return found if found is not None else self.topics(topic)

    def estimator(self) -> None:
        data = self._primary("estimator_status")
        if data is None:
            return
        names, columns = [], []
        for word, keys in (
            ("velocity", ("vel_test_ratio",)),
            ("position", ("pos_test_ratio",)),
            ("height", ("hgt_test_ratio",)),
            ("heading", ("hdg_test_ratio", "mag_test_ratio")),
            ("airspeed", ("tas_test_ratio",)),
        ):
            column = _either(data, *keys)
            if column is not None and np.nanmax(np.abs(column), initial=0.0) > 0:
                names.append(word)
                columns.append(column)
        if columns:
            self.log.add("test_ratio", "estimator_status", data["time_s"], columns, "1", names=names)

    def innovations(self) -> None:
        data = self._primary("estimator_innovations")
        if data is not None:
            rows: list[tuple[str, tuple[str, ...], str]] = [
                ("innovation_velocity", ("gps_hvel[0]", "gps_hvel[1]", "gps_vvel"), "m/s"),
                ("innovation_position", ("gps_hpos[0]", "gps_hpos[1]"), "m"),
                ("innovation_height", ("baro_vpos",), "m"),
                ("innovation_heading", ("heading",), "rad"),
            ]
            for name, keys, unit in rows:
                if all(key in data for key in keys) and any(np.any(data[key] != 0) for key in keys):
                    source = "estimator_innovations"
                    self.log.add(name, source, data["time_s"], [data[key] for key in keys], unit)
        data = self.topics("ekf2_innovations")  # up to version 1.10
        if data is not None and "vel_pos_innov[5]" in data:
            both = _columns(data, "vel_pos_innov", 6)
            for name, columns, unit in (
                ("innovation_velocity", both[:3], "m/s"),
                ("innovation_position", both[3:5], "m"),
                ("innovation_height", both[5:], "m"),
            ):
                self.log.add(name, "ekf2_innovations", data["time_s"], columns, unit)
            if "heading_innov" in data:
                heading = [data["heading_innov"]]
                self.log.add("innovation_heading", "ekf2_innovations", data["time_s"], heading, "rad")

    def vibration(self) -> None:
        names, columns, clips = [], [], []
        base: np.ndarray | None = None
        for number in self.topics.numbers("vehicle_imu_status"):
            data = self.topics("vehicle_imu_status", number)
            assert data is not None
            base = data["time_s"] if base is None else base
            rows = last_before(data["time_s"], base)
            if "accel_vibration_metric" in data:
                names.append(f"IMU {number + 1}")
                columns.append(np.asarray(data["accel_vibration_metric"], float)[rows])
            if "accel_clipping[0]" in data:
                clips.append(sum(_columns(data, "accel_clipping", 3))[rows])  # type: ignore[index]
        if base is not None and columns:
            number = self.ulog.msg_info_dict.get("ver_sw_release")
            old = isinstance(number, int) and number < FIRST_ACCELERATION
            self.log.add("vibration", "vehicle_imu_status", base, columns, "m/s" if old else "m/s^2", names=names)
        if base is not None and clips:
            self.log.add("clipping", "vehicle_imu_status", base, clips, "1", names=names, hold=True)

    def airspeed(self) -> None:
        for topic, keys in (
            ("airspeed_validated", ("calibrated_airspeed_m_s", "equivalent_airspeed_m_s")),
            ("airspeed", ("indicated_airspeed_m_s",)),
        ):
            data = self.topics(topic)
            column = _either(data, *keys) if data is not None else None
            if data is not None and column is not None:
                self.log.add("airspeed", topic, data["time_s"], [column], "m/s")

    def heights(self) -> None:
        data = self.topics("distance_sensor")
        if data is not None:
            column = np.asarray(data["current_distance"], float)
            self.log.add("range", "distance_sensor", data["time_s"], [column], "m", keep=column > 0)
        data = self.topics("vehicle_air_data")
        if data is not None:
            height = np.asarray(data["baro_alt_meter"], float)
            self.log.add("baro_height", "vehicle_air_data", data["time_s"], [height], "m")

    def sticks(self) -> None:
        data = self.topics("manual_control_setpoint")
        if data is not None:
            keys = ("roll", "pitch", "yaw", "throttle") if "throttle" in data else ("y", "x", "r", "z")
            names = ("roll", "pitch", "yaw", "throttle")
            columns = [data[key] for key in keys]
            self.log.add("sticks", "manual_control_setpoint", data["time_s"], columns, "1", names=names)

    def load(self) -> None:
        data = self.topics("cpuload")
        if data is not None:
            both = [(word, data[key]) for word, key in (("processor", "load"), ("memory", "ram_usage")) if key in data]
            names, columns = [word for word, _ in both], [column for _, column in both]
            self.log.add("load", "cpuload", data["time_s"], columns, "1", names=names)

    def modes(self) -> None:
        data = self.topics("vehicle_status")
        if data is None:
            return
        time_s = np.maximum(data["time_s"], 0.0)
        self.log.modes = changes_of(time_s, data["nav_state"], lambda n: PX4_STATES.get(n, f"state {n}"))
        self.log.armed = changes_of(time_s, data["arming_state"] == ARMED, lambda n: "armed" if n else "disarmed")
        if "failsafe" in data:
            self.log.failsafe = changes_of(time_s, data["failsafe"] != 0, lambda n: "failsafe" if n else "")

    def landed(self) -> None:
        data = self.topics("vehicle_land_detected")
        if data is not None:
            time_s = np.maximum(data["time_s"], 0.0)
            self.log.landed = changes_of(time_s, data["landed"] != 0, lambda n: "landed" if n else "in the air")

    def messages(self) -> None:
        tagged = [m for group in self.ulog.logged_messages_tagged.values() for m in group]
        for one in sorted([*self.ulog.logged_messages, *tagged], key=lambda one: int(one.timestamp)):
            level = LEVEL_OF.get(chr(one.log_level), INFO)
            time_s = max((int(one.timestamp) - self.begin_us) * 1e-6, 0.0)
            self.log.messages.append(Message(time_s, level, str(one.message).strip()))

    def parameters(self) -> None:
        self.log.parameters = {name: float(value) for name, value in self.ulog.initial_parameters.items()}
        if self.ulog.has_default_parameters and self.log.parameters:
            system, setup = self.ulog.get_default_parameters(0), self.ulog.get_default_parameters(1)
            same = {name: value for name, value in self.log.parameters.items() if name not in system}
            self.log.defaults = {**same, **{name: float(value) for name, value in {**system, **setup}.items()}}
        now = dict(self.log.parameters)
        for stamp, name, value in self.ulog.changed_parameters:
            after, before = float(value), now.get(name)
            if before is None or not math.isclose(before, after, rel_tol=1e-6, abs_tol=1e-9):
                time_s = max((int(stamp) - self.begin_us) * 1e-6, 0.0)
                self.log.changed.append(ParamChange(time_s, name, before, after))
            now[name] = after

    def states(self) -> None:
        begin_s = self.begin_us * 1e-6
        self.log.states = [Change(one.time_s - begin_s, one.kind, one.text) for one in of_px4(self.topics)]

    def dropouts(self) -> None:
        for one in self.ulog.dropouts:
            time_s = max((int(one.timestamp) - self.begin_us) * 1e-6, 0.0)
            self.log.dropouts.append((time_s, one.duration / 1000))

    def ironbird(self) -> None:
        """What Ironbird's own ULog files have beside PX4's topics."""
        if not self.log.what.endswith("Ironbird"):
            return
        from ironbird.blocks.controllers.mission_table import MODES

        data = self.topics("navigator")
        if data is not None and "mode" in data and not self.log.modes:
            numbers = np.nan_to_num(np.asarray(data["mode"], float), nan=0.0)
            known = dict(enumerate(MODES))
            self.log.modes = changes_of(data["time_s"], numbers, lambda n: known.get(n, f"mode {n}"))
        if data is not None and "position_set[0]" in data:
            self.log.add("position_set", "navigator", data["time_s"], _columns(data, "position_set", 3), "m")
        data = self.topics("battery")
        if data is not None:
            for name, key, unit in (("battery_voltage", "voltage", "V"), ("battery_current", "current", "A")):
                if key in data:
                    self.log.add(name, "battery", data["time_s"], [data[key]], unit)
            if "remaining" in data:
                self.log.add("battery_remaining", "battery", data["time_s"], [data["remaining"]], "1")
        data = self.topics("body")
        if data is not None and "specific_force_B[0]" in data:
            columns = _columns(data, "specific_force_B", 3)
            self.log.add("acceleration", "body", data["time_s"], columns, "m/s^2")


def _text(info: Mapping[str, Any], key: str) -> str:
    return str(info.get(key, "")).strip()


def _release(info: Mapping[str, Any]) -> str:
    """The version of the firmware in words: four bytes, the last is the kind of release."""
    number = info.get("ver_sw_release")
    if not isinstance(number, int):
        return ""
    try:
        major, minor, patch, kind = int(number).to_bytes(4, "big")
    except (OverflowError, *OTHER_FORM):
        return ""
    word = RELEASES.get(kind, "" if kind == 255 else f"release kind {kind}")
    return f"{major}.{minor}.{patch}{f' ({word})' if word else ''}"
