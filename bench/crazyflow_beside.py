"""Crazyflow on the CPU, measured in an environment of its own: run by bench/gym.py, which says how to get it.

    ENVIRONMENT/bin/python bench/crazyflow_beside.py plant|reach COUNT SECONDS

`plant`: its first-principles model (rigid body, four motors of first order, drag; single precision; no sensors) with
RK4 in steps of 1 ms, rotor speeds commanded, ten steps a decision. `reach`: its ReachPos environment with its defaults
(a fitted attitude model at 500 Hz). Prints one line of JSON: decisions a second of the wall clock and processor time of
one in us, each the best of half seconds.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

DECISION_TICKS = 10


def plant(count: int) -> Callable[[], Any]:
    """Ten steps of 1 ms of many drones."""
    jax = importlib.import_module("jax")
    crazyflow = importlib.import_module("crazyflow.sim")
    control = importlib.import_module("crazyflow.control.core").Control
    dynamics = importlib.import_module("crazyflow.dynamics.core").Dynamics
    integrator = importlib.import_module("crazyflow.sim.integration").Integrator
    sim = crazyflow.Sim(
        n_worlds=count,
        dynamics=dynamics.first_principles,
        control=control.rotor_vel,
        integrator=integrator.rk4,
        freq=1000,
    )
    sim.reset()
    state = sim.data.states
    sim.data = sim.data.replace(states=state.replace(pos=state.pos.at[..., 2].set(10.0)))  # clear of the floor
    sim.rotor_vel_control(jax.numpy.full((count, 1, 4), 15_000.0))

    def decide() -> Any:
        sim.step(DECISION_TICKS)
        return jax.block_until_ready(sim.data.states.pos)

    return decide


def reach(count: int) -> Callable[[], Any]:
    """One decision of its own environment, at a hover."""
    jax, their = importlib.import_module("jax"), importlib.import_module("crazyflow.envs")
    envs = their.ReachPosEnv(num_envs=count)  # 100 decisions of 5 steps a second
    envs.reset(seed=1)
    space = envs.single_action_space
    actions = jax.numpy.tile(jax.numpy.asarray(0.5 * (space.low + space.high)), (count, 1))
    return lambda: jax.block_until_ready(envs.step(actions)[0])


def main() -> None:
    """Measure and print."""
    kind, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    decide = {"plant": plant, "reach": reach}[kind](count)
    for _ in range(3):  # JAX compiles at the first call, and again if a type changed in it
        decide()
    best, least, end = 0.0, float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin, used, done = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - begin < 0.5:
            decide()
            done += count
        best = max(best, done / (time.perf_counter() - begin))
        least = min(least, 1e6 * (time.process_time() - used) / done)
    print(json.dumps({"steps_per_s": best, "cpu_us": least}))


if __name__ == "__main__":
    main()
