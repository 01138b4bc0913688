"""What a campaign has tried."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from campaign_data import flight_case, result_of

from ironbird.blocks.controllers.mission_table import MODES
from ironbird.campaign.case import FlightCase, Spread
from ironbird.campaign.coverage import (
    case_coverage,
    combinations,
    coverage,
    mode_name,
    planned_levels,
    read_table,
    trace_table,
    unknown_covers,
)
from ironbird.campaign.result import FlightResult
from ironbird.errors import IronbirdError
from ironbird.faults.catalog import parse_fault
from ironbird.flight.judge import Judgement
from ironbird.flight.order import Requirement


def at(**values: float | str) -> FlightCase:
    return flight_case(values=values)


def flown(cases: Sequence[FlightCase]) -> list[FlightResult]:
    return [result_of(case) for case in cases]


def test_a_full_grid_covers_all_and_one_point_little() -> None:
    grid = [at(a=a, b=b, c=c) for a, b, c in itertools.product((1.0, 2.0), ("x", "y", "z"), (0.0, 1.0))]
    levels = planned_levels(grid)
    for strength, total in ((1, 7), (2, 6 + 4 + 6), (3, 12)):
        found = combinations(flown(grid), strength, levels)
        assert (found.covered, found.total, found.share) == (total, total, 1.0)
    # without one of the twelve points all pairs are still there, one triple is not
    assert combinations(flown(grid[1:]), 2, levels).share == 1.0
    triples = combinations(flown(grid[1:]), 3, levels)
    assert (triples.covered, triples.total) == (11, 12)


def test_five_values_of_a_grid_are_five_and_what_was_not_flown_is_not_covered() -> None:
    """They were 4 of 4 in bins, of which rounding lost one; and an interrupted campaign was always n of n."""
    grid = [at(weak=value) for value in (0.1, 0.3, 0.5, 0.7, 0.9)]
    levels = planned_levels(grid, {"weak": Spread.model_validate({"grid": [0.1, 0.3, 0.5, 0.7, 0.9]})})
    assert levels == planned_levels(grid)
    for count in (5, 3):
        found = combinations(flown(grid[:count]), 1, levels)
        assert (found.covered, found.total) == (count, 5)
    void = [result_of(case, "void") for case in grid]
    assert combinations(void, 1, levels).covered == 0  # a void flight shows nothing


def test_a_distribution_counts_in_four_equal_shares() -> None:
    line = [at(a=i / 10, b=10.0**i) for i in range(11)]
    levels = planned_levels(
        line,
        {"a": Spread.model_validate({"uniform": [0.0, 1.0]}), "b": Spread.model_validate({"log_uniform": [1.0, 1e10]})},
    )
    assert levels["a"].edges == (0.25, 0.5, 0.75) and levels["b"].count == 4
    assert (combinations(flown(line), 1, levels).covered, combinations(flown(line), 1, levels).total) == (8, 8)
    assert (combinations(flown(line), 2, levels).covered, combinations(flown(line), 2, levels).total) == (4, 16)
    many = planned_levels([at(a=i / 100) for i in range(101)])  # of a plan that is not known
    assert many["a"].edges == (0.25, 0.5, 0.75)


def test_nothing_varies() -> None:
    assert combinations(flown([at()]), 1, planned_levels([at()])).share == 1.0


def test_the_plan_of_the_file_is_the_denominator() -> None:
    source = {
        "suite.toml": "[[case]]\nid = 'hover'\nseeds = [1, 2]\n[case.wind]\nspeed_mps = { grid = [0.0, 2.0, 4.0] }\n"
        "from_deg = { grid = [0.0, 90.0] }\n"
    }
    cases = [at(**{"wind.speed_mps": speed, "wind.from_deg": 0.0}) for speed in (0.0, 2.0)]  # a sample of two of twelve
    (found,) = case_coverage(source, cases, flown(cases))
    assert (found.planned, found.flown, found.sentence()) == (12, 2, "3 of 5 values; 2 of 6 pairs")
    (alone,) = case_coverage({}, cases, flown(cases))
    assert (alone.planned, alone.sentence()) == (2, "3 of 3 values; 2 of 2 pairs")


def test_faults_by_phase_and_transitions() -> None:
    case = flight_case(faults=tuple(parse_fault(f) for f in ("rotor.speed_loss@1", "battery.low_voltage@1")))
    flown = result_of(case, "fail", fault_modes=[2, -1], modes=[[0.0, 0.0], [1.0, 2.0], [3.0, 0.0], [4.0, 2.0]])
    found = coverage([(case, flown), (case, flown)])
    assert found.phases["rotor.speed_loss@1"] == {MODES[2]: 2}
    twice = replace(case, faults=(case.faults[0], parse_fault("rotor.speed_loss@1:instance=2")))
    both = coverage([(twice, result_of(twice, "fail", fault_modes=[2, 2]))])
    assert both.verdicts["rotor.speed_loss@1"]["fail"] == 1  # one flight, with two injections
    assert found.phases["battery.low_voltage@1"] == {"not reached": 2}
    assert found.verdicts["rotor.speed_loss@1"]["fail"] == 2
    assert found.transitions == {(MODES[0], MODES[2]): 4, (MODES[2], MODES[0]): 2}
    assert found.modes == sorted([MODES[2], "not reached"])
    assert mode_name(99.0) == "99"


TABLE = "\ufeffid,text,tags\nA,stay upright,upright\nB,,REQ-1 REQ-2\nC,rotor,rotor.speed_loss@1\nD,open,nothing\n"


def test_tables_of_a_project(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(TABLE)
    case = flight_case()
    rows = trace_table(read_table(path), [case], [result_of(case, "fail"), result_of(case)])
    assert [(row.id, row.cases, row.status) for row in rows] == [
        ("A", ["hover"], "fail"), ("B", ["hover"], "fail"), ("C", ["hover"], "fail"), ("D", [], "open"),
    ]  # fmt: skip
    assert rows[0].text == "stay upright" and rows[0].verdicts == {"fail": 1, "pass": 1}
    assert trace_table(read_table(path), [case], [])[0].status == "open"  # a case that is not flown shows nothing
    half = trace_table(read_table(path), [case, flight_case(2)], [result_of(case)])[0]
    assert (half.status, half.verdicts) == ("open", {"pass": 1, "open": 1})  # nor does half of the flights


def test_a_project_requirement_is_met_only_by_a_formula_that_measures_it(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(TABLE)
    table = read_table(tmp_path / "table.csv")
    near = Requirement("near", "always (position_error < 5 m)", covers=("B",))
    case = flight_case(requirements=(*flight_case().requirements, near))
    held = Judgement("upright", "major", 1.0, math.nan, "")
    for margin, untested, status in ((0.5, "", "pass"), (-0.5, "", "fail"), (0.5, "never tried", "vacuous")):
        judgement = Judgement("near", "major", margin, math.nan, "", untested=untested)
        result = replace(result_of(case, "fail" if margin < 0 else "pass"), judgements=[held, judgement])
        by_name, by_cover, by_tag, _ = trace_table(table, [case], [result])
        assert (by_cover.status, by_cover.formulas) == (status, ["near"])
        assert (by_name.status, by_name.formulas) == ("pass", ["upright"])  # it held, whatever else broke
        assert by_tag.formulas == [] and by_tag.status == ("fail" if margin < 0 else "by tag only")
    lost = result_of(case, "error")
    assert [row.status for row in trace_table(table, [case], [lost])] == ["error"] * 3 + ["open"]
    assert trace_table(table, [case], [result_of(case)], by_tag=True)[2].status == "pass"  # a failure mode was flown
    assert unknown_covers(table[:1], [case]) == ["B"] and unknown_covers(table, [case]) == []


def test_what_every_flight_is_judged_by_measures_too() -> None:
    case = flight_case()
    table = [{"id": name, "tags": name} for name in ("no_crash", "mission")]
    crash = Judgement("no_crash", "critical", -math.inf, 2.0, "crashed")
    mission = Judgement("mission", "major", math.inf, math.nan, "")
    rows = trace_table(table, [case], [replace(result_of(case, "fail"), judgements=[crash, mission])])
    assert [(row.formulas, row.status) for row in rows] == [(["no_crash"], "fail"), (["mission"], "pass")]
    assert trace_table(table, [replace(case, may_crash=True)], [])[0].formulas == []  # it is not judged there


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"name,tags\n", "table.csv:1: the header line needs the columns 'id' and 'tags'"),
        (b"", "needs the columns"),
        (b"id,tags\n\xff\xfe", "cannot read"),
    ],
)
def test_bad_tables(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "table.csv").write_bytes(data)
    with pytest.raises(IronbirdError, match=message):
        read_table(tmp_path / "table.csv")
    with pytest.raises(IronbirdError, match="cannot read"):
        read_table(tmp_path / "missing.csv")
