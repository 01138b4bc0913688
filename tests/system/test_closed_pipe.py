"""A reader that closes early (`ironbird faults | head -1`) ends the command without a word."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ironbird.cli.exit_codes import NOBODY_READS


@pytest.mark.parametrize(
    "arguments",
    [["fault", "list"], ["fault", "list", "--json"], ["vehicle", "list"], ["vehicle", "show", "quad_f450"]],
    ids=" ".join,
)
def test_a_reader_that_is_gone_is_no_error(tmp_path: Path, arguments: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)  # as early as can be: the first byte finds nobody
    done = subprocess.run(
        [sys.executable, "-m", "ironbird.cli", *arguments],
        cwd=tmp_path,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(write)

    assert (done.returncode, done.stderr) == (NOBODY_READS, "")


@pytest.mark.parametrize("verb", ["fault list", "vehicle show quad_f450"])
def test_head_gets_its_line(tmp_path: Path, verb: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m ironbird.cli {verb} | head -1"], cwd=tmp_path, capture_output=True, text=True
    )

    assert len(done.stdout.splitlines()) == 1
    others = [line for line in done.stderr.splitlines() if not line.startswith("drawing the diagram")]  # if it is slow
    assert (done.returncode, others) == (0, [])
