"""Many vehicles with torch tensors that share the memory of the environment's arrays; needs the extra `learn`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ironbird.errors import RunError
from ironbird.gym.env import VehicleVectorEnv


class TensorVehicles:
    """A `VehicleVectorEnv` whose steps take and return tensors on the processor, without a copy.

    The tensors are the same at every step and change with it: store what is to be kept (`storage[step] = seen` does).
    """

    def __init__(self, envs: VehicleVectorEnv) -> None:
        if envs.copy:
            raise RunError("tensors share the environment's memory: make it with copy=False")
        self.envs, outcome = envs, envs.rollout.outcome
        self.observation, self.reward, self.terminated, self.truncated = (
            torch.from_numpy(array)
            for array in (outcome.observation, outcome.reward, outcome.terminated, outcome.truncated)
        )

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[torch.Tensor, dict[str, Any]]:
        """Begin an episode with every vehicle; returns observations and infos."""
        _, infos = self.envs.reset(seed=seed, options=options)
        return self.observation, infos

    def step(
        self, actions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """Apply one action to every vehicle; returns gymnasium's five values, the first four as tensors."""
        *_, infos = self.envs.step(actions.detach().numpy())
        return self.observation, self.reward, self.terminated, self.truncated, infos

    def close(self) -> None:
        """End the worker threads."""
        self.envs.close()
