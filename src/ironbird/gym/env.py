"""Environments of gymnasium: one vehicle, or many in one call of native code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ironbird.errors import RunError
from ironbird.gym.randomise import Randomisation
from ironbird.gym.rollout import Rollout
from ironbird.gym.show import RENDER_MODES, Show
from ironbird.gym.task import Task


def episode_info(rollout: Rollout, vehicle: int) -> dict[str, Any]:
    """What defines an episode: the kernel's seed, and the fault that was drawn, if any."""
    drawn = rollout.drawn[vehicle]
    assert drawn is not None
    return {"seed": drawn.seed, "fault": drawn.fault.text() if drawn.fault else ""}


def end_info(rollout: Rollout, vehicle: int) -> dict[str, Any]:
    """How an episode ended: the reason, whether it succeeded, and the robustness of each requirement."""
    return {
        "reason": rollout.reason(vehicle) or "time is over",
        "success": bool(rollout.outcome.success[vehicle]),
        "margins": rollout.margins(vehicle),
    }


class VehicleEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """One vehicle with a task. Fields of the spaces with their units: `observation_fields`, `action_fields`."""

    def __init__(self, task: Task, randomisation: Randomisation | None = None, render_mode: str | None = None) -> None:
        self.metadata = {"render_modes": list(RENDER_MODES), "render_fps": max(1, round(1.0 / task.decision_s))}
        self.rollout = Rollout(task, randomisation)
        self.render_mode, self._show = render_mode, Show.of(render_mode, self.rollout)
        self.observation_fields, self.action_fields = self.rollout.observation_fields, self.rollout.action_fields
        self.observation_space, self.action_space = self.rollout.observation_space, self.rollout.action_space
        self._begun = self._over = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode; a seed fixes this episode and all that follow.

        `options` change the randomisation's ranges of this episode and all that follow (`{"wind_mps": (0, 3)}`).
        """
        super().reset(seed=seed)
        if options:
            self.rollout.vary(options)
        if seed is not None or not self._begun:
            self.rollout.seed([seed])
        self._begun, self._over = True, False
        observation = self.rollout.begin(np.zeros(1, np.int64))[0].copy()
        if self._show is not None:
            self._show.begin()
        return observation, episode_info(self.rollout, 0)

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Apply an action and hold it until the next decision; returns gymnasium's five values."""
        if not self._begun or self._over:
            raise RunError("the episode is over, or none has begun: call reset first")
        outcome = self.rollout.step(np.asarray(action)[None])
        terminated, truncated = outcome.terminated.item(), outcome.truncated.item()
        self._over = terminated or truncated
        if self._show is not None:
            self._show.step()
        info = end_info(self.rollout, 0) if self._over else {}
        return outcome.observation[0].copy(), outcome.reward.item(), terminated, truncated, info

    def render(self) -> Any:
        """A picture of the present moment (`rgb_array`), a page of the episode so far (`replay`), or a window."""
        if self._show is None:
            raise RunError(f"this environment was made without pictures: give render_mode, {', '.join(RENDER_MODES)}")
        return self._show.render()

    def close(self) -> None:
        """Close the window, if there is one, and free the worker threads."""
        if self._show is not None:
            self._show.close()
        self.rollout.close()


class VehicleVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Many vehicles with a task, in lanes of one kernel.

    Vehicle i equals the single environment of seed + i, bit for bit.
    `autoreset_mode` is gymnasium's: NEXT_STEP (a finished vehicle begins again at the next step, whose action is
    ignored),
    SAME_STEP (at once; its last observation is in `final_obs`) or DISABLED (reset with options `reset_mask`).
    With `copy=False` the arrays that `step` returns are the environment's own: the next step changes them.
    """

    def __init__(
        self,
        task: Task,
        randomisation: Randomisation | None = None,
        num_envs: int = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int = 1,
        render_mode: str | None = None,
        copy: bool = True,
    ) -> None:
        super().__init__()
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {
            "render_modes": list(RENDER_MODES),
            "render_fps": max(1, round(1.0 / task.decision_s)),
            "autoreset_mode": self.autoreset_mode,
        }
        self.rollout = Rollout(task, randomisation, count=num_envs, threads=threads)
        self.num_envs, self.render_mode, self.copy = num_envs, render_mode, copy
        self._show = Show.of(render_mode, self.rollout)
        self.observation_fields, self.action_fields = self.rollout.observation_fields, self.rollout.action_fields
        self.single_observation_space = self.rollout.observation_space
        self.single_action_space = self.rollout.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._over = np.ones(num_envs, bool)
        self._begun = False

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode with every vehicle, or with those of the option `reset_mask`.

        Other options change the randomisation's ranges, as for a single environment.
        """
        mask, options = np.ones(self.num_envs, bool), dict(options or {})
        if "reset_mask" in options:
            mask = np.asarray(options.pop("reset_mask"))
            if mask.shape != (self.num_envs,) or mask.dtype != bool or not mask.any():
                raise RunError(
                    f"reset_mask is {mask.dtype} {mask.shape}; give {self.num_envs} booleans, one of them true"
                )
        if not self._begun and not mask.all():
            raise RunError("the first reset takes all vehicles: leave out reset_mask")
        if options:
            self.rollout.vary(options)
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
        observations = self._given(self.rollout.begin(vehicles))
        if self._show is not None and mask[0]:
            self._show.begin()
        infos: dict[str, Any] = {}
        for vehicle in vehicles.tolist():
            infos = self._add_info(infos, episode_info(self.rollout, vehicle), vehicle)
        return observations, infos

    def _given(self, array: np.ndarray) -> np.ndarray:
        return array.copy() if self.copy else array

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Apply one action to every vehicle; returns gymnasium's five values, one row per vehicle."""
        if not self._begun:
            raise RunError("no episode has begun: call reset first")
        if self.autoreset_mode == AutoresetMode.DISABLED and self._over.any():
            raise RunError(f"the episode of vehicle {int(self._over.argmax())} is over: reset it with reset_mask first")
        rollout, infos = self.rollout, dict[str, Any]()
        renewed = np.flatnonzero(self._over)  # only with NEXT_STEP
        outcome = rollout.step(actions)
        if len(renewed):
            rollout.begin(renewed)
            outcome.reward[renewed] = 0.0
            outcome.terminated[renewed] = outcome.truncated[renewed] = False
            for vehicle in renewed.tolist():
                infos = self._add_info(infos, episode_info(rollout, vehicle), vehicle)
        self._over = outcome.terminated | outcome.truncated
        if self._show is not None:
            self._show.step()
        if self._over.any():
            infos = self._end(infos)
        parts = (outcome.observation, outcome.reward, outcome.terminated, outcome.truncated)
        observations, rewards, terminated, truncated = map(self._given, parts)
        return observations, rewards, terminated, truncated, infos

    def _end(self, infos: dict[str, Any]) -> dict[str, Any]:
        """Infos of the vehicles whose episode is over; with SAME_STEP they begin another."""
        rollout, ended = self.rollout, np.flatnonzero(self._over)
        ends = {vehicle: end_info(rollout, vehicle) for vehicle in ended.tolist()}
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            last = rollout.outcome.observation[ended]
            rollout.begin(ended)
            for row, (vehicle, info) in enumerate(ends.items()):
                final = {"final_obs": last[row], "final_info": info}
                infos = self._add_info(infos, {**episode_info(rollout, vehicle), **final}, vehicle)
            if self._show is not None and self._over[0]:
                self._show.begin()
            self._over = np.zeros(self.num_envs, bool)
        else:
            for vehicle, info in ends.items():
                infos = self._add_info(infos, info, vehicle)
        return infos

    def render(self) -> Any:
        """As for a single environment, of the first vehicle; pictures are in a tuple, as gymnasium expects."""
        if self._show is None:
            raise RunError(f"this environment was made without pictures: give render_mode, {', '.join(RENDER_MODES)}")
        picture = self._show.render()
        return None if picture is None else (picture,)

    def close_extras(self, **kwargs: Any) -> None:
        """End the worker threads; gymnasium calls this on `close`."""
        if self._show is not None:
            self._show.close()
        self.rollout.close()
