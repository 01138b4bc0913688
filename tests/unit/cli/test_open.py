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


def test_every_page_is_found_after_a_flight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    parts = [
        "--motor", "SunnySky A2814 KV900", "--propeller", "APC 10x4.5", "--esc", "lesson ESC", "--battery",
        "lesson 3S 4000", "--mass", "1.5", "--out", ".",
    ]  # fmt: skip
    compared = ["compare", "out/quad_f450-1", "out/quad_f450-1"]
    for words, page in (
        (["fly", "quad_f450", "--mission", "hover", "--until", "1", "--csv"], "out/quad_f450-1/flight.html"),
        (["vehicle", "margins", "quad_f450", "--axis", "yaw"], "out/tuning/quad_f450/margins.html"),
        (["vehicle", "design", "evaluate", *parts], "design.html"),
        (compared, "out/compare-1/compare.html"),
        (compared, "out/compare-2/compare.html"),  # beside the earlier one
        ([*compared, "--out", "mine"], "mine/compare.html"),
    ):
        done = CliRunner().invoke(app, words)
        assert f"report: {page}" in done.output, done.output
        assert "fly" not in words or "csv:    out/quad_f450-1/flight.csv" in done.output
        opened = CliRunner().invoke(app, ["open", "--no-browser"])
        assert f"page: {tmp_path / page}" in opened.output.replace("\n", "")


def test_no_command_names_its_page_without_leading_to_it() -> None:
    source = Path(output.__file__).parents[1]
    for file in (*source.glob("cli/*.py"), *source.glob("*/verbs.py")):
        text = file.read_text()
        assert "report: {" not in text or "lead_to(" in text, f"{file}: 'ironbird open' would open an older page"
