"""Aerialist's test files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fuzz.target import Refused, attempt, file_of, now_and_then
from ironbird.campaign.case import Imported
from ironbird.campaign.imports.aerialist import case_of, import_aerialist
from ironbird.campaign.suite import read_cases

WORDS = (
    "robot:\n", "  params: { MPC_XY_CRUISE: 3.0 }\n", "simulation:\n", "  timeout: ", "  home_position: [47.4, 8.5, 488]\n",
    "  obstacles:\n", "  - size: { l: 1, w: 1, h: 1 }\n", "    position: { x: 1, y: 1, z: 0, r: 0 }\n", "  wind:\n",
    "    velocity_mean: 3\n", "    direction: [1, 0, 0]\n", "    gust_velocity_mean: 5\n", "    gust_duration: 4\n", "mission:\n",
    "  waypoints: [{x: 1, y: 2, z: 3}]\n", "  commands: [{mode: 3}]\n", "agent:\n", "  count: 3\n", ".nan", ".inf", "null", "[]",
    "&a", "*a", "!!python/object:os.system", "!!binary", "2026-01-01",
)  # fmt: skip
MOST = 1500
FORMAT = "yaml"
PATH = Path("/nowhere/test.yaml")  # files that a test names are not there
_look = now_and_then(256)  # PyYAML and tomllib take a hundred times as long as the reader


def check(data: bytes) -> bool | None:
    """What is accepted becomes a case file in TOML."""
    case = attempt(import_aerialist, file_of(data, "test.yaml"))
    if isinstance(case, Refused):
        return case.at != "import_aerialist"
    _written(case)
    return None


def check_table(table: Any) -> bool | None:
    """The same below PyYAML."""
    case = attempt(case_of, PATH, table)
    if isinstance(case, Refused):
        return isinstance(table, dict)
    if _look():
        _written(case)
    return None


def _written(case: Imported) -> None:
    assert isinstance(case, Imported)
    source, problems = read_cases(file_of(case.to_toml().encode(), "imported.toml"))
    assert source is not None, f"what was imported is no TOML: {problems}"
