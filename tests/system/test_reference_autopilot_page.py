"""The page of the reference autopilot says what its figures and the navigator say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ironbird.campaign.suite import load_suite
from write_reference_autopilot_page import (
    BENCH,
    FIGURES,
    PAGE,
    flown_transitions,
    flown_wing_transitions,
    page,
    possible,
    transitions,
    wing_transitions,
)


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    """As measured."""
    return dict(json.loads(FIGURES.read_text()))


def test_page_is_up_to_date(figures: dict[str, Any]) -> None:
    assert PAGE.read_text() == page(figures), "run tools/write_reference_autopilot_page.py, with the parts that changed"


def test_sixty_faults_were_flown_and_single_bad_sensors_are_survived(figures: dict[str, Any]) -> None:
    flown = {flight["fault"] for flight in figures["faults"]}
    assert flown == {id.partition("@")[0] for id in BENCH["sixty_faults"]()} and len(flown) >= 60
    counts, flights = figures["sensors"]["counts"], figures["sensors"]["flights"]
    assert (counts.get("completed", 0) + counts.get("landed", 0)) / flights >= 0.95
    common = [flight for flight in figures["faults"] if flight["fault"] in BENCH["sensor_faults"](False)]
    assert len(common) == 33 and all(flight["result"] in ("completed", "landed") for flight in common)


def test_every_failsafe_has_its_transition_out_of_a_mission() -> None:
    found = transitions()
    for after, why in (
        ("return", "failsafe: geofence"), ("return", "failsafe: battery"), ("land", "battery empty"),
        ("descend", "failsafe: gnss"), ("descend", "failsafe: estimator"), ("terminated", "failsafe: attitude"),
    ):  # fmt: skip
        assert why in found["mission", after]
    assert "position valid again" in found["descend", "land"]


def test_every_transition_of_the_chart_is_flown_and_no_other() -> None:
    assert set(flown_transitions()) == {f"{now} to {after}" for now, after in possible()}


def test_every_transition_of_the_wings_is_flown_and_no_other() -> None:
    assert set(flown_wing_transitions()) == {f"{now} to {after}" for now, after in wing_transitions()}


def test_case_of_the_multicopters_that_is_expected_to_fail_says_why_a_real_vehicle_would() -> None:
    for case in load_suite("safety").cases:
        if "multicopter" in case.data["tags"] and case.data["expect"] == "fail":
            assert case.data.get("note"), f"{case.id} is expected to fail and gives no reason"
