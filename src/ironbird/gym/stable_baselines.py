"""Many vehicles as a vector environment of Stable-Baselines3; needs the extra `learn`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

from ironbird.errors import RunError
from ironbird.gym.env import VehicleVectorEnv


class Sb3Vehicles(VecEnv):
    """The vehicles of a `VehicleVectorEnv` as Stable-Baselines3 wants them.

    A finished vehicle begins again in the same step; its last observation is in `terminal_observation` of its info, and
    its return and length in `episode`, as of a Monitor. The other infos are empty. All vehicles are one environment:
    attributes and methods are those of the `VehicleVectorEnv`, whatever the indices.
    """

    def __init__(self, envs: VehicleVectorEnv) -> None:
        if envs.autoreset_mode != AutoresetMode.SAME_STEP:
            raise RunError("Stable-Baselines3 begins again in the same step: give autoreset_mode='SameStep'")
        self.envs = envs
        self._returns = np.zeros(envs.num_envs)
        self._begun_s = time.monotonic()
        self._actions = np.zeros((0, 0))
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self) -> np.ndarray:
        """Begin an episode with every vehicle, with the seeds and options given before; returns the observations."""
        options: dict[str, Any] = {}
        for each in self._options:
            options |= each
        observations, infos = self.envs.reset(seed=self._seeds, options=options)
        self._returns[:] = 0.0
        self.reset_infos = [
            {"seed": int(seed), "fault": fault} for seed, fault in zip(infos["seed"], infos["fault"], strict=True)
        ]
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Apply the actions; returns observations, rewards, ends and infos."""
        rollout = self.envs.rollout
        lengths = rollout.steps.copy()
        observations, rewards, terminated, truncated, found = self.envs.step(self._actions)
        over = terminated | truncated
        self._returns += rewards
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for vehicle in np.flatnonzero(over).tolist():
            final = found["final_info"]
            infos[vehicle] = {
                "terminal_observation": found["final_obs"][vehicle],
                "TimeLimit.truncated": bool(truncated[vehicle]),
                "reason": final["reason"][vehicle],
                "is_success": bool(final["success"][vehicle]),
                "episode": {
                    "r": float(self._returns[vehicle]),
                    "l": int(lengths[vehicle]) + 1,
                    "t": round(time.monotonic() - self._begun_s, 6),
                },
            }
            self._returns[vehicle] = 0.0
        return observations, rewards.astype(np.float32), over, infos

    def close(self) -> None:
        """End the worker threads."""
        self.envs.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        """The picture of the first vehicle."""
        pictures = self.envs.render()
        return list(pictures) if pictures is not None else [None]

    def _count(self, indices: int | Iterable[int] | None) -> int:
        return len(list(self._get_indices(indices)))

    def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
        """An attribute of the vector environment, once for each index."""
        return [getattr(self.envs, attr_name)] * self._count(indices)

    def set_attr(self, attr_name: str, value: Any, indices: int | Iterable[int] | None = None) -> None:
        """Set an attribute of the vector environment, which is that of all vehicles."""
        setattr(self.envs, attr_name, value)

    def env_method(
        self, method_name: str, *args: Any, indices: int | Iterable[int] | None = None, **kwargs: Any
    ) -> list[Any]:
        """Call a method of the vector environment once; its result, once for each index."""
        return [getattr(self.envs, method_name)(*args, **kwargs)] * self._count(indices)

    def env_is_wrapped(self, wrapper_class: type, indices: int | Iterable[int] | None = None) -> list[bool]:
        """Whether a wrapper is there: only what Monitor adds, the returns of episodes."""
        return [issubclass(wrapper_class, Monitor)] * self._count(indices)
