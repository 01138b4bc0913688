"""Flights of a campaign that fly a scenario: their orders, their faults, their judgement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ironbird.campaign.case import FlightCase
from ironbird.campaign.scenarios import TABLES, scenario_in
from ironbird.faults.catalog import parse_fault
from ironbird.faults.spec import Injection
from ironbird.files.problems import read_toml
from ironbird.files.toml_text import write_toml
from ironbird.flight.judge import Judged
from ironbird.flight.order import Order
from ironbird.flight.words import FAIL, PASS
from ironbird.scenario.run import ScenarioFlight, judge_between


def orders_of(case: FlightCase) -> list[Order]:
    """The orders of all vehicles of a flight: of each vehicle of a scenario, else of the flight itself."""
    return [member.order for member in scenario_in(case.scenario, case.case_id).members] if case.scenario else [case]


def scenario_faults(case: FlightCase) -> tuple[Injection, ...]:
    """The faults in the file of a flight's scenario, vehicle by vehicle; those of a start grid once."""
    return tuple(parse_fault(text) for entry in read_toml(case.scenario)["vehicle"] for text in entry.get("fault", []))


def with_faults(case: FlightCase, faults: Sequence[Injection | None]) -> FlightCase:
    """The flight of a scenario with other faults in the positions of `scenario_faults`; None removes one."""
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
    """Judgement of a scenario: the worst of its vehicles, of its own requirements and of those of the case."""
    more = [
        replace(judge_between(requirement.formula, flown), name=requirement.name, severity=requirement.severity)
        for requirement in case.requirements
    ]
    broken = [judgement for judgement in more if not judgement.holds]
    verdict = FAIL if broken and flown.verdict == PASS else flown.verdict
    reasons = [f"{judgement.name}: {judgement.sentence}" for judgement in broken]
    reasons += [flown.sentence] if flown.verdict != PASS or not broken else []
    vehicles = flown.vehicles
    judgements = [*flown.judgements, *more]
    judgements += [
        replace(judgement, name=f"{v.name}: {judgement.name}") for v in vehicles for judgement in v.judged.judgements
    ]
    worst = min(vehicles, key=lambda v: v.judged.score if not math.isnan(v.judged.score) else -1.0)
    return Judged(
        digest=case.digest(),
        verdict=verdict,
        sentence="; ".join(reasons),
        outcome=f"{worst.name}: {worst.judged.outcome}",
        crashed=any(v.judged.crashed for v in vehicles),
        ended_s=max(v.judged.ended_s for v in vehicles),
        impact_mps=max(v.judged.impact_mps for v in vehicles),
        impact_sideways_mps=max(v.judged.impact_sideways_mps for v in vehicles),
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
