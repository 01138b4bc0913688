"""Several vehicles on one clock: from one vehicle on."""

from __future__ import annotations

import pytest

from ironbird.errors import OrderError
from ironbird.flight.order import make_order
from ironbird.flight.together import MOST, fly_together


def test_one_vehicle_is_a_number_of_vehicles_and_none_is_not() -> None:
    order = make_order("quad_f450", control="truth", mission="hover", until_s=0.2, ends="time")
    (flight,) = fly_together([order])
    assert flight.ended_s == pytest.approx(0.2)
    for count in (0, MOST + 1):
        with pytest.raises(OrderError, match=rf"{count} vehicles at once: give 1 to {MOST}"):
            fly_together([order] * count)
