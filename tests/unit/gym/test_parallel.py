"""Several vehicles as a PettingZoo environment."""

from __future__ import annotations

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test

import ironbird.gym as learning
from ironbird.errors import RunError


def test_the_checkers_of_pettingzoo_find_nothing() -> None:
    env = learning.parallel_env(vehicles=3, longest_s=0.2)
    parallel_api_test(env, num_cycles=60)
    parallel_seed_test(lambda: learning.parallel_env(vehicles=2, longest_s=0.1), num_cycles=12)


def test_vehicles_see_each_other_and_collide() -> None:
    env = learning.parallel_env(vehicles=2, apart_m=0.0, separation_m=50.0)
    seen, _ = env.reset(seed=1)

    assert (seen["vehicle_1"][-3:] == -seen["vehicle_2"][-3:]).all()
    neutral = {agent: env.rollout.neutral_action for agent in env.agents}
    _, rewards, over, _, infos = env.step(neutral)
    assert over == {"vehicle_1": True, "vehicle_2": True} and env.agents == []
    assert "closer than 50 m" in infos["vehicle_1"]["reason"] and rewards["vehicle_1"] < -15
    with pytest.raises(RunError, match="reset first"):
        env.step(neutral)


def test_a_vehicle_flies_on_alone_as_if_it_were_alone() -> None:
    env = learning.parallel_env(vehicles=2, longest_s=1.0)
    single = learning.VehicleEnv(learning.Hover(longest_s=1.0))
    seen, _ = env.reset(seed=10)
    alone, _ = single.reset(seed=11)
    for _ in range(20):
        actions = {"vehicle_1": np.zeros(4, np.float32), "vehicle_2": env.rollout.neutral_action}
        seen, *_ = env.step(actions)
        alone, *_ = single.step(env.rollout.neutral_action)

    assert (seen["vehicle_2"][: len(alone)] == alone).all()
