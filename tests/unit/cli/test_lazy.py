"""Verbs are loaded when they are asked for."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from ironbird.cli.main import app

HEAVY = ("numpy", "casadi", "pydantic", "pyarrow", "pandas", "urllib.request")
LOADED = f"""
import sys
from ironbird.cli.main import main
try:
    main()
except SystemExit as end:
    print(end.code, [name for name in {HEAVY!r} if name in sys.modules], "ironbird.cli.campaign" in sys.modules)
"""


@pytest.mark.parametrize(
    ("words", "all_verbs"), [(["--help"], False), (["fly", "--help"], False), (["campaign", "--help"], True)]
)
def test_help_loads_nothing_heavy(words: list[str], all_verbs: bool) -> None:
    command = [sys.executable, "-c", LOADED, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "COLUMNS": "100"})
    *helped, last = done.stdout.splitlines()
    assert last == f"0 [] {all_verbs}", done.stderr
    assert any("Usage" in line for line in helped)


def test_options_that_were_not_given_keep_their_defaults() -> None:
    done = CliRunner().invoke(app, ["vehicle", "trim", "quad_f450", "--json"])
    assert done.exit_code == 0, done.output
    wrong = CliRunner().invoke(app, ["fly", "quad_f450", "--until", "soon"])
    assert wrong.exit_code == 2 and "--until" in wrong.output
