"""Diagnosis of faults from the records of healthy flights."""

from __future__ import annotations

import numpy as np

from ironbird.campaign import diagnosis


def test_rotors_are_compared_while_they_are_healthy_and_turn() -> None:
    """A row for each moment: one, the command, the voltage and the speed; of idle rotors there is nothing to learn."""
    rows = 40
    turning = np.arange(rows) >= 20
    healthy = np.arange(rows) < 35
    columns = {
        "monitor/battery.voltage": np.linspace(12.6, 12.0, rows),
        "monitor/rotor/1.speed": np.where(turning, 600.0, 0.0), "control.throttle_1": np.where(turning, 0.5, 0.0),
        "monitor/rotor/2.speed": np.full(rows, 300.0), "control.throttle_2": np.full(rows, 0.2),
        "monitor/rotor/3.speed": np.full(rows, 300.0),
    }  # fmt: skip
    found = diagnosis._rotor_rows(columns, healthy)

    assert found.shape == (15 + 35, 4) and (found[:, 0] == 1.0).all()
    np.testing.assert_allclose(found[:15, 2], columns["monitor/battery.voltage"][20:35])
    np.testing.assert_allclose(found[4:15, [1, 3]], np.tile([0.5, 600.0], (11, 1)))  # the mean over five has settled
    np.testing.assert_allclose(found[15:, [1, 3]], np.tile([0.2, 300.0], (35, 1)))
    assert diagnosis._rotor_rows({}, healthy).shape == (0, 4)


def test_a_rotor_that_is_slower_than_its_command_is_suspicious_while_it_is_commanded() -> None:
    found = diagnosis.Diagnosis(rotor=np.array([0.0, 600.0, 0.0]), battery=np.zeros(3), thresholds={})
    rows = 20
    columns = {
        "monitor/battery.voltage": np.full(rows, 12.0), "control.throttle_1": np.full(rows, 0.5),
        "monitor/rotor/1.speed": np.full(rows, 250.0),  # 300 rad/s are due
        "control.throttle_2": np.zeros(rows), "monitor/rotor/2.speed": np.full(rows, 90.0),  # runs out: not commanded
    }  # fmt: skip
    np.testing.assert_allclose(found.residuals(columns)["rotor.speed"], np.full(rows, 50.0))
