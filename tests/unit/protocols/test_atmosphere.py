"""Pressure and height against tables of the standard atmosphere."""

from __future__ import annotations

import pytest

from ironbird.protocols.atmosphere import SEA_LEVEL_C, pressure_at_Pa, pressure_height_m


@pytest.mark.parametrize(("height_m", "pressure_Pa"), [(0, 101325.0), (1000, 89874.6), (5000, 54019.9), (-500, 107477)])
def test_pressures_are_those_of_the_tables(height_m: float, pressure_Pa: float) -> None:
    assert pressure_at_Pa(height_m) == pytest.approx(pressure_Pa, rel=1e-5)  # as many digits as the tables have
    assert pressure_height_m(pressure_at_Pa(height_m)) == pytest.approx(height_m, abs=1e-6)


def test_the_sea_level_has_fifteen_degrees() -> None:
    assert pytest.approx(15.0) == SEA_LEVEL_C
