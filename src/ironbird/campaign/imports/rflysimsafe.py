"""Test cases of RFlySimSafe in our terms: its control sequences as missions and faults. Grammar: [RFlySimSafe].

A sequence is `2,1;1,1,5;2,3,0,0,-15;1,1,15;2,6,123450,1,0.8;1,1,10`: instructions in order, each with a class, a
function and numbers. Theirs runs on a clock; so does the translation: take-off waits for the time of the first move, a
second move starts at its time, faults start at theirs. Later moves follow when the one before is done.
A fault id means nothing without the name of its map (A, B or C, see `faults/rflysimsafe.py`): each case keeps it.
Not translated: velocity commands, faults of map C (its parameters have modes), cameras.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ironbird.blocks.controllers.mission_table import MISSION, SCRIPT, TAKE_OFF
from ironbird.campaign.case import Imported, case_file
from ironbird.campaign.imports.rflysimsafe_published import PUBLISHED
from ironbird.errors import CaseError, UnknownNameError
from ironbird.faults.rflysimsafe import CASES, IMUS, MAGNETOMETERS, MAP_A, MAP_B, MAP_C, RECEIVERS
from ironbird.files.problems import read_bytes
from ironbird.vehicles import places as at

VEHICLE = "quad_f450_rflysimsafe"
SUITE_FILE = Path(__file__).parents[1] / "suites" / "rflysimsafe.toml"
MAPS = ("A", "B", "C")
FIRST_ID = 123450  # numbers from here on are fault ids
SLOTS, FLOATS = 8, 20  # of their packet: slot i owns floats 2i and 2i + 1
FOREVER_S = 1e9
SETTLED_S = 3.0  # our estimator needs this long before arming
ARM_M = 0.225  # of their vehicle
SATELLITES, THEIR_SATELLITES = 14, 10  # a receiver's; from theirs on no jamming: assumed, as in the table of cases
COMMON_START = "2,1;1,1,5;2,3,0,0,-15;1,1,15"  # of the published cases

Order = dict[str, Any]  # a fault table without times
Orders = tuple[list[Order], list[str]]  # and what has no counterpart

# Map B numbers the same faults otherwise. Assumed: the parameters of a fault of the same name are those of map A
B_AS_A = {
    123450: 123450, 123451: 123451, 123452: 123453, 123453: 123454, 123454: 123455, 123455: 123456, 123456: 123457,
    123457: 123458, 123458: 123459, 123459: 123540, 123540: 123541, 123541: 123542, 123542: 123544, 123543: 123545,
    123544: 123546, 123546: 123548,
}  # fmt: skip


# ---------------------------------------------------------------------- faults


def _cut(severity: float) -> float:
    return float(f"{min(max(severity, 0.0), 1.0):.6g}")


def _factors(fault: str, factors: Sequence[float], loss: Callable[[float], float]) -> Orders:
    orders, missing = [], []
    for number, factor in enumerate(factors, start=1):
        if factor > 1:
            missing.append(f"{fault} with factor {factor:g}: ours loses, never gains")
        elif factor < 1:
            orders.append({"id": fault, "instance": number, "severity": _cut(loss(factor))})
    return orders, missing


def _axes(fault: str, shares: Sequence[float]) -> Orders:
    """One order per axis; severities have no sign."""
    orders, missing = [], []
    for axis, share in enumerate(shares):
        if share < 0:
            missing.append(f"{fault} against axis {axis}: severity has no sign")
        elif share > 0:
            orders.append({"id": fault, "axis": axis, "severity": _cut(share)})
    return orders, missing


def _noise(fault: str, count: int, level: float, down: float) -> Orders:
    """Noise on every sensor of a kind; stronger along the vertical."""
    orders: list[Order] = []
    for instance in range(1, count + 1):
        if _cut(level) == _cut(down):
            orders.append({"id": fault, "instance": instance, "severity": _cut(level)})
        else:
            shares = (level, level, down)
            orders += [
                {"id": fault, "instance": instance, "axis": i, "severity": _cut(s)} for i, s in enumerate(shares)
            ]
    return orders, []


def _gps(gain: float, satellites: float) -> Orders:
    orders: list[Order] = []
    if gain > 0:
        level = (0.3 + 0.7 * gain) * 0.2 / math.sqrt(3) / 30.0
        orders += _noise("gnss.position_noise@1", RECEIVERS, level, 2 * level)[0]
    if satellites < THEIR_SATELLITES:
        severity = _cut(1 - satellites / SATELLITES)
        orders += [{"id": "gnss.jamming@1", "instance": i, "severity": severity} for i in range(1, RECEIVERS + 1)]
    return orders, []


def _one(fault: str, severity: float, **more: Any) -> Orders:
    return [{"id": fault, "severity": _cut(severity), **more}], []


def _gust(strength: float, per_minute: float) -> Orders:
    if not per_minute > 0:
        return [], ["a gust without arrivals"]
    return _one("wind.gust@1", strength / 20, axis=0, shape="intermittent", period_s=60 / per_minute, duty=0.5)


def _leak(ratio: float, rate: float) -> Orders:
    return (
        _one("load.leak@2", ratio / 0.99, shape="ramp", rise_s=1 / rate) if rate > 0 else ([], ["a leak without rate"])
    )


_TRANSLATIONS: dict[int, Callable[[Sequence[float]], Orders]] = {  # [RFlySimSafe] Init.m and QuadModelv, map A
    123450: lambda p: _factors("rotor.speed_loss@1", p[: 2 if len(p) <= 2 else 4], lambda f: 1 - f),
    123451: lambda p: _factors("rotor.blade_damage@1", [*p, 0, 0, 0, 0][:4], lambda f: 1 - f**2),
    123453: lambda p: _one("battery.power_off@1", 1.0),
    123454: lambda p: _one("battery.low_voltage@1", 1 - p[0]),
    123455: lambda p: _one("battery.low_capacity@1", (1 - p[0]) / 0.99),
    123456: lambda p: _one("load.drop@2", min(p[0], 0.95) / 0.99),
    123457: lambda p: _axes("load.shift@1", [p[0] * ARM_M * share / 0.05 for share in [*p[1:], 0, 0, 0][:3]]),
    123458: lambda p: _leak(p[0], p[1]),
    123459: lambda p: _axes("wind.steady@1", [component / 20 for component in p[:3]]),
    123540: lambda p: _gust(p[0], p[1]),
    123541: lambda p: _one("wind.turbulence@1", 2.5 * p[0] / 30),
    123542: lambda p: _one("wind.shear@1", p[0] / 10, axis=0),
    123544: lambda p: _noise("imu.accel_noise@1", IMUS, *_level(5, p[0], 0.1, 5.0, 2)),
    123545: lambda p: _noise("imu.gyro_noise@1", IMUS, *_level(5, p[0], 0.01, 1.0, 1)),
    123546: lambda p: _noise("mag.noise@1", MAGNETOMETERS, *_level(2, p[0], 1e-6, 5e-5, 1)),
    123548: lambda p: _gps(p[0], p[2] if len(p) > 2 else THEIR_SATELLITES),
}


def _level(scale: float, gain: float, bound: float, unit: float, down: float) -> tuple[float, float]:
    """Severity of a sensor's noise, level and along the vertical: their bound of a uniform number as a deviation."""
    level = scale * (0.2 + 0.8 * gain) * bound / math.sqrt(3) / unit
    return level, down * level


def translate(id: int, params: Sequence[float], map_name: str) -> Orders:
    """One fault of theirs as orders of ours, without times; and what has no counterpart."""
    if map_name not in MAPS:
        raise UnknownNameError("map of fault ids", map_name, MAPS)
    names = {"A": {key: entry.name for key, entry in MAP_A.items()}, "B": MAP_B, "C": MAP_C}[map_name]
    called = f"fault {id} of map {map_name} ({names.get(id, 'unknown there')})"
    as_a = {"A": id, "B": B_AS_A.get(id, 0)}.get(map_name, 0)
    if as_a not in _TRANSLATIONS:
        return [], [called]
    return _TRANSLATIONS[as_a]([*params, 0.0, 0.0] if len(params) < 2 else params)


# ---------------------------------------------------------------------- sequences


@dataclass
class _Timeline:
    """A sequence while it is read."""

    map_name: str
    time_s: float = 0.0
    since: str = ""  # predicate from which time counts, after a wait for a place
    moves: list[tuple[float, str, list[float]]] = field(default_factory=list)  # time, since, north east height
    waited: list[bool] = field(default_factory=list)  # whether the wait after a move was for its place
    lands: bool = False
    ids: list[int] = field(default_factory=lambda: [0] * SLOTS)
    floats: list[float] = field(default_factory=lambda: [0.0] * FLOATS)
    faults: list[Order] = field(default_factory=list)
    running: dict[int, list[Order]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    @property
    def hovers_first(self) -> bool:
        """Whether the first move is a climb that ends at the time of the second: it is then no item of the mission."""
        return len(self.moves) > 1 and self.moves[0][2][:2] == [0.0, 0.0] and not self.waited[0]

    def step(self, code: tuple[int, int], numbers: list[float], text: str) -> None:
        """One instruction."""
        if code == (1, 1):
            self.time_s += numbers[0]
        elif code == (1, 2) and self.moves and len(numbers) == 3:
            north, east, down = numbers
            self.waited[-1] = True
            item = len(self.moves) - 1 - self.hovers_first
            near = [_near("body.p_NB_N[0]", north), _near("body.p_NB_N[1]", east), _near("body.p_NB_N[2]", down)]
            self.since, self.time_s = f"item == {item} and " + " and ".join(near), 0.0
        elif code == (2, 1) and len(numbers) == 3:  # RflyMAD: delay, climb rate, height
            self.time_s += numbers[0]
            self._move([0.0, 0.0, numbers[2]])
            self.missing.append(f"climb at {numbers[1]:g} m/s ({text})")
        elif code == (2, 3):
            self._move([numbers[0], numbers[1], -numbers[2]])
        elif code == (2, 5):
            self.lands = True
        elif code == (2, 6):
            self._inject(numbers)
        elif code not in ((2, 1), (2, 2)):  # armed at the start, disarmed at the end
            self.missing.append(f"instruction {text}")

    def _move(self, place: list[float]) -> None:
        self.moves.append((self.time_s, self.since, place))
        self.waited.append(False)

    def _inject(self, numbers: list[float]) -> None:
        """A packet: ids fill the slots, parameters the floats; what is not sent stays as it was."""
        ids = [int(number) for number in numbers if number >= FIRST_ID]
        params = [number for number in numbers if number < FIRST_ID]
        self.ids[: len(ids)] = ids
        self.floats[: len(params)] = params
        for id in dict.fromkeys(ids):
            slots = [i for i, known in enumerate(self.ids) if known == id]
            owned = [self.floats[2 * i + k] for i in slots for k in (0, 1)]
            orders, missing = translate(id, owned, self.map_name)
            self.missing += missing
            for earlier in self.running.get(id, []):  # a fault that is sent again goes on with the new parameters
                if earlier.get("when", "") == self.since and earlier["start_s"] < self.time_s:
                    earlier["end_s"] = self.time_s
                else:
                    self.missing.append(f"the end of an earlier {earlier['id']}")
            when = {"when": self.since} if self.since else {}
            timed = [order | {"start_s": self.time_s} | when for order in orders]
            self.running[id] = timed
            self.faults += timed


def _near(signal: str, value: float) -> str:
    sign = "-" if value >= 0 else "+"
    return f"abs({signal} {sign} {abs(value):g} m) < 1 m"


def import_sequence(
    sequence: str, *, id: str, map_name: str = "A", vehicle: str = VEHICLE, title: str = "", note: str = ""
) -> Imported:
    """A control sequence as a case. What has no counterpart is listed, not guessed."""
    line = _Timeline(map_name)
    for text in filter(None, (part.strip() for part in sequence.split(";"))):
        try:
            numbers = [float(number) for number in text.split(",")]
            if not all(map(math.isfinite, numbers)):
                raise ValueError
        except ValueError:
            raise CaseError(f"sequence of case '{id}'", [f"'{text}' is not a list of numbers"]) from None
        code = (int(numbers[0]), int(numbers[1]) if len(numbers) > 1 else 0)
        needed = {(1, 1): 1, (1, 2): 3, (2, 3): 3, (2, 6): 1}.get(code, 0)
        if len(numbers) - 2 < needed:
            raise CaseError(f"sequence of case '{id}'", [f"'{text}' needs {needed} number(s) after its code"])
        line.step(code, numbers[2:], text)
    if not line.moves:
        raise CaseError(f"sequence of case '{id}'", ["it has no move (2,3,x,y,z)"])
    mission, settings = _mission(line)
    source = f"RFlySimSafe, map {map_name}: {sequence}"
    case: dict[str, Any] = {"id": id, "title": title, "note": note, "source": source, "vehicle": vehicle}
    case["mission"] = mission
    if not (line.since or line.lands):
        case["until_s"] = line.time_s
    case |= {"tags": ["rflysimsafe", f"map-{map_name}"], "set": settings, "fault": line.faults}
    case["require"] = [{"use": "no_crash"}]
    return Imported(case, tuple(dict.fromkeys(line.missing)))


def _mission(line: _Timeline) -> tuple[dict[str, Any], dict[str, Any]]:
    """The moves as mission items, and the settings that time the first two."""
    begin, _, (_, _, height) = line.moves[0]
    settings: dict[str, Any] = {
        at.NAVIGATOR.arm_time: max(begin, SETTLED_S),
        "navigator.take_off_height": max(height, 0.5),
    }
    moves, waited = line.moves, line.waited
    if line.hovers_first:
        times = [0.0, moves[1][0], *[FOREVER_S] * (SCRIPT - 2)]
        settings["navigator.script"] = [times, [float(TAKE_OFF), float(MISSION), *[0.0] * (SCRIPT - 2)]]
        moves, waited = moves[1:], waited[1:]
    items = []
    for number, (start_s, _, place) in enumerate(moves):
        if number < len(moves) - 1:
            hold_s = moves[number + 1][0] - (0.0 if waited[number] else start_s)
            if not waited[number]:
                line.missing.append(f"the time of move {number + 2}: it starts {hold_s:g} s after the place before")
        elif line.lands or line.since:
            hold_s = line.time_s - (0.0 if waited[number] else start_s)
        else:
            hold_s = FOREVER_S
        item = {"kind": "waypoint", "north_m": place[0], "east_m": place[1], "height_m": place[2], "hold_s": hold_s}
        items.append({key: value for key, value in item.items() if value != 0.0})
    if line.lands:
        items.append({"kind": "land"})
    return {"title": "moves of the control sequence", "item": items}, settings


# ---------------------------------------------------------------------- files


def import_rows(rows: Sequence[Mapping[str, Any]], *, map_name: str, vehicle: str = VEHICLE) -> list[Imported]:
    """Rows of their table of cases: `CaseID` and `ControlSequence`, with what else is told for the title."""
    cases = []
    for row in rows:
        sequence, id = str(row["ControlSequence"]), f"case-{row['CaseID']}"
        title = ": ".join(str(row[key]) for key in ("Component", "FaultMode") if row.get(key))
        cases.append(import_sequence(sequence, id=id, map_name=map_name, vehicle=vehicle, title=title))
    return cases


def read_rows(path: str | Path) -> list[dict[str, Any]]:
    """Rows of a `db.json` (both of its forms) or of an SQLite file `fault.db`."""
    path = Path(path)
    if not path.is_file():
        raise CaseError(str(path), ["the file does not exist"])
    if path.suffix == ".json":
        try:
            data = json.loads(read_bytes(path))
        except (OSError, ValueError, RecursionError) as error:
            raise CaseError(str(path), [f"not valid JSON: {error}"]) from None
        rows = data.get("FAULT_CASE", data) if isinstance(data, dict) else data
        found = [dict(row) for row in (rows.values() if isinstance(rows, dict) else rows) if isinstance(row, dict)]
    else:
        found = _read_database(path)
    lacking = [str(row) for row in found if not {"CaseID", "ControlSequence"} <= set(row)]
    if lacking or not found:
        raise CaseError(str(path), ["rows with CaseID and ControlSequence are needed", *lacking[:3]])
    return found


def _read_database(path: Path) -> list[dict[str, Any]]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
            wanted = [name for name in tables if name.lower().endswith("faultcase")]
            return [dict(row) for name in wanted for row in connection.execute(f"select * from {_quoted(name)}")]
    except (sqlite3.Error, ValueError, OverflowError) as error:
        raise CaseError(str(path), [f"not a database that can be read: {error}"]) from None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def published() -> list[Imported]:
    """The 29 published cases on the chip-level platform's quadcopter, with what came out of them there."""
    cases = []
    for id, known in CASES.items():
        wait_s = 10 if id <= "ST010" else 15
        sequence = f"{COMMON_START};{known.injected};1,1,{wait_s}"
        found = PUBLISHED[id]
        outcome = "the two loops differ or lost it" if found.unclear else "crashed" if found.crashed else "no crash"
        note = f"{known.remark} Published outcome, software and hardware in the loop: {outcome}.".strip()
        imported = import_sequence(sequence, id=id, title=known.name, note=note)
        expect = {} if found.unclear else {"expect": "fail" if found.crashed else "pass"}
        cases.append(Imported(imported.case | expect, imported.missing))
    return cases


def published_suite() -> str:
    """The text of the shipped suite."""
    head = {"suite": {"id": "rflysimsafe", "title": "The 29 published cases of RFlySimSafe, map A"}}
    origin = "# Written by tools/write_case_files.py from ironbird/faults/rflysimsafe.py. [RFlySimSafe]\n"
    return origin + case_file(published(), head)
