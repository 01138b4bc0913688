"""PX4's configuration for a vehicle: an airframe, written as a start-up file of PX4 with a value for every parameter.

`param set-default` in a start-up file avoids a pitfall of overriding parameters by environment variables: a value that
equals PX4's compiled default is not stored there, and the default of the chosen airframe wins [PX4Sim].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ironbird.protocols.mavlink.numbers import MAV_PARAM_TYPE_INT32, MAV_PARAM_TYPE_REAL32

AUTOSTART = 22450  # free for own airframes
MOTOR, SERVO = 101, 201  # first output functions
# Set to defaults of their own by PX4's start-up after the airframe was read: these need `param set`
LATE = ("IMU_INTEG_RATE", "EKF2_GPS_DELAY", "EKF2_MULTI_IMU", "SENS_IMU_MODE", "COM_MODE_ARM_CHK")

Params = dict[str, float]


@dataclass(frozen=True)
class Governor:
    """Motor controller in speed mode: PX4's rovers command a speed, and steer by the commanded speed.

    Drive is `gain_1ps` times the speed error; where that opposes the motion, it brakes.
    """

    drive: str  # places
    brake: str
    full_mps: float  # the speed of full throttle
    gain_1ps: float
    drive_mps2: float  # acceleration by full drive
    brake_mps2: float


@dataclass(frozen=True)
class Joints:
    """Servos in position mode on joints that take torques: proportional to the angle error, and damped."""

    places: tuple[str, ...]  # of the joints, in the order of the body's angles
    travel_rad: float  # angle of full command
    gain_1prad: float  # share of the greatest torque for each radian
    damping_sprad: float  # and for each rad/s


@dataclass(frozen=True)
class Airframe:
    """PX4's configuration for a vehicle: parameters, and the actuators of its outputs."""

    defaults: str  # start-up file of the kind of vehicle: `rc.mc_defaults`
    channels: tuple[str, ...]  # actuator places of output 1, 2, ...; empty where there is none
    params: Params
    rate_hz: int = 250  # steps a second; at no more than this each is answered by one message of controls
    mute: bool = False  # no controls while disarmed
    turn: np.ndarray | None = None  # R_HB: PX4's body axes are level in hover
    water_Papm: float = 0.0  # weight of a metre of water: position and depth go as odometry; 0 in the air
    parked: tuple[str, ...] = ()  # at 1 while disarmed
    released: tuple[str, ...] = ()  # at 1 some time after arming
    release_s: float = 3.0
    governor: Governor | None = None
    joints: Joints | None = None
    late: Params = field(default_factory=dict)

    def with_params(self, params: Mapping[str, float]) -> Airframe:
        """The same airframe with further parameters, which override its own."""
        late = {name: value for name, value in params.items() if name in LATE}
        early = {name: value for name, value in params.items() if name not in LATE}
        return replace(self, params=self.params | early, late=self.late | late)

    def script(self, title: str) -> str:
        """The airframe as text of a start-up file of PX4."""
        lines = ["#!/bin/sh", f"# @name {title}", "", f". ${{R}}etc/init.d/{self.defaults}", ""]
        lines += [f"param set-default {name} {number(value)}" for name, value in sorted(self.params.items())]
        lines += [f"param set {name} {number(value)}" for name, value in sorted(self.late.items())]
        return "\n".join(lines) + "\n"


def ground_station_text(params: Params, *comments: str) -> str:
    """Parameters as a file that QGroundControl loads: system, component, name, value, type."""
    lines = [f"# {comment}" for comment in (*comments, "Vehicle-Id Component-Id Name Value Type")]
    for name, value in sorted(params.items()):
        kind = MAV_PARAM_TYPE_INT32 if isinstance(value, int) else MAV_PARAM_TYPE_REAL32
        lines.append(f"1\t1\t{name}\t{number(value)}\t{kind}")
    return "\n".join(lines) + "\n"


def number(value: float) -> str:
    """A parameter's value as PX4 reads it: integers without a decimal point."""
    return str(value) if isinstance(value, int) else f"{value:.9g}" + ("" if value % 1 else ".0")


def outputs(channels: Mapping[str, int]) -> Params:
    """PWM_MAIN_FUNCn for actuator places with their functions, in order."""
    return {f"PWM_MAIN_FUNC{n}": function for n, function in enumerate(channels.values(), start=1)}
