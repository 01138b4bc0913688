"""Set-points inside the cascade, against what the controller was given and what it did with it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from ironbird.flight.flight import Flight, fly
from ironbird.flight.set_points import attitude_set, rate_set, velocity_set
from ironbird.rotations import euler_of_matrix, from_euler, matrix
from ironbird.runtime.step import run
from ironbird.runtime.tuning import Tuning
from ironbird.tuning.steady import HOVER_S, hovering
from ironbird.tuning.steps import _order, step_of


@pytest.fixture(scope="module")
def hover() -> Flight:
    return fly("quad_f450", control="truth", mission="hover", until_s=6.0, seed=1)


def ordered(hover: Flight, name: str, size: float, until_s: float) -> Flight:
    """The log of a step of a set-point, in the place of a flight's."""
    state, step = hovering("quad_f450"), step_of(name)
    run(state, HOVER_S, log=["body.p_NB_N"], threads=1)
    _order(state, step, size * step.scale)
    log = run(state, HOVER_S + until_s, log=None, log_s=0.02, threads=1)
    return replace(hover, log=log)


def test_the_attitude_that_was_asked_for_is_found_from_the_rates(hover: Flight) -> None:
    flight = ordered(hover, "roll", 10.0, 1.0)

    found = attitude_set(flight)

    assert found is not None
    after = found[1:]  # the first row is that of the hover
    known = np.isfinite(after).all(axis=1)
    assert known.mean() > 0.9
    # the attitude of the log is that of its row, the rates those of the control period before: 4 ms at 80 deg/s
    np.testing.assert_allclose(np.degrees(after[known])[:, 0], 10.0, atol=0.4)
    np.testing.assert_allclose(np.degrees(after[known])[:, 1], 0.0, atol=0.4)
    assert np.degrees(flight.log["body.euler"][1, 0]) < 1.0  # which is not what the vehicle has


def test_turning_the_law_around_gives_back_any_attitude(hover: Flight) -> None:
    """The law of the block on made-up attitudes: error of R_d' R by tilt and turn, then rates."""
    rng = np.random.default_rng(3)
    now, asked = rng.uniform(-0.6, 0.6, (2, 40, 3))
    gain = hover.model.flat.values[hover.model.param_rows("control.attitude_gain")]
    rates = []
    for a, b in zip(now, asked, strict=True):
        E = matrix(from_euler(b)).T @ matrix(from_euler(a))
        n = 1 + E[2, 2]
        tilt, turn = 1 / math.sqrt(2 * n), 1 / math.sqrt(2 * n * (n + E[0, 0] + E[1, 1]))
        rates.append(-2 * gain * [E[2, 1] * tilt, -E[2, 0] * tilt, (E[1, 0] - E[0, 1]) * turn])
    log, rows = hover.log, len(now)
    data = log.data[:, :rows].copy()
    for path, values in (("body.euler", now), ("control.rate_set_B", np.array(rates))):
        column = log.plan.start[path]
        data[0, :, column : column + 3, 0] = values
    settings = {"control.max_rate": [99.0, 99.0, 99.0]}
    flight = replace(
        hover,
        log=replace(log, time_s=log.time_s[:rows], data=data),
        order=replace(hover.order, settings=settings),
    )

    turned = attitude_set(flight)
    assert turned is not None
    np.testing.assert_allclose(turned, asked, atol=1e-9)
    limited = replace(flight, order=replace(hover.order, settings={"control.max_rate": [0.1, 0.1, 0.1]}))
    found = attitude_set(limited)
    assert found is not None and np.isnan(found).any(axis=1).mean() > 0.9  # at its limit the rate says no more
    assert euler_of_matrix(matrix(from_euler(asked[0]))) == pytest.approx(asked[0])


def test_the_velocity_asked_for_is_the_law_of_the_cascade(hover: Flight) -> None:
    found = velocity_set(hover)
    log, gain = hover.log, hover.model.flat.values[hover.model.param_rows("control.position_gain")]
    climb = float(hover.model.flat.values[hover.model.param_rows("control.max_climb")][0])
    expected = log["navigator.velocity_set"] + gain * (log["navigator.position_set"] - log["body.p_NB_N"])

    assert found is not None
    np.testing.assert_allclose(found[:, 2], np.clip(expected[:, 2], -climb, None), atol=1e-12)
    assert found[:, 2].min() >= -climb
    direct = ordered(hover, "speed_north", 2.0, 0.5)
    asked = velocity_set(direct)
    assert asked is not None and asked[1:, 0] == pytest.approx(2.0)  # as ordered, no position is held
    by_attitude = velocity_set(ordered(hover, "roll", 5.0, 0.1))
    assert by_attitude is not None and np.isnan(by_attitude[1:]).all()


def test_gains_that_were_changed_in_flight_give_no_set_point(hover: Flight) -> None:
    tuned = replace(hover, order=replace(hover.order, tunings=(Tuning(10, "control.attitude_gain[0]", 3.0),)))

    assert attitude_set(tuned) is None and rate_set(tuned) is not None
    other = replace(hover, order=replace(hover.order, settings={"control.position_gain": 0.0}))
    found = velocity_set(other)
    assert found is not None  # nothing pulls: it is what the navigator asks for, with the limit of the climb
    np.testing.assert_allclose(found[:, 2], np.maximum(hover.log["navigator.velocity_set"][:, 2], -3.0))


def test_a_wing_logs_what_it_asks_for() -> None:
    flight = fly("aerosonde", control="truth", until_s=3.0)

    found = attitude_set(flight)

    assert found is not None
    np.testing.assert_array_equal(found[:, 0], flight.log["control.roll_set"])
    assert np.isnan(found[:, 2]).all() and velocity_set(flight) is None
