"""docs/robustness.md is what its figures say, they are of the list that is there, and nothing on it is wrong."""

from __future__ import annotations

import json
import re

import measure_coverage
import mutants
from write_robustness_page import MEASURED, PAGE, ROOT, page


def test_the_page_is_what_its_figures_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run tools/write_robustness_page.py"


def test_no_figure_that_is_kept_is_a_bad_one() -> None:
    figures = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in MEASURED.glob("*.json")}

    for name in {"power_cuts.json", "database_kills.json"} & set(figures):
        assert [figures[name][kind] for kind in ("lost", "double", "changed")] == [0, 0, 0], name
    if found := figures.get("mutants.json"):
        limits = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
        left = [entry["id"] for entry in found["not_killed"] if entry["outcome"] != "equivalent"]
        assert not [name for name in left if f"`{name}`" not in limits]  # what survives is a limit that is named
        assert found["killed"] + found["equivalent"] + len(left) == found["entries"] >= 600
        # Entries may have been added since; a record of half the list would prove little
        assert found["entries"] >= 0.9 * len(mutants.load())
    if found := figures.get("generated_mutants.json"):
        outcomes = [row["outcome"] for row in found["mutants"]]
        assert [outcomes.count(kind) for kind in ("killed", "survived", "equivalent")] == [
            found["killed"], found["survived"], found["equivalent"],
        ]  # fmt: skip
        assert found["unexplained"] == 0 and found["survived"] <= 0.05 * len(outcomes)
    if found := figures.get("sanitize.json"):
        assert (found["different"], found["reports"]) == (0, 0)
    if found := figures.get("coverage.json"):
        for language, ends in {"Python": (".py",), "C": (".c", ".h")}.items():
            counts = {name: row for name, row in found["files"].items() if name.endswith(ends)}
            assert found["totals"][language] == measure_coverage.total(counts)


def test_tests_that_the_page_names_exist() -> None:
    named = set(re.findall(r"`(tests/[\w/]+\.py)`", PAGE.read_text(encoding="utf-8")))

    assert len(named) >= 5
    assert all((ROOT / path).is_file() for path in named)
