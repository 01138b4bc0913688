"""What all sensors of the world have: a place on the vehicle, a rate, a latency, and one function that measures.

A sensor's axes are forward (the way it looks), right and down, as those of a body. It measures at k / rate_hz in
simulation time, whatever the clock of the kernel; what it says is a function of the world, the motion, the seed and the
number of the sample alone.
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
Three = Annotated[list[Annotated[float, Field(ge=-1e4, le=1e4)]], Field(min_length=3, max_length=3)]
Share = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True)
class Sight:
    """One sample: when, of what, from where; `turn` is how far a fault has turned the mount, as a rotation matrix."""

    scene: Scene
    track: Track
    time_s: float
    number: int
    seed: int
    skip: int = -2  # the own body does not see itself
    turn: np.ndarray | None = None


class Sensor(BaseModel, ABC):
    """A sensor on a vehicle."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, allow_inf_nan=False)

    UNITS: ClassVar[Mapping[str, str]] = {}  # of what it measures

    name: Annotated[str, Field(pattern=r"^[A-Za-z]\w{0,59}$")]
    position_B_m: Three = [0.0, 0.0, 0.0]
    euler_deg: Three = [0.0, 0.0, 0.0]  # roll, pitch, yaw of the sensor's axes in the body's
    rate_hz: Annotated[float, Field(gt=0, le=1000)] = 10.0
    latency_s: Annotated[float, Field(ge=0, le=10)] = 0.0

    @abstractmethod
    def measure(self, sight: Sight) -> Data:
        """What the sensor says of one sample."""

    @abstractmethod
    def blinded(self, data: Data) -> Data:
        """What it says of nothing at all: no echo, a black picture."""

    @abstractmethod
    def occluded(self, data: Data, share: float) -> Data:
        """What it says if something right before it hides a share of its view."""

    def taken(self) -> dict[str, str]:
        """Hashes of files that it takes: they belong to its identity."""
        return {}

    @property
    def span_s(self) -> float:
        """How long after the time of a sample it still looks: exposure and read-out of a picture."""
        return 0.0

    @property
    def farthest_m(self) -> float:
        """The largest range that it measures; 0 if it measures none."""
        return 0.0

    def nearest_m(self, data: Data) -> float:
        """The smallest range of a sample; NaN if it has none."""
        return math.nan

    @functools.cached_property
    def _R_BS(self) -> np.ndarray:
        return turned(np.radians(self.euler_deg))

    def in_body(self, points_m: np.ndarray) -> np.ndarray:
        """Points (n, 3) in the sensor's axes, in those of the body."""
        return np.asarray(self.position_B_m + points_m @ self._R_BS.T)

    def poses(self, sight: Sight, times_s: Any) -> tuple[np.ndarray, np.ndarray]:
        """Places of the sensor (n, 3) and R_NS (n, 3, 3) at times."""
        place, R_NB = sight.track.at(times_s)
        R_BS = self._R_BS if sight.turn is None else self._R_BS @ sight.turn
        return place + R_NB @ np.asarray(self.position_B_m), R_NB @ R_BS

    def rays(self, sight: Sight, directions: np.ndarray, times_s: Any) -> tuple[np.ndarray, np.ndarray]:
        """Origins and directions in N of rays in the sensor's axes, equal parts of them at each time."""
        return turn_rays(*self.poses(sight, times_s), directions)

    def normals(self, sight: Sight, what: str, count: int) -> np.ndarray:
        """Normal numbers of this sample, of the stream of this sensor and purpose."""
        return normals(sight.seed, f"world/{self.name}/{what}", sight.number, count)

    def uniforms(self, sight: Sight, what: str, count: int) -> np.ndarray:
        """Numbers in (0, 1) alike."""
        return uniforms(sight.seed, f"world/{self.name}/{what}", sight.number, count)
