"""The magnetic field far from home: that of the World Magnetic Model where the vehicle is, to the nanotesla."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ironbird.blocks.environment.magnetic_wmm import wmm_field
from ironbird.flight.far_field import CELL_M, EVERY_TICKS
from ironbird.flight.flight import fly
from ironbird.flight.inside import fly_lanes
from ironbird.flight.order import Order, make_order
from ironbird.flight.prepare import far_field_of, fit, prepare
from ironbird.protocols.geodesy import to_geodetic, to_local
from ironbird.runtime.tuning import Tuning
from ironbird.vehicles import places as at
from ironbird.vehicles.spec import Home

NANOTESLA = 1e-9
FIELD = at.MAGNETIC_FIELD("field_N")


def started_at(home: Home, place: tuple[float, float, float], **more: object) -> Order:
    """A flight of a moment that begins far from its home."""
    said = {"control": "truth", "place": home, "until_s": 0.3, "settings": {at.BODY("p_0"): list(place)}, **more}
    return make_order("quad_f450", mission="hover", **said)  # type: ignore[arg-type]


# Rows of the printed table of test values [WMM2025]: year, height (km), latitude, longitude (deg), X, Y, Z (nT)
@pytest.mark.parametrize(
    ("row", "away"),
    [
        ((2025.0, 0, 80, 0, 6521.6, 145.9, 54791.5), (-100e3, 20e3)),
        ((2025.0, 0, 0, 120, 39677.8, -109.6, -10580.2), (70e3, -70e3)),
        ((2027.5, 0, -80, 240, 6200.7, 15730.3, -51783.7), (95e3, 30e3)),
    ],
)
def test_a_published_value_is_met_100_km_from_home(row: tuple[float, ...], away: tuple[float, float]) -> None:
    year, height_km, latitude, longitude, *published = row
    east = (longitude + 180.0) % 360.0 - 180.0
    there = Home(latitude_deg=latitude, longitude_deg=east, height_m=1000 * height_km, year=year)
    begin = to_geodetic(there, [*away, 0.0])
    home = Home(latitude_deg=begin[0], longitude_deg=begin[1], height_m=begin[2], year=year)
    place = to_local(home, latitude, east, 1000.0 * height_km)
    found = fly(started_at(home, place)).log[FIELD][0] / NANOTESLA
    assert 90e3 < math.hypot(*place[:2]) < 110e3
    np.testing.assert_allclose(found, published, rtol=0, atol=2.0 if abs(latitude) > 70 else 1.0)


def test_within_the_first_cell_the_field_is_that_of_the_file_to_the_bit() -> None:
    home = Home()
    near, far = ((0.49 * CELL_M[0], 0.0, -50.0), (0.51 * CELL_M[0], 0.0, -50.0))
    params = fit(started_at(home, near)).model.flat.values
    model = fit(started_at(home, near)).model
    linear = {path: np.array(params[model.param_rows(at.MAGNETIC_FIELD(path))]) for path in ("field_home", "gradient")}
    for place, same in ((near, True), (far, False)):
        flight = fly(started_at(home, place))
        found, where = flight.log[FIELD][0], np.array(place)
        expected = linear["field_home"] + linear["gradient"].reshape(3, 3).T @ where
        assert bool(np.abs(found - expected).max() < 1e-18) == same
        latitude, longitude, height = to_geodetic(home, where)
        truth = wmm_field(math.radians(latitude), math.radians(longitude), height, home.year)
        np.testing.assert_allclose(found, truth, rtol=0, atol=1.0 * NANOTESLA)


def test_a_field_that_somebody_ordered_stays_and_lanes_are_equal_to_flights_alone() -> None:
    home, place = Home(), (60e3, -30e3, -50.0)
    own = {at.MAGNETIC_FIELD("field_home"): [1e-5, 0.0, 3e-5], at.MAGNETIC_FIELD("gradient"): [[0.0] * 3] * 3}
    ordered = started_at(home, place, settings={at.BODY("p_0"): list(place), **own})
    np.testing.assert_array_equal(fly(ordered).log[FIELD][0], own[at.MAGNETIC_FIELD("field_home")])
    tuned = Tuning(100, at.MAGNETIC_FIELD("field_home"), [1e-5, 0.0, 3e-5])
    changed = fly(started_at(home, (0.0, 0.0, -0.12), tunings=[tuned], until_s=2.5)).log[FIELD]
    assert changed[-1] == pytest.approx([1e-5, 0.0, 3e-5], abs=1e-9)  # not overwritten by the look at 2 s
    orders = [started_at(home, place), started_at(home, (0.0, 0.0, -0.12)), started_at(home, (-90e3, 0.0, -50.0))]
    lanes = fly_lanes(orders, fit(orders[0]).model, also=[FIELD])
    for lane, order in enumerate(orders):
        np.testing.assert_array_equal(lanes[0].log.lane(FIELD, lane), fly(order).log[FIELD])
    assert EVERY_TICKS == 2000


def test_a_vehicle_whose_place_is_no_number_any_more_keeps_its_field() -> None:
    order = started_at(Home(), (60e3, -30e3, -50.0))
    model = fit(order).model
    state, field = prepare(model, [order]), far_field_of([order], model)
    rows = model.flat.x.rows(at.BODY("p"))
    before = state.params.copy()
    state.x[0, rows.start + 1, 0] = np.nan
    field.look(state)
    np.testing.assert_array_equal(state.params, before)
    state.x[0, rows.start + 1, 0] = -30e3
    field.look(state)
    assert (state.params != before).any()
