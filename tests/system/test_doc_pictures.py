"""Every picture of the documents is there, is shown by a page, and is made by a script that is called."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import write_pictures

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ENDINGS = (".png", ".svg", ".jpg", ".jpeg", ".gif", ".webp")
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)|<img[^>]+src=\"([^\"]+)\"")


def shown() -> set[str]:
    """Pictures that a page shows or links to, by their path below docs/."""
    found = set()
    for page in PAGES:
        for target in (a or b for a, b in LINK.findall(page.read_text(encoding="utf-8"))):
            if target.endswith(ENDINGS) and "://" not in target:
                found.add((page.parent / target).resolve().relative_to(DOCS).as_posix())
    return found


def there() -> set[str]:
    """Pictures of docs/."""
    return {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*") if path.suffix in ENDINGS}


def test_every_picture_is_there_and_shown() -> None:
    assert shown() - there() == set()
    assert there() - shown() == set()


def test_every_picture_has_a_writer() -> None:
    assert [path for path in sorted(there()) if not write_pictures.writer_of(path)] == []
    assert set(write_pictures.PICTURES) <= there()


def test_the_writers_are_scripts_that_are_called() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    docs = makefile.partition("\ndocs: setup\n")[2].partition("\n\n")[0]
    for script in ("tools/write_pictures.py", write_pictures.WRITERS["vehicles"]):
        assert f"$(BIN)/python {script}\n" in f"{docs}\n"
    findings = ROOT / write_pictures.WRITERS["findings"]  # hours with PX4 and ArduPilot: its page names it
    assert findings.is_file() and findings.name in (DOCS / "findings.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", write_pictures.LOOKS)
def test_a_look_into_a_world_is_the_picture_of_the_guide(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.png"
    write_pictures.world(path)
    assert path.read_bytes() == (DOCS / "pictures" / "worlds" / path.name).read_bytes(), "run 'make docs'"


def test_the_diagram_and_the_four_sensors_are_those_of_the_pages(tmp_path: Path) -> None:
    write_pictures.diagram(tmp_path / "quad_f450.svg")
    assert (tmp_path / "quad_f450.svg").read_text() == (DOCS / "pictures" / "quad_f450.svg").read_text(), (
        "run 'make docs'"
    )
    write_pictures.sensors(tmp_path / "sensors.png")
    here, page = tmp_path / "sensors.png", DOCS / "pictures" / "worlds" / "sensors.png"
    assert here.read_bytes() == page.read_bytes(), "run 'make docs'"


def test_the_suite_of_the_picture_of_a_report_is_a_suite(tmp_path: Path) -> None:
    from ironbird.campaign.suite import check, load_suite

    (tmp_path / "acceptance.toml").write_text(write_pictures.SUITE)
    assert tomllib.loads(write_pictures.SUITE)["suite"]["id"] == "acceptance"
    assert check(tmp_path / "acceptance.toml") == []
    assert load_suite(tmp_path / "acceptance.toml").count() == 69
