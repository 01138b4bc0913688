"""PPO learns to hover: proximal policy optimisation [Schulman2017] in NumPy on `ironbird/Hover-v0`.

    python examples/ppo_hover.py [--steps 1500000] [--envs 128] [--seed 1] [--level rates]

The agent asks for body rates and collective thrust (level `rates`), or for the throttle of each rotor (`actuators`),
100 times a second. Policy and value are two networks of two hidden layers of 64 with tanh; gradients are written out.
Vectors that the environment gives in N are turned into the body's axes first, so that heading does not matter.
At the end new episodes are flown with the mean of the policy, and beside them with hover thrust and no control.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass

import gymnasium
import numpy as np

from ironbird.gym import Goal, VehicleVectorEnv  # registers the environments

GAMMA, LAMBDA, CLIP, EPOCHS, HORIZON, BATCH, RATE, ENTROPY = 0.99, 0.95, 0.2, 6, 64, 1024, 7e-4, 1e-3
REACH = {"rates": np.array([2.0, 2.0, 1.0, 0.25]), "actuators": np.full(4, 0.2)}  # of an action of 1, in SI

GOALS = (  # all are met near the target, so that flying on is worth more than a crash
    Goal("always (target_distance < 3 m)", 3.0),
    Goal("always (target_distance < 0.5 m)", 0.5, 0.2),
    Goal("always (speed < 3 m/s)", 3.0, 0.3),
    Goal("always (rate < 3 rad/s)", 3.0, 0.2),
)


class Network:
    """Two hidden layers of tanh; `back` gives the gradient of a loss by that of its outputs."""

    def __init__(self, rng: np.random.Generator, inputs: int, outputs: int, last: float, hidden: int = 64) -> None:
        def layer(rows: int, columns: int, gain: float) -> np.ndarray:
            q, r = np.linalg.qr(rng.normal(size=(max(rows, columns), min(rows, columns))))
            q = q * np.sign(np.diag(r))
            return gain * (q if rows >= columns else q.T)

        gain = np.sqrt(2.0)
        self.w = [layer(inputs, hidden, gain), layer(hidden, hidden, gain), layer(hidden, outputs, last)]
        self.b = [np.zeros(hidden), np.zeros(hidden), np.zeros(outputs)]

    def __call__(self, x: np.ndarray) -> np.ndarray:
        self.x = x
        self.h1 = np.tanh(x @ self.w[0] + self.b[0])
        self.h2 = np.tanh(self.h1 @ self.w[1] + self.b[1])
        return np.asarray(self.h2 @ self.w[2] + self.b[2])

    def back(self, d: np.ndarray) -> list[np.ndarray]:
        """Gradients of the weights, then of the offsets."""
        d2 = (d @ self.w[2].T) * (1 - self.h2**2)
        d1 = (d2 @ self.w[1].T) * (1 - self.h1**2)
        return [self.x.T @ d1, self.h1.T @ d2, self.h2.T @ d, d1.sum(0), d2.sum(0), d.sum(0)]

    @property
    def parts(self) -> list[np.ndarray]:
        """What is learned."""
        return [*self.w, *self.b]


class Adam:
    """Adam [Kingma2015] with the gradient's norm cut at 0.5."""

    def __init__(self, parts: list[np.ndarray]) -> None:
        self.parts, self.m, self.v, self.t = (
            parts,
            [np.zeros_like(p) for p in parts],
            [np.zeros_like(p) for p in parts],
            0,
        )

    def step(self, gradients: list[np.ndarray], rate: float) -> None:
        """One step down the gradient."""
        self.t += 1
        scale = min(1.0, 0.5 / (np.sqrt(sum(float((g * g).sum()) for g in gradients)) + 1e-8))
        for part, gradient, m, v in zip(self.parts, gradients, self.m, self.v, strict=True):
            g = gradient * scale
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            part -= rate * (m / (1 - 0.9**self.t)) / (np.sqrt(v / (1 - 0.999**self.t)) + 1e-8)


def features(seen: np.ndarray) -> np.ndarray:
    """Velocity, way to the target and the vertical in the body's axes, and the rates, all of order one."""
    velocity, matrix, rates, away = seen[:, :3], seen[:, 3:12], seen[:, 12:15], seen[:, 15:18]
    into_body = matrix.reshape(-1, 3, 3)  # R_NB column by column: its rows here are those of R_BN
    turned = [np.einsum("nij,nj->ni", into_body, vector) for vector in (velocity / 2.0, away / 2.0)]
    return np.concatenate([*turned, into_body[:, :, 2], rates / 2.0], axis=1).astype(float)


@dataclass
class Agent:
    """A Gaussian policy and a value."""

    policy: Network
    value: Network
    log_std: np.ndarray
    neutral: np.ndarray
    reach: np.ndarray

    def actions(self, chosen: np.ndarray) -> np.ndarray:
        """Actions of the environment: around what hovers."""
        return (self.neutral + self.reach * np.clip(chosen, -1, 1)).astype(np.float32)

    def log_probability(self, chosen: np.ndarray, mean: np.ndarray) -> np.ndarray:
        z = (chosen - mean) / np.exp(self.log_std)
        return np.asarray(-0.5 * (z * z).sum(1) - self.log_std.sum())


def learn(level: str, steps: int, count: int, seed: int) -> tuple[Agent, list[float]]:
    """Train; returns the agent and the mean reward per decision of each round."""
    envs = gymnasium.make_vec("ironbird/Hover-v0", num_envs=count, autoreset_mode="SameStep", level=level, goals=GOALS)
    rng = np.random.default_rng(seed)
    seen, _ = envs.reset(seed=seed * 100_000)
    x = features(seen)
    policy, value = Network(rng, x.shape[1], 4, 0.01), Network(rng, x.shape[1], 1, 1.0)
    inner = envs.unwrapped
    assert isinstance(inner, VehicleVectorEnv)
    agent = Agent(policy, value, np.full(4, -0.7), inner.rollout.neutral_action, REACH[level])
    ways = Adam([*policy.parts, agent.log_std]), Adam(value.parts)
    rounds, curve = max(1, steps // (HORIZON * count)), []
    for number in range(rounds):
        rows: dict[str, list[np.ndarray]] = {name: [] for name in ("x", "a", "logp", "v", "r", "end", "cut")}
        for _ in range(HORIZON):
            mean, worth = policy(x), value(x)[:, 0]
            chosen = mean + np.exp(agent.log_std) * rng.normal(size=mean.shape)
            seen, reward, terminated, truncated, infos = envs.step(agent.actions(chosen))
            extra = np.zeros(count)  # an episode that only ran out of time is worth what would have come
            late = np.flatnonzero(truncated)
            if len(late):
                extra[late] = GAMMA * value(features(np.stack([infos["final_obs"][i] for i in late])))[:, 0]
            now = (x, chosen, agent.log_probability(chosen, mean), worth, 0.1 * reward + extra, terminated, truncated)
            for name, entry in zip(rows, now, strict=True):
                rows[name].append(entry)
            curve.append(float(reward.mean()))
            x = features(seen)
        data = {name: np.array(entries) for name, entries in rows.items()}
        ahead, gain, gains = value(x)[:, 0], np.zeros(count), np.zeros((HORIZON, count))
        for t in reversed(range(HORIZON)):  # generalised advantage estimation [Schulman2016]
            goes_on = 1.0 - (data["end"][t] | data["cut"][t])
            delta = data["r"][t] + GAMMA * goes_on * ahead - data["v"][t]
            gain = delta + GAMMA * LAMBDA * goes_on * gain
            gains[t], ahead = gain, data["v"][t]
        flat = {name: entries.reshape(HORIZON * count, -1) for name, entries in data.items()}
        target, advantage = (gains + data["v"]).ravel(), gains.ravel()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        rate = RATE * (1 - number / rounds)
        for _ in range(EPOCHS):
            order = rng.permutation(HORIZON * count)
            for begin in range(0, len(order), BATCH):
                rows_ = order[begin : begin + BATCH]
                update(agent, ways, flat, rows_, target, advantage, rate)
    envs.close()
    size = HORIZON
    return agent, [float(np.mean(curve[i : i + size])) for i in range(0, len(curve), size)]


def update(
    agent: Agent,
    ways: tuple[Adam, Adam],
    data: dict[str, np.ndarray],
    rows: np.ndarray,
    target: np.ndarray,
    advantage: np.ndarray,
    rate: float,
) -> None:
    """One step of both networks on a batch: the clipped objective, and squares of the value's error."""
    x, chosen, gain = data["x"][rows], data["a"][rows], advantage[rows]
    mean, variance = agent.policy(x), np.exp(2 * agent.log_std)
    ratio = np.exp(agent.log_probability(chosen, mean) - data["logp"][rows, 0])
    inside = np.where(gain > 0, ratio < 1 + CLIP, ratio > 1 - CLIP)  # otherwise the clipped side has no slope
    slope = -(gain * ratio * inside)[:, None] / len(rows)
    away = chosen - mean
    of_policy = agent.policy.back(slope * away / variance)
    of_std = (slope * (away * away / variance - 1.0)).sum(0) - ENTROPY
    ways[0].step([*of_policy, of_std], rate)
    error = agent.value(x)[:, 0] - target[rows]
    ways[1].step(agent.value.back(error[:, None] / len(rows)), rate)


def judge(agent: Agent, level: str, seed: int, *, idle: bool = False, count: int = 64) -> dict[str, float]:
    """New episodes with the mean of the policy (or without control): the last second of each, and who got there."""
    envs = gymnasium.make_vec(
        "ironbird/Hover-v0", num_envs=count, autoreset_mode="Disabled", level=level, longest_s=5.01
    )
    seen, _ = envs.reset(seed=seed)
    away, flying = [], np.ones(count, bool)
    for _ in range(500):
        chosen = np.zeros((count, 4)) if idle else agent.policy(features(seen))
        seen, _, terminated, _, _ = envs.step(agent.actions(chosen))
        flying &= ~terminated
        if not flying.all():
            envs.reset(options={"reset_mask": np.asarray(terminated)}) if terminated.any() else None
        away.append(np.linalg.norm(seen[:, 15:18], axis=1))
    envs.close()
    last = np.mean(away[-100:], axis=0)[flying] if flying.any() else np.array([np.inf])
    return {"stayed_up": float(flying.mean()), "distance_m": float(last.mean()), "worst_m": float(last.max())}


def main() -> None:
    """Train, judge, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_500_000)
    parser.add_argument("--envs", type=int, default=128)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--level", choices=sorted(REACH), default="rates")
    given = parser.parse_args()
    begin = time.process_time()
    agent, curve = learn(given.level, given.steps, given.envs, given.seed)
    used_s = time.process_time() - begin
    for i in range(0, len(curve), max(1, len(curve) // 12)):
        print(f"{i * HORIZON * given.envs:9,} decisions: reward {curve[i]:6.3f} a decision")
    found = {
        "decisions": len(curve) * HORIZON * given.envs, "cpu_s": round(used_s, 1), "reward_first": curve[0],
        "reward_last": curve[-1], "learned": judge(agent, given.level, 7),
        "without_control": judge(agent, given.level, 7, idle=True),
    }  # fmt: skip
    print(json.dumps(found))


if __name__ == "__main__":
    main()
