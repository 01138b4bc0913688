"""RFlySimSafe's db.json."""

from __future__ import annotations

from typing import Any

from fuzz.target import Refused, attempt, file_of, now_and_then
from ironbird.campaign.case import case_file
from ironbird.campaign.imports.rflysimsafe import import_rows, read_rows, rows_of
from ironbird.campaign.suite import read_cases

WORDS = (
    '{"FAULT_CASE": [', '"CaseID": ', '"ControlSequence": ', '"2,1;1,1,5;2,3,0,0,-20;1,1,10;2,6,123450,', ";", ",", "1,2,0,0,-10",
    '"Component": ', '"FaultMode": ', "123450", "123540", "nan", "1e999", "null", "[", "]", "{", "}",
)  # fmt: skip
MOST = 1500
FORMAT = "json"
_look, _look_at_text = now_and_then(64), now_and_then(4)


def check(data: bytes) -> bool | None:
    """What is accepted becomes cases that keep to the grammar."""
    rows = attempt(read_rows, file_of(data, "db.json"))
    if isinstance(rows, Refused):
        return rows.at != "read_rows"
    look(rows, "ABC", written=_look_at_text())
    return None


def check_table(table: Any) -> bool | None:
    """The same below json, with one of the maps."""
    rows = attempt(rows_of, table, "db.json")
    if isinstance(rows, Refused):
        return isinstance(table, dict | list)
    look(rows, "ABC"[len(rows[0]) % 3], written=_look())
    return None


def look(rows: list[dict[str, Any]], maps: str, *, written: bool) -> None:
    """Read the sequences of rows; refuse what cannot be written as cases."""
    for name in maps:
        cases = attempt(import_rows, rows, map_name=name)
        if isinstance(cases, Refused) or not cases or not written:
            continue
        source, problems = read_cases(file_of(case_file(cases).encode(), "imported.toml"))
        assert source is not None, f"what was imported is no TOML: {problems}"
