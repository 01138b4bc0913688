"""Position under water for PX4, as ODOMETRY [PX4Sim]: output of a navigation unit with acoustic fixes and depth.

PX4's estimator drops a source of position that is silent for 0.2 s [PX4], and a fix from a ship comes once a second and
late. So the unit extrapolates from the last fix with the velocity of that fix, and reports its growing uncertainty.
Depth comes from the water's pressure. When no fix has come for longer than usual, it falls silent. Not modelled:
attitude from the unit; PX4 has the compass.
"""

from __future__ import annotations

import math

import numpy as np

from ironbird.blocks.sensors.gnss import Gnss
from ironbird.errors import LinkError
from ironbird.protocols.mavlink import dialect
from ironbird.protocols.mavlink.codec import Packer
from ironbird.protocols.mavlink.numbers import FRAME_LOCAL_NED, MAV_ESTIMATOR_TYPE_VISION
from ironbird.rig.rig import Rig

EVERY_S = 0.1
PATIENCE = 1.5  # times the usual interval of fixes
DEPTH_AGE_S = 0.5  # an older depth is not used
DEPTH_M = 0.05  # accuracy, mostly of waves above
STRAYING_MPS2 = 0.05  # acceleration that the unit does not know of


class Odometry:
    """The navigation unit of an underwater vehicle.

    `surface_Pa` is the pressure of the air, `water_Papm` the increase of pressure per metre of water.
    """

    def __init__(self, rig: Rig, packer: Packer, *, surface_Pa: float, water_Papm: float) -> None:
        chip = rig.vehicle.diagram.blocks.get("gnss/1/chip")
        if not isinstance(chip, Gnss) or not rig.receivers:
            raise LinkError(
                f"PX4: vehicle '{rig.vehicle.id}' has no acoustic position, which PX4 needs under water: give its file "
                "sensors.position"
            )
        self._receiver = rig.receivers[0]
        self._pressure = rig.barometers[0] if rig.barometers else None
        self._packer = packer
        self._surface_Pa, self._water_Papm = surface_Pa, water_Papm
        self._latency_s, self._interval_s = chip.latency_s, chip.period_s
        self._position, self._velocity = np.zeros(3), np.zeros(3)
        self._fix_us = -math.inf
        self._depth_m, self._depth_us = 0.0, -math.inf
        self._next_us = 0.0

    def add(self, now_us: int) -> None:
        """Queue a message if one is due and the last fix is not too old."""
        receiver, details = self._receiver, self._receiver.details
        if receiver.position_N.fresh() and details["fix_type"][0] >= 3:
            self._position[:], self._velocity[:] = receiver.position_N.values, receiver.velocity_N.values
            self._fix_us = now_us
        if self._pressure is not None and self._pressure.fresh():
            self._depth_m = (float(self._pressure.values[0]) - self._surface_Pa) / self._water_Papm
            self._depth_us = now_us
        age_s = 1e-6 * (now_us - self._fix_us)
        if now_us < self._next_us or age_s > PATIENCE * self._interval_s:
            return
        self._next_us = now_us + round(1e6 * EVERY_S)
        ahead_s = age_s + self._latency_s
        north, east, down = (self._position + ahead_s * self._velocity).tolist()
        # All messages until the next fix share its error: each gets a larger variance accordingly
        share = self._interval_s / EVERY_S
        eph, epv, speed = (float(details[name][0]) ** 2 for name in ("eph", "epv", "speed_accuracy"))
        eph, epv = (share * value + (0.5 * STRAYING_MPS2 * ahead_s**2) ** 2 for value in (eph, epv))
        speed += (STRAYING_MPS2 * ahead_s) ** 2
        if now_us - self._depth_us <= 1e6 * DEPTH_AGE_S:
            down, epv = self._depth_m, DEPTH_M**2
        nan = math.nan
        position, motion = [nan] * 21, [nan] * 21  # upper triangles
        position[0], position[6], position[11] = eph, eph, epv
        motion[0], motion[6], motion[11] = speed, speed, speed
        self._packer.add(
            dialect.ODOMETRY,
            now_us,
            north,
            east,
            down,
            nan,
            nan,
            nan,
            nan,
            *self._velocity.tolist(),
            nan,
            nan,
            nan,
            *position,
            *motion,
            FRAME_LOCAL_NED,
            FRAME_LOCAL_NED,
            0,
            MAV_ESTIMATOR_TYPE_VISION,
            100,
        )
