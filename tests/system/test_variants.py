"""Vehicles of the catalogue that differ from their base by one effect: it acts in flight."""

from __future__ import annotations

import numpy as np

from ironbird.flight.flight import fly
from ironbird.flight.order import Weather
from ironbird.flight.words import COMPLETED

WIND = Weather(5.0, 270.0, 7.7)


def test_gusts_over_the_span_roll_the_aerosonde() -> None:
    logs = [fly(name, weather=WIND, seed=1, until_s=45.0).log for name in ("aerosonde", "aerosonde_gusts")]
    cruise = logs[0].time() > 15.0
    apart = (logs[1]["body.w_NB_B"] - logs[0]["body.w_NB_B"])[cruise, 0]
    gusts = logs[1]["wind/turbulence.rates_N"][cruise]

    assert gusts.std(axis=0)[:2].min() > 0.02
    assert 0.03 < apart.std() < 0.3  # rad/s: the same turbulence, but for its turning


def test_drives_of_the_f450_heat_up_and_its_supply_holds_in_a_healthy_flight() -> None:
    flight = fly("quad_f450_power", weather=WIND, seed=1)
    log = flight.log

    assert flight.outcome.startswith(COMPLETED)
    rise = log["rotor/1/heat.winding"].max() - log["rotor/1/heat.winding"][0]
    assert 10.0 < rise < 80.0  # K, of 110 to the limit
    assert log["power_rail.alive"].min() == 1.0


def test_the_escort_on_springs_leans_out_of_its_turns() -> None:
    flight = fly("car_escort_sprung", weather=WIND, seed=1)
    log = flight.log

    assert flight.outcome.startswith(COMPLETED)
    lean, across = log["body.on_springs"][:, 0], log["imu/1/chip.accel_truth_B"][:, 1]
    turning = np.abs(across) > 1.0
    assert turning.sum() > 50 and np.abs(lean).max() > 0.02
    assert np.mean(lean[turning] * across[turning] < 0) > 0.9
