"""Environments of gymnasium: one vehicle, or many in one call of native code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ironbird.errors import RunError
from ironbird.gym.fields import box
from ironbird.gym.randomise import Randomisation
from ironbird.gym.rollout import Outcome, Rollout
from ironbird.gym.task import Task


def episode_info(rollout: Rollout, vehicle: int) -> dict[str, Any]:
    """What defines an episode: the kernel's seed, and the fault that was drawn, if any."""
    drawn = rollout.drawn[vehicle]
    assert drawn is not None
    return {"seed": drawn.seed, "fault": drawn.fault.text() if drawn.fault else ""}


def end_info(rollout: Rollout, vehicle: int, outcome: Outcome) -> dict[str, Any]:
    """How an episode ended: the reason, whether it succeeded, and the robustness of each requirement."""
    return {
        "reason": outcome.reasons.get(vehicle, "time is over"),
        "success": bool(outcome.success[vehicle]),
        "margins": rollout.margins(vehicle),
    }


class VehicleEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """One vehicle with a task. Fields of the spaces with their units: `observation_fields`, `action_fields`."""

    metadata = {"render_modes": []}

    def __init__(self, task: Task, randomisation: Randomisation | None = None, render_mode: str | None = None) -> None:
        self.rollout = Rollout(task, randomisation)
        self.render_mode = render_mode
        self.observation_fields, self.action_fields = self.rollout.observation_fields, self.rollout.action_fields
        self.observation_space, self.action_space = box(self.observation_fields), box(self.action_fields)
        self._begun = self._over = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode; a seed fixes this episode and all that follow."""
        super().reset(seed=seed)
        if seed is not None or not self._begun:
            self.rollout.seed([seed])
        self._begun, self._over = True, False
        observation = self.rollout.begin(np.zeros(1, np.int64))[0]
        return observation, episode_info(self.rollout, 0)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Apply an action and hold it until the next decision; returns gymnasium's five values."""
        if not self._begun or self._over:
            raise RunError("the episode is over, or none has begun: call reset first")
        outcome = self.rollout.step(np.asarray(action)[None])
        terminated, truncated = bool(outcome.terminated[0]), bool(outcome.truncated[0])
        self._over = terminated or truncated
        info = end_info(self.rollout, 0, outcome) if self._over else {}
        return outcome.observation[0], float(outcome.reward[0]), terminated, truncated, info

    def close(self) -> None:
        """Free the worker threads; no window or file is open."""
        self.rollout.close()


class VehicleVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Many vehicles with a task, in lanes of one kernel.

    Vehicle i equals the single environment of seed + i, bit for bit.
    `autoreset_mode` is gymnasium's: NEXT_STEP (a finished vehicle begins again at the next step, whose action is
    ignored),
    SAME_STEP (at once; its last observation is in `final_obs`) or DISABLED (reset with options `reset_mask`).
    """

    def __init__(
        self,
        task: Task,
        randomisation: Randomisation | None = None,
        num_envs: int = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int = 1,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self.rollout = Rollout(task, randomisation, count=num_envs, threads=threads)
        self.num_envs, self.render_mode = num_envs, render_mode
        self.observation_fields, self.action_fields = self.rollout.observation_fields, self.rollout.action_fields
        self.single_observation_space, self.single_action_space = box(self.observation_fields), box(self.action_fields)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._over = np.ones(num_envs, bool)
        self._begun = False

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode with every vehicle, or with those of the option `reset_mask`."""
        mask = np.ones(self.num_envs, bool)
        if options and "reset_mask" in options:
            mask = np.asarray(options["reset_mask"])
            if mask.shape != (self.num_envs,) or mask.dtype != bool or not mask.any():
                raise RunError(
                    f"reset_mask is {mask.dtype} {mask.shape}; give {self.num_envs} booleans, one of them true"
                )
        if not self._begun and not mask.all():
            raise RunError("the first reset takes all vehicles: leave out reset_mask")
        vehicles = np.flatnonzero(mask)
        if isinstance(seed, int | np.integer):
            seeds: list[int | None] = [int(seed) + i for i in range(self.num_envs)]
        else:
            seeds = [None] * self.num_envs if seed is None else list(seed)
            if len(seeds) != self.num_envs:
                raise RunError(f"{len(seeds)} seeds for {self.num_envs} vehicles")
        seeded = [int(v) for v in vehicles if seeds[v] is not None or not self._begun]
        self.rollout.seed([seeds[v] for v in seeded], seeded)
        self._begun = True
        self._over[vehicles] = False
        observations = self.rollout.begin(vehicles)
        infos: dict[str, Any] = {}
        for vehicle in vehicles.tolist():
            infos = self._add_info(infos, episode_info(self.rollout, vehicle), vehicle)
        return observations, infos

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Apply one action to every vehicle; returns gymnasium's five values, one row per vehicle."""
        if not self._begun:
            raise RunError("no episode has begun: call reset first")
        if self.autoreset_mode == AutoresetMode.DISABLED and self._over.any():
            raise RunError(f"the episode of vehicle {int(self._over.argmax())} is over: reset it with reset_mask first")
        renewed = np.flatnonzero(self._over)  # only with NEXT_STEP
        rollout, infos = self.rollout, dict[str, Any]()
        outcome = rollout.step(actions)
        observations = outcome.observation
        if len(renewed):
            observations = np.where(self._over[:, None], rollout.begin(renewed), observations)
            outcome.reward[renewed] = 0.0
            outcome.terminated[renewed] = outcome.truncated[renewed] = False
        self._over = outcome.terminated | outcome.truncated
        ended = np.flatnonzero(self._over)
        for vehicle in renewed.tolist():
            infos = self._add_info(infos, episode_info(rollout, vehicle), vehicle)
        ends = {vehicle: end_info(rollout, vehicle, outcome) for vehicle in ended.tolist()}
        if len(ended) and self.autoreset_mode == AutoresetMode.SAME_STEP:
            last = observations.copy()
            observations = np.where(self._over[:, None], rollout.begin(ended), observations)
            for vehicle, info in ends.items():
                final = {"final_obs": last[vehicle], "final_info": info}
                infos = self._add_info(infos, {**episode_info(rollout, vehicle), **final}, vehicle)
            self._over = np.zeros(self.num_envs, bool)
        else:
            for vehicle, info in ends.items():
                infos = self._add_info(infos, info, vehicle)
        return observations, outcome.reward, outcome.terminated, outcome.truncated, infos

    def close_extras(self, **kwargs: Any) -> None:
        """End the worker threads; gymnasium calls this on `close`."""
        self.rollout.close()
