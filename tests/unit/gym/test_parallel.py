"""Several vehicles as a PettingZoo environment."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test

import ironbird.gym as learning
from ironbird.errors import RunError
from ironbird.vehicles import places as at


def test_the_checkers_of_pettingzoo_find_nothing() -> None:
    env = learning.parallel_env(vehicles=3, longest_s=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
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
    env = learning.parallel_env(vehicles=2, longest_s=1.0, wake=False)
    single = learning.VehicleEnv(learning.Hover(longest_s=1.0))
    seen, _ = env.reset(seed=10)
    alone, _ = single.reset(seed=11)
    for _ in range(20):
        actions = {"vehicle_1": np.zeros(4, np.float32), "vehicle_2": env.rollout.neutral_action}
        seen, *_ = env.step(actions)
        alone, *_ = single.step(env.rollout.neutral_action)

    assert (seen["vehicle_2"][: len(alone)] == alone).all()


def test_the_lower_vehicle_flies_in_the_wake_of_the_upper_one() -> None:
    """3 m below a hover: speed of the merged jets by their momentum flux, T = m g; beside it there is no wake."""
    still: dict[str, Any] = {
        "beside_m": 0.0,
        "moving_mps": 0.0,
        "tilted_rad": 0.0,
        "turning_radps": 0.0,
        "longest_s": 2.0,
    }
    climbs = {}
    for wake in (False, True):
        env = learning.parallel_env(vehicles=2, apart_m=(0.0, 0.0, 3.0), wake=wake, **still)
        env.reset(seed=1)
        for _ in range(50):
            env.step({agent: env.rollout.neutral_action for agent in env.agents})
        climbs[wake] = -env.rollout.seen["body.v_NB_N"][:, 2].copy()
        if wake:
            rows, place = env.rollout.model.flat.u.rows(at.WASH("told_N")), env.rollout.episodes.place
            felt = env.rollout.episodes.state.inputs[0, rows, :][:, place].T
        env.close()

    assert (
        climbs[True][0] == pytest.approx(climbs[False][0], abs=1e-3) and (felt[0] == 0.0).all()
    )  # no wake goes upwards; steps are 1 ms with wakes
    weight_N, far_m = 1.4 * 9.81, 3.0
    jet = np.sqrt(weight_N / (1.225 * np.pi / 3)) / (
        far_m * 0.094 / np.sqrt(np.sqrt(2) - 1)
    )  # one round jet, [Pope2000]
    assert 0.4 * jet < felt[1, 2] < jet  # four jets 0.3 m apart, not yet one of half width 0.28 m
    assert climbs[True][1] < climbs[False][1] - 0.1


def test_a_formation_is_a_step_in_metres() -> None:
    env = learning.parallel_env(vehicles=3, apart_m=(1.0, 0.0, -2.0), beside_m=0.0)
    seen, _ = env.reset(seed=1)
    assert seen["vehicle_1"][-6:] == pytest.approx([1.0, 0.0, -2.0, 2.0, 0.0, -4.0])
    with pytest.raises(RunError, match="north, east and down"):
        learning.parallel_env(apart_m=(1.0, 2.0))
