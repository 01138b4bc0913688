"""`ironbird fleet`: figures, table and exit code, on three kinds of vehicles; every vehicle has tests of its own."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ironbird.campaign import fleet
from ironbird.cli.main import app
from ironbird.flight.flight import fly

CHOSEN = ("rover_differential", "rov_bluerov2_heavy", "quad_f450")
SEEDS = 2


@pytest.fixture(scope="module")
def rows() -> dict[str, fleet.FleetRow]:
    return {row.vehicle: row for row in fleet.fly_fleet(CHOSEN, SEEDS)}


def test_every_flight_completes_in_weather(rows: dict[str, fleet.FleetRow]) -> None:
    assert list(rows) == ["quad_f450", "rover_differential", "rov_bluerov2_heavy"]  # by kind
    for row in rows.values():
        assert (row.completed, row.lost, row.seeds, row.endings) == (SEEDS, 0, SEEDS, [])
        assert 0 < row.rms_m < row.worst_m
        assert row.times_real_time > 1 and row.simulated_s > 20 * SEEDS
    assert rows["rover_differential"].worst_m < 0.2 and rows["quad_f450"].worst_m < 4.0  # m
    assert [row.current for row in rows.values()] == [False, False, True]


def test_the_figures_are_those_of_single_flights(rows: dict[str, fleet.FleetRow]) -> None:
    squares: list[np.ndarray] = []
    for seed in range(SEEDS):
        log = fly("rover_differential", weather=fleet.WIND, seed=seed, log_s=fleet.LOG_S).log
        error = np.linalg.norm(log["body.p_NB_N"] - log["navigator.position_set"], axis=1)
        squares.append(error[log.time() >= 5.0] ** 2)
    together = np.concatenate(squares)

    row = rows["rover_differential"]
    assert row.rms_m == pytest.approx(math.sqrt(together.mean()), rel=1e-12)
    assert row.worst_m == pytest.approx(math.sqrt(together.max()), rel=1e-12)


def test_the_page_has_one_row_per_vehicle_and_names_lost_flights(rows: dict[str, fleet.FleetRow]) -> None:
    lost = dataclasses.replace(rows["quad_f450"], completed=1, lost=1, endings=["seed 1: ground hit at 9.00 s"])
    text = fleet.page([lost, rows["rover_differential"]])

    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == 4 and len({line.count("|") for line in table}) == 1
    assert (
        "| multicopter | [quad_f450](vehicles/quad_f450.md) | reference | square | 1 of 2 completed, 1 lost |" in text
    )
    assert "- quad_f450, seed 1: ground hit at 9.00 s" in text


def test_the_command_prints_writes_and_ends_with_1_if_a_flight_is_not_completed(
    rows: dict[str, fleet.FleetRow], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = rows["rover_differential"]
    monkeypatch.setattr(fleet, "fly_fleet", lambda vehicles, seeds, progress: [good])
    run = CliRunner().invoke(app, ["bench", "fleet", "rover_differential", "--seeds", "2", "--json"])
    assert run.exit_code == 0
    (data,) = json.loads(run.stdout)["vehicles"]
    assert (data["vehicle"], data["completed"], data["rms_m"]) == ("rover_differential", 2, good.rms_m)

    late = dataclasses.replace(good, completed=1, lost=0)  # whole, but somewhere else
    monkeypatch.setattr(fleet, "fly_fleet", lambda vehicles, seeds, progress: [good, late])
    assert good.good and not late.good and CliRunner().invoke(app, ["bench", "fleet"]).exit_code == 1

    bad = dataclasses.replace(good, completed=1, lost=1, rms_m=math.nan)
    monkeypatch.setattr(fleet, "fly_fleet", lambda vehicles, seeds, progress: [good, bad])
    page = tmp_path / "fleet.md"
    run = CliRunner().invoke(app, ["bench", "fleet", "--out", str(page)])
    assert run.exit_code == 1 and "1 of 2 completed, 1 lost" in " ".join(run.stdout.split())
    assert page.read_text() == fleet.page([good, bad])
    assert fleet.as_data(bad)["rms_m"] is None


def test_an_unknown_vehicle_is_an_error() -> None:
    run = CliRunner().invoke(app, ["bench", "fleet", "quad_f540"])
    assert run.exit_code == 2 and "quad_f450" in run.stderr
