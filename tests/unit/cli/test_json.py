"""`--json`: every verb that prints figures has it, and standard output is then one JSON document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from ironbird.cli.main import app
from ironbird.cli.output import print_json
from ironbird.cli.tree import NO_FIGURES


def verbs() -> dict[str, Any]:
    found: dict[str, Any] = {}

    def walk(command: Any, path: str) -> None:
        for name, below in getattr(command, "commands", {}).items():
            walk(below, f"{path}.{name}".lstrip("."))
        if not hasattr(command, "commands"):
            found[path] = command

    walk(typer.main.get_command(app), "")
    return found


def test_every_verb_prints_json_or_has_no_figures() -> None:
    found = verbs()
    without = {name for name, verb in found.items() if not any("--json" in p.opts for p in verb.params)}
    assert without <= NO_FIGURES and {*found, "app"} >= NO_FIGURES


def test_a_flight_as_json(tmp_path: Path) -> None:
    line = f"fly quad_f450 --control truth --mission hover --until 2 --ends time --json --out {tmp_path / 'flight'}"
    done = CliRunner().invoke(app, line.split())
    assert done.exit_code == 0, done.output
    (table,) = json.loads(done.stdout)["tables"]
    assert table["figures"]["verdict"] == "pass" and table["figures"]["ended_s"] == 2.0
    assert Path(table["figures"]["folder"]) == tmp_path / "flight" and table["rows"]["vehicle"] == "quad_f450"
    assert "report:" in done.stderr and "report:" not in done.stdout


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("vehicle trim quad_f450", "speed_mps", 0.0),
        ("campaign plan --probability 0.01", "flights", 299),  # ln(0.05) / ln(0.99), rounded up
    ],
)
def test_figures_are_numbers(line: str, key: str, value: float) -> None:
    done = CliRunner().invoke(app, [*line.split(), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["tables"][0]["figures"][key] == value


def test_a_verb_that_fails_prints_no_json() -> None:
    done = CliRunner().invoke(app, ["vehicle", "trim", "nosuch", "--json"])
    assert done.exit_code == 2 and not done.stdout and "unknown vehicle" in done.stderr


def test_numbers_that_json_does_not_have_are_null(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": float("nan"), "b": [float("inf"), 1.5, True, None], "c": Path("x")}, "ironbird/boards/1")
    said = json.loads(capsys.readouterr().out)
    assert said == {"schema": "ironbird/boards/1", "a": None, "b": [None, 1.5, True, None], "c": "x"}


def test_files_that_are_written_come_with_figures(tmp_path: Path) -> None:
    sticks = tmp_path / "sticks.csv"
    done = CliRunner().invoke(app, ["model", "excite", "doublet", "--duration", "10", "--out", str(sticks), "--json"])
    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)["tables"][0]["figures"]
    assert figures["file"] == str(sticks) and figures["ended_s"] >= 10 and figures["band_radps"] == [0.5, 30.0]
    done = CliRunner().invoke(app, ["world", "check", "field", "--json"])
    assert json.loads(done.stdout)["tables"][0]["figures"]["terrain_figures"]["kind"] in ("plane", "grid")
