"""What a campaign has tried."""

import itertools
import math
from dataclasses import replace
from pathlib import Path

import pytest
from campaign_data import flight_case, result_of

from ironbird.blocks.controllers.mission_table import MODES
from ironbird.campaign.coverage import combinations, coverage, mode_name, read_table, trace_table, unknown_covers
from ironbird.campaign.result import FlightResult
from ironbird.errors import IronbirdError
from ironbird.faults.catalog import parse_fault
from ironbird.flight.judge import Judgement
from ironbird.flight.order import Requirement


def at(**values: float | str) -> FlightResult:
    return result_of(flight_case(values=values))


def test_a_full_grid_covers_all_and_one_point_little() -> None:
    grid = [at(a=a, b=b, c=c) for a, b, c in itertools.product((1.0, 2.0), ("x", "y", "z"), (0.0, 1.0))]
    for strength, total in ((1, 7), (2, 6 + 4 + 6), (3, 12)):
        found = combinations(grid, strength)
        assert (found.covered, found.total, found.share) == (total, total, 1.0)
    # without one of the twelve points all pairs are still there, one triple is not
    assert combinations(grid[1:], 2).share == 1.0
    assert (combinations(grid[1:], 3).covered, combinations(grid[1:], 3).total) == (11, 12)


def test_continuous_parameters_count_in_four_bins() -> None:
    line = [at(a=i / 10, b=i / 10) for i in range(11)]
    assert (combinations(line, 1).covered, combinations(line, 1).total) == (8, 8)
    assert (combinations(line, 2).covered, combinations(line, 2).total) == (4, 16)  # the diagonal


def test_nothing_varies() -> None:
    assert combinations([at()], 1).share == 1.0


def test_faults_by_phase_and_transitions() -> None:
    case = flight_case(faults=tuple(parse_fault(f) for f in ("rotor.speed_loss@1", "battery.low_voltage@1")))
    flown = result_of(case, "fail", fault_modes=[2, -1], modes=[[0.0, 0.0], [1.0, 2.0], [3.0, 0.0], [4.0, 2.0]])
    found = coverage([(case, flown), (case, flown)])
    assert found.phases["rotor.speed_loss@1"] == {MODES[2]: 2}
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
