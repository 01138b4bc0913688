"""Several vehicles in one space as a parallel environment of PettingZoo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from pettingzoo import ParallelEnv

from ironbird.errors import RunError
from ironbird.gym.env import end_info, episode_info
from ironbird.gym.fields import box, entries
from ironbird.gym.randomise import Randomisation
from ironbird.gym.registry import make_task
from ironbird.gym.rollout import Rollout
from ironbird.gym.show import RENDER_MODES, Show
from ironbird.gym.task import Task
from ironbird.scenario.wake import Wakes
from ironbird.vehicles import places as at
from ironbird.vehicles.in_world import rotors_of

FAR_M = 50.0  # bound of the observed positions of other vehicles


class ManyVehiclesEnv(ParallelEnv[str, np.ndarray, np.ndarray]):
    """Vehicles in the same airspace, each with its own task; their origins are `apart_m` apart in a row to the east.

    `apart_m` can also be a step north, east and down. Each vehicle observes its own state and the positions of the
    others in N, in the order of their numbers, and flies in the wakes of the others' rotors (`scenario.wake`: jets,
    held between decisions), unless `wake` is False. Two vehicles closer than `separation_m` have collided: both
    episodes end. Not modelled: forces of a collision.
    """

    metadata = {"name": "ironbird_many_vehicles_v0", "is_parallelizable": True}

    def __init__(
        self,
        task: Task,
        randomisation: Randomisation | None = None,
        vehicles: int = 2,
        apart_m: float | Sequence[float] = 3.0,
        separation_m: float = 0.6,
        wake: bool = True,
        render_mode: str | None = None,
    ) -> None:
        if vehicles < 2:
            raise RunError(f"{vehicles} vehicles: this environment is for two or more; take VehicleEnv for one")
        step = np.array([0.0, apart_m, 0.0] if isinstance(apart_m, int | float) else apart_m, float)
        if step.shape != (3,):
            raise RunError(f"apart_m = {apart_m}: give metres in a row, or a step north, east and down")
        self.rollout = Rollout(task, randomisation, count=vehicles, wake=wake)
        self.possible_agents = [f"vehicle_{number}" for number in range(1, vehicles + 1)]
        self.agents: list[str] = []
        self.render_mode, self.separation_m = render_mode, separation_m
        self.metadata = {**self.metadata, "render_modes": list(RENDER_MODES)}
        self._show = Show.of(render_mode, self.rollout)
        self._offset = np.arange(vehicles)[:, None] * step
        rotors = rotors_of(self.rollout.fitted.vehicle.diagram)
        self._rotors = len(rotors)
        self._wakes = Wakes([rotors] * vehicles) if wake and rotors else None
        others = [f for number in range(1, vehicles) for f in entries(f"to_other_{number}", 3, "m", -FAR_M, FAR_M)]
        self.observation_fields = [*self.rollout.observation_fields, *others]
        self.action_fields = self.rollout.action_fields
        self._spaces = {agent: box(self.observation_fields) for agent in self.possible_agents}
        self._actions = {agent: box(self.action_fields) for agent in self.possible_agents}
        self.observation_spaces: dict[str, Space[Any]] = dict(self._spaces)
        self.action_spaces: dict[str, Space[Any]] = dict(self._actions)

    def observation_space(self, agent: str) -> Space[Any]:
        """Observation space of a vehicle; always the same object, as PettingZoo requires."""
        return self._spaces[agent]

    def action_space(self, agent: str) -> Space[Any]:
        """Action space of a vehicle; always the same object, as PettingZoo requires."""
        return self._actions[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, dict[str, Any]]]:
        """Begin an episode with all vehicles; vehicle i draws its random numbers from seed + i."""
        count = self.rollout.count
        if seed is not None or not self.agents:
            self.rollout.seed([None if seed is None else seed + i for i in range(count)])
        self.agents = list(self.possible_agents)
        observation = self._with_others(self.rollout.begin(np.arange(count)))
        if self._wakes is not None:
            self._blow(self._wakes)
        if self._show is not None:
            self._show.begin()
        infos = {agent: episode_info(self.rollout, i) for i, agent in enumerate(self.agents)}
        return {agent: observation[i] for i, agent in enumerate(self.agents)}, infos

    def step(
        self, actions: dict[str, np.ndarray]
    ) -> tuple[dict[str, np.ndarray], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Apply one action to every vehicle that still flies; returns PettingZoo's five dictionaries."""
        if not self.agents:
            raise RunError("no vehicle flies: call reset first")
        numbers = {agent: self.possible_agents.index(agent) for agent in self.agents}
        chosen = np.tile(self.rollout.neutral_action, (self.rollout.count, 1))
        for agent, number in numbers.items():
            chosen[number] = actions[agent]
        outcome = self.rollout.step(chosen)
        if self._wakes is not None:
            self._blow(self._wakes)
        if self._show is not None:
            self._show.step()
        hit = self._collided(list(numbers.values()))
        outcome.reward[hit] += self.rollout.task.end_reward
        outcome.success[hit] = False
        observation = self._with_others(outcome.observation)
        terminations = {agent: bool(outcome.terminated[i] or hit[i]) for agent, i in numbers.items()}
        truncations = {agent: bool(outcome.truncated[i]) and not terminations[agent] for agent, i in numbers.items()}
        infos: dict[str, dict[str, Any]] = {}
        for agent, i in numbers.items():
            infos[agent] = end_info(self.rollout, i) if terminations[agent] or truncations[agent] else {}
            if hit[i]:
                infos[agent]["reason"] = f"closer than {self.separation_m:g} m to another vehicle"
        observations = {agent: observation[i] for agent, i in numbers.items()}
        rewards = {agent: float(outcome.reward[i]) for agent, i in numbers.items()}
        self.agents = [agent for agent in self.agents if not (terminations[agent] or truncations[agent])]
        return observations, rewards, terminations, truncations, infos

    def _places(self) -> np.ndarray:
        return self.rollout.positions() + self._offset

    def _with_others(self, observation: np.ndarray) -> np.ndarray:
        places, count = self._places(), self.rollout.count
        away = places[None, :, :] - places[:, None, :]
        others = away[~np.eye(count, dtype=bool)].reshape(count, -1)
        return np.concatenate([observation, np.clip(others, -FAR_M, FAR_M).astype(np.float32)], axis=1)

    def _blow(self, wakes: Wakes) -> None:
        """Give each vehicle the wakes of the others, from the thrusts at this decision until the next one."""
        seen, count = self.rollout.seen, self.rollout.count
        thrust = np.concatenate([seen[at.THRUSTS(f"held_{n}")] for n in range(1, self._rotors + 1)], axis=1)
        flying = np.isin(self.possible_agents, self.agents)
        thrust = np.where(flying[:, None], thrust, 0.0).ravel()
        rows = np.repeat(np.arange(count), self._rotors)
        attitude = seen[at.BODY.attitude].reshape(count, 3, 3).swapaxes(1, 2)  # R_NB is stored column by column
        density, flow_B = seen[at.THRUSTS("air")][rows, 0], seen[at.THRUSTS("flow_B")][rows]
        self.rollout.put(at.WASH("told_N"), wakes.wind(self._places(), attitude, thrust, density, flow_B))

    def _collided(self, flying: list[int]) -> np.ndarray:
        places, hit = self._places(), np.zeros(self.rollout.count, bool)
        gaps = np.linalg.norm(places[:, None] - places[None], axis=2)
        for i in flying:
            hit[i] = any(j != i and gaps[i, j] < self.separation_m for j in flying)
        return hit

    def render(self) -> Any:
        """As of a single environment, of the first vehicle alone."""
        if self._show is None:
            raise RunError(f"this environment was made without pictures: give render_mode, {', '.join(RENDER_MODES)}")
        return self._show.render()

    def close(self) -> None:
        """Close the window, if there is one, and free the worker threads."""
        if self._show is not None:
            self._show.close()
        self.rollout.close()


def parallel_env(name: str = "ironbird/Hover-v0", vehicles: int = 2, **options: Any) -> ManyVehiclesEnv:
    """Several vehicles with a registered task; options as for `gymnasium.make`, and those of ManyVehiclesEnv."""
    own = {key: options.pop(key) for key in ("apart_m", "separation_m", "wake", "render_mode") if key in options}
    return ManyVehiclesEnv(*make_task(name, options), vehicles=vehicles, **own)
