"""Every shell command of README.md and of the guides is executed and ends as the page says: see doc_runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from doc_runs import (
    ENDS_WITH,
    NOT_RUN,
    PAGES,
    ROOT,
    RUNS_AS,
    SAYS,
    SERVERS,
    Command,
    Shell,
    blocks,
    check_page,
    commands_of,
    files_of,
    run_command,
)

from ironbird.faults.catalog import FAULTS
from ironbird.vehicles.names import vehicle_ids


@pytest.mark.limit(1800)  # up to twenty commands, which take up to 40 s on a quiet machine
@pytest.mark.parametrize(
    "page", [page for page in PAGES if commands_of(page.read_text(encoding="utf-8"))], ids=lambda page: page.stem
)
def test_the_commands_of_a_page_end_as_it_says(page: Path, tmp_path: Path) -> None:
    check_page(page, tmp_path)


@pytest.mark.parametrize(
    "found", [NOT_RUN, RUNS_AS, ENDS_WITH, SERVERS, SAYS], ids=["NOT_RUN", "RUNS_AS", "ENDS_WITH", "SERVERS", "SAYS"]
)
def test_the_tables_speak_of_commands_that_are_there(found: dict[str, Any]) -> None:
    there = [f"{p.stem}: {c}" for p in PAGES for c in commands_of(p.read_text(encoding="utf-8"))]
    assert [key for key in found if not any(command.startswith(key) for command in there)] == []


def test_no_command_hides_from_this_test() -> None:
    """Commands stand in blocks of a shell, not indented and not without a language."""
    hidden = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        hidden += [
            f"{page.stem}: {block[:80]}" for language, block in blocks(text) if not language and "ironbird " in block
        ]
        outside = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
        hidden += [f"{page.stem}: {line}" for line in re.findall(r"^(?: {4}|\t)ironbird .*$", outside, re.MULTILINE)]
    assert hidden == []


def test_the_counts_of_the_tour_are_those_of_the_program() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert {int(number) for number in re.findall(r"(\d+) vehicles", text)} == {len(vehicle_ids())}
    assert {int(number) for number in re.findall(r"(\d+) faults", text)} == {len(FAULTS)}


def test_a_page_is_read_as_a_reader_reads_it() -> None:
    text = """
```sh
ironbird fly 'a # b' \\
    --until 3   # exit code 1: it crashes

export A=b
```
```toml
# own.toml
schema = 1
```
A table, `t.csv`:

```csv
a,b
```
```python
text = "x"
Path("x.txt").write_text(text)
Path("y.txt").write_text(text.upper())
```
"""
    assert commands_of(text) == [Command("ironbird fly 'a # b' --until 3", 1), Command("export A=b", 0)]
    assert files_of(text) == {"own.toml": "# own.toml\nschema = 1\n", "x.txt": "x", "t.csv": "a,b\n"}


def test_a_command_that_ends_otherwise_is_seen(tmp_path: Path) -> None:
    shell = Shell("a page", tmp_path)
    assert [*run_command("a page", Command("exit 0", 0), shell)] == []
    assert "exit code 3, not 0" in next(run_command("a page", Command("exit 3", 0), shell))
    said = [*run_command("README", Command("ironbird repeat", 2), shell)]
    assert len(said) == 1 and "does not say" in said[0]
