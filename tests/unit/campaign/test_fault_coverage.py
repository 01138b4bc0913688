"""Which faults of the catalogue a campaign has flown."""

from __future__ import annotations

from campaign_data import flight_case, result_of

from ironbird.campaign.fault_coverage import fault_coverage, not_flown, share_flown
from ironbird.faults.catalog import FAULTS, parse_fault


def test_every_fault_on_every_part_is_the_denominator() -> None:
    """What was not tried is shown: the statement "survives every single fault" is about the complement."""
    weak = flight_case(1, vehicle="hexa_x", control="reference", faults=(parse_fault("rotor.speed_loss@1:instance=2"),))
    void = flight_case(2, vehicle="hexa_x", control="reference", faults=(parse_fault("rotor.speed_loss@1:instance=3"),))
    rows = fault_coverage([weak, void], [result_of(weak), result_of(void, "void")])
    rotors = {row.part: row.flights for row in rows if row.fault == "rotor.speed_loss@1"}
    assert rotors == {"1": 0, "2": 1, "3": 0, "4": 0, "5": 0, "6": 0}
    assert not_flown(rows)["hexa_x", "rotor.speed_loss@1"] == ["1", "3", "4", "5", "6"]
    assert not_flown(rows)["hexa_x", "battery.low_voltage@1"] == ["all"]
    assert share_flown(rows) == 1 / len(rows) and len(rows) > 50
    assert all(FAULTS[row.fault].needs == "part" for row in rows)


def test_a_vehicle_that_is_gone_and_no_vehicle_have_no_faults() -> None:
    gone = flight_case(vehicle="/nowhere/quad.toml")
    assert fault_coverage([gone], []) == [] and share_flown([]) == 1.0


def test_parts_that_a_fault_needs_together() -> None:
    fault = FAULTS["rotor.speed_loss@1"]
    assert fault.parts_in(["rotor/1/motor.health", "rotor/10/motor.health", "rotor/2/motor.health"]) == ["1", "2", "10"]
    assert fault.parts_in(["rotor/1/motor.health2", "my/rotor/1/motor.health"]) == []
    assert FAULTS["battery.low_voltage@1"].parts_in(["nothing"]) == []
