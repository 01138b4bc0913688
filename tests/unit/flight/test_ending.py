"""How a flight ended for the vehicle, from its true height, its stop and what its autopilot said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ironbird.flight.ending import ending_of
from ironbird.flight.flight import Flight, fly
from ironbird.rig.system import AutopilotEvent
from ironbird.runtime.state import Stop

ARMED, DISARMED = AutopilotEvent(1.0, "armed", "armed"), AutopilotEvent(4.0, "armed", "disarmed")
FINISHED = AutopilotEvent(4.0, "finished", "landed and disarmed")


@pytest.fixture(scope="module")
def climbing() -> Flight:
    return fly("quad_f450", control="truth", mission="hover", until_s=4.0)


@pytest.fixture(scope="module")
def standing() -> Flight:
    return fly("quad_f450", control="truth", mission="hover", until_s=0.5)


@pytest.mark.parametrize(
    ("said", "ending"),
    [
        ([], "still flying"),
        ([ARMED], "still flying"),
        ([ARMED, DISARMED], "disarmed"),
        ([ARMED, DISARMED, AutopilotEvent(4.1, "armed", "armed")], "still flying"),
        ([ARMED, DISARMED, FINISHED], "landed"),
    ],
)
def test_in_the_air_its_autopilot_says_whether_it_still_flies(
    climbing: Flight, said: list[AutopilotEvent], ending: str
) -> None:
    assert ending_of(replace(climbing, autopilot_events=said)) == ending


def test_a_vehicle_that_never_left_the_ground_was_never_airborne_though_it_was_armed(standing: Flight) -> None:
    assert ending_of(replace(standing, autopilot_events=[ARMED, DISARMED])) == "never airborne"


def test_a_crash_is_a_crash_whatever_the_autopilot_says(climbing: Flight) -> None:
    log = replace(climbing.log, stops=[Stop(4.0, "hard landing")])
    crashed = replace(climbing, log=log, autopilot_events=[ARMED, DISARMED, FINISHED])
    assert ending_of(crashed) == "crashed"


@pytest.mark.parametrize(
    ("heights", "ending"),
    [
        ([10.0, 11.0, 11.0], "still flying"),
        ([10.0, 11.0, 10.1], "landed"),
        ([10.0, 10.1, 10.1], "never airborne"),
        ([10.0, 9.0, 10.0], "never airborne"),
        ([], "never airborne"),
    ],
)
def test_heights_are_above_the_first_row(
    climbing: Flight, monkeypatch: pytest.MonkeyPatch, heights: list[float], ending: str
) -> None:
    """A start that lies high is no flight, and the row of the start is the one from which it counts."""
    monkeypatch.setattr("ironbird.flight.ending.derived", lambda log, name: np.array(heights))
    assert ending_of(replace(climbing, autopilot_events=[ARMED])) == ending
