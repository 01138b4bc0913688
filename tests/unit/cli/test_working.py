"""What takes longer than a second is shown: lines in a log, bars on a terminal, nothing below that."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import threading
import time

import pytest

from ironbird.cli import working as shown
from ironbird.cli.working import Display
from ironbird.files.work import listening, working

PROGRAM = """
import time
from ironbird.cli.working import Display
from ironbird.files.work import listening, working
with listening(Display()):
    with working("short work"):
        pass
    with working("flying the test") as update:
        update(0.5)
        with working("compiling [the] model, once"):
            time.sleep(1.6)
        print("a line of the flight")
        time.sleep(0.3)
"""


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second lasts 50 ms."""
    monkeypatch.setattr(shown, "LATE_S", 0.05)
    monkeypatch.setattr(shown, "LOOK_S", 0.01)
    monkeypatch.setattr(shown, "EVERY_S", 0.1)


def ended() -> bool:
    """Whether no thread of a display is left, within some seconds."""
    until = time.monotonic() + 60.0
    while any(thread.name == "work shown" for thread in threading.enumerate()):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def heard(capsys: pytest.CaptureFixture[str], lines: int) -> str:
    """What is shown, as soon as these are all lines; a machine that is busy shows them late."""
    said, until = "", time.monotonic() + 60.0
    while said.count("\n") < lines and time.monotonic() < until:
        time.sleep(0.02)
        said += capsys.readouterr().err
    return said


@pytest.mark.usefixtures("soon")
def test_log_has_a_line_at_the_begin_and_the_time_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    with listening(Display()), working("compiling the model of x, once"):
        said = heard(capsys, 1)
    lines = (said + capsys.readouterr().err).splitlines()
    assert lines[0] == "compiling the model of x, once …"
    assert re.fullmatch(r"compiling the model of x, once: \d+\.\d s", lines[1])
    assert len(lines) == 2 and ended()


@pytest.mark.usefixtures("soon")
def test_log_has_lines_of_progress_with_the_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    with listening(Display()), working("flying x") as update:
        update(0.25)
        said = heard(capsys, 3)
    lines = (said + capsys.readouterr().err).splitlines()
    assert len(lines) >= 3
    assert all(re.fullmatch(r"flying x: 25 %, \d+ s left", line) for line in lines[:-1]), lines


def test_short_work_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with listening(Display()):
        for _ in range(20):
            with working("short"):
                pass
    assert capsys.readouterr().err == "" and ended()


def test_terminal_has_bars_that_vanish_and_the_time_of_what_had_no_share() -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120", "NO_COLOR": "1"},
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            data = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        said += data
    os.close(ours)
    assert process.wait(60) == 0
    text = said.decode()
    assert "short work" not in text
    assert "flying the test" in text and "━" in text  # a bar
    lines = [line.strip() for line in re.split(r"[\r\n]", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text))]
    assert any(re.fullmatch(r"compiling \[the\] model, once: \d+\.\d s", line) for line in lines), lines
    assert "a line of the flight" in lines
    assert text.rindex("\x1b[?25h") > text.rindex("flying the test")  # the cursor is back
