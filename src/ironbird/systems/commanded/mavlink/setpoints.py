"""Set-points and sticks: messages that a program streams in offboard mode, or a pilot's sticks.

Frames of SET_POSITION_TARGET [MAVLink2]: LOCAL_NED counts from the origin, LOCAL_OFFSET_NED from the vehicle; the BODY
frames count from the vehicle along its heading; LOCAL_FRD counts from the origin along the heading at the start.
Heights above terrain are taken as heights above home. Fields that the type mask excludes are not commanded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ironbird.protocols.geodesy import to_local
from ironbird.protocols.mavlink import numbers
from ironbird.rig.commander.commander import Commander
from ironbird.rig.commander.target import Target
from ironbird.rotations import euler
from ironbird.systems.commanded.mavlink.connections import Channel, Sender
from ironbird.systems.commanded.mavlink.place import Home
from ironbird.systems.commanded.mavlink.texts import Texts

NO_FORCE = numbers.POSITION_TARGET_TYPEMASK_FORCE_SET
NO_YAW, NO_YAW_RATE = numbers.POSITION_TARGET_TYPEMASK_YAW_IGNORE, numbers.POSITION_TARGET_TYPEMASK_YAW_RATE_IGNORE
NO_RATES = (1, 2, 4)  # the first three bits of ATTITUDE_TARGET_TYPEMASK
NO_THRUST = numbers.ATTITUDE_TARGET_TYPEMASK_THROTTLE_IGNORE
NO_ATTITUDE = numbers.ATTITUDE_TARGET_TYPEMASK_ATTITUDE_IGNORE
BODY = (numbers.FRAME_BODY_NED, numbers.FRAME_BODY_OFFSET_NED, numbers.FRAME_BODY_FRD)
LOCAL = (numbers.FRAME_LOCAL_NED, numbers.FRAME_LOCAL_OFFSET_NED, numbers.FRAME_LOCAL_FRD, *BODY)
ABOVE_SEA = (numbers.FRAME_GLOBAL, numbers.FRAME_GLOBAL_INT)
ABOVE_HOME = (
    numbers.FRAME_GLOBAL_RELATIVE_ALT, numbers.FRAME_GLOBAL_RELATIVE_ALT_INT, numbers.FRAME_GLOBAL_TERRAIN_ALT,
    numbers.FRAME_GLOBAL_TERRAIN_ALT_INT,
)  # fmt: skip
FARTHEST, FASTEST = 1e8, 1e4  # m, and m/s or rad/s: larger values are refused
NOT_GIVEN = 32767  # of MANUAL_CONTROL
STICK = 1000.0
PWM_MIDDLE, PWM_HALF, PWM_LEAST, PWM_MOST = 1500, 500.0, 800, 2200
SAID_S = 2.0  # s of simulation time between two refusal texts: set-points come in fast streams
STICKS = 4  # channels of RC_CHANNELS_OVERRIDE: roll, pitch, throttle, yaw


class SetPoints:
    """Passes set-points and sticks of ground stations to the commander."""

    def __init__(self, commander: Commander, texts: Texts, home: Home) -> None:
        self.commander, self.texts, self.home = commander, texts, home
        self.channels = [0] * 18  # RC_CHANNELS, PWM; 0 is not in use
        self._override = [0] * STICKS
        self._start_yaw: float | None = None
        self._refused_s = -math.inf

    # ------------------------------------------------------------------------------------------ messages

    def take_local(self, _channel: Channel, message: Any, _sender: Sender) -> None:
        """SET_POSITION_TARGET_LOCAL_NED: fly to a position, velocity or acceleration in local axes."""
        frame = message.coordinate_frame
        if frame not in LOCAL:
            self._refuse(f"set-point in frame {frame}, which is not local")
            return
        self._target(message, (message.x, message.y, message.z), frame)

    def take_global(self, _channel: Channel, message: Any, _sender: Sender) -> None:
        """SET_POSITION_TARGET_GLOBAL_INT: fly to a position by latitude and longitude, or with a velocity."""
        frame = message.coordinate_frame
        if frame not in (*ABOVE_SEA, *ABOVE_HOME):
            self._refuse(f"set-point in frame {frame}, which is not global")
            return
        height = message.alt + (self.home.height_m if frame in ABOVE_HOME else 0.0)
        place = to_local(self.home.origin, message.lat_int * 1e-7, message.lon_int * 1e-7, height)
        self._target(message, place, numbers.FRAME_LOCAL_NED)

    def take_attitude(self, _channel: Channel, message: Any, _sender: Sender) -> None:
        """SET_ATTITUDE_TARGET: fly an attitude, or body rates, with a thrust."""
        mask = message.type_mask
        attitude: list[float] | None = None
        rates: list[float] | None = None
        if not mask & NO_ATTITUDE:
            q = np.array([message.q0, message.q1, message.q2, message.q3])
            size = float(np.linalg.norm(q))
            if not 0.5 < size < 2.0:  # NaN too
                self._refuse("attitude set-point that is no rotation")
                return
            attitude = [float(angle) for angle in euler(q / size)]
        elif not all(mask & bit for bit in NO_RATES):  # with an attitude, rates are ignored
            body_rates = (message.body_roll_rate, message.body_pitch_rate, message.body_yaw_rate)
            rates = [0.0 if mask & bit else value for value, bit in zip(body_rates, NO_RATES, strict=True)]
            if not all(abs(value) < FASTEST for value in rates):
                self._refuse("rate set-point out of range")
                return
        if attitude is None and rates is None:
            self._refuse("attitude set-point that asks for nothing")
            return
        thrust = math.nan if mask & NO_THRUST else message.thrust
        if not (math.isnan(thrust) or -1.0 <= thrust <= 1.0):
            self._refuse(f"thrust {thrust:g} is not from 0 to 1")
            return
        self._hand_over(Target(attitude_rpy=attitude, rates_B=rates, thrust=thrust))

    def take_manual(self, _channel: Channel, message: Any, _sender: Sender) -> None:
        """MANUAL_CONTROL: x forward, y right, z throttle from 0 to 1000, r turn [PX4]."""
        pitch, roll, turn = (
            0.0 if value == NOT_GIVEN else value / STICK for value in (message.x, message.y, message.r)
        )
        throttle = 0.0 if message.z == NOT_GIVEN else (message.z - 0.5 * STICK) / (0.5 * STICK)
        self._sticks(roll, pitch, throttle, turn)

    def take_override(self, _channel: Channel, message: Any, _sender: Sender) -> None:
        """RC_CHANNELS_OVERRIDE: 65535 leaves a channel as it is, 0 releases it."""
        raw = (message.chan1_raw, message.chan2_raw, message.chan3_raw, message.chan4_raw)
        for place, value in enumerate(raw):
            if value != 65535:
                self._override[place] = value if PWM_LEAST <= value <= PWM_MOST else 0
        if not any(self._override):
            self.channels = [0] * 18
            return
        roll, pitch, throttle, turn = ((value - PWM_MIDDLE) / PWM_HALF if value else 0.0 for value in self._override)
        self._sticks(roll, -pitch, throttle, turn)  # the channel's value grows when the stick is pulled

    # ------------------------------------------------------------------------------------------ to the commander

    def _sticks(self, roll: float, pitch: float, throttle: float, turn: float) -> None:
        values = [min(max(value, -1.0), 1.0) for value in (roll, pitch, throttle, turn)]
        self.commander.sticks(*values)
        signs = (1.0, -1.0, 1.0, 1.0)
        for place, (value, sign) in enumerate(zip(values, signs, strict=True)):
            self.channels[place] = round(PWM_MIDDLE + PWM_HALF * sign * value)

    def _target(self, message: Any, place: Sequence[float], frame: int) -> None:
        mask = message.type_mask
        if mask & NO_FORCE and mask & 0x1C0 != 0x1C0:
            self._refuse("a set-point of forces is not known; give an acceleration")
            return
        position = _unmasked(place, mask, 0)
        velocity = _unmasked((message.vx, message.vy, message.vz), mask, 3)
        acceleration = _unmasked((message.afx, message.afy, message.afz), mask, 6)
        yaw = math.nan if mask & NO_YAW else message.yaw
        yaw_rate = math.nan if mask & NO_YAW_RATE else message.yaw_rate
        target = [*position, *velocity, *acceleration, yaw, yaw_rate]
        if all(math.isnan(value) for value in target):
            self._refuse("set-point that asks for nothing: its type mask leaves out all, or it has no numbers")
            return
        limits = [FARTHEST] * 3 + [FASTEST] * 8
        if any(abs(value) > most for value, most in zip(target, limits, strict=True)):
            self._refuse("set-point out of range")
            return
        if frame == numbers.FRAME_LOCAL_OFFSET_NED:
            position = position + np.asarray(self.commander.estimate().p_N)
        elif frame == numbers.FRAME_LOCAL_FRD:
            turn = _about_down(self.start_yaw)
            position, velocity, acceleration = (turn @ vector for vector in (position, velocity, acceleration))
            yaw += self.start_yaw
        body = frame in BODY
        self._hand_over(
            Target(
                position_N=position.tolist(),
                velocity_N=velocity.tolist(),
                acceleration_N=acceleration.tolist(),
                yaw=yaw,
                yaw_rate=yaw_rate,
                frame="B" if body else "N",
            )
        )

    @property
    def start_yaw(self) -> float:
        """Heading (rad) when the estimator first gave one."""
        return self._start_yaw or 0.0

    def remember_start(self) -> None:
        """Store the present heading on the first call."""
        if self._start_yaw is None:
            self._start_yaw = float(self.commander.estimate().rpy[2])

    def _hand_over(self, target: Target) -> None:
        why = self.commander.offboard(target)
        if why:
            self._refuse(f"set-point: {why}")

    def _refuse(self, why: str) -> None:
        now_s = self.commander.time_s
        if now_s - self._refused_s >= SAID_S:
            self._refused_s = now_s
            self.texts.refuse(why)


def _unmasked(values: Sequence[float], mask: int, first: int) -> np.ndarray:
    """Three values with NaN where the mask excludes them; infinite values count as not given."""
    return np.array(
        [
            math.nan if mask >> first + place & 1 or math.isinf(value) else float(value)
            for place, value in enumerate(values)
        ]
    )


def _about_down(angle: float) -> np.ndarray:
    cos, sin = math.cos(angle), math.sin(angle)
    return np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
