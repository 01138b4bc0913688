"""`ironbird bench` without its reference."""

from __future__ import annotations

import sys

import pytest
from typer.testing import CliRunner

from ironbird.cli.main import app


def test_a_missing_jsbsim_is_told_at_once_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsbsim", None)

    result = CliRunner().invoke(app, ["bench", "kernel", "--quick"])

    assert result.exit_code == 2
    assert result.output == "error: bench needs jsbsim as the reference: pip install 'ironbird[dev]'\n"
