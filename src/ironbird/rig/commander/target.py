"""Offboard set-points: their fields, and checks of their values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ironbird.blocks.controllers.command_ports import BY_ATTITUDE, BY_COURSE, BY_PLACE, BY_RATES

NAN3 = (math.nan, math.nan, math.nan)
MOST = 1e6  # largest magnitude of a commanded number


@dataclass(frozen=True)
class Target:
    """An offboard set-point; NaN where nothing is commanded.

    In frame "B" positions (offsets from the vehicle), velocities and accelerations are ahead, to the right and down of
    its heading. With `attitude_rpy` or `rates_B` there must be a `thrust`. `airspeed`, `height` and `course` are for
    wings, `speed` and `course` for vehicles on the ground and in water (`height` there is minus the depth).
    """

    position_N: Sequence[float] = NAN3
    velocity_N: Sequence[float] = NAN3
    acceleration_N: Sequence[float] = NAN3
    yaw: float = math.nan
    yaw_rate: float = math.nan
    attitude_rpy: Sequence[float] | None = None
    rates_B: Sequence[float] | None = None
    thrust: float = math.nan  # 0 to 1
    frame: str = "N"  # or "B"
    airspeed: float = math.nan
    speed: float = math.nan
    height: float = math.nan
    course: float = math.nan


def kind_of(target: Target) -> float:
    if target.attitude_rpy is not None:
        return BY_ATTITUDE
    if target.rates_B is not None:
        return BY_RATES
    return BY_COURSE if math.isfinite(target.course) else BY_PLACE


def impossible(target: Target) -> str | None:
    """Reason why a set-point is invalid for every vehicle, or None."""
    vectors = [target.position_N, target.velocity_N, target.acceleration_N]
    vectors += [vector for vector in (target.attitude_rpy, target.rates_B) if vector is not None]
    if any(len(vector) != 3 for vector in vectors):
        return "a vector of the set-point has not three numbers"
    scalars = (target.yaw, target.yaw_rate, target.thrust, target.airspeed, target.speed, target.height, target.course)
    if any(abs(value) > MOST for value in (*(v for vector in vectors for v in vector), *scalars)):
        return f"a number of the set-point is greater than {MOST:g}"
    if target.frame not in ("N", "B"):
        return f"the frame '{str(target.frame)[:20]}' is neither N nor B"
    direct = [vector for vector in (target.attitude_rpy, target.rates_B) if vector is not None]
    if any(math.isnan(value) for vector in direct for value in vector):
        return "a part of the attitude or the rates is missing"
    if direct and not 0 <= target.thrust <= 1:
        return "with an attitude or rates goes a thrust from 0 to 1"
    return None


def asked(target: Target) -> set[str]:
    """Names of the quantities that a set-point commands (position, velocity, yaw, attitude, …)."""
    names = {
        name
        for name, numbers in (
            ("position", target.position_N), ("velocity", target.velocity_N), ("acceleration", target.acceleration_N),
            ("yaw", (target.yaw, target.yaw_rate)), ("course", (target.course,)), ("height", (target.height,)),
            ("speed", (target.speed, target.airspeed)),
        )
        if not all(map(math.isnan, numbers))
    }  # fmt: skip
    names |= {"attitude"} if target.attitude_rpy is not None else set()
    return names | ({"rates"} if target.rates_B is not None else set())


def turned(rotation: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """A vector rotated into another frame; NaN in a horizontal axis becomes NaN in both."""
    level = rotation[:2, :2] @ vector[:2]
    return np.array([*level, vector[2]])


def plain(numbers: Sequence[float] | np.ndarray) -> list[float]:
    """Numbers with 0 in place of NaN, because the model accepts no NaN."""
    return [float(number) if math.isfinite(number) else 0.0 for number in numbers]
