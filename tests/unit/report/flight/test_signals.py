"""Time plots of the vehicle's signals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from flight_pages import Page, numbers, page_of

from ironbird.flight.flight import Flight
from ironbird.runtime.state import start
from ironbird.runtime.step import run


def test_curves_hold_the_logged_values_in_degrees_and_with_height_up(flight: Flight, page: Page) -> None:
    height = page.figures["height"]["data"][0]
    pitch = page.figures["attitude"]["data"][1]

    np.testing.assert_array_equal(numbers(height["x"]), flight.log.time().astype(np.float32))
    np.testing.assert_array_equal(numbers(height["y"]), (-flight.log["body.p_NB_N"][:, 2]).astype(np.float32))
    expected = np.degrees(flight.log["body.euler"][:, 1])
    np.testing.assert_allclose(numbers(pitch["y"]), expected, rtol=1e-6, atol=1e-6)  # single precision
    twins = [trace for trace in page.figures["rotors"]["data"] if trace["name"] == "twin"]
    assert len(twins) == 1 and twins[0]["line"]["dash"] == "dash"  # of the rotor with the fault


def test_a_vehicle_without_rotors_battery_and_set_points_has_a_page(healthy: Flight, tmp_path: Path) -> None:
    state = start(healthy.model, seed=1)
    log = run(state, 0.5, log=["body.p_NB_N"])

    page = page_of(replace(healthy, log=log), tmp_path)

    assert set(page.figures) == {"height", "horizontal", "replay", "path-plan"}
    assert set(page.figures) <= set(page.ids)
