"""Environments in the form of Stable-Baselines3 and torch; skipped where the extra `learn` is not installed."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import ironbird.gym as learning
from ironbird.errors import RecordError, RunError
from ironbird.vehicles import places as at

WITH_SB3 = pytest.mark.skipif(find_spec("stable_baselines3") is None, reason="stable_baselines3 is not installed")
WITH_TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")


@WITH_SB3
@pytest.mark.parametrize("name", learning.IDS)
def test_the_checker_of_stable_baselines_finds_nothing(name: str) -> None:
    from stable_baselines3.common.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(name, normalise=True).unwrapped)


@WITH_SB3
def test_a_lane_of_stable_baselines_is_the_single_environment_of_its_seed() -> None:
    envs = learning.sb3("ironbird/FaultedHover-v0", num_envs=3, longest_s=0.3)
    envs.seed(40)
    seen = np.asarray(envs.reset())
    single = gymnasium.make("ironbird/FaultedHover-v0", longest_s=0.3, normalise=True)
    alone, info = single.reset(seed=42)
    assert envs.reset_infos[2] == info
    rng, total, ended = np.random.default_rng(0), 0.0, 0
    for step in range(70):
        actions = rng.uniform(-0.5, 0.5, (3, 4)).astype(np.float32)
        seen, rewards, over, infos = envs.step(actions)
        alone, reward, terminated, truncated, _ = single.step(actions[2])
        total += float(reward)
        assert rewards[2] == np.float32(reward) and over[2] == (terminated or truncated)
        if over[2]:
            assert (infos[2]["terminal_observation"] == alone).all()
            assert infos[2]["TimeLimit.truncated"] == truncated
            assert infos[2]["episode"]["l"] == 30 and step % 30 == 29
            assert infos[2]["episode"]["r"] == pytest.approx(total, abs=1e-12)
            alone, _ = single.reset()
            total, ended = 0.0, ended + 1
        else:
            assert infos[2] == {}
        assert (seen[2] == alone).all()
    assert ended == 2
    envs.close()


@WITH_SB3
def test_ppo_of_stable_baselines_learns_on_it_without_a_word() -> None:
    from stable_baselines3 import PPO
    from stable_baselines3.common.evaluation import evaluate_policy

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        envs = learning.sb3("ironbird/Hover-v0", num_envs=8, level="rates", longest_s=0.2)
        model = PPO("MlpPolicy", envs, n_steps=32, batch_size=64, n_epochs=1, seed=1, device="cpu")
        before = [p.detach().clone() for p in model.policy.parameters()]
        model.learn(512)
        _, lengths = evaluate_policy(model, envs, n_eval_episodes=8, return_episode_rewards=True)
    assert len(model.ep_info_buffer) > 0  # returns of episodes came through
    assert any((a != b).any() for a, b in zip(before, model.policy.parameters(), strict=True))
    assert lengths == [20] * 8
    envs.close()


@WITH_SB3
def test_options_of_a_reset_and_pictures_come_through() -> None:
    envs = learning.sb3("ironbird/Hover-v0", num_envs=2, render_mode="rgb_array")
    envs.set_options({"wind_mps": (7.0, 7.0)})
    envs.reset()
    drawn = envs.envs.rollout.drawn
    assert all(
        one is not None and np.hypot(*one.params[at.WIND_STEADY.velocity][:2]) == pytest.approx(7.0) for one in drawn
    )
    picture = envs.get_images()[0]
    assert picture is not None and picture.shape == (360, 480, 3)
    envs.close()


@WITH_TORCH
def test_tensors_share_the_memory_of_the_environment() -> None:
    import torch

    envs = learning.tensors("ironbird/Hover-v0", num_envs=4, normalise=True)
    arrays = gymnasium.make_vec("ironbird/Hover-v0", num_envs=4, normalise=True, autoreset_mode="SameStep")
    seen, _ = envs.reset(seed=3)
    beside, _ = arrays.reset(seed=3)
    assert seen.data_ptr() == envs.envs.rollout.outcome.observation.ctypes.data
    for _ in range(20):
        actions = torch.rand(4, 4) - 0.5
        found = envs.step(actions)
        expected = arrays.step(actions.numpy())
        assert found[0] is seen and found[0].data_ptr() == seen.data_ptr()
        for tensor, array in zip(found[:4], expected[:4], strict=True):
            assert (tensor.numpy() == array).all()
    assert beside.shape == tuple(seen.shape)
    envs.close()
    arrays.close()


@WITH_TORCH
def test_tensors_of_an_environment_that_copies_are_refused() -> None:
    from ironbird.gym.tensors import TensorVehicles

    with pytest.raises(RunError, match="copy=False"):
        TensorVehicles(learning.VehicleVectorEnv(learning.Hover(), num_envs=2))


@WITH_SB3
def test_a_policy_of_stable_baselines_is_saved_as_it_decides(tmp_path: Path) -> None:
    import torch
    from stable_baselines3 import PPO

    from ironbird.gym.torch_layers import layers_of
    from ironbird.systems.policy.code import compiled
    from ironbird.systems.policy.files import load_policy

    envs = learning.sb3("ironbird/Waypoint-v0", num_envs=2)
    model = PPO("MlpPolicy", envs, n_steps=8, batch_size=16, seed=1, device="cpu")
    layers = layers_of(model.policy.mlp_extractor.policy_net, model.policy.action_net)
    learning.policy_of(envs.envs.rollout, layers, {"steps": 0}).save(tmp_path / "p.npz")
    again = load_policy(tmp_path / "p.npz")
    decide, seen = compiled(again), np.asarray(envs.reset())
    fields = envs.envs.rollout.observation_fields
    for row in seen:
        expected = model.predict(row, deterministic=True)[0].clip(-1, 1)
        found = decide(row * np.array([f.divisor for f in fields]))
        neutral = np.array([n.centre for n in again.commands])
        share = (found - neutral) / np.where(expected < 0, neutral, 1.0 - neutral)
        assert share == pytest.approx(expected, abs=1e-5)
    with pytest.raises(RunError, match="normalise=True"):
        learning.policy_of(learning.VehicleEnv(learning.Waypoint()).rollout, layers)
    with pytest.raises(RecordError, match="Sigmoid is no layer"):
        layers_of(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sigmoid()))
    envs.close()
