"""Scenarios in cases: varied, judged between vehicles, stored and flown again to the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironbird.campaign.batch import fly_all, fly_batch, group_key, lanes_that_fit
from ironbird.campaign.case import FlightCase
from ironbird.campaign.suite import check, load_suite

PAIR = """
schema = 1
world = "field"
until_s = 8.0
log_s = 0.05
[[vehicle]]
name = "one"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
fault = ["rotor.speed_loss@1:instance=1,severity=$loss,start=4"]
[[vehicle]]
name = "two"
vehicle = "quad_f450"
control = "truth"
mission = "hover"
north_m = "$behind"
"""
SUITE = """
schema = 1
[suite]
id = "pairs"
[[case]]
id = "pair"
scenario = "pair.toml"
seeds = [1, 2]
until_s = 6.0
[case.vary]
behind = { grid = [-4.0, -2.0] }
loss = 0.1
[[case.require]]
name = "apart"
formula = "always (distance(one, two) > 3 m)"
severity = "minor"
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "pair.toml").write_text(PAIR)
    (tmp_path / "suite.toml").write_text(SUITE)
    return tmp_path / "suite.toml"


def test_a_case_varies_a_scenario_and_judges_what_is_between_its_vehicles(suite: Path) -> None:
    flights = load_suite(suite).flights()
    assert [(flight.id, flight.values) for flight in flights] == [
        ("pair/0001/s1", {"behind": -4.0}), ("pair/0001/s2", {"behind": -4.0}),
        ("pair/0002/s1", {"behind": -2.0}), ("pair/0002/s2", {"behind": -2.0}),
    ]  # fmt: skip
    assert len({flight.digest() for flight in flights}) == 4 and lanes_that_fit(flights[:1]) == 1
    assert len({group_key(flight) for flight in flights}) == 4
    near, far = fly_all([flights[2], flights[0]], threads=1)
    assert (far.verdict, near.verdict) == ("pass", "fail")
    assert far.ended_s == pytest.approx(6.0)
    assert "apart: distance(one, two) was" in near.sentence and near.margin < 0 < far.margin
    judged = next(judgement for judgement in near.judgements if judgement.name == "apart")
    assert judged.severity == "minor" and not judged.holds
    assert [witness["effective"] for witness in near.witnesses] == [True]
    assert str(near.witnesses[0]["fault"]).startswith("one: rotor.speed_loss@1")


def test_a_flight_repeats_from_its_record_and_from_its_file(suite: Path, tmp_path: Path) -> None:
    flight = load_suite(suite).flights()[0]
    assert FlightCase.from_record(flight.record()) == flight
    (tmp_path / "pair.toml").unlink()  # a flight holds all of its scenario
    again = tmp_path / "again" / "case.toml"
    again.parent.mkdir()
    again.write_text(flight.to_toml())
    (read,) = load_suite(again).flights()
    assert read.digest() == flight.digest()
    first, second = (fly_batch([one], threads=workers).flights[0] for one, workers in ((flight, 1), (read, 2)))
    assert first.sha256 == second.sha256 and first.verdict == "pass"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("pair.toml", "pear.toml", "pear.toml"),
        ("loss = 0.1\n", "", "add loss = … to [case.vary]"),
        ("loss = 0.1\n", "loss = 0.1\nmore = 1.0\n", "nothing uses the shared parameter 'more'"),
        ("loss = 0.1\n", "loss = 7.0\n", "severity 7 is outside"),
        ("distance(one, two)", "distance(one, three)", "three"),
        ("distance(one, two) > 3 m", "one.hight > 3 m", "one.hight"),
        ("seeds = [1, 2]", 'vehicle = "quad_f450"', "the scenario's file says that"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(suite: Path, old: str, new: str, said: str) -> None:
    suite.write_text(SUITE.replace(old, new))
    problems = [str(problem) for problem in check(suite)]
    assert any(said in problem and "suite.toml" in problem for problem in problems), problems
