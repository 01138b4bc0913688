"""The book's simple propeller: its formula, braking, faults."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ironbird.blocks.forces.simple_propeller import SimplePropeller
from ironbird.testing.alone import alone, outputs_at

AREA, OUTFLOW = 0.2027, 80.0  # [BeardMcLain]: the book's Aerosonde


@given(throttle=st.floats(0, 1), airspeed=st.floats(0, 50))
@settings(deadline=None, max_examples=25, derandomize=True)
def test_thrust_is_the_change_of_pressure_over_the_disc(throttle: float, airspeed: float) -> None:
    found = outputs_at(
        alone(SimplePropeller(), area=AREA, outflow=OUTFLOW, position=[0.5, 0.0, 0.1]),
        {"throttle": throttle, "airspeed": airspeed, "density": 1.2682},
    )  # fmt: skip

    thrust = 0.5 * 1.2682 * AREA * ((OUTFLOW * throttle) ** 2 - airspeed**2)
    np.testing.assert_allclose(found["thrust"], thrust, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(found["moment_B"][0], [0.0, 0.1 * thrust, 0.0], rtol=1e-12, atol=1e-9)


def test_trim_thrust_of_the_books_aerosonde() -> None:
    # Computed by an independent script for the 13.5 kg version: 25 m/s at 0.33352 gives 11.172 N
    found = outputs_at(
        alone(SimplePropeller(), area=AREA, outflow=OUTFLOW), {"throttle": 0.33352, "airspeed": 25.0, "density": 1.2682}
    )
    np.testing.assert_allclose(found["thrust"], 11.172, rtol=3e-4)  # five digits of throttle: 2.7 mN


def test_faults_scale_outflow_and_thrust() -> None:
    model = alone(SimplePropeller(), area=AREA, outflow=OUTFLOW)
    whole = outputs_at(model, {"throttle": 0.5, "airspeed": 0.0})["thrust"][0]
    half = outputs_at(model, {"throttle": 0.5, "airspeed": 0.0}, {"health": 0.5})["thrust"][0]
    blade = outputs_at(model, {"throttle": 0.5, "airspeed": 0.0}, {"blade_health": 0.25})["thrust"][0]
    driven = outputs_at(model, {"throttle": 0.5, "airspeed": 0.0}, {"override": 1.0, "override_throttle": 1.0})
    np.testing.assert_allclose([half, blade, driven["thrust"][0]], [whole / 4, whole / 4, 4 * whole], rtol=1e-12)
