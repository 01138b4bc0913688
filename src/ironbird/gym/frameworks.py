"""Registered environments in the form of learning frameworks: Stable-Baselines3, and torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ironbird.files.extras import need
from ironbird.gym.registry import make_vector_env

if TYPE_CHECKING:
    from ironbird.gym.stable_baselines import Sb3Vehicles
    from ironbird.gym.tensors import TensorVehicles


def sb3(id: str, num_envs: int = 64, *, normalise: bool = True, **options: Any) -> Sb3Vehicles:
    """A registered task as a vector environment of Stable-Baselines3, all vehicles in lanes of one kernel.

    Parameters
    ----------
    id : str
        Name of the task, such as `ironbird/Hover-v0`.
    num_envs : int, default 64
        Number of vehicles.
    normalise : bool, default True
        Observations and actions in -1 .. 1, which Stable-Baselines3 expects.
    **options
        As for `gymnasium.make_vec`.

    Examples
    --------
    >>> from stable_baselines3 import PPO  # doctest: +SKIP
    >>> PPO("MlpPolicy", ironbird.gym.sb3("ironbird/Hover-v0", 128)).learn(1_000_000)  # doctest: +SKIP
    """
    need("stable_baselines3", "ironbird.gym.sb3")
    from ironbird.gym.stable_baselines import Sb3Vehicles

    return Sb3Vehicles(make_vector_env(id, num_envs, "SameStep", normalise=normalise, **options))


def tensors(id: str, num_envs: int = 64, *, autoreset_mode: str = "SameStep", **options: Any) -> TensorVehicles:
    """A registered task with torch tensors in and out, without a copy; options as for `gymnasium.make_vec`.

    Examples
    --------
    >>> envs = ironbird.gym.tensors("ironbird/Hover-v0", 256, normalise=True)  # doctest: +SKIP
    >>> seen, _ = envs.reset(seed=1)  # doctest: +SKIP
    >>> seen, reward, terminated, truncated, infos = envs.step(policy(seen))  # doctest: +SKIP
    """
    need("torch", "ironbird.gym.tensors")
    from ironbird.gym.tensors import TensorVehicles

    return TensorVehicles(make_vector_env(id, num_envs, autoreset_mode, copy=False, **options))
