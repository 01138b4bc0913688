"""Airspeed from measured pressures, against the standard atmosphere."""

from __future__ import annotations

import numpy as np
import pytest

from ironbird.blocks.estimators.pitot_airspeed import PitotAirspeed
from ironbird.testing.alone import alone, outputs_at


@pytest.mark.parametrize(
    ("height", "pressure", "density", "temperature"),
    [(0.0, 101325.0, 1.225, 288.15), (1000.0, 89874.6, 1.11164, 281.65)],  # [ICAO7488] table
)
def test_true_airspeed_in_the_standard_atmosphere(
    height: float, pressure: float, density: float, temperature: float
) -> None:
    model = alone(PitotAirspeed(sample_s=0.02), step_s=0.02, temperature=temperature)
    dynamic = 0.5 * density * np.array([0.0, 10.0, 25.0]) ** 2
    found = outputs_at(model, {"pressure": dynamic, "static_pressure": pressure, "stamp_in": 1.5})

    np.testing.assert_allclose(found["airspeed"], [0.0, 10.0, 25.0], rtol=1e-5)  # table has six digits
    np.testing.assert_allclose(found["stamp"], 1.5)


def test_suction_gives_no_airspeed() -> None:
    model = alone(PitotAirspeed(sample_s=0.02), step_s=0.02)
    assert outputs_at(model, {"pressure": -20.0, "stamp_in": 0.0})["airspeed"][0] == 0.0
