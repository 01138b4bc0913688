"""Tables of the command line: columns with units, a count, no minus zeros, numbers as data with --json."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ironbird.autopilots.doctor import Finding, shortened_list
from ironbird.campaign.suite import load_suite
from ironbird.cli import output
from ironbird.cli.main import app
from ironbird.cli.output import figure, print_columns, print_table, without_minus_zero
from ironbird.faults.catalog import FAULTS
from ironbird.vehicles.names import vehicle_ids

CASES = """schema = 1
[[case]]
id = "weak"
vehicle = "quad_f450"
mission = "hover"
until_s = 8.0
[[case.fault]]
id = "rotor.speed_loss@1"
instance = 1
severity = 0.1
start_s = 5.0
[[case]]
id = "calm"
vehicle = "quad_f450"
mission = "hover"
until_s = 8.0
"""


def ib(*words: str, columns: int = 120) -> Result:
    return CliRunner().invoke(app, list(words), env={"COLUMNS": str(columns), "NO_COLOR": "1", "TERM": "dumb"})


def cells(result: Result) -> list[list[str]]:
    """The rows of printed tables, without those of heads."""
    lines = [line for line in result.stdout.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


def heads(result: Result) -> str:
    """All words of heads."""
    lines = [line.strip("┃") for line in result.stdout.splitlines() if line.startswith("┃")]
    columns = zip(*(line.split("┃") for line in lines), strict=True)
    return "|".join(" ".join(" ".join(part.split()) for part in column).strip() for column in columns)


# ---------------------------------------------------------------------------------------------- how they are printed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("-0.0000°, -0.0001°", "0.0000°, -0.0001°"),
        ("(-0.0, -0) m", "(0.0, 0) m"),
        ("-0.05 1e-05 a-0 -0.0e-3 --seed", "-0.05 1e-05 a-0 -0.0e-3 --seed"),
    ],
)
def test_a_number_that_is_rounded_to_zero_has_no_sign(text: str, shown: str) -> None:
    assert without_minus_zero(text) == shown


def test_figures_have_a_unit_and_words_for_none_and_no_bound() -> None:
    assert [figure(value, 1, "dB") for value in (-0.01, 2.25, math.nan, math.inf)] == ["0.0 dB", "2.2 dB", "-", "any"]


def test_names_take_half_of_the_room_at_most(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_table({"a name that is much longer than half of the room": "value " * 20, "b": "-0.00"}, "Table")
    lines = capsys.readouterr().out.splitlines()
    assert max(line.find("│", 1) for line in lines) <= 44 and "0.00" in lines[-2] and "-0.00" not in lines[-2]


def test_columns_without_values_are_left_out_and_those_without_room_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    rows = [["one", "1.5", "-", "a text that is longer", "another text that is longer"]]
    print_columns(("name", "mass kg", "empty", "first", "second"), rows, "Things", of=1234, optional=("second",))
    said = capsys.readouterr()
    assert "Things (1 of 1,234)" in said.out and "empty" not in said.out and "second" not in said.out
    assert said.err == "no room for second: widen the terminal, or use --json\n"
    assert "mass" in said.out.splitlines()[2] and "kg" in said.out.splitlines()[3]  # the head is broken at words
    print_columns(("name",), [], "Things")
    assert capsys.readouterr().out == "Things: none\n"


def test_a_table_for_people_alone_is_not_in_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    collected: list[dict[str, Any]] = []
    monkeypatch.setattr(output, "_TABLES", collected)
    print_columns(("a",), [["1"]], "shown", in_json=False)
    print_columns(("a",), [["-0.0"]], "kept", {"a": 0.0})
    assert collected == [{"title": "kept", "rows": [{"a": "0.0"}], "figures": {"a": 0.0}}]
    assert capsys.readouterr().out == ""


# ---------------------------------------------------------------------------------------------- commands


def test_vehicles_have_kind_mass_and_title_in_columns() -> None:
    listed, data = ib("vehicle", "list"), json.loads(ib("vehicle", "list", "--json").stdout)["vehicles"]
    assert f"Vehicles ({len(vehicle_ids())})" in listed.stdout and heads(listed) == "id|kind|mass kg|title"
    rows = {row[0]: row for row in cells(listed)}
    assert rows["quad_f450"][1:3] == ["multicopter", "1.4"]
    assert {one["id"]: one["mass_kg"] for one in data}["quad_f450"] == 1.4


def test_margins_have_a_column_for_each_figure() -> None:
    printed = ib("vehicle", "margins", "quad_f450", "--axis", "roll", "--axis", "yaw")
    data = json.loads(ib("vehicle", "margins", "quad_f450", "--axis", "roll", "--json").stdout)["margins"]
    assert printed.exit_code == 0 and "(2)" in printed.stdout
    assert heads(printed) == (
        "axis|crossover rad/s|phase margin °|gain up dB|gain down dB|delay margin ms|peak sensitivity|closed loop"
    )
    row = next(row for row in cells(printed) if row[0] == "roll")
    roll = data["roll"]
    wanted = [roll["crossover_radps"], roll["phase_deg"], roll["gain_up_dB"], roll["gain_down_dB"]]
    assert [float(cell) for cell in row[1:5]] == pytest.approx(wanted, abs=0.051)
    assert float(row[5]) == pytest.approx(1e3 * roll["delay_s"], abs=0.051) and row[7] == "stable"


def test_steps_of_a_sweep_have_a_column_for_each_figure(tmp_path: Path) -> None:
    words = ["vehicle", "step", "quad_f450", "roll", "--sweep", "control.rate_gain[0]=15,25", "--lasts", "1"]
    printed = ib(*words, "--out", str(tmp_path))
    assert heads(printed) == "rate_gain[0]|rise s|overshoot %|settled s|error %|saturated %"
    rows = cells(printed)
    assert [row[0] for row in rows] == ["15", "25"]
    assert float(rows[0][2]) > float(rows[1][2])  # less rate gain overshoots more
    assert "-0.0" not in printed.stdout


def test_faults_have_summary_and_severity_in_columns() -> None:
    listed = ib("fault", "list", columns=200)
    assert f"Faults ({len(FAULTS)})" in listed.stdout and heads(listed).startswith("id|summary|severity")
    rows = {row[0]: row for row in cells(listed)}
    assert "share of speed lost" in rows["rotor.speed_loss@1"][2]


def test_kinds_and_blocks_are_tables_and_kinds_are_data_with_json() -> None:
    kinds = ib("vehicle", "kinds")
    figures = json.loads(ib("vehicle", "kinds", "--json").stdout)["tables"][0]["figures"]
    assert heads(kinds) == "kind|modes|PX4|ArduPilot"
    assert figures["multicopter"]["px4"] is True and "hold" in figures["multicopter"]["modes"]
    assert heads(ib("vehicle", "blocks")) == "block|what it is"


def test_parts_are_filtered_by_figures_and_the_rest_is_counted() -> None:
    some = ib("vehicle", "design", "parts", "motor")
    assert "(40 of 4,7" in some.stdout and "--no-limit" in some.stderr and len(cells(some)) == 40
    chosen = ib("vehicle", "design", "parts", "motor", "2216", "--where", "kv>=900", "--where", "kv<1000")
    assert heads(chosen) == "name|kv rpm/V|resistance mΩ|mass g|status"
    assert chosen.stderr == "" and cells(chosen)
    assert all("2216" in row[0] and 900 <= float(row[1]) < 1000 for row in cells(chosen))
    data = json.loads(ib("vehicle", "design", "parts", "battery", "lesson", "--json").stdout)["tables"][0]["figures"]
    assert data["count"] == 1 and data["parts"][0]["cells"] == 3 and data["parts"][0]["mass_kg"] == 0.34
    assert all(
        row[-1] == "measured"
        for row in cells(ib("vehicle", "design", "parts", "propeller", "--where", "status=measured"))
    )
    for text, said in (
        ("kvv>3", "did you mean 'kv'"), ("kv", "give COLUMN>NUMBER"), ("mass<60g", "is no number"),
        ("status=good", "unknown status"),
    ):  # fmt: skip
        wrong = ib("vehicle", "design", "parts", "motor", "--where", text)
        assert wrong.exit_code == 2 and said in wrong.stderr, text


def test_doctor_has_one_row_for_ardupilot_and_one_for_free_ports() -> None:
    none = [Finding(f"ArduPilot {name}", False, f"no program '{name}'", "set it") for name in ("copter", "plane")]
    ports = Finding("free ports", True, "tcp 4560, udp 14580, tcp 4561, udp 9002, tcp 4562, udp 14580")
    shown = shortened_list([*none, ports])
    assert shown == [
        Finding("ArduPilot", False, "no program of copter, plane", "set it", optional=True),
        Finding("free ports", True, "tcp 4560-4562; udp 9002, 14580"),
    ]
    there = [Finding("ArduPilot copter", True, "/bin/arducopter"), none[1]]
    assert shortened_list(there) == there  # which is there matters
    assert heads(ib("doctor")).startswith("thing|state|what was found")


def test_campaigns_and_their_cases_are_tables_and_titles_are_never_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.toml").write_text(CASES)
    summary = FAULTS["rotor.speed_loss@1"].summary
    suite = load_suite(tmp_path / "two.toml")
    assert [case.title for case in suite.cases] == [summary, "quad_f450 flies hover"]
    assert suite.title == f"{summary.rstrip('.')} (and 1 more case)"
    assert ["calm", "1", "quad_f450 flies hover"] in cells(ib("case", "list", "two.toml"))
    flown = ib("campaign", "run", "two.toml", "--name", "first", "--workers", "1")
    assert flown.exit_code == 0, flown.output
    listed = ib("campaign", "list")
    assert "Campaigns (1)" in listed.stdout and heads(listed) == "name|begun|pass|title"
    assert cells(listed)[0][0] == "first" and cells(listed)[0][2] == "2"
    shown = ib("campaign", "show", "first", columns=200)
    assert heads(shown) == "case|as expected|pass|failures|worst flight|why"
    assert {row[0]: row[1:3] for row in cells(shown) if row[0]} == {"weak": ["yes", "1"], "calm": ["yes", "1"]}
    data = json.loads(ib("campaign", "list", "--json").stdout)["campaigns"]
    assert data[0]["pass"] == 2 and data[0]["open"] == 0
