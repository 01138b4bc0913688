"""The folder of a flight: what is in it, and that a flight that cannot be written is said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from autopilot_files import write_px4_log
from flight_pages import judged_as
from json_documents import checked

from ironbird.errors import IronbirdError
from ironbird.flight.flight import Flight, fly
from ironbird.flight.judge import Judgement
from ironbird.flight.order import load_order
from ironbird.report.folder import clear_flight_folder, write_flight_folder
from ironbird.rig.system import AutopilotEvent
from ironbird.runtime.tuning import Tuning, read_tunings

ALWAYS = {"flight.parquet", "flight.html", "order.toml", "summary.json"}


@pytest.fixture(scope="module")
def flight() -> Flight:
    return fly("quad_f450", control="truth", seed=3, until_s=8.0, ends="time")


def under_px4(flight: Flight, *logs: Path) -> Flight:
    """The same flight as if PX4 had flown it and left these files."""
    return replace(flight, order=replace(flight.order, control="px4"), logs=list(logs))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_flight_has_its_log_page_and_summary_and_nothing_else(flight: Flight, tmp_path: Path) -> None:
    rows = write_flight_folder(flight, tmp_path / "deep" / "out")

    assert names(tmp_path / "deep" / "out") == ALWAYS
    written = checked(tmp_path / "deep" / "out" / "summary.json")
    assert rows == flight.summary() and written == {
        "schema": "ironbird/flight-summary/1",
        **rows,
        "figures": flight.figures(),
    }
    table = pq.read_table(tmp_path / "deep" / "out" / "flight.parquet")
    assert table["body.p_NB_N[2]"].to_pylist() == flight.log["body.p_NB_N"][:, 2].tolist()


def test_other_formats_are_written_on_request(flight: Flight, tmp_path: Path) -> None:
    write_flight_folder(flight, tmp_path, ulog=True, csv=True)

    assert names(tmp_path) == ALWAYS | {"flight.ulg", "flight.csv"}
    assert (tmp_path / "flight.ulg").read_bytes().startswith(b"ULog")


def test_what_was_changed_said_and_measured_is_kept(flight: Flight, tmp_path: Path) -> None:
    tuning = Tuning(100, "body.mass", 1.5)
    said = AutopilotEvent(1.5, "mode", "höver")
    order = replace(flight.order, tunings=(tuning,))
    told = replace(flight, order=order, autopilot_events=[said], measured={"late": 3})

    write_flight_folder(told, tmp_path)

    assert names(tmp_path) == ALWAYS | {"tunings.json", "autopilot_events.json", "link.json"}
    assert read_tunings(tmp_path / "tunings.json") == [tuning]
    assert json.loads((tmp_path / "autopilot_events.json").read_text()) == [
        {"time_s": 1.5, "kind": "mode", "text": "höver"}
    ]
    assert checked(tmp_path / "link.json") == {
        "schema": "ironbird/link/1",
        "verdict": "pass",
        "sentence": "flown to the end at 8.00 s",
        "late": 3,
    }
    assert load_order(tmp_path) == order


def test_the_autopilots_log_is_set_beside_the_truth(flight: Flight, tmp_path: Path) -> None:
    logged = under_px4(flight, write_px4_log(flight, tmp_path / "own.ulg"))

    rows = write_flight_folder(logged, tmp_path / "out")

    assert names(tmp_path / "out") == ALWAYS | {"autopilot.parquet"}
    assert rows["autopilot's log"].startswith("clock offset ")
    assert 'id="autopilot-height"' in (tmp_path / "out" / "flight.html").read_text()


def test_why_there_is_no_autopilots_log_is_told(flight: Flight, tmp_path: Path) -> None:
    rows = write_flight_folder(under_px4(flight), tmp_path)

    assert rows["autopilot's log"] == "PX4 left no log (.ulg); it left nothing" and names(tmp_path) == ALWAYS


def test_an_interrupted_flight_says_so(flight: Flight, tmp_path: Path) -> None:
    rows = write_flight_folder(replace(flight, log=replace(flight.log, interrupted=True)), tmp_path)

    assert "results so far" in rows["interrupted"]


def test_the_verdict_and_the_requirements_are_on_the_page(flight: Flight, tmp_path: Path) -> None:
    broken = Judgement("upright", "major", -5.0, 2.5, "tilt reached 35 deg")

    write_flight_folder(judged_as(flight, "fail", [broken]), tmp_path)

    text = (tmp_path / "flight.html").read_text()
    assert '<span class="badge fail">fail</span>' in text and "Tilt reached 35 deg" in text


def test_a_flight_that_cannot_be_written_leaves_the_files_of_the_one_before(
    flight: Flight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_flight_folder(flight, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(source: Path, target: Path) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("ironbird.files.whole.os.replace", full)
    with pytest.raises(IronbirdError, match="no space left"):
        write_flight_folder(replace(flight, order=replace(flight.order, seed=9)), tmp_path)

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_folder_that_cannot_be_made_is_an_error(flight: Flight, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")

    with pytest.raises(IronbirdError, match="cannot write results to"):
        write_flight_folder(flight, tmp_path / "out")


def test_nothing_of_an_earlier_flight_is_left_in_the_folder(flight: Flight, tmp_path: Path) -> None:
    order = replace(flight.order, tunings=(Tuning(100, "body.mass", 1.5),))
    said = AutopilotEvent(1.5, "mode", "hover")
    logged = under_px4(flight, write_px4_log(flight, tmp_path / "own.ulg"))
    told = replace(logged, order=replace(order, control="px4"), autopilot_events=[said], measured={"late": 3})
    folder = tmp_path / "out"
    write_flight_folder(told, folder, ulog=True, csv=True)
    optional = {"tunings.json", "autopilot_events.json", "link.json", "flight.ulg", "flight.csv", "autopilot.parquet"}
    assert names(folder) == ALWAYS | optional
    (folder / "notes.txt").write_text("somebody's own")

    write_flight_folder(flight, folder)

    assert names(folder) == ALWAYS | {"notes.txt"}


def test_results_of_an_earlier_flight_do_not_stand_as_those_of_one_that_failed(flight: Flight, tmp_path: Path) -> None:
    write_flight_folder(flight, tmp_path, csv=True)
    (tmp_path / "notes.txt").write_text("of somebody")
    (tmp_path / "mine.ulg").write_text("of somebody")
    for name in ("07_14_23.ulg", "07_57_05_replayed.ulg", "00000001.BIN"):
        (tmp_path / name).write_text("the autopilot's log")
    clear_flight_folder(tmp_path)
    assert names(tmp_path) == {"notes.txt", "mine.ulg"}
    clear_flight_folder(tmp_path / "missing")
