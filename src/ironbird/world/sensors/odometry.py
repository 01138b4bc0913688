"""Odometry of a camera or lidar: where the vehicle is and how it moves, as a visual-inertial unit reports it.

Computed from the true motion with the errors of such products, not from images: `noise_m`, `noise_mps` and `noise_deg`
of each sample, a scale that is wrong by `scale_error`, and a drift of the place and the heading that grows with time in
a direction that the seed draws. Not modelled: loss of tracking where there is nothing to see, jumps by loop closure.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from ironbird.rotations import from_matrix
from ironbird.world.native import uniforms
from ironbird.world.sensors.sensor import Data, Sensor, Sight
from ironbird.world.track import turned

STEP_S = 0.01  # s over which velocities are computed


class Odometry(Sensor):
    """`position_m` (3) and `q` (4) in N, `velocity_mps` (3) in the sensor's axes, how sure it is, whether it is lost.

    As if the unit had been started level, heading north, at the world's origin.
    """

    UNITS = {
        "position_m": "m",
        "q": "1",
        "velocity_mps": "m/s",
        "deviation_m": "m",
        "deviation_mps": "m/s",
        "lost": "1",
    }

    rate_hz: Annotated[float, Field(gt=0, le=1000)] = 30.0
    noise_m: Annotated[float, Field(ge=0, le=100)] = 0.0
    noise_mps: Annotated[float, Field(ge=0, le=100)] = 0.0
    noise_deg: Annotated[float, Field(ge=0, le=45)] = 0.0
    scale_error: Annotated[float, Field(ge=-0.5, le=0.5)] = 0.0
    drift_mps: Annotated[float, Field(ge=0, le=10)] = 0.0
    drift_degps: Annotated[float, Field(ge=0, le=10)] = 0.0

    def measure(self, sight: Sight) -> Data:
        """One estimate of position, attitude and velocity with the unit's errors."""
        now = sight.time_s
        times = np.array([max(now - STEP_S, 0.0), max(now, STEP_S)])
        places, turns = self.poses(sight, times)
        velocity_N = (places[1] - places[0]) / (times[1] - times[0])
        chance = uniforms(sight.seed, f"world/{self.name}/drift", 0, 3)
        side = turned([0.0, 0.0, 2 * np.pi * chance[0]])[:, 0] + [0.0, 0.0, 2 * chance[1] - 1]
        sign = 1.0 if chance[2] < 0.5 else -1.0
        noise = self.normals(sight, "noise", 9)
        place = places[1] * (1 + self.scale_error) + self.drift_mps * now * side + self.noise_m * noise[:3]
        strayed = np.array([0.0, 0.0, sign * np.radians(self.drift_degps) * now])
        wrong = strayed + np.radians(self.noise_deg) * noise[6:]
        q = from_matrix(turned(wrong) @ turns[1])
        velocity = turns[1].T @ velocity_N * (1 + self.scale_error) + self.noise_mps * noise[3:6]
        deviations = np.array([max(self.noise_m, 0.01)]), np.array([max(self.noise_mps, 0.01)])
        return {
            "position_m": place, "q": q, "velocity_mps": velocity, "deviation_m": deviations[0],
            "deviation_mps": deviations[1], "lost": np.zeros(1, np.uint8),
        }  # fmt: skip

    def blinded(self, data: Data) -> Data:
        """The estimate of a unit that has lost tracking and reports it."""
        return dict(data, lost=np.ones(1, np.uint8))

    def occluded(self, data: Data, share: float) -> Data:
        """The estimate with less to see: less certain, and lost from nine tenths on."""
        if share > 0.9:
            return self.blinded(data)
        unsure = {key: data[key] / (1 - share) for key in ("deviation_m", "deviation_mps")}
        return dict(data, **unsure)
