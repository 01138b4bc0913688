"""The guide's code runs; generated pages are up to date; links lead somewhere."""

from __future__ import annotations

import functools
import importlib.util
import re
import unicodedata
from pathlib import Path

import pytest
import yaml

import site_hooks
from extension_points import EXTENSION_POINTS

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
GUIDES = sorted((ROOT / "docs" / "guide").glob("*.md"))


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_the_code_of_a_guide_runs(guide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": guide.stem}
    blocks = re.findall(r"```python\n(.*?)```", guide.read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, str(guide.name), "exec"), names)


TUTORIALS = {"first-case", "first-hour", "own-quadcopter"}  # a way through, whose subjects have guides with limits


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_a_guide_ends_with_its_limits(guide: Path) -> None:
    text = re.sub(r"^```.*?^```", "", guide.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    if guide.stem in TUTORIALS:
        assert "Limits" not in headings
    else:
        assert headings[-1] == "Limits" and headings.count("Limits") == 1
        assert text.partition("\n## Limits\n")[2].count("\n- ") >= 1


def imported(text: str) -> set[str]:
    """Modules below `ironbird` that the Python code of a page imports, also code within texts."""
    found = set()
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        for module, names in re.findall(r"^\s*from (ironbird[\w.]*) import ([^\n]*)", block, re.M):
            below = [name.split()[0] for name in re.split(r"[,()]\s*", names.partition("#")[0]) if name.strip()]
            found |= {f"{module}.{name}" for name in below}
        found |= set(re.findall(r"^\s*import (ironbird\.[\w.]+)", block, re.M))
    return found


def points_of(modules: set[str]) -> dict[str, str]:
    """The extension point of each module; empty if it is none."""
    return {
        module: next((point for point in EXTENSION_POINTS if module == point or module.startswith(f"{point}.")), "")
        for module in modules
    }


@pytest.mark.parametrize("page", [ROOT / "README.md", *GUIDES], ids=lambda path: path.stem)
def test_a_guide_imports_public_names_and_extension_points_alone(page: Path) -> None:
    inside = [module for module, point in points_of(imported(page.read_text())).items() if not point]
    assert not inside, f"{page.name} imports {inside}: take a name of ib., or add an extension point"


def test_every_extension_point_is_there_and_almost_all_are_used_by_guides() -> None:
    used = {point for page in GUIDES for point in points_of(imported(page.read_text())).values()}
    others = {"ironbird.credibility", "ironbird.dataset", "ironbird.model", "ironbird.rig.system"}
    assert set(EXTENSION_POINTS) - used == others
    for module in EXTENSION_POINTS:
        assert importlib.util.find_spec(module) is not None


def test_imports_of_a_page_are_found() -> None:
    text = (
        '```python\nfrom ironbird.a import b, c as d  # e\nimport ironbird.f\nx = """\n  from ironbird.g import h\n```'
    )
    assert imported(text) == {"ironbird.a.b", "ironbird.a.c", "ironbird.f", "ironbird.g.h"}
    assert points_of({"ironbird.world.rays", "ironbird.worlds"}) == {
        "ironbird.world.rays": "ironbird.world",
        "ironbird.worlds": "",
    }


@functools.cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as the site and GitHub make them."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M), re.M):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
        slug = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())
        found.add(slug if slug not in found else f"{slug}_{sum(a.startswith(slug) for a in found)}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        place, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        path = page.parent / place if place else page
        assert path.exists(), f"{page.name} links to {target}"
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path), f"{page.name} links to {target}, which has no such heading"


def test_the_navigation_of_the_site_has_every_page_once() -> None:
    nav = site_hooks.full_nav(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    named = list(site_hooks.named_pages(nav))
    assert sorted(named) == site_hooks.pages()


def test_links_of_the_site_stay_within_it() -> None:
    text = "[a](docs/speed.md#x) [b](src/ironbird/errors.py) [c](KNOWN_GAPS.md)\n```\n[d](e)\n```\n"
    assert site_hooks.with_links_of_the_site(text, "index.md") == (
        "[a](speed.md#x) b [c](known-gaps.md)\n```\n[d](e)\n```\n"
    )
    up = "[a](../../README.md) [b](../../tests/unit) ![p](../pictures/flight.png)"
    assert site_hooks.with_links_of_the_site(up, "guide/first-hour.md") == (
        "[a](../index.md) b ![p](../pictures/flight.png)"
    )
    with pytest.raises(ValueError, match=r"README.md links to nothing.md, which does not exist"):
        site_hooks.with_links_of_the_site("[a](nothing.md)", "index.md")


def test_the_index_of_decision_records_lists_each_with_its_title_state_and_date() -> None:
    folder = ROOT / "docs" / "adr"
    index = (folder / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| \[(.+)\]\((\S+\.md)\) \| (.+) \| ([\d-]+) \| (.+) \|$", index, re.MULTILINE)

    records = sorted(folder.glob("[0-9]*.md"))
    assert [row[2] for row in rows] == [path.name for path in records]
    for (number, title, _, state, date, sentence), path in zip(rows, records, strict=True):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert lines[0] == f"# {number}. {title}"
        assert int(number) == int(path.name[:4])
        assert lines[2].startswith(f"State: {state}. Date: {date}.")
        assert re.fullmatch(r"(accepted|superseded by \S+)(, amended by .+)?", state)
        assert sentence.endswith(".")
    unused = set(range(1, int(rows[-1][0]))) - {int(row[0]) for row in rows}
    assert all(f"| {number} | number not used |" in index for number in unused)


def test_the_block_reference_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import write_block_reference

    pages = write_block_reference.pages()
    assert len(pages) == len(write_block_reference.blocks())  # each block has a name of its own
    assert write_block_reference.INDEX.read_text(encoding="utf-8") == write_block_reference.index(), "run 'make docs'"
    assert {path.name for path in write_block_reference.PAGES.iterdir()} == set(pages), "run 'make docs'"
    for name, text in pages.items():
        assert (write_block_reference.PAGES / name).read_text(encoding="utf-8") == text, "run 'make docs'"
    lines = {kind.__name__: len(write_block_reference.lines_of(kind)) for _, kind in write_block_reference.blocks()}
    without = {name for name, number in lines.items() if not 0 < number <= write_block_reference.MOST}
    names = {
        "CommandLatch",
        "ExternalWind",
        "WindSteady",
        "PoseSample",
        "ThrustSample",
        "MeanRotorSpeed",
    }  # an output is an input or state
    assert without - names <= {"ErrorStateEkf"} | {name for name in lines if name.endswith("Navigator")}
