"""The example of reinforcement learning learns: new starts are flown to the target; without control they are not."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples/ppo_hover.py"


@pytest.mark.parametrize("seed", [1, 2])
def test_ppo_learns_to_hover(seed: int) -> None:
    spec = importlib.util.spec_from_file_location("ppo_hover", EXAMPLE)
    assert spec is not None and spec.loader is not None
    ppo = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ppo)
    agent, curve = ppo.learn("rates", 600_000, 128, seed)
    learned = ppo.judge(agent, "rates", 7)
    idle = ppo.judge(agent, "rates", 7, idle=True)

    assert curve[-1] > curve[0] + 0.3
    assert learned["stayed_up"] == 1.0 and learned["distance_m"] < 0.6  # it begins 1.9 m away in the mean
    assert idle["stayed_up"] < 0.1 and idle["distance_m"] > 3.0
