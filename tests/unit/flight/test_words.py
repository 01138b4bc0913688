"""Words about endings."""

from __future__ import annotations

import pytest

from ironbird.flight.words import LEAST_IMPACT_MPS, collision_words, crash_words, impact_words


@pytest.mark.parametrize(("speed", "said"), [(LEAST_IMPACT_MPS, True), (0.99 * LEAST_IMPACT_MPS, False), (3.0, True)])
def test_the_speed_of_an_impact_is_said_from_a_tenth_of_a_metre_per_second_on(speed: float, said: bool) -> None:
    assert ("m/s" in collision_words(1.0, speed)) == said
    assert bool(impact_words(speed, 0.0)) == bool(impact_words(0.0, speed)) == said


def test_a_crash_names_both_parts_of_its_speed_and_a_steep_tilt() -> None:
    assert crash_words("hard landing", 9.66, impact_words(8.21, 5.39), 1.2) == (
        "crashed at 9.66 s (hard landing, 8.2 m/s down and 5.4 m/s sideways, tilted by 69°)"
    )
