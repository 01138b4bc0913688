"""Values of the vehicle file on the page."""

from __future__ import annotations

from ironbird.flight.flight import Flight
from ironbird.report.flight.parameters import parameter_groups


def test_parameters_say_where_they_come_from(flight: Flight) -> None:
    rows = {row["key"]: row for _, rows in parameter_groups(flight.vehicle.spec) for row in rows}

    assert (rows["body.mass_kg"]["value"], rows["body.mass_kg"]["kind"]) == ("1.4", "published")  # by "body.*"
    assert rows["contact.friction"]["kind"] == "assumed"
    assert rows["rotor.2.position_B_m"]["kind"] == "derived"  # by "rotor.*.position_B_m"
    assert rows["propeller.standard.reference_density_kgpm3"]["kind"] == "default"  # not in the file
    assert rows["rotor.1.spin"]["kind"] == "choice"
