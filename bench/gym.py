"""Speed of the learning environments, beside a plant in NumPy in the same run.

    python bench/gym.py [--envs 2048] [--seconds 5] [--threads 2] [--crazyflow ENVIRONMENT/bin/python]

Reference: the rigid body, motors and drag of the same F450 in vectorised NumPy with RK4 at the same 1 kHz, as people
write it by hand; it has no contact, battery, air, turbulence or sampled parts, and no task. With `--crazyflow` (or
IRONBIRD_CRAZYFLOW) Crazyflow runs beside, by the Python of an environment that has it ('python -m venv ENVIRONMENT',
'ENVIRONMENT/bin/pip install crazyflow'; JAX and MuJoCo come with it): its first-principles plant with RK4 in steps of
1 ms, and its ReachPos environment with its own defaults (bench/crazyflow_beside.py); JAX takes the threads it likes.
The last line but one is the ratio of both plants with RK4 in steps of 1 ms.

Each figure is environment steps (decisions at 100 Hz) a second of the wall clock, the best of
half seconds; beside it the processor time of one step, all threads together, which says more on a machine that others
use: 2 us a step are 1,000,000 steps/s of two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import gymnasium
import numpy as np

import ironbird.gym as learning
from ironbird.vehicles.load import load_spec
from ironbird.vehicles.templates.multicopter import MulticopterSpec, effectiveness

TICKS = 10
ANY = "threads as JAX takes"


def numpy_plant(count: int) -> Callable[[], None]:
    """One decision of `count` F450 in NumPy."""
    spec = load_spec("quad_f450")
    assert isinstance(spec, MulticopterSpec)
    mass, inertia = spec.body.mass_kg, np.diag(spec.body.inertia())
    motor, thrust = spec.motor["standard"], spec.propeller["standard"].thrust_coefficient_Ns2
    matrix, drag = effectiveness(spec), spec.airframe.drag_Ns2pm2[0]
    time_constant_s = motor.time_constant_s or 0.01
    state = np.zeros((count, 17))
    state[:, 6] = 1.0
    state[:, 13:] = np.sqrt(mass * 9.80665 / 4 / thrust)
    throttle = np.full((count, 4), 0.6439)

    def rates(s: np.ndarray) -> np.ndarray:
        v, (w, x, y, z), omega, speed = s[:, 3:6], s[:, 6:10].T, s[:, 10:13], s[:, 13:]
        total = (thrust * speed * speed) @ matrix.T  # thrust, three moments
        body_z = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=1)
        out = np.empty_like(s)
        out[:, :3] = v
        out[:, 3:6] = -body_z * (total[:, :1] / mass) - drag / mass * v * np.linalg.norm(v, axis=1)[:, None]
        out[:, 5] += 9.80665
        p, q, r = omega.T
        out[:, 6:10] = 0.5 * np.stack(
            [-x * p - y * q - z * r, w * p + y * r - z * q, w * q - x * r + z * p, w * r + x * q - y * p], axis=1
        )
        out[:, 10:13] = (total[:, 1:] - np.cross(omega, inertia * omega)) / inertia
        out[:, 13:] = (motor.slope_radps * throttle + motor.idle_speed_radps - speed) / time_constant_s
        return out

    def decide() -> None:
        nonlocal state
        h = 1e-3
        for _ in range(TICKS):
            a = rates(state)
            b = rates(state + 0.5 * h * a)
            c = rates(state + 0.5 * h * b)
            d = rates(state + h * c)
            state = state + h / 6 * (a + 2 * b + 2 * c + d)
            state[:, 6:10] /= np.linalg.norm(state[:, 6:10], axis=1)[:, None]

    return decide


def environment(task: learning.Task, count: int, threads: int, scattered: bool = False) -> Callable[[], None]:
    """One decision of an environment whose vehicles begin again whenever they must."""
    envs = learning.VehicleVectorEnv(task, num_envs=count, threads=threads, autoreset_mode="SameStep")
    envs.reset(seed=1)
    if scattered:
        envs.rollout.steps[:] = np.arange(count) % envs.rollout.most_steps
        for _ in range(envs.rollout.most_steps):
            envs.step(np.tile(envs.rollout.neutral_action, (count, 1)))
    actions = np.tile(envs.rollout.neutral_action, (count, 1))
    return lambda: envs.step(actions) and None


def alone(name: str = "ironbird/Hover-v0") -> Callable[[], None]:
    """One decision of the environment with one vehicle, as `gymnasium.make` gives it."""
    env = gymnasium.make(name, keep=(), longest_s=3.0)
    inner = env.unwrapped
    assert isinstance(inner, learning.VehicleEnv)
    env.reset(seed=1)

    def decide() -> None:
        *_, terminated, truncated, _ = env.step(inner.rollout.neutral_action)
        if terminated or truncated:
            env.reset()

    return decide


def through_sb3(task: learning.Task, count: int) -> Callable[[], None]:
    """One decision of the same vehicles through the interface of Stable-Baselines3."""
    from ironbird.gym.stable_baselines import Sb3Vehicles

    envs = learning.VehicleVectorEnv(task, num_envs=count, autoreset_mode="SameStep")
    vehicles, actions = Sb3Vehicles(envs), np.tile(envs.rollout.neutral_action, (count, 1))
    vehicles.seed(1)
    vehicles.reset()
    return lambda: vehicles.step(actions) and None


def crazyflow(python: str, kind: str, count: int, seconds: float) -> tuple[float, float]:
    """The same figures as `measure`, of Crazyflow in its own environment."""
    command = [python, str(Path(__file__).with_name("crazyflow_beside.py")), kind, str(count), str(seconds)]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, env={**own, "JAX_PLATFORMS": "cpu"}, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    said = json.loads(done.stdout.splitlines()[-1])
    return said["steps_per_s"], said["cpu_us"]


def measure(decide: Callable[[], None], count: int, seconds: float) -> tuple[float, float]:
    """Steps a second of the wall, and processor time of a step in us: the best of half seconds, for others run too."""
    decide()
    best, least, end = 0.0, float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin, used, done = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - begin < 0.5:
            decide()
            done += count
        best = max(best, done / (time.perf_counter() - begin))
        least = min(least, 1e6 * (time.process_time() - used) / done)
    return best, least


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", type=int, default=2048)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--crazyflow", metavar="PYTHON", default=os.environ.get("IRONBIRD_CRAZYFLOW"))
    given = parser.parse_args()
    hover, count = learning.Hover(keep=(), longest_s=5.0), given.envs
    fine = learning.Hover(keep=(), integration="rk4@0.001")
    same_step = f"the same with rk4@0.001, {given.threads} threads"
    parts: dict[str, Callable[[], Callable[[], None]]] = {
        "NumPy RK4 of the bare plant, 1 core": lambda: numpy_plant(count),
        "plant, action on the actuators, 1 core": lambda: environment(hover, count, 1),
        f"the same, {given.threads} threads": lambda: environment(hover, count, given.threads),
        same_step: lambda: environment(fine, count, given.threads),
        f"the same, every age different, {given.threads} threads": lambda: environment(
            learning.Hover(keep=(), longest_s=2.0), count, given.threads, scattered=True
        ),
        f"control on the true state, {given.threads} threads": lambda: environment(
            learning.Hover(keep=(), level="velocity"), count, given.threads
        ),
        f"control on the true state with rk4@0.001, {given.threads} threads": lambda: environment(
            learning.Hover(keep=(), level="velocity", integration="rk4@0.001"), count, given.threads
        ),
        f"full loop: sensors, voting, estimator, {given.threads} threads": lambda: environment(
            learning.Hover(keep=(), level="full_loop", longest_s=60.0), count // 4, given.threads
        ),
    }
    if find_spec("stable_baselines3"):
        parts["plant through Stable-Baselines3, 1 core"] = lambda: through_sb3(hover, count)
    parts["plant, one vehicle alone, gymnasium.make"] = alone
    theirs = {
        f"Crazyflow's plant, RK4 in steps of 1 ms, {ANY}": "plant",
        f"Crazyflow's ReachPos at 500 Hz, {ANY}": "reach",
    }
    found: dict[str, tuple[float, float]] = {}
    for name in [*parts, *(theirs if given.crazyflow else ())]:
        lanes = count // 4 if name.startswith("full") else 1 if "alone" in name else count
        if name in parts:
            found[name] = measure(parts[name](), lanes, given.seconds)
        else:
            found[name] = crazyflow(given.crazyflow, theirs[name], count, given.seconds)
        (first, _), (speed, cpu_us) = next(iter(found.values())), found[name]
        print(f"{name:66} {speed:12,.0f} steps/s  {speed / first:7.1f} x  {cpu_us:8.3f} µs a step", flush=True)
    if given.crazyflow:
        (own, own_us), (other, other_us) = found[same_step], found[next(iter(theirs))]
        print(f"plant, RK4 in steps of 1 ms, over Crazyflow's: {own / other:.1f} by wall clock, "
              f"{other_us / own_us:.1f} by processor time")  # fmt: skip
    figures = {name: {"steps_per_s": round(speed), "cpu_us": round(us, 4)} for name, (speed, us) in found.items()}
    print(json.dumps({"envs": count, "load": os.getloadavg()[0], "figures": figures}))


if __name__ == "__main__":
    main()
