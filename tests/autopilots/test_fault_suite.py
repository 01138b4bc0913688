"""The shipped suite `autopilots`: the same faults under the real PX4 and ArduPilot, witnessed, with their reactions."""

from __future__ import annotations

import os

import pytest

from ironbird.campaign.batch import fly_batch
from ironbird.campaign.case import FlightCase
from ironbird.campaign.result import FlightResult
from ironbird.campaign.suite import load_suite

VARIABLES = {"px4": "IRONBIRD_PX4", "ardupilot": "IRONBIRD_ARDUPILOT"}
CASES = {f"{case.case_id}-{case.control}": case for case in load_suite("autopilots").flights()}
pytestmark = pytest.mark.autopilot


def flown(name: str) -> tuple[FlightCase, FlightResult]:
    """One flight of the suite."""
    case = CASES[name]
    if not os.environ.get(VARIABLES[case.control]):
        pytest.skip(f"{VARIABLES[case.control]} names no {case.control}")
    return case, fly_batch([case]).flights[0]


@pytest.mark.parametrize("name", sorted(CASES))
def test_each_fault_acts_and_the_flight_is_judged(name: str) -> None:
    case, result = flown(name)
    assert result.verdict in ("pass", "fail"), result.sentence  # neither void nor an error of the rig
    for witness in result.witnesses:
        assert witness["first_s"] > 5.0, result.sentence
    if not case.faults:
        assert result.verdict == "pass", result.sentence


# What each does first, by its own parameters: kinds of reactions, and the longest time to the first of them
EXPECTED = {
    "gnss-lost-px4": ({"estimator"}, 10.0),
    "gnss-lost-ardupilot": ({"mode", "failsafe", "estimator"}, 10.0),
    "gyro-stuck-ardupilot": ({"failsafe"}, 5.0),
    "battery-empty-px4": ({"failsafe", "mode", "text"}, 15.0),
    "battery-empty-ardupilot": ({"failsafe", "mode"}, 15.0),
}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_autopilots_reactions_are_recorded_against_the_faults_start(name: str) -> None:
    kinds, longest_s = EXPECTED[name]
    _, result = flown(name)
    found = {text.partition(":")[0]: text for text in result.reactions}
    assert kinds <= set(found), result.reactions
    first_s = min(float(text.rpartition(" s after")[0].rpartition(" ")[2]) for text in found.values())
    assert 0.0 <= first_s < longest_s, result.reactions
