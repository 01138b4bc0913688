"""A wheel, installed into an empty environment outside the tree, flies; verbs that need an extra name it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from built_wheel import build_wheel

WITHOUT = {  # verb -> extra
    "campaign list": "campaigns",
    "campaign run safety --sample 1": "campaigns",
    "app": "app",
    "provant": "firmware",
    "hdl ms5611": "hdl",
    "hil --port /dev/ttyACM0": "autopilots",
}
HELP = """
import typer
from ironbird.cli.main import app

def walk(command, path):
    for name, below in getattr(command, "commands", {}).items():
        walk(below, [*path, name])
    app([*path, "--help"], prog_name="ironbird", standalone_mode=False)

walk(typer.main.get_command(app), [])
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment that holds the wheel and its dependencies, without extras."""
    place = tmp_path_factory.mktemp("wheel")
    wheel = build_wheel(place)
    subprocess.run([sys.executable, "-m", "venv", str(place / "venv")], check=True)
    pip = [str(place / "venv" / "bin" / "python"), "-I", "-m", "pip"]  # -I: what PYTHONPATH names is not installed
    subprocess.run([*pip, "install", "--quiet", str(wheel)], check=True)
    return place / "venv" / "bin"


def run(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    settings |= {"COLUMNS": "200", "IRONBIRD_CACHE": str(folder / "cache")}
    command = [str(installed / "ironbird"), *words]
    return subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, timeout=600)


def test_it_flies_from_another_folder_and_repeats(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "fly", "quad_f450", "--mission", "hover", "--until", "5", "--ends", "time")
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads((tmp_path / "out" / "quad_f450" / "summary.json").read_text())
    assert summary["verdict"] == "pass"
    assert (tmp_path / "out" / "quad_f450" / "flight.html").stat().st_size > 100_000
    assert run(installed, tmp_path, "repeat", "out/quad_f450").returncode == 0
    for verb in ("vehicles", "faults", "worlds show forest", "case list safety", "chips show ms5611", "missions"):
        done = run(installed, tmp_path, *verb.split())
        assert done.returncode == 0, f"{verb}: {done.stderr}"


@pytest.mark.parametrize("verb", sorted(WITHOUT))
def test_a_verb_that_needs_an_extra_says_which(installed: Path, tmp_path: Path, verb: str) -> None:
    done = run(installed, tmp_path, *verb.split())
    assert done.returncode == 2 and f"ironbird[{WITHOUT[verb]}]" in done.stderr, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_every_verb_has_its_help(installed: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(installed / "python"), "-I", "-c", HELP], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: ironbird") > 60
