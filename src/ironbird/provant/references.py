"""Sources of references for the board, [ProVANT] Sec. 2.2 and Fig. 6: the base station or the joystick reader.

Both use the low-level protocol only. A reference is nine floats: position, yaw and velocity in axes north-west-up,
whether the motors may turn, and whether the vehicle is on the ground.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from ironbird.provant.frames import pack
from ironbird.rig.rig import Rig
from ironbird.systems.commanded.sticks.front import open_source
from ironbird.systems.commanded.sticks.source import Source
from ironbird.vehicles import places as at
from ironbird.vehicles.load import Vehicle
from ironbird.vehicles.templates.tilt_rotor import NAVIGATOR_SAMPLE_S, TiltRotorSpec

TURN_RADPS, CLIMB_MPS = 0.5, 1.0  # at full deflection of the sticks
LEAST_HEIGHT_M = 0.3
TICK_S = 1e-3


class References(ABC):
    """A source of references at a steady rate."""

    def __init__(self) -> None:
        self._next_s = TICK_S  # a sample of the vehicle's model is available after the tick in which it was taken
        self.sent = 0

    def due(self, now_s: float) -> bytes:
        """The frame to send at this moment; empty between two frames."""
        if now_s < self._next_s - 1e-9:
            return b""
        self._next_s += NAVIGATOR_SAMPLE_S
        self.sent += 1
        return pack(self.values(now_s))

    @abstractmethod
    def values(self, now_s: float) -> list[float]:
        """The nine floats of the reference at a time: position, yaw, velocity, motors, on ground."""

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Close the source; further calls do nothing."""


class BaseStation(References):
    """The trajectory program: the vehicle's own navigator flies the mission (Eq. 1 or any other) in simulation time."""

    def __init__(self, rig: Rig) -> None:
        super().__init__()
        place = at.NAVIGATOR
        self._place, self._velocity = rig.held(place.position_set), rig.held(place("velocity_set"))
        self._yaw, self._armed = rig.held(place("yaw_set")), rig.held(place("armed"))
        self._grounded = rig.held(place("grounded"))

    def values(self, now_s: float) -> list[float]:
        """The navigator's present set-point as nine floats."""
        north, east, down = self._place.tolist()
        v_north, v_east, v_down = self._velocity.tolist()
        return [
            north, -east, -down, -float(self._yaw[0]), v_north, -v_east, -v_down,
            float(self._armed[0]), float(self._grounded[0]),
        ]  # fmt: skip


class JoystickReader(References):
    """Sticks as velocities (forward, right, up) and yaw rate; takes off at once and hovers with centred sticks."""

    def __init__(self, source: Source, speed_mps: float) -> None:
        super().__init__()
        self.source, self.speed_mps = source, speed_mps
        self._at = [0.0, 0.0, 1.0, 0.0]  # north, west, up, yaw
        self._last_s = math.nan

    @classmethod
    def of(cls, sticks: str, vehicle: Vehicle) -> JoystickReader:
        """A joystick reader for a named source of sticks, with the full-stick velocities of a vehicle."""
        spec = vehicle.spec
        assert isinstance(spec, TiltRotorSpec)
        return cls(open_source(sticks), float(spec.control.path["cruise_speed"]))  # type: ignore[arg-type]

    def values(self, now_s: float) -> list[float]:
        """The reference that results from integrating the sticks' velocities up to now."""
        now = self.source.read(now_s)
        self.source.actions()
        step_s = 0.0 if math.isnan(self._last_s) else now_s - self._last_s
        self._last_s = now_s
        yaw = self._at[3]
        ahead, left = now.pitch * self.speed_mps, -now.roll * self.speed_mps
        speed = [
            ahead * math.cos(yaw) - left * math.sin(yaw),
            ahead * math.sin(yaw) + left * math.cos(yaw),
            now.throttle * CLIMB_MPS,
        ]
        for axis in range(3):
            self._at[axis] += speed[axis] * step_s
        self._at[2] = max(LEAST_HEIGHT_M, self._at[2])
        self._at[3] -= now.yaw * TURN_RADPS * step_s
        return [*self._at[:3], self._at[3], *speed, 1.0, 0.0]

    def close(self) -> None:
        """Close the source of the sticks."""
        self.source.close()
