"""`ironbird open`, and how a browser is found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ironbird.cli import output
from ironbird.cli.main import app


def opener(folder: Path, script: str) -> None:
    """A program `xdg-open` in front of all others."""
    program = folder / "bin" / "xdg-open"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("script", "said"),
    [("exit 0", ""), ("echo noise; echo noise >&2; exit 3", "no browser was found"), ("sleep 20", "")],
)
def test_the_newest_page_is_opened_without_the_words_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], script: str, said: str
) -> None:
    opener(tmp_path, script)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(output, "BROWSER_S", 0.5)
    monkeypatch.chdir(tmp_path)
    pages = [tmp_path / "out" / name for name in ("old.html", "new.html")]
    pages[0].parent.mkdir()
    for number, page in enumerate(pages):
        page.touch()
        os.utime(page, (number, number))

    done = CliRunner().invoke(app, ["open", "out"])

    assert done.exit_code == 0 and f"page: {pages[1]}" in done.output
    assert (said in done.output) if said else ("no browser" not in done.output)
    assert "noise" not in done.output + capfd.readouterr().err


def test_without_a_page_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["open"])
    assert done.exit_code == 2 and "there is no page in out/latest: fly something first" in done.output
