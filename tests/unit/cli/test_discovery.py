"""What users type to find out what is there: the version, completion of the shell, objects at the prompt."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from typer.testing import CliRunner

import ironbird as ib
from ironbird.campaign.result import FlightResult
from ironbird.cli.campaign import MOST_SHOWN, unexpected
from ironbird.cli.main import app
from ironbird.compiler.compiled import CompiledModel
from ironbird.flight.mission import mission_names
from ironbird.requirements.library import TEMPLATES


def test_the_version_is_printed() -> None:
    done = CliRunner().invoke(app, ["--version"])
    assert done.exit_code == 0 and done.output == f"ironbird {ib.__version__}\n"


def test_the_shell_completes_verbs() -> None:
    words = {"_IRONBIRD_COMPLETE": "complete_bash", "COMP_WORDS": "ironbird vehicle mar", "COMP_CWORD": "2"}
    done = CliRunner().invoke(app, [], env=words, prog_name="ironbird")
    assert done.output.split() == ["margins"]


def test_objects_at_the_prompt_are_short(f450: CompiledModel) -> None:
    flight = ib.fly("quad_f450", mission="hover", control="truth", until_s=1.0, ends="time")
    shown = [repr(thing) for thing in (flight, flight.log, flight.vehicle, flight.model, ib.start(f450, lanes=3))]
    assert all(len(text) < 160 for text in shown)
    assert shown[0].startswith("<Flight of 'quad_f450' under truth, 1 s: pass, ")
    assert "50 rows, 0 to 0.98 s, 1 lane" in shown[1] and "3 lanes at 0 s" in shown[4]


def test_a_log_becomes_a_frame_of_pandas() -> None:
    pytest.importorskip("pandas")
    log = ib.fly("quad_f450", mission="hover", control="truth", until_s=1.0).log
    frame = log.to_pandas()
    assert np.array_equal(frame["body.p_NB_N[2]"].to_numpy(), log["body.p_NB_N"][:, 2])
    assert frame.index.name == "time_s" and frame.attrs["units"]["body.p_NB_N[2]"] == "m"


def test_a_campaign_names_what_failed() -> None:
    def result(number: int, margin: float, good: bool) -> FlightResult:
        told = {
            "id": f"TC/{number}",
            "margin": margin,
            "as_expected": good,
            "verdict": "fail",
            "sentence": "hard landing",
            "impact_mps": 0.0,
            "score": 0.0,
        }
        return cast(FlightResult, SimpleNamespace(**told))

    few = unexpected([result(1, -1.0, False), result(2, -9.0, False), result(3, 5.0, True)])
    assert few == ["FAIL  TC/2: hard landing", "FAIL  TC/1: hard landing"]
    many = unexpected([result(n, -float(n), False) for n in range(MOST_SHOWN + 3)])
    assert len(many) == MOST_SHOWN + 1 and many[-1] == "… and 3 more: see the report"


def said(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, [*words])
    return done.exit_code, done.output


def test_parameters_are_listed_with_the_values_that_are_flown(f450: CompiledModel) -> None:
    printed = said("vehicle", "params", "quad_f450", "control.*gain", "--control", "truth", "--json")[1]
    rows = json.loads(printed)["parameters"]
    for row in rows:
        assert np.ravel(row["value"]).tolist() == f450.flat.values[f450.param_rows(row["path"])].tolist()
    assert [row["path"] for row in rows if row["tunable"]] and "control.rate_gain" in [row["path"] for row in rows]


def test_signals_are_those_of_the_log_and_what_requirements_know(f450: CompiledModel) -> None:
    rows = {
        row["path"]: row
        for row in json.loads(said("vehicle", "signals", "quad_f450", "--control", "truth", "--json")[1])["signals"]
    }
    assert set(f450.signals()) <= set(rows)
    assert rows["tilt"]["unit"] == "rad" and rows["altitude"]["doc"] == "= terrain.height_above_ground"
    code, words = said("vehicle", "signals", "quad_f450", "no_such")
    assert code == 2 and "unknown signal 'no_such'" in words


def test_requirements_and_missions_are_listed() -> None:
    assert {row["name"] for row in json.loads(said("requirement", "list", "--json")[1])["requirements"]} == set(
        TEMPLATES
    )
    assert "always[0, 30] (altitude < 60 m)" in said("requirement", "grammar")[1]
    assert "greatest angular rate" in said("requirement", "show", "rate_limit")[1]
    assert (
        set(json.loads(said("mission", "list", "--json")[1])["missions"]) == set(mission_names())
        and "square" in said("mission", "list")[1]
    )


def test_a_flight_does_not_overwrite_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("fly", "quad_f450", "--mission", "hover", "--control", "truth", "--until", "1", "--ends", "time", "--seed")
    for seed in ("1", "2", "3"):
        code, printed = said(*words, seed)
        assert code == 0, printed
    assert "report: out/quad_f450-3/flight.html" in printed
    assert (tmp_path / "out" / "latest").resolve() == tmp_path / "out" / "quad_f450-3"
    orders = [
        (tmp_path / "out" / name / "order.toml").read_text() for name in ("quad_f450-1", "quad_f450-2", "quad_f450-3")
    ]
    assert [f"seed = {seed}" in order for seed, order in enumerate(orders, 1)] == [True] * 3
    code, printed = said(*words, "4", "--fault", "rotor.speed_loss@1:instance=7,start=0.1")
    assert code == 2 and "has rotor 1 to 4, not 7" in printed
    assert not (tmp_path / "out" / "quad_f450-4").exists()  # nothing was flown: no empty folder is left
    assert (tmp_path / "out" / "latest").resolve() == tmp_path / "out" / "quad_f450-3"
