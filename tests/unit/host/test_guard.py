"""The guard of an autopilot: it keeps a flood of output short and cleans up after a killed simulator."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from ironbird.host import guard
from ironbird.host.guard import KEPT_CONSOLE, MOST_CONSOLE, shorten


def test_a_short_output_stays_as_it_is(tmp_path: Path) -> None:
    console = tmp_path / "console.txt"
    console.write_bytes(b"x" * MOST_CONSOLE)
    assert shorten(console) == 0 and console.stat().st_size == MOST_CONSOLE
    assert shorten(tmp_path / "missing.txt", 7) == 7


def test_of_a_flood_the_beginning_and_the_end_stay_and_the_program_goes_on_behind_it(tmp_path: Path) -> None:
    console = tmp_path / "console.txt"
    with console.open("ab") as program:
        program.write(b"first words\n" + b"x" * (MOST_CONSOLE + 5) + b"\nlast words")
        program.flush()
        whole = program.tell()
        left_out = shorten(console)
        assert left_out == whole - 2 * KEPT_CONSOLE
        program.write(b", and more")
    text = console.read_bytes()
    assert len(text) < 2 * KEPT_CONSOLE + 200
    assert text.startswith(b"first words\n") and text.endswith(b"last words, and more")
    assert b"some %d bytes of output are left out here" % left_out in text


@pytest.mark.clock
def test_the_running_guard_cuts_a_flood_and_removes_the_folder_at_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    console = folder / "console.txt"
    console.write_bytes(b"x" * (MOST_CONSOLE + 1))
    with subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, str(folder)], stdin=subprocess.PIPE, cwd="/"
    ) as process:
        assert process.stdin is not None
        process.stdin.write(f"{guard.CONSOLE}{console}\n".encode())
        process.stdin.flush()
        deadline = time.monotonic() + 60.0
        while console.stat().st_size > MOST_CONSOLE and time.monotonic() < deadline:
            time.sleep(0.05)
        assert console.stat().st_size < 2 * KEPT_CONSOLE + 200
        process.stdin.close()
        process.wait(60.0)
    assert not folder.exists()
