"""The results of a campaign as a table."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from campaign_data import flight_case, result_of
from json_documents import checked

from ironbird.campaign.result import FlightResult
from ironbird.errors import StoreError
from ironbird.report.table import write_table

FIXED = ["flight", "case", "seed", "verdict", "margin", "score", "level", "ended_s", "impact_mps", "sha256"]


@pytest.fixture
def results() -> list[FlightResult]:
    """Two flights; the second varies another parameter too, and one parameter holds a number or a word."""
    first = result_of(flight_case(1, values={"wind.speed_mps": 2.0, "mission": 3.0}))
    second = result_of(flight_case(2, values={"mission": "hover", "seed": 7.0}), "fail", 0.5)
    return [first, second]


def test_a_table_has_a_column_for_each_varied_parameter_and_requirement(
    results: list[FlightResult], tmp_path: Path
) -> None:
    write_table(results, tmp_path / "t.parquet")

    table = pq.read_table(tmp_path / "t.parquet")
    values = ["value:wind.speed_mps", "value:mission", "margin:upright", "sentence", "value:seed"]
    assert table.column_names == [*FIXED, *values]
    columns = table.to_pydict()
    assert columns["case"] == ["hover", "hover"] and columns["margin:upright"] == [0.25, -0.5]
    assert columns["value:wind.speed_mps"] == [2.0, None] and columns["value:mission"] == ["3.0", "hover"]


def test_csv_holds_the_same_rows(results: list[FlightResult], tmp_path: Path) -> None:
    write_table(results, tmp_path / "t.csv")

    with (tmp_path / "t.csv").open() as handle:
        rows = list(csv.DictReader(handle))
    assert [row["flight"] for row in rows] == ["hover/0001/s1", "hover/0002/s2"]
    assert [float(row["margin:upright"]) for row in rows] == [0.25, -0.5]


def test_json_holds_the_whole_records(results: list[FlightResult], tmp_path: Path) -> None:
    write_table(results, tmp_path / "t.json")

    document = checked(tmp_path / "t.json")
    assert document["schema"] == "ironbird/campaign-results/1"
    assert [FlightResult.from_record(row) for row in document["flights"]][1] == results[1]


def test_another_ending_is_refused(results: list[FlightResult], tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"\.csv, \.json or \.parquet"):
        write_table(results, tmp_path / "t.doc")

    assert list(tmp_path.iterdir()) == []


def test_a_csv_holds_no_formulas_and_its_numbers_stay_numbers(tmp_path: Path) -> None:
    case = flight_case(1, values={"=2+3": "=cmd|' /C calc'!A0", "offset": -1.5, "mixed": "@x"})
    other = flight_case(2, values={"mixed": -2.5, "offset": -2.0, "=2+3": "x"})
    results = [result_of(case, sentence="-1+cmd"), result_of(other, "fail", -0.25, sentence="+x")]

    write_table(results, tmp_path / "t.csv")
    write_table(results, tmp_path / "t.parquet")

    rows = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    texts = [cell for row in rows for cell in (*row, *row.values())]
    assert not [
        cell for cell in texts if cell.startswith(("=", "@", "+", "\t")) or (cell.startswith("-") and "cmd" in cell)
    ]
    assert [float(row["value:offset"]) for row in rows] == [-1.5, -2.0]
    assert float(rows[1]["value:mixed"]) == -2.5 and rows[0]["value:mixed"] == "'@x"
    assert rows[0]["sentence"] == "'-1+cmd"
    assert "-1+cmd" in pq.read_table(tmp_path / "t.parquet")["sentence"].to_pylist()
