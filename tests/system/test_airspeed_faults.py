"""One bad airspeed tube does not bring a wing down: the tube is left out, and the mission flown without it."""

from __future__ import annotations

import numpy as np
import pytest

from ironbird.flight.flight import fly
from ironbird.flight.order import Weather
from ironbird.flight.words import COMPLETED
from ironbird.vehicles import places as at

START_S = 25.0


@pytest.mark.parametrize(
    "kind", ["open", "short", "stuck"]
)  # with a tube that is believed the first two end in the ground
def test_aerosonde_completes_its_mission_without_the_tube(kind: str) -> None:
    fault = f"airspeed.{kind}@1:instance=1,start={START_S}"
    flight = fly("aerosonde", weather=Weather(5.0, 240.0, 7.7), seed=3, faults=[fault])

    assert flight.survived and flight.stop is not None and flight.stop.reason == COMPLETED
    time_s, trusted = flight.log.time(), flight.log[at.airspeed(1).check("trusted")].ravel()
    lost = float(time_s[np.argmax(trusted < 0.5)])
    assert START_S < lost < START_S + 2.0  # s
    flying = (time_s > 30.0) & (-flight.log[at.BODY.position][:, 2] > 5.0)
    speed = flight.log[at.AIR.airspeed].ravel()[flying]
    assert speed.min() > 15.0 and speed.max() < 33.0  # m/s: away from the stall, and below what full throttle gives
    assert flight.witnesses[0].effective


def test_healthy_tube_is_believed_to_the_end() -> None:
    flight = fly("aerosonde", weather=Weather(5.0, 240.0, 7.7), seed=3)
    assert np.all(flight.log[at.airspeed(1).check("trusted")] == 1.0)
