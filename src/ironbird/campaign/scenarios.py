"""Scenarios as flights of cases: a case names a scenario, varies it, and requires conditions between its vehicles.

`$name` in a scenario's file is a shared parameter of the case (`vary`): alone for a number or a word, or inside a text
such as that of a fault. Seeds, wind and end of the case replace the scenario's own. A flight of the case is the whole
scenario; its trace is that of the first vehicle.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ironbird.errors import ScenarioError
from ironbird.files.problems import Problem, Source, read_source, read_toml
from ironbird.files.toml_text import write_toml
from ironbird.flight.mission import load_mission, mission_table
from ironbird.scenario.grammar import BUILT_IN, Scenario, scenario_names, scenario_of

PLACEHOLDER = re.compile(r"\$([a-z][a-z0-9_]*)")
TABLES = ("vehicle", "wind", "set", "options", "sight")


def scenario_source(name: str) -> Source:
    """The file of a scenario, by its name or path; `ScenarioError` if it does not exist."""
    path = BUILT_IN / f"{name}.toml" if name in scenario_names() else Path(name)
    source = read_source(path, f"give one of {', '.join(scenario_names())}, or the path of a TOML file")
    if isinstance(source, Problem):
        raise ScenarioError(source)
    return source


def placeholders(name: str) -> set[str]:
    """Shared parameters that a scenario's file requires."""
    names: set[str] = set()

    def look(value: Any) -> None:
        if isinstance(value, str):
            names.update(PLACEHOLDER.findall(value))
        for entry in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
            look(entry)

    look(scenario_source(name).data)
    return names


def scenario_text(name: str, values: Mapping[str, Any], changes: Mapping[str, Any]) -> str:
    """The scenario of a flight as text: placeholders filled, mission files written out, and the case's keys set.

    Vehicles and worlds that are files are named by absolute path; see `renamed`.
    """
    source = scenario_source(name)
    folder = source.path.resolve().parent

    def fill(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: fill(entry) for key, entry in value.items()}
        if isinstance(value, list):
            return [fill(entry) for entry in value]
        if not isinstance(value, str):
            return value
        if (whole := PLACEHOLDER.fullmatch(value)) is not None:
            return values[whole[1]]
        return PLACEHOLDER.sub(lambda match: str(values[match[1]]), value)

    data: dict[str, Any] = fill(source.data)
    for entry in data.get("vehicle", []):
        if isinstance(mission := entry.get("mission"), str) and mission.endswith(".toml"):
            entry["mission"] = mission_table(load_mission(folder / mission))
        if isinstance(entry.get("vehicle"), str) and entry["vehicle"].endswith(".toml"):
            entry["vehicle"] = str(folder / entry["vehicle"])
    world = data.get("world", "")
    if "." in world and "\n" not in world:
        data["world"] = str(folder / world)
    return write_toml({**data, **changes}, TABLES)


def scenario_in(text: str, where: str = "scenario") -> Scenario:
    """The scenario of a flight from its text."""
    return scenario_of(Source(Path(f"{where}.toml"), read_toml(text), text))


def renamed(text: str, vehicle: Callable[[str], str], world: Callable[[str], str]) -> str:
    """The scenario of a flight with other names of vehicles and world, for files in other folders."""
    data = read_toml(text)
    for entry in data["vehicle"]:
        entry["vehicle"] = vehicle(entry["vehicle"])
    if "world" in data:
        data["world"] = world(data["world"])
    return write_toml(data, TABLES)
