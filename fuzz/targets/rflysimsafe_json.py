"""RFlySimSafe's db.json."""

from __future__ import annotations

from pathlib import Path

from fuzz.target import Refused, attempt, file_of
from ironbird.campaign.case import case_file
from ironbird.campaign.imports.rflysimsafe import import_rows, read_rows
from ironbird.campaign.suite import read_cases

WORDS = (
    '{"FAULT_CASE": [', '"CaseID": ', '"ControlSequence": ', '"2,1;1,1,5;2,3,0,0,-20;1,1,10;2,6,123450,', ";", ",", "1,2,0,0,-10",
    '"Component": ', '"FaultMode": ', "123450", "123540", "nan", "1e999", "null", "[", "]", "{", "}",
)  # fmt: skip
MOST = 1500


def check(data: bytes) -> None:
    """What is accepted becomes cases that keep to the grammar."""
    _import(file_of(data, "db.json"))


def _import(path: Path) -> None:
    rows = attempt(read_rows, path)
    if isinstance(rows, Refused):
        return
    for name in "ABC":
        cases = attempt(import_rows, rows, map_name=name)
        if isinstance(cases, Refused) or not cases:
            continue
        source, problems = read_cases(file_of(case_file(cases).encode(), "imported.toml"))
        assert source is not None, f"what was imported is no TOML: {problems}"
