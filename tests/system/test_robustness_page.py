"""docs/robustness.md is what its figures say, they are of the list that is there, and nothing on it is wrong."""

from __future__ import annotations

import json
import re

import mutants
from write_robustness_page import MEASURED, PAGE, ROOT, page


def test_the_page_is_what_its_figures_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run tools/write_robustness_page.py"


def test_the_last_whole_run_of_mutants_left_none() -> None:
    found = json.loads((MEASURED / "mutants.json").read_text(encoding="utf-8"))

    assert found["killed"] + found["equivalent"] == found["entries"] >= 600
    # Entries may have been added since; a record of half the list would prove little
    assert found["entries"] >= 0.9 * len(mutants.load())


def test_nothing_was_lost_doubled_or_changed() -> None:
    for name in ("power_cuts.json", "database_kills.json"):
        figures = json.loads((MEASURED / name).read_text(encoding="utf-8"))
        assert (figures["lost"], figures["double"], figures["changed"]) == (0, 0, 0), name


def test_tests_that_the_page_names_exist() -> None:
    named = set(re.findall(r"`(tests/[\w/]+\.py)`", PAGE.read_text(encoding="utf-8")))

    assert len(named) >= 5
    assert all((ROOT / path).is_file() for path in named)
