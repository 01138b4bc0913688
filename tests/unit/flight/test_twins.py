"""Twins that start where the fault begins show the same as twins that fly from the start beside the flight."""

from __future__ import annotations

import math

import pytest

from ironbird.campaign.batch import fly_all, fly_batch
from ironbird.campaign.case import FlightCase
from ironbird.campaign.suite import load_suite
from ironbird.campaign.verdict import FlightResult
from ironbird.flight.flight import fly
from ironbird.flight.twins import TWIN_S

UNTIL_S = 11.0
SUITE = """schema = 1
[[case]]
id = "two"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 11.0
wind.turbulence_mps = 5.0
[[case.fault]]
id = "rotor.speed_loss@1"
severity = { grid = [0.0, 0.1, 0.9] }
start_s = { grid = [0.0, 1.9997, 2.0, 3.3, 10.9, 20.0] }
[[case.fault]]
id = "rotor.blade_damage@1"
instance = 2
severity = 0.2
start_s = 0.5
when = "altitude > 5"
[[case.require]]
use = "no_crash"
[[case]]
id = "never"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
until_s = 11.0
[[case.fault]]
id = "rotor.speed_loss@1"
when = "altitude > 500"
"""


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> list[FlightCase]:
    path = tmp_path_factory.mktemp("suite") / "two.toml"
    path.write_text(SUITE)
    return load_suite(path).flights()


@pytest.fixture(scope="module")
def results(flights: list[FlightCase]) -> list[FlightResult]:
    return fly_all(flights)


def test_witnesses_are_those_of_whole_twins(flights: list[FlightCase], results: list[FlightResult]) -> None:
    effective = 0
    for case, result in zip(flights, results, strict=True):
        whole = fly(
            case.vehicle, mission=case.mission, wind=case.wind, control=case.control, seed=case.seed,
            faults=case.faults, until_s=case.until_s,
        )  # fmt: skip
        for ours, theirs, injection in zip(result.witnesses, whole.witnesses, case.faults, strict=True):
            reference = theirs.record()
            for key in ("fault", "ordered", "signal", "unit", "effective", "first_s"):
                assert ours[key] == reference[key], (case.id, key)
            effective += theirs.effective
            if injection.start_s + TWIN_S >= UNTIL_S and not injection.when:  # observed to the end, as there
                assert ours == reference
    assert 15 < effective < 2 * len(flights)


def test_a_result_is_the_same_alone_and_in_company(flights: list[FlightCase], results: list[FlightResult]) -> None:
    for case, result in zip(flights, results, strict=True):
        assert fly_all([case])[0].record() == result.record(), case.id


def test_time_in_native_code_counts_the_twins(flights: list[FlightCase]) -> None:
    batch = fly_batch(flights[:18])
    assert 0.0 < batch.kernel_s < batch.wall_s
    assert math.isclose(batch.simulated_s, sum(result.ended_s for result in batch.flights))
