"""Test cases of RFlySimSafe as cases of Ironbird: its control sequences as missions and faults. Grammar: [RFlySimSafe].

A sequence is `2,1;1,1,5;2,3,0,0,-15;1,1,15;2,6,123450,1,0.8;1,1,10`: instructions in order, each with a class, a
function and numbers. It runs on a clock; so does the translation: take-off waits for the time of the first move, a
second move starts at its time, faults at their times. Later moves follow when the previous one is done. A fault id
depends on its map (A, B or C, see `faults/rflysimsafe.py`): each case keeps the map's name.
Not translated: velocity commands, faults of map C (its parameters have modes), cameras.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ironbird.blocks.controllers.mission_table import MISSION, SCRIPT, TAKE_OFF
from ironbird.campaign.case import Imported, case_file
from ironbird.campaign.imports.rflysimsafe_published import PUBLISHED
from ironbird.errors import CaseError
from ironbird.faults.rflysimsafe import CASES
from ironbird.faults.rflysimsafe_orders import FIRST_ID, Order, Slots, translate
from ironbird.files.problems import read_bytes
from ironbird.vehicles import places as at

VEHICLE = "quad_f450_rflysimsafe"
SUITE_FILE = Path(__file__).parents[1] / "suites" / "rflysimsafe.toml"
FOREVER_S = 1e9
SETTLED_S = 3.0  # the estimator needs this long before arming
COMMON_START = "2,1;1,1,5;2,3,0,0,-15;1,1,15"  # of the published cases
NEEDED = {(1, 1): 1, (1, 2): 3, (2, 3): 3, (2, 6): 1}  # numbers after the code of an instruction

# ---------------------------------------------------------------------- sequences


@dataclass
class _Timeline:
    """State of the translation of a sequence."""

    map_name: str
    time_s: float = 0.0
    since: str = ""  # predicate from which time counts, after a wait for a place
    moves: list[tuple[float, str, list[float]]] = field(default_factory=list)  # time, since, north east height
    waited: list[bool] = field(default_factory=list)  # whether the wait after a move was for its place
    lands: bool = False
    slots: Slots = field(default_factory=Slots)
    faults: list[Order] = field(default_factory=list)
    running: dict[int, list[Order]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    @property
    def hovers_first(self) -> bool:
        """Whether the first move is a climb that ends at the time of the second: it is then no item of the mission."""
        return len(self.moves) > 1 and self.moves[0][2][:2] == [0.0, 0.0] and not self.waited[0]

    def step(self, code: tuple[int, int], numbers: list[float], text: str) -> None:
        """Translate one instruction: its code, its numbers, and its text for messages."""
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
        """Translate a fault packet into fault orders that start now.

        Numbers from FIRST_ID on are fault ids, the others parameters. As in RFlySimSafe, values that a packet does not
        send keep those of the packet before.
        """
        ids = [int(number) for number in numbers if number >= FIRST_ID]
        params = [number for number in numbers if number < FIRST_ID]
        for id, owned in self.slots.put(ids, params).items():
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
        needed = NEEDED.get(code, 0)
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
        case |= {"until_s": line.time_s, "ends": "time"}  # the published experiments ask for a crash alone
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
    """Cases from rows of its table of cases: `CaseID` and `ControlSequence`, other columns for the title."""
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
        return rows_of(data, str(path))
    return _rows(_read_database(path), str(path))


def rows_of(data: Any, where: str) -> list[dict[str, Any]]:
    """Test cases of a `db.json` of RFlySimSafe as rows: from its table `FAULT_CASE`, or from a bare list or table."""
    rows = data.get("FAULT_CASE", data) if isinstance(data, dict) else data
    rows = list(rows.values()) if isinstance(rows, dict) else rows
    return _rows([dict(row) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else [], where)


def _rows(rows: list[dict[str, Any]], where: str) -> list[dict[str, Any]]:
    lacking = [str(row) for row in rows if not {"CaseID", "ControlSequence"} <= set(row)]
    if lacking or not rows:
        raise CaseError(where, ["rows with CaseID and ControlSequence are needed", *lacking[:3]])
    return rows


def _read_database(path: Path) -> list[dict[str, Any]]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
            selected = [name for name in tables if isinstance(name, str) and name.lower().endswith("faultcase")]
            return [dict(row) for name in selected for row in connection.execute(f"select * from {_quoted(name)}")]
    except (sqlite3.Error, ValueError, OverflowError) as error:
        raise CaseError(str(path), [f"not a database that can be read: {error}"]) from None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def published() -> list[Imported]:
    """The 29 published cases on the chip-level platform's quadcopter, with their published outcomes."""
    cases = []
    for id, known in CASES.items():
        wait_s = 10 if id <= "ST010" else 15
        sequence = f"{COMMON_START};{known.injected};1,1,{wait_s}"
        reported = PUBLISHED[id]
        outcome = (
            "the two loops differ or lost it" if reported.unclear else "crashed" if reported.crashed else "no crash"
        )
        note = f"{known.remark} Published outcome, software and hardware in the loop: {outcome}.".strip()
        imported = import_sequence(sequence, id=id, title=known.name, note=note)
        expect = {} if reported.unclear else {"expect": "fail" if reported.crashed else "pass"}
        cases.append(Imported(imported.case | expect, imported.missing))
    return cases


def published_suite() -> str:
    """The text of the built-in suite of the published cases."""
    head = {"suite": {"id": "rflysimsafe", "title": "The 29 published cases of RFlySimSafe, map A"}}
    origin = "# Written by tools/write_case_files.py from ironbird/faults/rflysimsafe.py. [RFlySimSafe]\n"
    return origin + case_file(published(), head)
