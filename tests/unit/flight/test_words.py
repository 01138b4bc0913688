"""Words about endings."""

from __future__ import annotations

import pytest

from ironbird.flight.words import LEAST_IMPACT_MPS, collision_words, crash_words


@pytest.mark.parametrize(("speed", "said"), [(LEAST_IMPACT_MPS, True), (0.99 * LEAST_IMPACT_MPS, False), (3.0, True)])
def test_the_speed_of_an_impact_is_said_from_a_tenth_of_a_metre_per_second_on(speed: float, said: bool) -> None:
    assert ("m/s" in collision_words(1.0, speed)) == said == ("m/s" in crash_words("hard landing", 1.0, speed, 0.0))
