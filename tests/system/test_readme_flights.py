"""The flights of README's tour pass as a new user gives them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ironbird.cli.main import app

README = Path(__file__).parents[2] / "README.md"
FLIGHTS = re.findall(r"^ironbird (fly .*)$", README.read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_the_tour_has_flights() -> None:
    assert len(FLIGHTS) >= 5 and any("--world" in line for line in FLIGHTS)


@pytest.mark.parametrize("line", FLIGHTS)
def test_a_flight_of_the_tour_passes(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, shlex.split(line, comments=True))

    assert done.exit_code == 0, done.output
    assert (tmp_path / "out").is_dir()
