"""The verbs `case` and `campaign` as a user meets them: output, files, exit codes, sentences about mistakes."""

from __future__ import annotations

import contextlib
import csv
import json
import re
import sqlite3
import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest
from json_documents import checked
from typer.testing import CliRunner, Result

from ironbird.campaign.suite import load_suite
from ironbird.cli.main import app

SUITE = """schema = 1
title = "Small flights"
[[case]]
id = "wind"
title = "Hover in wind"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 4.0
tags = ["REQ-1"]
[case.wind]
speed_mps = { uniform = [0.0, 4.0] }
[[case.require]]
use = "no_crash"
[case.plan]
kind = "latin_hypercube"
samples = 4
[[case]]
id = "loss"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 5.0
expect = "fail"
[[case.fault]]
id = "rotor.speed_loss@1"
severity = { grid = [0.8, 1.0] }
start_s = 2.0
[[case.require]]
use = "attitude_limit"
params = { limit = 30.0 }
"""
LEAN = """schema = 1
[[case]]
id = "lean"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 6.0
seeds = 0
[case.set]
"body.mass" = { uniform = [1.3, 1.6] }
[[case.fault]]
id = "wind.steady@1"
axis = 0
severity = { uniform = [0.1, 0.6] }
start_s = 1.0
[[case.require]]
name = "upright"
formula = "always (tilt < 15 deg)"
[case.plan]
kind = "monte_carlo"
samples = 2
"""


def ironbird(*arguments: str, code: int = 0) -> Result:
    done = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "220", "NO_COLOR": "1", "TERM": "dumb"})
    assert done.exit_code == code, done.output + repr(done.exception)
    return done


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with suites and the campaign `base`, flown through the command line."""
    folder = tmp_path_factory.mktemp("campaigns")
    (folder / "small.toml").write_text(SUITE)
    (folder / "lean.toml").write_text(LEAN)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = ironbird("campaign", "run", "small.toml", "--name", "base", "--workers", "1")
        assert "report: out/campaigns/base/report.html" in done.output and "flights a second" in done.output
        yield folder


@pytest.fixture(autouse=True)
def _there(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)


# ---------------------------------------------------------------------- cases


def test_case_check(place: Path) -> None:
    assert "small.toml: 2 cases, 6 flights, no problems" in ironbird("case", "check", "small.toml").output
    (place / "bad.toml").write_text(
        SUITE.replace("quad_f450", "quad_f45").replace("limit = 30.0", "limit = 30.0, x = 1")
    )
    done = ironbird("case", "check", "small.toml", "bad.toml", code=2)
    assert "bad.toml:6:1: case.wind.vehicle: unknown vehicle 'quad_f45'; did you mean 'quad_f450'" in done.output
    found = json.loads(ironbird("case", "check", "bad.toml", "--json", code=2).output)["files"]
    assert {problem["line"] for problem in found["bad.toml"]["problems"]} >= {6}
    ironbird("campaign", "run", "bad.toml", code=2)
    assert "cannot read it" in ironbird("case", "check", "missing.toml", code=2).output


def test_case_list_schema_and_suites() -> None:
    rows = json.loads(ironbird("case", "list", "small.toml", "--json").output)["cases"]
    assert [(row["id"], row["flights"], row["varies"]) for row in rows] == [
        ("wind", 4, ["wind.speed_mps"]), ("loss", 2, ["fault.1.severity"]),
    ]  # fmt: skip
    assert "Small flights: 6 flights" in ironbird("case", "list", "small.toml").output
    assert json.loads(ironbird("case", "schema").output)["title"] == "CaseFile"
    assert "rflysimsafe" in ironbird("case", "list").output
    assert (
        "unknown suite 'rflysimsaf'; did you mean 'rflysimsafe'"
        in ironbird("case", "list", "rflysimsaf", code=2).output
    )


# ---------------------------------------------------------------------- a flown campaign


def test_reports(place: Path) -> None:
    folder = place / "out" / "campaigns" / "base"
    page = (folder / "report.html").read_text()
    assert "4 pass, 2 fail" in page and "not as expected" not in page
    suite = ElementTree.parse(folder / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("6", "0", "0")
    flights = checked(folder / "results.json")["flights"]
    assert [flight["verdict"] for flight in flights] == ["pass"] * 4 + ["fail"] * 2
    assert len(list((folder / "traces").glob("loss_*.parquet"))) == 2


def test_list_and_show() -> None:
    (row,) = [
        row for row in json.loads(ironbird("campaign", "list", "--json").output)["campaigns"] if row["name"] == "base"
    ]
    assert (row["pass"], row["fail"], row["open"]) == (4, 2, 0)
    assert "Small flights" in ironbird("campaign", "list").output
    shown = ironbird("campaign", "show", "base").output
    assert "0 of 4 failed" in shown and "attitude_limit" in shown
    assert "acted on" not in shown, "what a fault did is shown for one flight, not in each row of the table"
    assert json.loads(ironbird("campaign", "show", "base", "--json").output)["cases"]["loss"]["fail"] == 2
    one = ironbird("campaign", "show", "base", "loss/0001/s0").output
    assert 'id = "loss"' in one and "verdict" in one and "sha256" in one
    data = json.loads(ironbird("campaign", "show", "base", "loss/0001/s0", "--json").output)
    assert data["result"]["verdict"] == "fail" and data["case"]["seed"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["show", "bas"],
            "unknown campaign 'bas' in the store sqlite:///out/campaigns/ironbird.db; did you mean 'base'?",
        ),
        (["show", "base", "loss/0001/s9"], "unknown flight 'loss/0001/s9' in campaign 'base'; did you mean"),
        (
            ["resume", "bas"],
            "unknown campaign 'bas' in the store sqlite:///out/campaigns/ironbird.db; did you mean 'base'?",
        ),
        (
            ["run", "small.toml", "--name", "base"],
            "there is a campaign 'base' already; resume it, or choose another name",
        ),
        (["run", "small.toml", "--name", "a/b"], "'a/b' is no name for a campaign"),
        (
            ["run", "small.toml", "--store", "mysql://x/y"],
            "--store 'mysql://x/y' is no store of campaigns: give sqlite:///FILE",
        ),
        (["run", "nothing.toml"], "cannot read it: No such file or directory"),
        (["export", "base", "x.doc"], "give a file that ends in .csv, .json or .parquet"),
        (["search", "small.toml"], "small.toml has 2 cases: name one by --case"),
        (["search", "small.toml", "--case", "los"], "unknown case 'los' in small.toml; did you mean 'loss'"),
        (["map", "lean.toml", "body.mass", "fault.1.severiti"], "did you mean 'fault.1.severity'"),
        (["shrink", "base", "wind/0001/s1"], "does not fail (pass): there is nothing to shrink"),
        (["report", "base", "--requirements", "none.csv"], "--requirements none.csv does not exist: give a CSV file"),
        (["plan", "--probability", "2"], "must lie between 0 and 1"),
    ],
)
def test_mistakes_end_with_a_sentence(arguments: list[str], message: str) -> None:
    done = ironbird("campaign", *arguments, code=2)
    assert message in " ".join(done.output.split()) and "Traceback" not in done.output


def test_an_unknown_flight_is_refused_before_the_store_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ironbird.campaign.session.store_with", None)
    for verb in ("show", "rerun"):
        said = ironbird("campaign", verb, "base", "loss/0001/s9", code=2).output
        assert "unknown flight 'loss/0001/s9' in campaign 'base'; did you mean 'loss/0001/s0'" in " ".join(said.split())


def test_resume_of_a_finished_campaign_flies_nothing(place: Path) -> None:
    before = json.loads(ironbird("campaign", "show", "base", "--json").output)
    assert "0.0 flights a second" in ironbird("campaign", "resume", "base").output
    assert json.loads(ironbird("campaign", "show", "base", "--json").output) == before


def test_sample_diff_and_exit_codes(place: Path) -> None:
    # the same flights again, two of them; and a suite that expects otherwise
    ironbird("campaign", "run", "small.toml", "--name", "again", "--sample", "3", "--workers", "1")
    found = json.loads(ironbird("campaign", "diff", "base", "again", "--json", code=1).stdout)
    assert (found["same"], found["verdicts"], found["margins"], len(found["only_before"])) == (3, [], [], 3)
    said = ironbird("campaign", "diff", "base", "again", code=1).output  # flights that are missing are no equal ones
    assert "equal to the last bit" in said and "3 flights of base are not in again" in said
    assert "equal to the last bit" in ironbird("campaign", "diff", "again", "base").output
    ironbird("campaign", "diff", "again", "base", "--any", code=1)  # base has more flights: not worse, but different
    with contextlib.closing(sqlite3.connect("out/campaigns/ironbird.db")) as database:  # what if it came out otherwise
        (name,) = database.execute("SELECT flight_id FROM flight WHERE campaign_id = 2 AND verdict = 'fail'").fetchone()
        result = 'replace(result, \'"verdict": "fail"\', \'"verdict": "pass"\')'
        change = f"UPDATE flight SET verdict = 'pass', result = {result}"
        database.execute(f"{change} WHERE campaign_id = 2 AND flight_id = ?", [name])
        database.commit()
    assert f"{name}: fail -> pass" in ironbird("campaign", "diff", "base", "again", code=1).output
    assert f"{name}: pass -> fail" in ironbird("campaign", "diff", "again", "base", code=1).output
    assert "NOT equal to the stored flight" in ironbird("campaign", "rerun", "again", name, code=1).output
    (place / "hope.toml").write_text(SUITE.replace('expect = "fail"\n', ""))
    done = ironbird("campaign", "run", "hope.toml", "--name", "hope", "--workers", "1", "--out", "hope", code=1)
    assert "report: hope/report.html" in done.output and (place / "hope" / "junit.xml").is_file()
    stricter = SUITE.replace('use = "no_crash"', 'name = "no_crash"\nformula = "always (height < 1 m)"')
    (place / "stricter.toml").write_text(stricter.replace("until_s = 4.0", "until_s = 4.5"))
    ironbird("campaign", "run", "stricter.toml", "--name", "stricter", "--workers", "1", code=1)
    found = json.loads(ironbird("campaign", "diff", "base", "stricter", "--json", code=1).stdout)
    assert len(found["redefined"]) == 4 and len(found["verdicts"]) >= 2  # another definition is compared all the same
    said = ironbird("campaign", "diff", "base", "stricter", code=1).output
    assert "redefined in" in said and "requirements" in said and "until_s" in said and "pass -> fail" in said


def test_coverage(place: Path) -> None:
    said = " ".join(ironbird("campaign", "coverage", "base").output.split())
    assert "4 of 4 values" in said and "more faults that were not flown: --full prints them" in said
    assert (
        "not flown: quad_f450: rotor.speed_loss@1: 2, 3, 4" in ironbird("campaign", "coverage", "base", "--full").output
    )
    ironbird("campaign", "coverage", "base", "--at-least", "90", code=1)
    found = json.loads(ironbird("campaign", "coverage", "base", "--json").stdout)
    assert 0 < found["share"] < 0.1 and found["cases"][0]["planned"] == 4


def test_export(place: Path) -> None:
    for name in ("t.csv", "t.json", "t.parquet"):
        assert f"6 flights: {name}" in ironbird("campaign", "export", "base", name).output
    with (place / "t.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    table = pq.read_table(place / "t.parquet").to_pylist()
    stored = checked(place / "t.json")["flights"]
    assert [row["flight"] for row in rows] == [row["flight"] for row in table] == [row["id"] for row in stored]
    assert [float(row["margin"]) for row in rows] == [row["margin"] for row in table]
    assert table[4]["value:fault.1.severity"] == 0.8 and table[0]["value:fault.1.severity"] is None


def test_report_and_evidence_with_tables(place: Path) -> None:
    (place / "needs.csv").write_text(
        "id,text,tags\nR1,it flies in wind,REQ-1\nR2,it dances,dance\nR3,it does not crash,no_crash\n"
    )
    (place / "fmea.csv").write_text("id,text,tags\nF1,motor lost,rotor.speed_loss@1\n")
    ironbird("campaign", "report", "base", "--requirements", "needs.csv", "--out", "with")
    assert "it dances" in (place / "with" / "report.html").read_text()
    done = ironbird(
        "campaign", "evidence", "base", "--requirements", "needs.csv", "--fmea", "fmea.csv", "--out", "e.zip"
    )
    assert "by tag only: R1; without a case: R2" in done.output
    assert re.search(r"flights: \d pass, \d fail", done.output)
    with zipfile.ZipFile(place / "e.zip") as pack:
        names = set(pack.namelist())
        assert {"suite/small.toml", "requirements.csv", "fmea.csv", "SHA256SUMS"} <= names
        assert sum(name.startswith("traces/") for name in names) >= 2
    (place / "elsewhere").mkdir()
    done = ironbird(
        "campaign", "repeat", str((place / "e.zip").rename(place / "elsewhere" / "e.zip")), "--workers", "1"
    )
    assert re.search(r"flown again\s+│ 6 ", done.output) and re.search(r"equal, bit for bit +│ 6 of 6 ", done.output)
    assert re.search(r"verdicts that are equal │ 6 of 6 ", done.output)


def test_a_report_links_the_pages_of_flights_that_failed(place: Path) -> None:
    done = ironbird("campaign", "report", "base", "--pages", "failed", "--most", "1", "--out", "linked")
    assert "1 of 2 flights have a page; --most 2 writes all" in done.output
    (page,) = (place / "linked" / "flights").glob("*/flight.html")
    link = page.relative_to(place / "linked").as_posix()
    assert f'href="{link}"' in (place / "linked" / "report.html").read_text()
    text = page.read_text()
    assert 'of the campaign <a href="../../report.html">base</a>' in text and "Flight <code>loss/000" in text
    done = ironbird("campaign", "report", "base", "--pages", "los/0001/s0", code=2)
    assert "unknown flight 'los/0001/s0' in campaign 'base'; did you mean 'loss/0001/s0'" in done.output


def test_rerun_is_equal(place: Path) -> None:
    done = ironbird("campaign", "rerun", "base", "loss/0002/s0", "--out", "one")
    assert "equal to the stored flight, bit for bit" in done.output
    names = {path.name for path in (place / "one").iterdir()}
    assert names == {"flight.parquet", "flight.html", "summary.json", "case.toml", "order.toml"}
    page = (place / "one" / "flight.html").read_text()
    assert re.search(r'<span class="badge (pass|fail)">(pass|fail)</span>', page) and 'id="requirements"' in page
    (case,) = load_suite(place / "one" / "case.toml").flights()
    assert case.digest() == json.loads((place / "out/campaigns/base/results.json").read_text())["flights"][5]["digest"]


def test_bench() -> None:
    found = json.loads(ironbird("bench", "campaign", "8", "--workers", "1", "--json").stdout)["figures"]
    assert found["flights"] == 8 and found["rerun_equal"] is True
    assert found["verdicts"]["error"] == found["verdicts"]["open"] == 0
    assert 0.0 < found["share_outside_kernel"] < 1.0 and 0.1 < found["peak_memory_gb"] < 4.0
    assert "did you mean 'ironbird bench campaign'" in ironbird("bench", "campain", code=2).output


# ---------------------------------------------------------------------- searching


def test_search_map_and_shrink(place: Path) -> None:
    done = ironbird("campaign", "search", "lean.toml", "--trials", "24", "--out", "worst.toml", code=1)
    assert "of 24 flights failed; the worst has margin -" in done.output
    assert "smallest found" in done.output and "is enough" in done.output
    (worst,) = load_suite(place / "worst.toml").flights()
    assert worst.faults[0].severity < 0.6 and worst.settings == {}
    done = ironbird(
        "campaign", "map", "lean.toml", "body.mass", "fault.1.severity", "--points", "3", "--out", "m/map.svg"
    )
    lines = [line for line in done.output.splitlines() if "turns at fault.1.severity" in line]
    assert len(lines) == 3 and (place / "m" / "map.svg").read_text().startswith("<svg")
    calm = LEAN.replace("[0.1, 0.6]", "[0.01, 0.05]")
    (place / "calm.toml").write_text(calm)
    assert "0 of 4 flights failed" in ironbird("campaign", "search", "calm.toml", "--trials", "4").output
    done = ironbird("campaign", "shrink", "base", "loss/0002/s0", "--out", "small_loss.toml")
    assert "rotor.speed_loss@1 of part 1 with severity" in done.output
    (small,) = load_suite(place / "small_loss.toml").flights()
    assert small.faults[0].severity < 0.9


def test_plan() -> None:
    assert "2995 flights with at most 0 failures" in ironbird("campaign", "plan", "--probability", "0.001").output


def test_cases_of_other_tools_are_imported(place: Path) -> None:
    row = {"CaseID": 7, "ControlSequence": "2,1;1,1,5;2,3,0,0,-15;1,1,15;2,6,123450,1,0.8;2,6,123549;1,1,10"}
    (place / "db.json").write_text(json.dumps({"FAULT_CASE": [row]}))
    done = ironbird("case", "import", "db.json", "--out", "imported.toml")
    assert "1 case: imported.toml" in done.output
    assert "no counterpart" in done.output  # the camera
    ironbird("case", "check", "imported.toml")
    (flight,) = load_suite(place / "imported.toml").flights()
    assert [fault.fault.id for fault in flight.faults] == ["rotor.speed_loss@1"]
    assert "FAULT_CASE" not in ironbird("case", "import", "missing.json", "--out", "x.toml", code=2).output


def test_only_cases_with_a_tag_are_flown(place: Path) -> None:
    done = ironbird("campaign", "run", "small.toml", "--name", "tagged", "--tag", "REQ-1", "--workers", "1")
    assert "pass" in done.output
    assert json.loads(ironbird("campaign", "show", "tagged", "--json").output)["cases"].keys() == {"wind"}
    done = ironbird("campaign", "run", "small.toml", "--tag", "REQ-2", code=2)
    assert "did you mean 'REQ-1'" in done.output
