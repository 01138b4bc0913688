"""A DataFlash log (.BIN) of ArduPilot as the log of a flight, for versions from 2014 (copter 3.2) on.

Old logs have times in milliseconds, and records without a time: these get the time of the record before them in the
file. The log has no severity of messages: records ERR are errors, and a message counts as a warning by its words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from ironbird.errors import LinkError
from ironbird.protocols.autopilot_log import FIRMWARES, FIX_3D, UNFINISHED, Records, changes_of
from ironbird.protocols.dataflash import Table, read_dataflash, with_times
from ironbird.protocols.flight_log import ERROR, INFO, WARNING, FlightLog, Message, ParamChange, Topic, length_of
from ironbird.protocols.flight_log import run_parts as run
from ironbird.protocols.geodesy import to_local
from ironbird.protocols.mavlink.numbers import ardupilot_modes
from ironbird.protocols.own_states import EVENTS, SUBSYSTEMS, of_ardupilot

GPS_EPOCH, GPS_LEAD_S = datetime(1980, 1, 6, tzinfo=UTC), 18.0  # leap seconds between GPS time and UTC since 2017
LEAST_WEEK = 1500  # 2008: a receiver without a fix counts from another time
OLD_FIRMWARES = {"APM:Copter": "copter", "APM:Plane": "plane", "APM:Rover": "rover"}
ARM, DISARM, LANDED, NOT_LANDED = 10, 11, 18, 28  # of record EV
OLD_SUBSYSTEMS = {4: "optical flow", 7: "GPS failsafe", 13: "flip", 14: "autotune"}
EVENT_WORDS = {ARM: "armed", DISARM: "disarmed", 15: "armed by throttle", LANDED: "landed", NOT_LANDED: "took off"}
BAD = re.compile(r"\b(crash|emergency|failsafe|terminat|thrust loss|critical|internal error)", re.I)
DOUBTFUL = re.compile(
    r"\b(pre-?arm|arm:|fail|error|bad|lost|glitch|unhealthy|not healthy|inconsistent|variance|clipping|low batt|"
    r"overrun|reject|timeout|timed out|lane switch|no rc|not initiali[sz]ed|compass)",
    re.I,
)
MOST_OUTPUTS = 14
PARTS = ("I", "C", "Inst", "Instance", "IMU")  # columns that number sensors, batteries or estimators


def read_ardupilot_flight(path: Path) -> FlightLog:
    """Read a DataFlash log; one that is damaged or cut off yields what is whole in it, with a note."""
    found = with_times(read_dataflash(path, None))
    if not found.tables:
        reason = f"{found.skipped} bytes belong to no record" if found.skipped else "it only describes records"
        raise LinkError(f"{path.name} is a DataFlash log without a single sample: {reason}")
    log = FlightLog(path, "dataflash", "DataFlash log of ArduPilot")
    if found.skipped > UNFINISHED:
        log.notes.append(f"the file is damaged or cut off ({found.skipped} bytes); what could be read is shown")
    times = [table["TimeUS"] for table in found.tables.values() if len(table["TimeUS"])]
    middle = float(np.median(np.concatenate(times)))
    times = [stamps[np.abs(stamps - middle) < 12 * 3600e6] for stamps in times]
    begin_us = min((float(stamps[0]) for stamps in times if len(stamps)), default=0.0)
    tables = {name: {**table, "time_s": (table["TimeUS"] - begin_us) * 1e-6} for name, table in found.tables.items()}
    hidden = ("TimeUS", "TimeMS", "time_s")
    for name, table in tables.items():
        fields = {column: values for column, values in table.items() if column not in hidden}
        log.topics.append(Topic(name, table["time_s"], fields))
    run(log, _ArduPilot(log, _Logged(tables), begin_us))
    log.length_s = length_of(log)
    return log


class _Logged(Records):
    """Tables by name, the first of several sensors, and the estimator in charge of any version."""

    def single(self, *names: str) -> tuple[str, Table] | None:
        """The first of these records that is there, only rows of its first sensor."""
        for name in names:
            table = self(name)
            if table is None:
                continue
            for key in PARTS:
                if key in table:
                    keep = table[key] == table[key][0]
                    table = {column: values[keep] for column, values in table.items()}
            return name, table
        return None

    def estimator(self, number: int) -> tuple[str, Table] | None:
        """Record 1, 3 or 4 of the estimator in charge: third, second or first generation."""
        if self(f"XKF{number}") is not None:
            table = self.chosen(f"XKF{number}")
            return (f"XKF{number}", table) if table is not None else None
        return self.single(f"NKF{number}", f"EKF{number}")


def _words(table: Table, column: str) -> list[str]:
    return [bytes(text).split(b"\0")[0].decode("ascii", "replace").strip() for text in table[column].tolist()]


def _pick(table: Table, *names: str) -> list[np.ndarray]:
    return [np.asarray(table[name], float) for name in names]


@dataclass
class _ArduPilot:
    """Each quantity of a log of ArduPilot apart."""

    log: FlightLog
    records: _Logged
    begin_us: float

    def __iter__(self) -> Iterator[tuple[str, Callable[[], None]]]:
        yield "facts", self.facts
        yield "position", self.position
        yield "set-points of position", self.position_set
        yield "attitude", self.attitude
        yield "rates", self.rates
        yield "acceleration", self.acceleration
        yield "outputs", self.outputs
        yield "battery", self.battery
        yield "GNSS", self.gnss
        yield "estimator", self.estimator
        yield "vibration", self.vibration
        yield "airspeed and height sensors", self.heights
        yield "sticks", self.sticks
        yield "processor", self.load
        yield "modes", self.modes
        yield "arming", self.arming
        yield "messages", self.messages
        yield "parameters", self.parameters
        yield "own states", self.states
        yield "dropouts", self.dropouts

    def _texts(self) -> list[str]:
        table = self.records("MSG")
        return _words(table, "Message") if table is not None else []

    def _add(self, name: str, found: tuple[str, Table] | None, columns: str, unit: str, factor: float = 1.0) -> None:
        if found is not None and all(column in found[1] for column in columns.split()):
            values = [factor * column for column in _pick(found[1], *columns.split())]
            self.log.add(name, found[0], found[1]["time_s"], values, unit)

    def facts(self) -> None:
        facts, texts, version = self.log.facts, self._texts(), self.records("VER")
        known = {**FIRMWARES, **OLD_FIRMWARES}
        firmware = _words(version, "FWS")[0] if version is not None and "FWS" in version else ""
        firmware = firmware or next((text for text in texts if text.startswith(tuple(known))), "")
        kind = next((kind for word, kind in known.items() if firmware.startswith(word)), "")
        facts["vehicle"], facts["firmware"] = kind, firmware
        frame = next((text for text in texts if text.startswith("Frame:")), "")
        facts["frame"] = frame.removeprefix("Frame:").strip()
        boards = ("Pixhawk", "Cube", "fmuv", "CUAV", "Matek", "Kakute", "Durandal", "PX4:", "ChibiOS", "SITL", "Linux")
        facts["hardware"] = next((text for text in texts if text.startswith(boards)), "")
        self.log.is_simulated = self.records("SIM") is not None or self.records("SIM2") is not None
        self.log.facts = {name: text for name, text in facts.items() if text}

    def position(self) -> None:
        found = self.records.estimator(1)
        self._add("position", found, "PN PE PD", "m")
        self._add("velocity", found, "VN VE VD", "m/s")

    def position_set(self) -> None:
        """Read the set-points of the position controller; each axis is a record of its own."""
        axes = [self.records(f"PSC{axis}") for axis in "NED"]
        if axes[0] is not None and axes[1] is not None and axes[2] is not None:
            base = axes[0]["time_s"]
            for name, letter, unit in (("position_set", "P", "m"), ("velocity_set", "V", "m/s")):
                columns = []
                for axis, table in zip("NED", axes, strict=True):
                    assert table is not None
                    key = next(k for k in (f"T{letter}{axis}", f"D{letter}{axis}") if k in table)
                    columns.append(np.interp(base, table["time_s"], np.asarray(table[key], float)))
                self.log.add(name, "PSCN, PSCE, PSCD", base, columns, unit)
        found = self.records.single("CTUN")
        if found is not None and "DAlt" in found[1] and "position" in self.log.series:
            down = [np.full(len(found[1]["time_s"]), np.nan)] * 2 + [-np.asarray(found[1]["DAlt"], float)]
            self.log.add("position_set", "CTUN", found[1]["time_s"], down, "m", keep=found[1]["DAlt"] != 0)

    def attitude(self) -> None:
        found = self.records.single("ATT")
        self._add("attitude", found, "Roll Pitch Yaw", "rad", math.radians(1))
        self._add("attitude_set", found, "DesRoll DesPitch DesYaw", "rad", math.radians(1))

    def rates(self) -> None:
        found = self.records.single("RATE")
        self._add("rates", found, "R P Y", "rad/s", math.radians(1))
        self._add("rates_set", found, "RDes PDes YDes", "rad/s", math.radians(1))
        self._add("rates", self.records.single("IMU"), "GyrX GyrY GyrZ", "rad/s")

    def acceleration(self) -> None:
        """The accelerometer that was logged fastest: vibration is looked for in it."""
        found = [one for one in (self.records.single(name) for name in ("IMU", "ACC", "ACC1")) if one is not None]
        for one in sorted(found, key=lambda one: -len(one[1]["TimeUS"])):
            self._add("acceleration", one, "AccX AccY AccZ", "m/s^2")

    def outputs(self) -> None:
        found = self.records.single("RCOU")
        if found is None:
            return
        names, columns = [], []
        for number in range(1, MOST_OUTPUTS + 1):
            key = next((key for key in (f"C{number}", f"Ch{number}") if key in found[1]), None)
            pulse = np.asarray(found[1][key], float) if key else np.zeros(0)
            on = pulse[(pulse > 500) & (pulse < 2500)]
            if len(on) and np.ptp(on) > 1:
                names.append(f"output {number}")
                columns.append(np.where((pulse > 500) & (pulse < 2500), pulse, np.nan) * 1e-6)
        if columns:
            self.log.add("output", found[0], found[1]["time_s"], columns, "s", names=names, hold=True)
        if self.log.facts.get("vehicle") == "copter":
            self.log.rotors = sum(int(name.split()[1]) <= 8 for name in names)

    def battery(self) -> None:
        found = self.records.single("BAT", "CURR")
        if found is None:
            return
        volts = np.asarray(found[1]["Volt"], float)
        factor = 0.01 if np.nanmedian(volts) > 100 else 1.0  # before 2015 in centivolts and centiamperes
        self._add("battery_voltage", found, "Volt", "V", factor)
        self._add("battery_current", found, "Curr", "A", factor)
        self._add("battery_used", found, "CurrTot", "A*s", 3.6)
        self._add("battery_remaining", found, "RemPct", "1", 0.01)

    def gnss(self) -> None:
        found = self.records.single("GPS")
        if found is None:
            return
        name, table = found
        time_s, fix = table["time_s"], np.asarray(table["Status"], float)
        self.log.add("gnss_place", name, time_s, _pick(table, "Lat", "Lng", "Alt"), "1", keep=fix >= FIX_3D)
        self.log.add("satellites", name, time_s, _pick(table, "NSats"), "1", hold=True)
        self.log.add("fix", name, time_s, [fix], "1", hold=True)
        hdop = np.asarray(table["HDop"], float)
        self.log.add("hdop", name, time_s, [hdop], "1", keep=(hdop > 0) & (hdop < 99))
        self._add("gnss_accuracy", self.records.single("GPA"), "HAcc VAcc", "m")
        self._local(name)
        week, ms = next(((w, m) for w, m in (("GWk", "GMS"), ("Week", "TimeMS")) if w in table), ("", ""))
        rows = np.flatnonzero(np.asarray(table[week]) > LEAST_WEEK) if week else np.zeros(0, int)
        if len(rows):
            row = int(rows[0])
            since_s = float(table[week][row]) * 604_800 + float(table[ms][row]) / 1000 - GPS_LEAD_S - float(time_s[row])
            self.log.started = GPS_EPOCH + timedelta(seconds=since_s)

    def _local(self, source: str) -> None:
        """The receiver's track in metres about the origin of the estimator, or about its own first place."""
        series = self.log.series.get("gnss_place")
        if series is None:
            return
        origins = self.records("ORGN", Type=0)  # 0: of the estimator, 1: home
        if origins is not None:
            first = [float(origins[key][-1]) for key in ("Lat", "Lng", "Alt")]
        else:
            rows = np.flatnonzero(np.isfinite(series.values).all(axis=1))
            first = series.values[rows[0]].tolist()
        home = SimpleNamespace(latitude_deg=first[0], longitude_deg=first[1], height_m=first[2])
        local = np.array([to_local(home, *row) for row in series.values.tolist()])
        self.log.add("gnss_position", source, series.time_s, list(local.T), "m")

    def estimator(self) -> None:
        found = self.records.estimator(4)
        if found is not None:
            name, table = found
            rows = [("velocity", "SV"), ("position", "SP"), ("height", "SH"), ("magnetic field", "SM")]
            rows += [("airspeed", "SVT")]
            used = [(word, np.asarray(table[key], float)) for word, key in rows if key in table]
            used = [(word, column) for word, column in used if np.nanmax(np.abs(column), initial=0.0) > 0]
            if used:
                names, columns = [word for word, _ in used], [column for _, column in used]
                self.log.add("test_ratio", name, table["time_s"], columns, "1", names=names)
        found = self.records.estimator(3)
        self._add("innovation_velocity", found, "IVN IVE IVD", "m/s")
        self._add("innovation_position", found, "IPN IPE", "m")
        self._add("innovation_height", found, "IPD", "m")
        self._add("innovation_heading", found, "IYAW", "rad", math.radians(1))

    def vibration(self) -> None:
        found = self.records.single("VIBE")
        if found is None:
            return
        name, table = found
        names = [f"along {axis}" for axis in "xyz"]
        columns = _pick(table, "VibeX", "VibeY", "VibeZ")
        self.log.add("vibration", name, table["time_s"], columns, "m/s^2", names=names)
        clips = [np.asarray(table[key], float) for key in ("Clip", "Clip0", "Clip1", "Clip2") if key in table]
        if clips:
            numbers = [f"IMU {n}" for n in range(1, len(clips) + 1)]
            self.log.add("clipping", name, table["time_s"], clips, "1", names=numbers, hold=True)

    def heights(self) -> None:
        self._add("baro_height", self.records.single("BARO"), "Alt", "m")
        self._add("airspeed", self.records.single("ARSP"), "Airspeed", "m/s")
        self._add("range", self.records.single("RFND"), "Dist", "m")

    def sticks(self) -> None:
        found = self.records.single("RCIN")
        if found is not None:
            values = [(column - 1500) / 500 for column in _pick(found[1], "C1", "C2", "C4")]
            values.append((_pick(found[1], "C3")[0] - 1000) / 1000)
            names = ("roll", "pitch", "yaw", "throttle")
            on = found[1]["C3"] > 500
            self.log.add("sticks", found[0], found[1]["time_s"], values, "1", names=names, keep=on)

    def load(self) -> None:
        found = self.records.single("PM")
        if found is not None and "Load" in found[1]:
            load = [1e-3 * column for column in _pick(found[1], "Load")]  # in 0.1 %
            self.log.add("load", found[0], found[1]["time_s"], load, "1", names=["processor"])

    def modes(self) -> None:
        table = self.records("MODE")
        if table is not None:
            kind = self.log.facts.get("vehicle", "")
            names = ardupilot_modes(kind) if kind else {}
            numbers = np.asarray(table["ModeNum"] if "ModeNum" in table else table["Mode"])
            self.log.modes = changes_of(table["time_s"], numbers, lambda n: names.get(n, f"mode {n}"))

    def arming(self) -> None:
        table, events = self.records("ARM"), self.records("EV")
        if table is not None and "ArmState" in table:
            changes = changes_of(table["time_s"], table["ArmState"] != 0, lambda n: "armed" if n else "disarmed")
            self.log.armed = self._from_start(changes, "armed", "disarmed")
        if events is None:
            return
        rows = list(zip(events["time_s"].tolist(), np.asarray(events["Id"], int).tolist(), strict=True))
        if not self.log.armed:
            changes = [(at_s, "armed" if n == ARM else "disarmed") for at_s, n in rows if n in (ARM, DISARM)]
            self.log.armed = self._from_start(changes, "armed", "disarmed")
        if any(n == NOT_LANDED for _, n in rows):
            changes = [
                (at_s, "landed" if n == LANDED else "in the air") for at_s, n in rows if n in (LANDED, NOT_LANDED)
            ]
            self.log.landed = self._from_start(changes, "in the air", "landed")

    @staticmethod
    def _from_start(changes: list[tuple[float, str]], on: str, off: str) -> list[tuple[float, str]]:
        """Changes with the state before the first of them: the other one."""
        if not changes:
            return []
        before = off if changes[0][1] == on else on
        return changes if changes[0][0] <= 0 else [(0.0, before), *changes]

    def messages(self) -> None:
        found: list[Message] = []
        table = self.records("MSG")
        if table is not None:
            for at_s, text in zip(table["time_s"].tolist(), _words(table, "Message"), strict=True):
                level = ERROR if BAD.search(text) else WARNING if DOUBTFUL.search(text) else INFO
                found.append(Message(at_s, level, text))
        table = self.records("ERR")
        if table is not None:
            for at_s, part, code in zip(*(table[key].tolist() for key in ("time_s", "Subsys", "ECode")), strict=True):
                word = {**OLD_SUBSYSTEMS, **SUBSYSTEMS}.get(int(part), f"subsystem {int(part)}")
                text = f"{word}: resolved" if int(code) == 0 else f"{word}: error {int(code)}"
                found.append(Message(at_s, INFO if int(code) == 0 else ERROR, text))
        table = self.records("EV")
        if table is not None:
            words = {**EVENTS, **EVENT_WORDS}
            for at_s, number in zip(table["time_s"].tolist(), np.asarray(table["Id"], int).tolist(), strict=True):
                if number in words:
                    found.append(Message(at_s, INFO, f"event: {words[number]}"))
        self.log.messages = sorted(found, key=lambda one: one.time_s)

    def parameters(self) -> None:
        table = self.records("PARM")
        if table is None:
            return
        now: dict[str, float] = {}
        for at_s, name, value in zip(
            table["time_s"].tolist(), _words(table, "Name"), np.asarray(table["Value"], float).tolist(), strict=True
        ):
            before = now.get(name)
            if before is not None and not math.isclose(before, value, rel_tol=1e-6, abs_tol=1e-9):
                self.log.changed.append(ParamChange(at_s, name, before, value))
            now[name] = value
            self.log.parameters.setdefault(name, value)
        if "Default" in table:
            values = np.asarray(table["Default"], float).tolist()
            defaults = {name: value for name, value in zip(_words(table, "Name"), values, strict=True)}
            self.log.defaults = {name: value for name, value in defaults.items() if math.isfinite(value)}

    def states(self) -> None:
        begin_s = self.begin_us * 1e-6
        found = of_ardupilot(self.records, self.records.chosen)
        self.log.states = [type(one)(one.time_s - begin_s, one.kind, one.text) for one in found]

    def dropouts(self) -> None:
        found = self.records.single("DSF")
        if found is not None:
            dropped = np.asarray(found[1]["Dp"], float)
            if dropped.max(initial=0.0) > 0:
                self.log.notes.append(f"ArduPilot dropped {dropped.max():.0f} blocks of its log")
