"""`ib.campaign`: a suite in one line, the same flights as the command, an object with all results."""

from __future__ import annotations

import importlib
import io
import subprocess
import sys
from pathlib import Path

import pytest
from json_documents import checked
from typer.testing import CliRunner

import ironbird as ib
from ironbird.api.campaign import _line
from ironbird.campaign import places
from ironbird.campaign.runner import Progress
from ironbird.cli.main import app
from ironbird.errors import CaseError, IronbirdWarning, StoreError, UnknownNameError

SUITE = """
schema = 1
[[case]]
id = "wind"
title = "Hover in wind"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 2.0
ends = "time"
tags = ["weather"]
wind = { speed_mps = { grid = [0.0, 6.0] } }
[[case.require]]
name = "upright"
formula = "always (tilt < 30 deg)"
[[case]]
id = "low"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 2.0
ends = "time"
[[case.require]]
name = "low"
formula = "always (height < 0.1 m)"
"""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(places.VARIABLE, raising=False)
    monkeypatch.setattr(places, "_notes", lambda: tmp_path / "stores.txt")
    (tmp_path / "three.toml").write_text(SUITE)
    return tmp_path / "three.toml"


def test_a_campaign_is_one_line_and_says_all_in_a_line(suite: Path) -> None:
    campaign = ib.campaign("three.toml", workers=1, name="first")

    assert repr(campaign) == "<Campaign 'first': 3 flights, 2 pass, 1 fail>"
    assert campaign.verdicts == {"pass": 2, "fail": 1, "void": 0, "error": 0, "open": 0}
    assert [flight.id for flight in campaign.flights] == ["wind/0001/s0", "wind/0002/s0", "low/0001/s0"]
    assert len(campaign) == 3 and not campaign.as_expected
    page = campaign.report()
    assert page == Path("out/campaigns/first/report.html") and page.is_file()
    document = checked(page.with_name("results.json"))
    assert document["campaign"] == "first" and [f["verdict"] for f in document["flights"]] == ["pass", "pass", "fail"]
    assert campaign.report("elsewhere") == Path("elsewhere/report.html")


def test_the_table_has_a_row_per_flight_with_values_verdict_and_margins(suite: Path) -> None:
    campaign = ib.campaign(suite, workers=1)
    frame = campaign.frame()

    assert list(frame["verdict"]) == ["pass", "pass", "fail"] and list(frame["case"]) == ["wind", "wind", "low"]
    assert list(frame["value:wind.speed_mps"])[:2] == [0.0, 6.0]
    assert frame["margin:upright"][0] > frame["margin:upright"][1] > 0 > frame["margin:low"][2]
    assert campaign.write("t.csv").read_text().splitlines()[0].startswith('"flight","case"')


def test_without_pandas_the_error_names_the_package(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = ib.campaign("three.toml", workers=1, tag="low")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(StoreError, match=r"pandas is not installed: pip install pandas, or use campaign\.flights"):
        campaign.frame()


def test_the_command_and_the_function_fly_the_same(suite: Path) -> None:
    ours = ib.campaign("three.toml", workers=1, name="python", tag=["weather"])
    words = ["--workers", "1", "--name", "command", "--tag", "weather"]
    done = CliRunner().invoke(app, ["campaign", "run", "three.toml", *words])
    assert done.exit_code == 0, done.output

    theirs = ib.open_campaign("command")
    assert [f.sha256 for f in ours.flights] == [f.sha256 for f in theirs.flights] and len(theirs) == 2
    found = ours.diff(theirs)
    assert (found.verdicts, found.margins, found.same) == ([], [], 2)
    assert ours.diff("command").same == 2
    assert ours.fly("wind/0002/s0").sha256 == ours.flights[1].sha256


def test_a_campaign_that_is_not_flown_to_its_end_is_not_as_expected(suite: Path) -> None:
    store = ib.Store()
    stored = store.create("half", "", {}, ib.load_suite("three.toml").flights()[:2])
    [first, _] = ib.fly_all([case for _, case in store.open_cases(stored)])
    store.write(stored, [(0, first)])
    store.close()

    half = ib.open_campaign("half")
    assert half.verdicts["open"] == 1 and len(half) == 2 and half.flights[0].verdict == "pass"
    assert repr(half) == "<Campaign 'half': 2 flights, 1 pass, 1 open>" and not half.as_expected


def test_a_sample_and_unknown_names(suite: Path) -> None:
    assert len(ib.campaign("three.toml", workers=1, sample=1)) == 1
    with pytest.raises(UnknownNameError, match=r"unknown tag 'wether' in three\.toml; did you mean 'weather'"):
        ib.campaign("three.toml", tag="wether")
    with pytest.raises(UnknownNameError, match="campaign 'nosuch'"):
        ib.open_campaign("nosuch")
    (suite.parent / "wrong.toml").write_text(SUITE.replace("grid", "grit"))
    with pytest.raises(CaseError, match="unknown key 'grit'"):
        ib.campaign("wrong.toml")
    assert ib.case_check("three.toml") == []
    [problem] = ib.case_check("wrong.toml")
    assert (problem.line, problem.key) == (12, "case.wind.wind.speed_mps.grit")


def test_progress_is_a_line_on_a_terminal_and_nothing_elsewhere(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    ib.campaign("three.toml", workers=1, name="seen")
    assert "3/3" in shown.getvalue() and "1 fail" in shown.getvalue() and shown.getvalue().endswith("\n")
    quiet = io.StringIO()
    monkeypatch.setattr(sys, "stderr", quiet)
    ib.campaign("three.toml", workers=1, name="unseen")
    assert quiet.getvalue() == ""


def test_what_happened_to_workers_is_a_warning() -> None:
    seen: list[int] = []
    with _line(lambda state: seen.append(state.done)) as update:
        state = Progress(total=4, done=1)
        update(state)
        state.said.append("a worker died")
        with pytest.warns(IronbirdWarning, match="a worker died"):
            update(state)
        update(state)  # once
    assert seen == [1, 1, 1]


def test_own_progress_takes_the_place_of_the_line(suite: Path) -> None:
    done: list[int] = []
    ib.campaign("three.toml", workers=1, progress=lambda state: done.append(state.done))
    assert done[-1] == 3


@pytest.mark.parametrize("threads", [False, True], ids=["copied workers", "new workers"])
def test_a_script_needs_no_guard(suite: Path, threads: bool) -> None:
    """A process with threads starts new workers, which would run the script again."""
    (suite.parent / "script.py").write_text(
        "import threading, time\nimport ironbird as ib\nprint('begun')\n"
        + ("threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n" if threads else "")
        + "print(ib.campaign('three.toml', workers=2, name='script').verdicts['pass'])\n"
    )
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, timeout=120, cwd=suite.parent)
    assert done.stdout.split() == ["begun", "2"], done.stderr


def test_a_package_that_is_a_function_is_still_a_package() -> None:
    import ironbird.campaign.suite as module

    campaign: object = ib.campaign
    export: object = ib.export
    assert campaign is sys.modules["ironbird.campaign"] and vars(campaign)["suite"] is module
    assert callable(campaign) and (campaign.__doc__ or "").startswith("Fly a suite of test cases")
    assert callable(export) and id(export) == id(importlib.import_module("ironbird.export"))
