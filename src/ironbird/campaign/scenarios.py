"""Scenarios as flights of cases: a case names a scenario, varies it and says what must hold between its vehicles.

`$name` in a scenario's file stands for a shared parameter of the case (`vary`): alone for a number or a word, or inside
a text such as that of a fault. Seeds, wind and end of the case take the place of the scenario's own. A flight of the
case is the whole scenario; its trace is that of the first vehicle.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironbird.errors import ScenarioError
from ironbird.faults.catalog import parse_fault
from ironbird.faults.spec import Injection
from ironbird.files.problems import Problem, Source, read_source, read_toml
from ironbird.files.toml_text import write_toml
from ironbird.flight.judge import FAIL, PASS, Judged
from ironbird.flight.mission import load_mission, mission_table
from ironbird.flight.order import Order
from ironbird.scenario.grammar import BUILT_IN, Scenario, scenario_names, scenario_of
from ironbird.scenario.run import ScenarioFlight, judge_between

if TYPE_CHECKING:
    from ironbird.campaign.case import FlightCase

PLACEHOLDER = re.compile(r"\$([a-z][a-z0-9_]*)")
TABLES = ("vehicle", "wind", "set", "options", "sight")


def scenario_source(name: str) -> Source:
    """The file of a scenario, by its name or path; `ScenarioError` if it is not there."""
    path = BUILT_IN / f"{name}.toml" if name in scenario_names() else Path(name)
    source = read_source(path, f"give one of {', '.join(scenario_names())}, or the path of a TOML file")
    if isinstance(source, Problem):
        raise ScenarioError(source)
    return source


def placeholders(name: str) -> set[str]:
    """Shared parameters that a scenario's file asks for."""
    found: set[str] = set()

    def look(value: Any) -> None:
        if isinstance(value, str):
            found.update(PLACEHOLDER.findall(value))
        for entry in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
            look(entry)

    look(scenario_source(name).data)
    return found


def scenario_text(name: str, values: Mapping[str, Any], changes: Mapping[str, Any]) -> str:
    """The scenario of a flight: placeholders filled, missions of files written out, and the case's own keys in it.

    Vehicles and worlds that are files stand there by absolute path; see `renamed`.
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
        return PLACEHOLDER.sub(lambda found: str(values[found[1]]), value)

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


def orders_of(case: FlightCase) -> list[Order]:
    """What all vehicles of a flight are ordered: of a scenario each of them, else the flight itself."""
    return [member.order for member in scenario_in(case.scenario, case.case_id).members] if case.scenario else [case]


def renamed(text: str, vehicle: Callable[[str], str], world: Callable[[str], str]) -> str:
    """The scenario of a flight with other names of vehicles and world: those of files in other folders."""
    data = read_toml(text)
    for entry in data["vehicle"]:
        entry["vehicle"] = vehicle(entry["vehicle"])
    if "world" in data:
        data["world"] = world(data["world"])
    return write_toml(data, TABLES)


def scenario_faults(case: FlightCase) -> tuple[Injection, ...]:
    """The faults in the file of a flight's scenario, vehicle by vehicle; those of a start grid once."""
    return tuple(parse_fault(text) for entry in read_toml(case.scenario)["vehicle"] for text in entry.get("fault", []))


def with_faults(case: FlightCase, faults: Sequence[Injection | None]) -> FlightCase:
    """The flight of a scenario with other faults in the places of `scenario_faults`; None leaves one out."""
    data = read_toml(case.scenario)
    left = iter(faults)
    for entry in data["vehicle"]:
        entry["fault"] = [fault.text() for fault in (next(left) for _ in entry.get("fault", [])) if fault is not None]
    return replace(case, scenario=write_toml(data, TABLES))


def without_wind(case: FlightCase) -> FlightCase:
    """The flight of a scenario in calm air."""
    data = read_toml(case.scenario)
    data.pop("wind", None)
    return replace(case, scenario=write_toml(data, TABLES))


def judged_scenario(case: FlightCase, flown: ScenarioFlight) -> Judged:
    """What a scenario came to: the worst of its vehicles, of its own requirements and of those of the case."""
    more = [
        replace(judge_between(requirement.formula, flown), name=requirement.name, severity=requirement.severity)
        for requirement in case.requirements
    ]
    broken = [judgement for judgement in more if not judgement.holds]
    verdict = FAIL if broken and flown.verdict == PASS else flown.verdict
    said = [f"{judgement.name}: {judgement.sentence}" for judgement in broken]
    said += [flown.sentence] if flown.verdict != PASS or not broken else []
    vehicles = flown.vehicles
    judgements = [*flown.judgements, *more]
    judgements += [
        replace(judgement, name=f"{v.name}: {judgement.name}") for v in vehicles for judgement in v.judged.judgements
    ]
    worst = min(vehicles, key=lambda v: v.judged.score if not math.isnan(v.judged.score) else -1.0)
    return Judged(
        digest=case.digest(),
        verdict=verdict,
        sentence="; ".join(said),
        outcome=f"{worst.name}: {worst.judged.outcome}",
        crashed=any(v.judged.crashed for v in vehicles),
        ended_s=max(v.judged.ended_s for v in vehicles),
        impact_mps=max(v.judged.impact_mps for v in vehicles),
        margin=min((judgement.margin for judgement in judgements), default=math.inf),
        score=worst.judged.score,
        level=worst.judged.level,
        sha256=flown.sha256,
        model_hash=vehicles[0].judged.model_hash,
        judgements=judgements,
        witnesses=[
            {**witness, "fault": f"{v.name}: {witness['fault']}"} for v in vehicles for witness in v.judged.witnesses
        ],
        modes=vehicles[0].judged.modes,
        fault_modes=[mode for v in vehicles for mode in v.judged.fault_modes],
        reactions=[f"{v.name}: {reaction}" for v in vehicles for reaction in v.judged.reactions],
    )
