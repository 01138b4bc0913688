"""Every example runs and leaves what it promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LONG = {"ppo_hover", "train_waypoint"}  # tests/long runs the first; the other needs torch (extra `learn`)
EXAMPLES = sorted(p for p in (Path(__file__).parents[2] / "examples").glob("*.py") if p.stem not in LONG)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_names_its_page(example: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    pages = list((tmp_path / "out").rglob("*.html"))
    assert pages and any(page.name in done.stdout for page in pages)
