"""Telemetry of a vehicle as one snapshot in SI units and radians."""

from __future__ import annotations

import math
from dataclasses import dataclass

NAN3 = (math.nan, math.nan, math.nan)
Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Truth:
    """The true state, where a simulation sends it: HIL_STATE_QUATERNION."""

    time_s: float
    latitude_deg: float
    longitude_deg: float
    height_m: float  # above the sea
    velocity: Vector  # m/s north, east, down
    attitude: Vector  # rad: roll, pitch, yaw
    rates: Vector  # rad/s, body


@dataclass(frozen=True)
class Telemetry:
    """What a vehicle last reported of itself; a number that it did not send is NaN.

    Attributes
    ----------
    autopilot : str
        px4 (also the reference autopilot, which speaks as it does) or ardupilot.
    kind : str
        copter, plane, vtol, rover, boat, sub.
    system : int
        MAVLink id of the vehicle.
    time_s : float
        Its clock in s.
    mode : str
        hold, mission, offboard, …: the same words for all, or else the autopilot's own.
    armed, ready : bool
        Whether it is armed; whether its own checks before arming pass.
    landed : str
        on the ground, taking off, in the air, landing.
    position : tuple of float
        m north, east, down of where its own frame begins.
    velocity : tuple of float
        m/s north, east, down.
    attitude : tuple of float
        rad: roll, pitch, yaw.
    rates : tuple of float
        rad/s in body axes: forward, right, down.
    latitude_deg, longitude_deg : float
        Degrees.
    height_m, sea_height_m : float
        Above home and above the sea, in m.
    home : tuple of float
        Latitude and longitude in degrees, height above the sea in m.
    airspeed_mps : float
        m/s.
    throttle : float
        0 to 1.
    battery_share : float
        0 to 1.
    battery_voltage_V, battery_current_A : float
        V and A.
    fix : int
        Of its satellite receiver: 3 and more is a position in space.
    satellites : int
        Number that it uses.
    item : int
        Item of the mission; -1 is none.
    text : str
        Its last text message.
    truth : Truth or None
        The true state, if a simulated vehicle sends it.
    bad : int
        Number of messages that were left out: what they say is no number.
    """

    autopilot: str = ""  # px4 (also the reference autopilot, which speaks as it does) or ardupilot
    kind: str = ""  # copter, plane, vtol, rover, boat, sub
    system: int = 0  # MAVLink id of the vehicle
    time_s: float = math.nan  # of the vehicle's clock
    mode: str = ""  # hold, mission, offboard, ...: the same words for all, or else the autopilot's own
    armed: bool = False
    landed: str = ""  # on the ground, taking off, in the air, landing
    ready: bool = False  # its own checks before arming pass
    position: Vector = NAN3  # m north, east, down of where its own frame begins
    velocity: Vector = NAN3  # m/s north, east, down
    attitude: Vector = NAN3  # rad: roll, pitch, yaw
    rates: Vector = NAN3  # rad/s, body: forward, right, down
    latitude_deg: float = math.nan
    longitude_deg: float = math.nan
    height_m: float = math.nan  # above home
    sea_height_m: float = math.nan
    home: Vector = NAN3  # degrees, degrees, m above the sea
    airspeed_mps: float = math.nan
    throttle: float = math.nan  # 0 to 1
    battery_share: float = math.nan  # 0 to 1
    battery_voltage_V: float = math.nan
    battery_current_A: float = math.nan
    fix: int = 0  # of its satellite receiver: 3 and more is a place in space
    satellites: int = 0
    item: int = -1  # of the mission
    text: str = ""  # its last text message
    truth: Truth | None = None
    bad: int = 0  # messages that were ignored: a value was not finite
