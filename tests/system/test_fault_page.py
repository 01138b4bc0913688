"""The pages of faults are what their command writes, and name every fault and every case of RFlySimSafe."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ironbird.faults.catalog import FAULTS
from ironbird.faults.rflysimsafe import CASES, MAP_A

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "faults.md"
OTHERS = PAGE.with_name("rflysimsafe-faults.md")


def test_committed_page_is_what_the_command_writes(tmp_path: Path) -> None:
    out = tmp_path / "faults.md"
    command = [sys.executable, str(ROOT / "tools" / "write_fault_page.py"), "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)

    for page in (PAGE, OTHERS):
        written = out.with_name(page.name).read_text(encoding="utf-8")
        assert page.read_text(encoding="utf-8") == written, "run `make docs` and look at the change"


def test_the_page_names_every_fault_and_every_case() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()

    for fault in FAULTS.values():
        (row,) = [line for line in lines if line.startswith(f"| `{fault.id}` |")]
        for text in (fault.summary, fault.severity, fault.witness, fault.reference):
            assert text in row, fault.id
    lines = OTHERS.read_text(encoding="utf-8").splitlines()
    for key in (*map(str, MAP_A), *CASES):
        assert sum(line.startswith(f"| {key} |") for line in lines) == 1, key


def test_every_table_is_whole() -> None:
    """All rows of a table have as many cells as its head."""
    width = 0
    for line in [line for page in (PAGE, OTHERS) for line in page.read_text(encoding="utf-8").splitlines()]:
        cells = line.replace("\\|", "").count("|") if line.startswith("|") else 0
        assert not (width and cells) or cells == width, line
        width = cells
