"""Truth, measurement and estimate side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from flight_pages import ESTIMATES, Page, curves_of, page_of

from ironbird.flight.flight import Flight, fly
from ironbird.report.flight.estimates import STALE_S


def test_estimates_are_set_beside_the_truth(sensed: Flight, sensed_page: Page) -> None:
    log = sensed.log
    assert set(sensed_page.figures) >= ESTIMATES and set(sensed_page.ids) >= ESTIMATES

    height = curves_of(sensed_page, "estimate-height")
    assert list(height) == ["barometer 1", "GNSS 1", "GNSS 2", "truth", "estimate"]
    np.testing.assert_array_equal(height["truth"][1], (-log["body.p_NB_N"][:, 2]).astype(np.float32))
    np.testing.assert_array_equal(height["estimate"][1], (-log["estimator.p_NB_N"][:, 2]).astype(np.float32))
    east = curves_of(sensed_page, "estimate-horizontal", "y2")
    np.testing.assert_array_equal(east["estimate"][1], log["estimator.p_NB_N"][:, 1].astype(np.float32))
    down = curves_of(sensed_page, "estimate-error", "y3")
    gap = (log["estimator.p_NB_N"] - log["body.p_NB_N"])[:, 2]
    np.testing.assert_array_equal(down["error"][1], gap.astype(np.float32))
    band = 2 * log["estimator.std_position"][:, 2]
    np.testing.assert_allclose(down["± 2 std"][1].max(), band.max(), rtol=1e-6)  # single precision
    errors = curves_of(sensed_page, "estimate-attitude", "y4")
    roll = np.degrees(log["estimator.euler"] - log["body.euler"])[:, 0]
    np.testing.assert_allclose(errors["error of roll"][1], roll, atol=1e-4)  # degrees, in single precision


def test_each_inertial_unit_is_shown_and_the_faulty_one_stands_out(sensed: Flight, sensed_page: Page) -> None:
    shown = curves_of(sensed_page, "measured-accel", "y3")

    assert list(shown) == ["IMU 1", "IMU 2", "IMU 3", "truth"]
    means = {}
    for name, (time_s, values) in shown.items():
        means[name] = float(np.nanmean(values[(time_s > 6.5) & (time_s < 8.5)]))
    assert means["IMU 1"] - means["IMU 2"] == pytest.approx(2.0, abs=0.5)  # 0.4 of 5 m/s^2; vibration is about 0.5
    assert means["IMU 3"] == pytest.approx(means["truth"], abs=0.5)
    assert list(curves_of(sensed_page, "measured-gyro")) == ["IMU 1", "IMU 2", "IMU 3", "truth", "estimate"]


def test_a_measurement_that_does_not_come_is_not_drawn(tmp_path: Path) -> None:
    lost = "gnss.position_dropout@1:instance=1,start=2,end=5"
    page = page_of(fly("quad_f450", control="reference", seed=1, until_s=6.0, faults=[lost]), tmp_path)

    time_s, north = curves_of(page, "estimate-horizontal")["GNSS 1"]

    assert np.isfinite(north[(time_s > 1.0) & (time_s < 2.0)]).all()
    assert np.isnan(north[(time_s > 2.1 + STALE_S) & (time_s < 5.0)]).all()
    assert np.isfinite(north[time_s > 5.5]).all()
