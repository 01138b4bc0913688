"""Accuracy of the integration: every vehicle's own method and step against steps of 0.1 ms."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ironbird.errors import OrderError, RunError, VehicleError
from ironbird.flight.flight import fly
from ironbird.flight.order import Weather, make_order, parse_order
from ironbird.flight.prepare import model_of
from ironbird.vehicles.load import load_vehicle
from ironbird.vehicles.names import vehicle_ids
from ironbird.vehicles.spec import CLOSE, Integration
from write_integration import BOUND_M, distance_m

MEASURED = Path(__file__).parents[2] / "docs" / "measured" / "integration.json"
TURBULENT = Weather(5.0, 270.0, 8.0)


@pytest.mark.parametrize("name", vehicle_ids() if "IRONBIRD_LONG" in os.environ else ["quad_f450", "car_escort"])
def test_the_position_is_within_its_bound_of_small_steps(name: str) -> None:
    until_s = 40.0 if "IRONBIRD_LONG" in os.environ else 8.0
    assert distance_m(name, until_s=until_s) < BOUND_M


def test_order_four_is_closer_than_order_two() -> None:
    assert distance_m("quad_f450", "rk4@0.001", until_s=8.0) < 0.2 * distance_m("quad_f450", "rk2@0.002", until_s=8.0)


def test_every_vehicle_was_measured_with_the_integration_that_it_has() -> None:
    measured = json.loads(MEASURED.read_text())
    assert set(measured["vehicles"]) == set(vehicle_ids())
    for name, found in measured["vehicles"].items():
        assert found["integration"] == load_vehicle(name, control="truth").integration.text(), name
        assert 0.0 < found["distance_m"] < BOUND_M == measured["bound_m"], name


def test_noise_does_not_depend_on_the_step() -> None:
    """Turbulence and sensor noise are drawn by time: with other steps the flight differs by the integration alone."""
    logs = [
        fly(make_order("quad_f450", weather=TURBULENT, seed=4, until_s=6.0, integration=steps)).log
        for steps in ("", CLOSE.text())
    ]
    for signal in ("wind/turbulence.wind_N", "mag/1/chip.field_B"):
        assert abs(logs[0][signal] - logs[1][signal]).max() < 0.02 * abs(logs[1][signal]).max(), signal


def test_the_integration_of_an_order_is_part_of_it() -> None:
    order = make_order("quad_f450", integration="rk4@0.0005")
    assert parse_order(order.text()) == order
    model = model_of(order)
    assert (model.method, model.step_s) == ("rk4", 0.0005)
    assert model_of(make_order("quad_f450", world="field")).step_s == CLOSE.step_s  # it is looked up every millisecond


@pytest.mark.parametrize("text", ["rk3@0.001", "rk4", "rk4@", "rk4@1", "rk4@nan", "rk2@-0.002", "@0.001"])
def test_a_wrong_integration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(VehicleError, match=r"METHOD@SECONDS.*rk4@0\.001"):
        Integration.parse(text)
    with pytest.raises(VehicleError):
        make_order("quad_f450", integration=text)


def test_a_log_between_two_steps_is_refused_with_the_cure() -> None:
    with pytest.raises(RunError, match=r"whole number of steps of 0\.002 s.*rk4@0\.001"):
        fly(make_order("quad_f450", control="truth", until_s=1.0, log_s=0.005))


def test_control_systems_outside_have_steps_of_their_own() -> None:
    with pytest.raises(OrderError, match="has steps of its own"):
        model_of(make_order("quad_f450", control="commanded", integration="rk2@0.002"))
