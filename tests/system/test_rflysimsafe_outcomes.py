"""The 29 published cases of RFlySimSafe on the same vehicle parameters: what agrees, and what is explained."""

import pytest

from ironbird.campaign.imports.rflysimsafe_published import CRASHES
from rflysimsafe_outcomes import Comparison, compare_all
from write_rflysimsafe_page import PAGE, page

MOTOR = ("ST002", "ST003", "ST004", "ST005")  # how a vehicle falls with a lost motor is the control system's doing


@pytest.fixture(scope="module")
def rows() -> list[Comparison]:
    return compare_all()


def test_at_least_26_outcomes_agree(rows: list[Comparison]) -> None:
    assert len(rows) == 29
    assert sum(row.agrees for row in rows) >= 26


def test_impact_speeds_of_power_and_battery_cases_are_within_a_tenth(rows: list[Comparison]) -> None:
    for row in rows:
        if row.published.crashed and row.case not in MOTOR:
            assert row.outcome == CRASHES and row.impact_within is not None and row.impact_within <= 0.1, row.case


def test_every_difference_is_explained(rows: list[Comparison]) -> None:
    for row in rows:
        differs = not row.agrees or (row.impact_within or 0.0) > 0.1
        assert not differs or row.published.reason, row.case


def test_every_fault_acted(rows: list[Comparison]) -> None:
    for row in rows:
        assert row.ours.witnesses and all(witness["effective"] for witness in row.ours.witnesses), row.case


def test_page_is_up_to_date(rows: list[Comparison]) -> None:
    assert PAGE.read_text() == page(rows), "run make docs"
