"""Campaigns are found from any folder; traces are kept as asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from campaign_data import flight_cases
from typer.testing import CliRunner

from ironbird.campaign import places
from ironbird.campaign.batch import KEPT, TracePolicy
from ironbird.campaign.store import Store
from ironbird.cli.main import app
from ironbird.errors import UnknownNameError

CASE = """schema = 1
[[case]]
id = "hover"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 2.0
ends = "time"
seeds = [1, 2]
"""


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.delenv(places.VARIABLE, raising=False)
    monkeypatch.setattr(places, "_notes", lambda: tmp_path / "stores.txt")
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    (tmp_path / "here" / "case.toml").write_text(CASE)
    return tmp_path / "here", tmp_path / "there"


def ironbird(line: str) -> str:
    done = CliRunner().invoke(app, line.split())
    assert done.exit_code == 0, done.output
    return str(done.stdout)


def test_a_campaign_is_found_from_another_folder(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = folders
    monkeypatch.chdir(here)
    ironbird("campaign run case.toml --name first --workers 1 --traces all")
    traces = list((here / "out" / "campaigns" / "first" / "traces").glob("*.parquet"))
    assert len(traces) == 2  # both pass: neither would be kept otherwise
    monkeypatch.chdir(there)
    shown = json.loads(ironbird("campaign show first --json"))["cases"]
    assert shown["hover"]["pass"] == 2
    assert not (there / "out").exists()
    (listed,) = json.loads(ironbird("campaign list --all --json"))["campaigns"]
    assert listed["name"] == "first" and str(here) in listed["store"]
    done = CliRunner().invoke(app, ["campaign", "show", "nothing"])
    assert done.exit_code == 2 and "unknown campaign 'nothing' in the store" in done.stderr


def test_a_store_for_all_folders(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = folders
    monkeypatch.setenv(places.VARIABLE, f"sqlite:///{there}/all.db")
    monkeypatch.chdir(here)
    ironbird("campaign run case.toml --name second --workers 1 --traces none")
    assert (there / "all.db").is_file() and not (here / "out").exists()
    assert [c["name"] for c in json.loads(ironbird("campaign list --json"))["campaigns"]] == ["second"]


def test_notes_that_cannot_be_read_or_lead_nowhere_are_left_out(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, _ = folders
    assert places.known_stores() == []
    places.remember(here / "gone.db")
    places.remember(here / "case.toml")
    places.remember(here / "case.toml")
    assert places.known_stores() == [here / "case.toml"]
    monkeypatch.setattr(places, "_notes", lambda: here / "no" / "folder.txt")
    places.remember(here / "case.toml")  # nothing happens
    assert places.known_stores() == []


def test_choices_of_traces() -> None:
    kept = {choice: TracePolicy.of(choice, "folder") for choice in KEPT}
    assert kept["failing"] == TracePolicy("folder") and kept["none"].folder is None
    with pytest.raises(UnknownNameError, match="did you mean 'none'"):
        TracePolicy.of("some", "folder")


def test_names_of_a_store_are_read_without_changing_it(tmp_path: Path) -> None:
    file = tmp_path / "a store.db"
    store = Store(f"sqlite:///{file}")
    for name in ("monday", "tuesday"):
        store.create(name, "", {}, flight_cases(2))
    store.close()
    assert places.names_in(file) == ["monday", "tuesday"]
    assert places.flights_in(file, "monday") == [case.id for case in flight_cases(2)]
    assert places.names_in(tmp_path / "none.db") is None and not (tmp_path / "none.db").exists()
