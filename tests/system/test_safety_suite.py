"""The shipped suites: they cover every kind of vehicle, come out as they say, and catch a planted defect."""

from dataclasses import replace
from typing import Any

import pytest

from ironbird.blocks.controllers.navigator import Navigator
from ironbird.campaign.batch import fly_all
from ironbird.campaign.expected import expected_text
from ironbird.campaign.suite import load_suite
from ironbird.flight import prepare
from ironbird.model.block import Values, View
from ironbird.vehicles.load import Vehicle, load_vehicle

KINDS = {"multicopter", "helicopter", "fixed_wing", "vtol", "rover", "boat", "underwater"}


def test_safety_suite_has_hundreds_of_cases_over_every_kind() -> None:
    suite = load_suite("safety")
    tags = {tag for case in suite.cases for tag in case.data["tags"]}
    assert len(suite.cases) >= 300
    assert tags >= KINDS
    expected = [expected_text(case.data["expect"]) or "pass" for case in suite.cases]
    assert {text.partition(":")[0] for text in expected} == {"pass", "fail"}
    assert len({case.data["fault"][0]["id"] for case in suite.cases}) > 100


def test_regression_suite_comes_out_as_it_says() -> None:
    flights = load_suite("regression").flights()
    assert len(flights) >= 30
    for result in fly_all(flights):
        assert result.as_expected, f"{result.id}: {result.verdict}, not {result.expect}: {result.sentence}"


class FlippedBattery(Navigator):
    """The navigator with the sign of its battery failsafe flipped: a low battery looks full, a full one low."""

    def update(self, x: View, u: View, p: View) -> Values:
        flipped = View({**u._values, "battery_remaining": 1.0 - u.battery_remaining}, u._where)
        return super().update(x, flipped, p)


def test_a_planted_defect_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_defect(name: str, **said: Any) -> Vehicle:
        vehicle = load_vehicle(name, **said)
        healthy = vehicle.diagram.blocks["navigator"]
        assert isinstance(healthy, Navigator) and healthy.sample_s is not None
        vehicle.diagram.blocks["navigator"] = FlippedBattery(healthy.items, sample_s=healthy.sample_s)
        return vehicle

    flights = [f for f in load_suite("safety").flights() if "failsafe" in f.tags]
    monkeypatch.setattr(prepare, "load_vehicle", with_defect)
    prepare.forget()
    try:
        results = fly_all([replace(flight, id=f"defect/{flight.id}") for flight in flights])
    finally:
        prepare.forget()
    caught = [result for result in results if not result.as_expected]
    assert caught, "no case of the shipped suite noticed that the battery failsafe is the wrong way round"
    assert any("battery" in result.id for result in caught)
