"""The page of measured flights with real autopilots says what its figures say."""

from __future__ import annotations

import json

import pytest

from ironbird.campaign.suite import load_suite
from write_autopilots_page import AUTOPILOTS, FIGURES, PAGE, SEEDS, page


@pytest.fixture(scope="module")
def figures() -> dict[str, object]:
    """As measured."""
    return json.loads(FIGURES.read_text())


def test_page_is_up_to_date(figures: dict[str, object]) -> None:
    assert PAGE.read_text() == page(figures), "run tools/write_autopilots_page.py with the parts that changed"


def test_all_that_the_page_speaks_of_was_flown(figures: dict[str, list[dict[str, object]]]) -> None:
    assert {(row["autopilot"], row["seed"]) for row in figures["square"]} == {(a, s) for a in AUTOPILOTS for s in SEEDS}
    flown = {(row["case"], row["autopilot"]) for row in figures["faults"]}
    assert flown == {(case.case_id, case.control) for case in load_suite("autopilots").flights()}
