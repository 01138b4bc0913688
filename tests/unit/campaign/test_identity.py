"""The identity of a campaign: which code counts as that of its flights and verdicts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ironbird.campaign import identity

FLIES_AND_JUDGES = """
import json, sys
from ironbird.flight.flight import fly
order = {"control": "truth", "mission": "hover", "until_s": 0.1, "ends": "time"}
flight = fly("quad_f450", **order, requirements=["always (tilt < 1 rad)"])
assert flight.verdict
print(json.dumps(sorted({name.split(".")[1] for name in sys.modules if name.startswith("ironbird.")})))
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project of one file in each package and module of Ironbird."""
    for path in identity.ROOT.iterdir():
        if path.is_dir():
            (tmp_path / path.name).mkdir()
            (tmp_path / path.name / "code.py").write_text("begun = 1\n")
    monkeypatch.setattr(identity, "ROOT", tmp_path)
    identity.software.cache_clear()
    yield tmp_path
    identity.software.cache_clear()


def changes(package: Path, suffix: str = ".py") -> bool:
    """Whether another line in a package makes other software."""
    identity.software.cache_clear()
    before = identity.software()
    (package / "code").with_suffix(suffix).write_text("begun = 2\n")
    identity.software.cache_clear()
    return identity.software() != before


def test_code_that_flies_or_judges_is_part_of_the_identity(source: Path) -> None:
    """A change of any package that a judged flight loads is another software, so that resuming refuses."""
    done = subprocess.run([sys.executable, "-c", FLIES_AND_JUDGES], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    loaded = [name for name in json.loads(done.stdout.splitlines()[-1]) if (source / name).is_dir()]

    assert {"flight", "requirements", "runtime", "compiler", "blocks"} <= set(loaded)
    assert [name for name in loaded if not changes(source / name)] == []


def test_code_that_only_writes_pages_is_not(source: Path) -> None:
    assert [name for name in identity.OTHERS if changes(source / name)] == []


@pytest.mark.parametrize("suffix", [".c", ".h"])
def test_native_code_counts_too(source: Path, suffix: str) -> None:
    assert changes(source / "compiler", suffix)
