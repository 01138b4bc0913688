"""Fragments of changelog/ become the section of a release; wrong ones are refused; one version everywhere."""

from __future__ import annotations

import datetime
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import build_changelog
import ironbird
from build_changelog import ChangelogError, load, main, release

ROOT = Path(__file__).parents[2]
DAY = datetime.date(2026, 12, 1)
OLD = "# Changelog\n\n<!-- releases -->\n\n## 0.2.0 (2026-11-18)\n\n- before\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "changelog").mkdir()
    (tmp_path / "changelog" / "README.md").write_text("how to write one\n")
    (tmp_path / "CHANGELOG.md").write_text(OLD)
    return tmp_path


def put(project: Path, name: str, text: str) -> None:
    (project / "changelog" / name).write_text(text)


def test_fragments_become_a_section_above_the_older_ones_and_are_removed(project: Path) -> None:
    put(project, "shrink.fixed.md", "`campaign shrink` ends.\n")
    put(project, "wheels.added.md", "Wheels\nwith brakes.\n")
    put(project, "drag.numbers.md", "Drag is 2 % larger: a wrong area.")

    release(project, "0.3.0", DAY)

    assert (project / "CHANGELOG.md").read_text() == (
        "# Changelog\n\n<!-- releases -->\n\n## 0.3.0 (2026-12-01)\n\n"
        "### Added\n\n- Wheels\n  with brakes.\n\n"
        "### Fixed\n\n- `campaign shrink` ends.\n\n"
        "### Numbers change\n\n- Drag is 2 % larger: a wrong area.\n\n"
        "## 0.2.0 (2026-11-18)\n\n- before\n"
    )
    assert [path.name for path in (project / "changelog").iterdir()] == ["README.md"]


def test_a_draft_changes_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(project, "wheels.added.md", "Wheels.")

    assert main(["0.3.0", "--date", "2026-12-01", "--draft", "--root", str(project)]) == 0

    assert capsys.readouterr().out.startswith("## 0.3.0 (2026-12-01)\n\n### Added\n\n- Wheels.")
    assert (project / "CHANGELOG.md").read_text() == OLD
    assert (project / "changelog" / "wheels.added.md").exists()


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("wheels.new.md", "Wheels.", "wheels.new.md: not NAME.TYPE.md with TYPE one of added, changed"),
        ("Wheels.added.md", "Wheels.", "not NAME.TYPE.md"),
        ("wheels.added.rst", "Wheels.", "not NAME.TYPE.md"),
        ("wheels.added.md", "", "not one paragraph"),
        ("wheels.added.md", "- Wheels.", "without bullet"),
        ("wheels.added.md", "Wheels.\n\nBrakes.", "not one paragraph"),
    ],
)
def test_a_wrong_fragment_is_refused_and_nothing_is_written(project: Path, name: str, text: str, reason: str) -> None:
    put(project, name, text)
    put(project, "good.added.md", "Good.")

    with pytest.raises(ChangelogError, match=re.escape(reason)):
        release(project, "0.3.0", DAY)

    assert (project / "CHANGELOG.md").read_text() == OLD
    assert (project / "changelog" / "good.added.md").exists()


def test_a_release_needs_fragments_a_version_and_must_be_new(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ChangelogError, match="no fragments"):
        release(project, "0.3.0", DAY)
    put(project, "wheels.added.md", "Wheels.")
    with pytest.raises(ChangelogError, match="'next' is no version"):
        release(project, "next", DAY)
    assert main(["0.2.0", "--root", str(project)]) == 2
    assert "has a section 0.2.0 already" in capsys.readouterr().err
    (project / "CHANGELOG.md").write_text("# Changelog\n")
    with pytest.raises(ChangelogError, match="must have the line"):
        release(project, "0.3.0", DAY)


def test_fragments_of_the_project_are_right_and_their_links_lead_somewhere() -> None:
    for fragment in load(ROOT / "changelog"):
        for target in re.findall(r"\]\(([^)\s#]+)", fragment.text):
            assert "://" in target or (ROOT / target).exists(), f"{fragment.path.name} links to {target}"
    assert (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").count(build_changelog.MARK) == 1


def test_the_version_is_the_same_everywhere_and_has_a_section() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

    assert ironbird.__version__ == version
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == version
    sections = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sections[0] == version
