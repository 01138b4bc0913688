"""The server side of the bench, [ProVANT] Fig. 5: answers the board's requests and takes its commands.

Its sensor values are those of the published plugin: the true state in axes north-west-up, the angular velocity in world
axes. Forces become throttles by the vehicle's own motor and propeller, torques become shares of the actuator's maximum.
It does not depend on how bytes travel: an emulated board and a real one are served alike.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ironbird.provant.frames import ACTUATORS, SERVICES, FrameReader, Services, pack
from ironbird.rig.rig import Rig
from ironbird.vehicles import places as at
from ironbird.vehicles.templates.tilt_rotor import SIDES, TiltRotorSpec

DUPLICATE_S = 0.006  # a second request within half a period is one that was sent twice
MOST_N, MOST_Nm = 1e3, 1e2  # largest plausible command


@dataclass
class Counters:
    """Numbers of requests, commands and errors on the sensor link."""

    starts: int = 0
    requests: int = 0
    commands: int = 0
    duplicates: int = 0  # requests and commands that came again within half a period
    unknown: int = 0  # complete frames of a wrong length or service number, or with NaN


@dataclass
class View:
    """A copy of the vehicle's true state at one moment."""

    rig: Rig

    def __post_init__(self) -> None:
        flat = self.rig.state.model.flat
        self._rows = [flat.x.rows(at.BODY(name)) for name in ("p", "q", "v", "w", "a", "b")]
        self._x = self.rig.state.x[0, :, 0]
        self.take()

    def take(self) -> None:
        """Copy the present state."""
        self._now = self._x.copy()

    def sensors(self) -> list[float]:
        """The 16 sensor values: x y z, roll pitch yaw, tilts, velocity, angular velocity in world axes, tilt rates."""
        p, q, v, w, a, b = (self._now[rows].tolist() for rows in self._rows)
        s, x, y, z = q
        R = (
            (1 - 2 * (y * y + z * z), 2 * (x * y - s * z), 2 * (x * z + s * y)),
            (2 * (x * y + s * z), 1 - 2 * (x * x + z * z), 2 * (y * z - s * x)),
            (2 * (x * z - s * y), 2 * (y * z + s * x), 1 - 2 * (x * x + y * y)),
        )
        roll = math.atan2(R[2][1], R[2][2])
        pitch = -math.asin(max(-1.0, min(1.0, R[2][0])))
        yaw = math.atan2(R[1][0], R[0][0])
        north, east, down = (sum(row[i] * v[i] for i in range(3)) for row in R)
        turn = [sum(row[i] * w[i] for i in range(3)) for row in R]
        return [
            p[0], -p[1], -p[2], roll, -pitch, -yaw, a[0], a[1],
            north, -east, -down, turn[0], -turn[1], -turn[2], b[0], b[1],
        ]  # fmt: skip


@dataclass
class Server:
    """Answers the requests of one board and passes its commands to the vehicle."""

    rig: Rig
    services: Services = field(default_factory=lambda: SERVICES["paper"])
    counters: Counters = field(default_factory=Counters)
    periods_s: list[float] = field(default_factory=list)  # between requests, [ProVANT] Fig. 14
    wanted: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)  # the last command: N and N m
    history: list[tuple[float, ...]] = field(default_factory=list)  # of commands: time and command

    def __post_init__(self) -> None:
        spec = self.rig.vehicle.spec
        assert isinstance(spec, TiltRotorSpec)
        self.view = View(self.rig)
        self.reader = FrameReader()
        self._asked_s = self._told_s = math.nan
        self._commanded = self.wanted
        self._coefficient = spec.propeller.thrust_coefficient_Ns2
        self._slope, self._idle = spec.motor.slope_radps, spec.motor.idle_speed_radps
        self._torque = spec.joint.max_torque_Nm
        self._rows = [self.rig.actuators[name] for name in ("rotor/1", "rotor/2", *(f"tilt/{side}" for side in SIDES))]
        self._inputs: np.ndarray = self.rig.stepper.inputs

    def bytes_came(self, data: bytes, at_s: float, answer: Callable[[bytes], object]) -> None:
        """Process bytes from the board that arrived at `at_s`; `answer` sends bytes back."""
        for payload in self.reader.feed(data):
            self._serve(payload, at_s, answer)

    def _serve(self, payload: bytes, at_s: float, answer: Callable[[bytes], object]) -> None:
        count, rest = divmod(len(payload), 4)
        values = struct.unpack(f"<{count}f", payload) if count and not rest else (math.nan,)
        services, counters = self.services, self.counters
        if values[0] == services.start and count == 1 + ACTUATORS:
            counters.starts += 1
        elif values[0] == services.sensors and count == 1:
            if at_s - self._asked_s < DUPLICATE_S:
                counters.duplicates += 1
            else:
                if not math.isnan(self._asked_s):
                    self.periods_s.append(at_s - self._asked_s)
                self._asked_s = at_s
            counters.requests += 1
            answer(pack(self.view.sensors()))
        elif values[0] == services.actuators and count == 1 + ACTUATORS and self._believable(values[1:]):
            counters.duplicates += at_s - self._told_s < DUPLICATE_S
            self._told_s = at_s
            counters.commands += 1
            self.wanted = values[1:]
            self.history.append((at_s, *values[1:]))
        else:
            counters.unknown += 1

    @staticmethod
    def _believable(values: tuple[float, ...]) -> bool:
        return all(abs(v) < MOST_N for v in values[:2]) and all(abs(v) < MOST_Nm for v in values[2:])  # no NaN either

    def command(self) -> None:
        """Apply the last command to the actuators; called between two steps of the vehicle."""
        command = self.wanted
        if command is self._commanded:
            return
        self._commanded = command
        for row, force in zip(self._rows[:2], command[:2], strict=True):
            speed = math.sqrt(max(0.0, force) / self._coefficient)
            self._inputs[row] = min(1.0, max(0.0, (speed - self._idle) / self._slope)) if force > 0.0 else 0.0
        for row, torque in zip(self._rows[2:], command[2:], strict=True):
            self._inputs[row] = min(1.0, max(-1.0, torque / self._torque))
