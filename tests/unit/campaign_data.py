"""Flights and results for tests of what comes after flying; nothing is flown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ironbird.campaign.case import FlightCase
from ironbird.campaign.result import FlightResult
from ironbird.campaign.store import Store
from ironbird.faults.catalog import parse_fault
from ironbird.flight.judge import Judgement
from ironbird.flight.mission import load_mission
from ironbird.flight.order import Requirement, Weather
from ironbird.flight.words import FAIL


def flight_case(number: int = 1, **changes: Any) -> FlightCase:
    """A hover flight with a fault and one requirement."""
    case = FlightCase(
        id=f"hover/{number:04d}/s{number}", case_id="hover", title="Hover", vehicle="quad_f450", control="truth",
        mission=load_mission("hover"), mission_name="hover", weather=Weather(speed_mps=2.0),
        settings={"body.mass": 1.5}, faults=(parse_fault("rotor.speed_loss@1:severity=0.1,start=2"),),
        requirements=(Requirement("upright", "always (tilt < 30 deg)", "major"),), seed=number, until_s=5.0, log_s=0.02,
        expect=None, tags=("REQ-1",), values={"wind.speed_mps": 2.0},
    )  # fmt: skip
    return replace(case, **changes)


def flight_cases(count: int) -> list[FlightCase]:
    """Some of them, which differ by seed."""
    return [flight_case(number) for number in range(1, count + 1)]


def result_of(case: FlightCase, verdict: str = "pass", margin: float = 0.25, **changes: Any) -> FlightResult:
    """A result of a flight that was not flown."""
    margin = -abs(margin) if verdict == FAIL else margin
    name = case.requirements[0].name if case.requirements else "upright"
    said = "tilt reached 35 deg" if verdict == FAIL else ""
    when_s = 2.5 if said else float("nan")
    result = FlightResult(
        id=case.id, case_id=case.case_id, digest=case.digest(), seed=case.seed, values=dict(case.values),
        verdict=verdict, sentence=f"{name}: {said}" if said else "flown to the end at 5.00 s",
        outcome="flown to the end at 5.00 s", crashed=False, ended_s=5.0, impact_mps=0.0, margin=margin, score=0.9,
        level="slight", sha256="ab" * 32, model_hash="cd" * 32,
        judgements=[Judgement(name, "major", margin, when_s, said, broken_s=when_s)],
        witnesses=[{"fault": i.text(), "first_s": 2.0} for i in case.faults], modes=[[0.0, 0.0], [1.0, 2.0]],
        fault_modes=[2 for _ in case.faults], expect=case.expect,
    )  # fmt: skip
    return replace(result, **changes)


def stored_campaigns(url: str) -> None:
    """Two campaigns, calm and windy, of four flights over wind and mass; in the second one flight more fails."""
    store = Store(url)
    cases = [
        flight_case(
            number, faults=(), until_s=2.0, values={"wind.speed_mps": float(number % 2), "body.mass": 1.0 + number}
        )
        for number in range(1, 5)
    ]
    for name, failing in (("calm", {1}), ("windy", {1, 2})):
        campaign = store.create(name, "Hover in wind", {}, cases)
        open_flights = store.open_flights(campaign)
        verdicts = ["fail" if flight.case.seed in failing else "pass" for flight in open_flights]
        judged = [(flight.number, result_of(flight.case, v)) for flight, v in zip(open_flights, verdicts, strict=True)]
        store.write(campaign, judged)
    store.close()
