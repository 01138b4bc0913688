"""Kept flights side by side: where they part is where they were made to part; equal ones are said to be equal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ironbird as ib
from ironbird.cli.main import app
from ironbird.errors import RunError
from ironbird.report.flights_page import ordered_differently, partings, read_flight

FAULT = "rotor.speed_loss@1:instance=1,severity=0.2,start=1"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("kept")
    for name, faults in (("healthy", []), ("again", []), ("weak", [FAULT])):
        flight = ib.fly("quad_f450", mission="hover", control="truth", until_s=2.0, ends="time", faults=faults)
        ib.write_flight_folder(flight, folder / name)
    return {path.name: path for path in folder.iterdir()}


def test_flights_part_when_the_fault_begins(folders: dict[str, Path]) -> None:
    healthy, weak = read_flight(folders["healthy"]), read_flight(folders["weak"])
    parted = partings(healthy.log, weak.log)
    assert 1.0 <= parted[0].first_s <= 1.02 and parted[0].signal.startswith(("rotor/1", "body"))
    (different,) = ordered_differently([healthy, weak]).values()
    assert "rotor.speed_loss@1" in different[1]


def test_equal_flights_are_equal(folders: dict[str, Path], tmp_path: Path) -> None:
    page, run = tmp_path / "page.html", CliRunner().invoke
    words = ["compare", *(str(folders[name]) for name in ("healthy", "again")), "--out", str(page)]
    assert run(app, words).exit_code == 0 and "equal bit for bit" in page.read_text()
    words = ["compare", *(str(folders[name]) for name in ("healthy", "weak")), "--out", str(page), "--json"]
    done = run(app, words)
    said = json.loads(done.output)
    assert done.exit_code == 1 and said["equal"] is False and said["parted"][0]["first_s"] >= 1.0
    assert said["flights"][str(folders["healthy"])]["survived"] is True and "<polyline" in page.read_text()


def test_what_is_no_flight_is_refused(tmp_path: Path, folders: dict[str, Path]) -> None:
    with pytest.raises(RunError, match="is not the folder of a flight"):
        read_flight(tmp_path)
    done = CliRunner().invoke(app, ["compare", str(folders["weak"])])
    assert done.exit_code == 2 and "2 to 6 folders" in done.output


def test_the_summary_has_numbers(folders: dict[str, Path]) -> None:
    figures = json.loads((folders["healthy"] / "summary.json").read_text())["figures"]
    log = read_flight(folders["healthy"]).log
    assert figures["verdict"] == "pass" and figures["survived"] is True
    assert figures["greatest_height_m"] == -log["body.p_NB_N"][:, 2].min()
