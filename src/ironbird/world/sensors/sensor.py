"""Base of all sensors of the world: a position on the vehicle, a rate, a latency, and a measuring function.

A sensor's axes are forward (its viewing direction), right and down, as those of a body. It measures at k / rate_hz in
simulation time, whatever the kernel's step; its output is a function of the world, the motion, the seed and the number
of the sample alone.
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ironbird.world.native import normals, turn_rays, uniforms
from ironbird.world.rays import Scene
from ironbird.world.track import Track, turned

Data = dict[str, np.ndarray]
Three = Annotated[list[Annotated[float, Field(ge=-1e4, le=1e4)]], Field(min_length=3, max_length=3, strict=False)]
Share = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True)
class Sight:
    """Conditions of one sample: time, scene and motion; `turn` is a fault's rotation of the mount as a matrix."""

    scene: Scene
    track: Track
    time_s: float
    number: int
    seed: int
    skip: int = -2  # number of the carrying body, which is invisible
    turn: np.ndarray | None = None


class Sensor(BaseModel, ABC):
    """Base class of a sensor on a vehicle."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, allow_inf_nan=False, strict=True)

    UNITS: ClassVar[Mapping[str, str]] = {}  # units of its data by name

    name: Annotated[str, Field(pattern=r"^[A-Za-z]\w{0,59}$")]
    position_B_m: Three = [0.0, 0.0, 0.0]
    euler_deg: Three = [0.0, 0.0, 0.0]  # roll, pitch, yaw of the sensor's axes in the body's
    rate_hz: Annotated[float, Field(gt=0, le=1000)] = 10.0
    latency_s: Annotated[float, Field(ge=0, le=10)] = 0.0

    @abstractmethod
    def measure(self, sight: Sight) -> Data:
        """The data of one sample, as arrays by name."""

    @abstractmethod
    def blinded(self, data: Data) -> Data:
        """The data of a sample in which the sensor sees nothing: no echo, a black image."""

    @abstractmethod
    def occluded(self, data: Data, share: float) -> Data:
        """The data of a sample in which an object directly in front hides a share of the view."""

    def taken(self) -> dict[str, str]:
        """Hashes of the files that it uses, which are part of its identity."""
        return {}

    @property
    def span_s(self) -> float:
        """Time in s after the sample's time stamp until which it measures: exposure and read-out of an image."""
        return 0.0

    @property
    def farthest_m(self) -> float:
        """The largest range in m that it measures; 0 if it measures none."""
        return 0.0

    def nearest_m(self, data: Data) -> float:
        """The smallest range in m of a sample; NaN if it has none."""
        return math.nan

    @functools.cached_property
    def _R_BS(self) -> np.ndarray:
        return turned(np.radians(self.euler_deg))

    def in_body(self, points_m: np.ndarray) -> np.ndarray:
        """Points (n, 3) in the sensor's axes, converted to body axes."""
        return np.asarray(self.position_B_m + points_m @ self._R_BS.T)

    def poses(self, sight: Sight, times_s: Any) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the sensor (n, 3) and R_NS (n, 3, 3) at times."""
        place, R_NB = sight.track.at(times_s)
        R_BS = self._R_BS if sight.turn is None else self._R_BS @ sight.turn
        return place + R_NB @ np.asarray(self.position_B_m), R_NB @ R_BS

    def rays(self, sight: Sight, directions: np.ndarray, times_s: Any) -> tuple[np.ndarray, np.ndarray]:
        """Origins and directions in N of rays in the sensor's axes, equal parts of them at each time."""
        return turn_rays(*self.poses(sight, times_s), directions)

    def normals(self, sight: Sight, what: str, count: int) -> np.ndarray:
        """Standard normal numbers of this sample, from the stream of this sensor and purpose."""
        return normals(sight.seed, f"world/{self.name}/{what}", sight.number, count)

    def uniforms(self, sight: Sight, what: str, count: int) -> np.ndarray:
        """Uniform numbers in (0, 1) of this sample, from the stream of this sensor and purpose."""
        return uniforms(sight.seed, f"world/{self.name}/{what}", sight.number, count)
