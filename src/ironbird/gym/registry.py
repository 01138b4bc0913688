"""The registered environments: name, task, and randomisation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import gymnasium

from ironbird.errors import UnknownNameError
from ironbird.gym.env import VehicleEnv, VehicleVectorEnv
from ironbird.gym.randomise import Randomisation
from ironbird.gym.task import Task
from ironbird.gym.tasks.deck import Deck
from ironbird.gym.tasks.lemniscate import Lemniscate
from ironbird.gym.tasks.multicopter import Gates, Hover, Landing, Tracking
from ironbird.gym.tasks.waypoint import Waypoint

ROTOR_FAULTS = tuple(f"rotor.speed_loss@1:instance={n},severity=0.4" for n in (1, 2, 3, 4))
MILD_FAULTS = tuple(f"rotor.speed_loss@1:instance={n},severity=0.15" for n in (1, 2, 3, 4))
STOPPED_ROTORS = tuple(f"rotor.floating@1:instance={n}" for n in range(1, 7))
IDS: dict[str, tuple[Callable[..., Task], Randomisation]] = {
    "ironbird/Hover-v0": (Hover, Randomisation()),
    "ironbird/Tracking-v0": (Tracking, Randomisation()),
    "ironbird/Gates-v0": (Gates, Randomisation()),
    "ironbird/Landing-v0": (Landing, Randomisation(wind_mps=(0.0, 3.0))),
    "ironbird/Waypoint-v0": (
        Waypoint,
        Randomisation(
            wind_mps=(0.0, 5.0),
            turbulence_mps=(0.0, 4.0),
            scale={"body.mass": (0.9, 1.1)},
            faults=MILD_FAULTS,
            fault_share=0.5,
        ),
    ),
    "ironbird/Lemniscate-v0": (Lemniscate, Randomisation()),
    "ironbird/Deck-v0": (Deck, Randomisation(wind_mps=(0.0, 4.0))),
    "ironbird/Wind-v0": (Waypoint, Randomisation(wind_mps=(6.0, 12.0), turbulence_mps=(5.0, 10.0))),
    "ironbird/RotorLoss-v0": (
        functools.partial(Waypoint, vehicle="hexa_x"),
        Randomisation(faults=STOPPED_ROTORS, fault_start_s=(0.5, 2.0)),
    ),
    "ironbird/FaultedHover-v0": (
        Hover,
        Randomisation(wind_mps=(0.0, 3.0), scale={"body.mass": (0.9, 1.1)}, faults=ROTOR_FAULTS, fault_share=0.8),
    ),
}


def make_task(name: str, options: Mapping[str, Any]) -> tuple[Task, Randomisation]:
    """Task and randomisation of a registered name; `options` replace fields of either by name."""
    kind, random = IDS[name]
    known = {entry.name for entry in fields(kind.func if isinstance(kind, functools.partial) else kind)}  # type: ignore[arg-type]
    of_random = {entry.name for entry in fields(Randomisation)}
    for key in options:
        if key not in known | of_random:
            raise UnknownNameError("option", key, sorted(known | of_random), name)
    randomised = {key: value for key, value in options.items() if key in of_random}
    task = kind(**{key: value for key, value in options.items() if key in known})
    return task, Randomisation(**{**vars(random), **randomised})


def make_env(id: str, render_mode: str | None = None, **options: Any) -> VehicleEnv:
    """Environment with one vehicle for a registered name; called by `gymnasium.make`."""
    return VehicleEnv(*make_task(id, options), render_mode=render_mode)


def make_vector_env(
    id: str,
    num_envs: int = 1,
    autoreset_mode: str = "NextStep",
    threads: int = 1,
    render_mode: str | None = None,
    copy: bool = True,
    **options: Any,
) -> VehicleVectorEnv:
    """Environment with many vehicles for a registered name; called by `gymnasium.make_vec`."""
    return VehicleVectorEnv(
        *make_task(id, options),
        num_envs=num_envs,
        autoreset_mode=autoreset_mode,
        threads=threads,
        render_mode=render_mode,
        copy=copy,
    )


def register() -> None:
    """Register the environments with gymnasium."""
    for name in IDS:
        if name not in gymnasium.registry:
            gymnasium.register(
                id=name,
                entry_point="ironbird.gym.registry:make_env",
                vector_entry_point="ironbird.gym.registry:make_vector_env",
                kwargs={"id": name},
                order_enforce=False,
            )
