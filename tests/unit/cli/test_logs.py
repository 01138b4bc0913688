"""`ironbird log`: what is printed, where the page is, and what a file that is no log is called."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from log_files import write_px4_flight
from typer.testing import CliRunner

from ironbird.cli import logs
from ironbird.cli.completion import log_files
from ironbird.cli.main import app


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_px4_flight(tmp_path / "flight.ulg")
    return tmp_path


def test_show_prints_the_log_and_writes_a_page_that_open_finds() -> None:
    done = CliRunner().invoke(app, ["log", "show", "flight.ulg"], env={"COLUMNS": "120"})

    assert done.exit_code == 0, done.output
    for text in ("PX4 1.16.0", "“[commander] Failure”", "TAKEOFF", "MC_ROLL_P", "vehicle_attitude", "Flew 15.0 s"):
        assert text in done.output, text
    assert "report: out/log-flight-1/log.html" in done.output and Path("out/log-flight-1/log.html").is_file()
    opened = CliRunner().invoke(app, ["open", "--no-browser"])
    assert opened.exit_code == 0 and "out/log-flight-1/log.html" in opened.output


def test_show_as_json_has_figures_messages_and_all_topics() -> None:
    done = CliRunner().invoke(app, ["log", "show", "flight.ulg", "--json"])

    assert done.exit_code == 0, done.output
    figures = [table["figures"] for table in json.loads(done.stdout)["tables"]]
    assert figures[0]["flown_s"] == 15.0 and figures[0]["page"] == "out/log-flight-1/log.html"
    assert len(figures[1]["messages"]) == 3 and figures[2]["modes"][1]["mode"] == "TAKEOFF"
    (odd,) = [topic for topic in figures[-1]["topics"] if topic["topic"] == "odd_topic"]
    assert odd == {"topic": "odd_topic", "rate_hz": pytest.approx(25.0), "samples": 100, "fields": ["number"]}


def test_convert_writes_beside_the_log_and_refuses_in_words() -> None:
    done = CliRunner().invoke(app, ["log", "convert", "flight.ulg", "--to", "mcap"])
    assert done.exit_code == 0 and Path("flight.mcap").is_file()
    wrong = CliRunner().invoke(app, ["log", "convert", "flight.mcap", "--to", "csv"])
    assert wrong.exit_code == 2 and "is an MCAP file: Foxglove and rosbag2 read it" in wrong.output
    assert not Path("out").exists()


def test_a_conversion_says_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    @contextmanager
    def noted(what: str) -> Iterator[None]:
        said.append(what)
        yield

    monkeypatch.setattr(logs, "working", noted)
    assert CliRunner().invoke(app, ["log", "convert", "flight.ulg", "--to", "mcap"]).exit_code == 0
    assert said == ["converting flight.ulg to mcap"]


def test_a_refused_file_leaves_no_folder_behind() -> None:
    Path("notes.txt").write_text("nothing")
    wrong = CliRunner().invoke(app, ["log", "show", "notes.txt"])
    assert wrong.exit_code == 2 and "notes.txt is a text, not a log" in wrong.output and not Path("out").exists()


def test_tab_offers_logs_and_folders(here: Path) -> None:
    for name in ("a.BIN", "b.parquet", "c.csv", "d.toml"):
        (here / name).touch()
    (here / "logs").mkdir()
    assert log_files("") == ["a.BIN", "b.parquet", "c.csv", "flight.ulg", "logs/"]


def test_a_converted_log_goes_into_a_folder_or_a_file(here: Path) -> None:
    run = CliRunner().invoke
    for out, written in (("made", "made/flight.csv"), ("made", "made/flight.csv"), ("one.csv", "one.csv")):
        done = run(app, ["log", "convert", "flight.ulg", "--to", "csv", "--out", out])
        assert done.exit_code == 0 and f"{written}: " in done.output, done.output
        assert (here / written).is_file()
