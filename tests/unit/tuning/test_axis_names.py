"""Axes of loops from the diagram alone: equal to those of the loop itself, and refused before anything is compiled."""

from __future__ import annotations

import pytest

from ironbird.errors import ModelError
from ironbird.tuning.loops import axis_names, check_axes, steady_loop


def test_the_diagram_has_the_axes_of_the_loop() -> None:
    assert axis_names("quad_f450") == list(steady_loop("quad_f450").axes())


@pytest.mark.parametrize(
    ("vehicle", "axes"),
    [("aerosonde", "aileron elevator rudder throttle"), ("zagi", "aileron elevator rudder throttle")],
)
def test_a_wing_has_the_axes_of_its_controller(vehicle: str, axes: str) -> None:
    assert axis_names(vehicle) == axes.split()


def test_a_name_of_another_kind_of_vehicle_is_translated() -> None:
    with pytest.raises(ModelError) as caught:
        check_axes("aerosonde", ["roll"])
    assert str(caught.value) == (
        "unknown axis 'roll' of 'aerosonde': give aileron, elevator, rudder, throttle; roll is aileron"
    )
    with pytest.raises(ModelError, match=r"give lift, roll, pitch, yaw; aileron is roll"):
        check_axes("quad_f450", ["roll", "aileron"])
    with pytest.raises(ModelError, match=r"'car_escort' \(car\) takes no position set-point"):
        check_axes("car_escort", [])
