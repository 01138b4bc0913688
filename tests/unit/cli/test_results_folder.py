"""The folder of results: one command at a time writes there, and what stays empty is gone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ironbird.cli.output import results_folder
from ironbird.errors import IronbirdError

FLY = ["fly", "quad_f450", "--control", "truth", "--mission", "hover", "--until", "0.1", "--ends", "time"]


def test_a_second_command_into_the_same_folder_is_refused_and_takes_nothing(tmp_path: Path) -> None:
    with results_folder(tmp_path / "same", "x") as folder:
        (folder / "summary.json").write_text("first")
        command = [sys.executable, "-m", "ironbird.cli", *FLY, "--out", "same"]
        second = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=250)
        assert second.returncode == 2 and "Traceback" not in second.stderr
        assert "another command is writing its results to same: wait until it has ended" in second.stderr
        assert [path.name for path in folder.iterdir()] == ["summary.json"]
    with results_folder(tmp_path / "same", "x") as folder:  # after it has ended
        assert (folder / "summary.json").read_text() == "first"


def test_folders_that_were_made_for_nothing_are_gone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with results_folder(tmp_path / "mine" / "a" / "b", "x") as folder:
        assert folder.is_dir()
    assert list(tmp_path.iterdir()) == [tmp_path / "mine"] and not any((tmp_path / "mine").iterdir())


def test_new_folders_of_commands_that_start_at_once_are_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with results_folder(None, "x") as one, results_folder(None, "x") as other:
        assert (one, other) == (Path("out/x-1"), Path("out/x-2"))
    assert not (tmp_path / "out").exists()


def test_a_place_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(IronbirdError, match="cannot write results to"), results_folder(tmp_path / "file", "x"):
        pass
