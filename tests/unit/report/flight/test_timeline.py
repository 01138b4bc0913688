"""Modes, failsafes and flags over time."""

from __future__ import annotations

import numpy as np
import pytest
from flight_pages import Page, rows_of

from ironbird.blocks.controllers.mission_table import FAILSAFES, MODES
from ironbird.flight.flight import Flight
from ironbird.report.flight.timeline import MODE_INKS


def test_the_time_line_shows_every_mode_in_its_colour(sensed: Flight, sensed_page: Page) -> None:
    mode, time_s = sensed.log["navigator.mode"], sensed.log.time()
    spans = rows_of(sensed_page)["Mode"]

    assert [text for _, _, text, _ in spans] == ["disarmed", "take-off", "mission", "descend"]
    for row, value in zip(time_s, mode, strict=True):
        (here,) = [(text, ink) for start, end, text, ink in spans if start <= row + 1e-3 < end]  # rounded to 0.1 ms
        assert here == (MODES[int(value)], MODE_INKS[int(value)]), row
    assert len(MODE_INKS) == len(MODES)
    assert sensed_page.figures["timeline"]["kind"] == "time"  # zooms with the others
    own, other = (sensed_page.figures[name]["layout"]["xaxis"]["range"] for name in ("timeline", "height"))
    assert own == other


def test_the_time_line_shows_what_was_wrong_and_nothing_else(sensed: Flight, sensed_page: Page) -> None:
    log, rows = sensed.log, rows_of(sensed_page)

    failsafes = [name for name in rows if name.startswith("Failsafe")]
    tripped = [name for name, column in zip(FAILSAFES, log["navigator.failsafe"].T, strict=True) if column.any()]
    assert tripped == ["gnss"] and failsafes == ["Failsafe: gnss"]  # flow carries the estimator
    (failsafe,) = rows["Failsafe: gnss"]
    assert failsafe[0] == pytest.approx(log.time()[np.argmax(log["navigator.failsafe"][:, 1] > 0)], abs=1e-4)
    assert failsafe[1] == pytest.approx(sensed.ended_s, abs=1e-4)  # rounded to 0.1 ms
    assert [span[:2] for span in rows["Fault 1: imu.accel_bias@1, instance 1"]] == [(6.0, 9.0)]
    voted = {name for name in rows if name.startswith("Voter")}
    assert voted == {"Voter: IMU 1 left out", "Voter: GNSS receiver 1 left out", "Voter: GNSS receiver 2 left out"}
    assert 6.0 < rows["Voter: IMU 1 left out"][0][0] < 6.5
    assert rows["Estimator not healthy"][0][2] == "aligning"
