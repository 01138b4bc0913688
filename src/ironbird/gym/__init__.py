"""Learning environments on the kernel's lanes: gymnasium (single and vector) and PettingZoo.

    import gymnasium as gym
    import ironbird.gym                                  # registers ironbird/Hover-v0 and the others

    env = gym.make("ironbird/Hover-v0")
    envs = gym.make_vec("ironbird/Hover-v0", num_envs=1024)
    model = PPO("MlpPolicy", ironbird.gym.sb3("ironbird/Hover-v0", num_envs=128))   # Stable-Baselines3

Needs the extra `gym` (`pip install ironbird[gym]`). The guide is docs/guide/learning.md.
"""

from ironbird.gym.env import VehicleEnv, VehicleVectorEnv
from ironbird.gym.frameworks import sb3, tensors
from ironbird.gym.levels import LEVELS, Level
from ironbird.gym.parallel import ManyVehiclesEnv, parallel_env
from ironbird.gym.randomise import Randomisation
from ironbird.gym.registry import IDS, make_task, register
from ironbird.gym.save import policy_of
from ironbird.gym.task import Goal, Task
from ironbird.gym.tasks.multicopter import Gates, Hover, Landing, Tracking
from ironbird.gym.tasks.waypoint import Waypoint

__all__ = [
    "Gates",
    "Goal",
    "Hover",
    "IDS",
    "LEVELS",
    "Landing",
    "Level",
    "ManyVehiclesEnv",
    "Randomisation",
    "Task",
    "Tracking",
    "VehicleEnv",
    "VehicleVectorEnv",
    "Waypoint",
    "make_task",
    "parallel_env",
    "policy_of",
    "register",
    "sb3",
    "tensors",
]

register()
