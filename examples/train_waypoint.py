"""PPO of Stable-Baselines3 learns to fly to a point from the throttles of the rotors, and is saved as a policy file.

    pip install 'ironbird[learn]'
    python examples/train_waypoint.py --out waypoint.npz [--steps 2500000] [--envs 128] [--seed 1]

The task is `ironbird/Waypoint-v0`: mass, wind and turbulence are drawn for every episode, and in half of them a rotor
loses up to 15 % of its speed. The file has the network's weights in single precision, what it observes and commands
with the bounds of both, and the curve of the training. `ironbird fly quad_f450 --control policy --file waypoint.npz`
flies it; the shipped policy `waypoint` was made so.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

import ironbird.gym
from ironbird.gym.torch_layers import layers_of

TASK = "ironbird/Waypoint-v0"
HIDDEN = (64, 64)


class Curve(BaseCallback):
    """Notes the mean return and success of the last episodes after each round."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[int, float, float, float]] = []
        self._begun = time.monotonic(), time.process_time()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        episodes = [one["r"] for one in self.model.ep_info_buffer]
        mean = float(np.mean(episodes)) if episodes else float("nan")
        wall_s, cpu_s = time.monotonic() - self._begun[0], time.process_time() - self._begun[1]
        self.rows.append((self.num_timesteps, mean, wall_s, cpu_s))
        if len(self.rows) % 10 == 0:
            print(
                f"{self.num_timesteps:10,} steps  return {mean:8.1f}  {wall_s:6.0f} s, {cpu_s:6.0f} s CPU",
                flush=True,
            )


def main() -> None:
    """Train, and save the policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("waypoint.npz"))
    parser.add_argument("--steps", type=int, default=2_500_000)
    parser.add_argument("--envs", type=int, default=128)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(1)
    envs = ironbird.gym.sb3(TASK, given.envs)
    model = PPO(
        "MlpPolicy", envs, n_steps=64, batch_size=2048, n_epochs=6, gamma=0.98, gae_lambda=0.95, clip_range=0.2,
        learning_rate=lambda left: 7e-4 * left + 5e-5, ent_coef=0.0, seed=given.seed, device="cpu",
        policy_kwargs={"net_arch": list(HIDDEN), "activation_fn": torch.nn.Tanh, "log_std_init": -1.4},
    )  # fmt: skip
    curve = Curve()
    print(f"{given.steps:,} steps of {TASK}, {given.envs} vehicles, seed {given.seed}", flush=True)
    model.learn(given.steps, callback=curve)
    layers = layers_of(model.policy.mlp_extractor.policy_net, model.policy.action_net)
    rollout = envs.envs.rollout
    steps, returns, wall_s, cpu_s = np.array(curve.rows).T
    record = {
        "task": TASK, "algorithm": "PPO of Stable-Baselines3", "steps": int(steps[-1]), "seed": given.seed,
        "vehicles": given.envs, "wall_s": round(wall_s[-1], 1), "cpu_s": round(cpu_s[-1], 1),
        "final_return": round(float(returns[-1]), 2),
        "curve": [[int(n), round(float(r), 2)] for n, r in zip(steps[9::10], returns[9::10], strict=True)],
    }  # fmt: skip
    ironbird.gym.policy_of(rollout, layers, record).save(given.out)
    print(json.dumps({k: v for k, v in record.items() if k != "curve"}), given.out.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
