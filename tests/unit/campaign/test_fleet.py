"""Figures of the fleet."""

from __future__ import annotations

from ironbird.campaign.fleet import FleetRow


def test_a_hundred_seconds_flown_in_four_are_25_times_real_time() -> None:
    row = FleetRow("v", "", "multicopter", "truth", "hover", False, 2, 2, 0, 0.1, 0.2, 100.0, 4.0, [])
    assert row.times_real_time == 25.0 and row.good
