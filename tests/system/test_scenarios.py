"""Every scenario that is shipped passes: README and the guide fly them."""

from __future__ import annotations

import pytest

from ironbird.scenario.grammar import scenario_names
from ironbird.scenario.run import fly_scenario


@pytest.mark.parametrize("name", scenario_names())
def test_the_shipped_scenarios_pass(name: str) -> None:
    flown = fly_scenario(name)

    assert flown.verdict == "pass", flown.sentence
