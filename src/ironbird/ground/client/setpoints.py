"""Set-points of a program as MAVLink messages; values that are not given are masked out [MAVLink2]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from ironbird.errors import LinkError
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.protocols.mavlink.dialect import Message
from ironbird.rotations import from_euler

Frame = Literal["earth", "body"]
NO_YAW, NO_YAW_RATE = numbers.POSITION_TARGET_TYPEMASK_YAW_IGNORE, numbers.POSITION_TARGET_TYPEMASK_YAW_RATE_IGNORE
NO_RATES = numbers.bits_of(
    "ATTITUDE_TARGET_TYPEMASK", "BODY_ROLL_RATE_IGNORE", "BODY_PITCH_RATE_IGNORE", "BODY_YAW_RATE_IGNORE"
)
NO_POSITION, NO_VELOCITY, NO_ACCELERATION = (
    numbers.bits_of("POSITION_TARGET_TYPEMASK", *(f"{before}{axis}_IGNORE" for axis in "XYZ"))
    for before in ("", "V", "A")
)
NO_THRUST = numbers.ATTITUDE_TARGET_TYPEMASK_THROTTLE_IGNORE
NO_ATTITUDE = numbers.ATTITUDE_TARGET_TYPEMASK_ATTITUDE_IGNORE
FARTHEST, FASTEST = 1e6, 1e3


@dataclass(frozen=True)
class SetPoint:
    """A message that is sent periodically until another replaces it; the vehicle's ids are added then."""

    message: Message
    fields: dict[str, Any]


def moving(
    *,
    position: tuple[float, float, float] | None = None,
    velocity: tuple[float, float, float] | None = None,
    acceleration: tuple[float, float, float] | None = None,
    yaw: float | None = None,
    yaw_rate: float | None = None,
    frame: Frame = "earth",
) -> SetPoint:
    """Set-point of position, velocity, acceleration in m, m/s, m/s2; north, east, down or forward, right, down."""
    fields, mask = _motion(velocity, acceleration, yaw, yaw_rate)
    fields |= dict(zip("xyz", _finite("position", position, FARTHEST), strict=True))
    mask |= NO_POSITION if position is None else 0
    coordinates = numbers.FRAME_BODY_NED if _checked(frame) == "body" else numbers.FRAME_LOCAL_NED
    return SetPoint(
        dialect.SET_POSITION_TARGET_LOCAL_NED, fields | {"type_mask": mask, "coordinate_frame": coordinates}
    )


def moving_globally(latitude_deg: float, longitude_deg: float, height_m: float, yaw: float | None) -> SetPoint:
    """Set-point of a place on the earth, its height above home in m."""
    fields, mask = _motion(None, None, yaw, None)
    _finite("place", (latitude_deg, longitude_deg, height_m), FARTHEST)
    if abs(latitude_deg) > 90 or abs(longitude_deg) > 180:
        raise LinkError(f"latitude {latitude_deg:g} and longitude {longitude_deg:g} are no degrees on the earth")
    fields |= {"lat_int": round(latitude_deg * 1e7), "lon_int": round(longitude_deg * 1e7), "alt": height_m}
    frame = numbers.FRAME_GLOBAL_RELATIVE_ALT_INT
    return SetPoint(dialect.SET_POSITION_TARGET_GLOBAL_INT, fields | {"type_mask": mask, "coordinate_frame": frame})


def leaning(roll: float, pitch: float, yaw: float, thrust: float) -> SetPoint:
    """Set-point of an attitude in rad, and thrust from 0 to 1."""
    angles = _finite("attitude", (roll, pitch, yaw), FASTEST)
    return SetPoint(
        dialect.SET_ATTITUDE_TARGET,
        dict(zip(("q0", "q1", "q2", "q3"), map(float, from_euler(angles)), strict=True))
        | {"thrust": _thrust(thrust), "type_mask": NO_RATES},
    )


def turning(roll_rate: float, pitch_rate: float, yaw_rate: float, thrust: float) -> SetPoint:
    """Set-point of body rates in rad/s, and thrust from 0 to 1."""
    names = ("body_roll_rate", "body_pitch_rate", "body_yaw_rate")
    rates = _finite("rates", (roll_rate, pitch_rate, yaw_rate), FASTEST)
    fields: dict[str, Any] = dict(zip(names, rates, strict=True))
    return SetPoint(
        dialect.SET_ATTITUDE_TARGET, fields | {"q0": 1.0, "thrust": _thrust(thrust), "type_mask": NO_ATTITUDE}
    )


def sticks(roll: float, pitch: float, throttle: float, yaw: float, buttons: int = 0) -> SetPoint:
    """Stick positions from -1 to 1: right, forward, up and clockwise are positive; throttle 0 is its centre."""
    for name, value in (("roll", roll), ("pitch", pitch), ("throttle", throttle), ("yaw", yaw)):
        if not -1.0 <= value <= 1.0:
            raise LinkError(f"stick {name} is {value:g}; give -1 to 1")
    if not 0 <= buttons < 1 << 16:
        raise LinkError(f"buttons are {buttons}; give a bit each for up to 16 of them")
    return SetPoint(
        dialect.MANUAL_CONTROL,
        {
            "x": round(1000 * pitch),
            "y": round(1000 * roll),
            "z": round(500 + 500 * throttle),
            "r": round(1000 * yaw),
            "buttons": buttons,
        },
    )


def _motion(
    velocity: tuple[float, float, float] | None,
    acceleration: tuple[float, float, float] | None,
    yaw: float | None,
    yaw_rate: float | None,
) -> tuple[dict[str, Any], int]:
    if yaw is not None and yaw_rate is not None:
        raise LinkError("a set-point has a yaw or a yaw rate, not both")
    fields: dict[str, Any] = dict(zip(("vx", "vy", "vz"), _finite("velocity", velocity, FASTEST), strict=True))
    fields |= dict(zip(("afx", "afy", "afz"), _finite("acceleration", acceleration, FASTEST), strict=True))
    fields |= {"yaw": _finite("yaw", (yaw or 0.0,), FASTEST)[0]}
    fields |= {"yaw_rate": _finite("yaw rate", (yaw_rate or 0.0,), FASTEST)[0]}
    mask = (NO_VELOCITY if velocity is None else 0) | (NO_ACCELERATION if acceleration is None else 0)
    return fields, mask | (NO_YAW if yaw is None else 0) | (NO_YAW_RATE if yaw_rate is None else 0)


def _finite(what: str, values: tuple[float, ...] | None, most: float) -> tuple[float, ...]:
    for value in values or ():
        if not math.isfinite(value) or abs(value) > most:
            raise LinkError(f"{what} {value!r} of a set-point is no number that can be flown (at most {most:g})")
    return values if values is not None else (0.0, 0.0, 0.0)


def _thrust(value: float) -> float:
    if not 0.0 <= value <= 1.0:
        raise LinkError(f"thrust is {value!r}; give 0 to 1")
    return value


def _checked(frame: str) -> str:
    if frame not in ("earth", "body"):
        raise LinkError(f"frame '{frame}' is not known; give 'earth' (north, east) or 'body' (forward, right)")
    return frame
