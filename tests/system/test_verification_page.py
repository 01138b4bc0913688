"""docs/verification.md is what its command writes, and names tests that exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "verification.md"


def test_committed_page_is_what_the_command_writes(tmp_path: Path) -> None:
    out = tmp_path / "verification.md"
    command = [sys.executable, str(ROOT / "tools" / "write_verification.py"), "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)

    assert PAGE.read_text(encoding="utf-8") == out.read_text(encoding="utf-8"), "run `make docs` and look at the change"


def test_tests_that_the_page_names_exist() -> None:
    named = set(re.findall(r"`(tests/[\w/]+\.py)`", PAGE.read_text(encoding="utf-8")))

    assert len(named) > 10
    for path in named:
        assert (ROOT / path).is_file(), path


def test_nothing_on_the_page_is_outside() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert "**no**" not in text
    assert text.count("| yes |") > 90
