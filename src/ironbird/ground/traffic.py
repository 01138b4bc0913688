"""ADS-B reports of other vehicles as messages for autopilots: ADSB_VEHICLE.

Fields are in the order of the wire, for `Packer.add(message, *fields)`. Source: [MAVLink2], dialect `common`. Not
reported: a squawk, a type of emitter other than an unmanned aircraft, and barometric heights (heights are geometric, as
from the sender's receiver).
"""

from __future__ import annotations

import math

from ironbird.protocols.mavlink import dialect, numbers
from ironbird.protocols.mavlink.dialect import Message
from ironbird.rig.rig import TrafficReport

FIRST_ADDRESS = 0xF00001  # ICAO addresses that are given to no state: F00000 to FFFFFF
VALID = numbers.bits_of(
    "ADSB_FLAGS", "VALID_COORDS", "VALID_ALTITUDE", "VALID_HEADING", "VALID_VELOCITY", "VALID_CALLSIGN", "SIMULATED",
    "VERTICAL_VELOCITY_VALID",
)  # fmt: skip
CALL_SIGN = 8  # characters


def adsb_vehicle(
    report: TrafficReport, place: tuple[float, float, float], now_s: float
) -> tuple[Message, tuple[float | bytes, ...]]:
    """The message of a report; `place` is its latitude and longitude in degrees and its height in m."""
    latitude, longitude, height_m = place
    north, east, down = (float(value) for value in report.velocity_N)
    course = round(math.degrees(math.atan2(east, north)) * 100) % 36000
    speed = min(round(100 * math.hypot(north, east)), 65535)
    climb = max(-32768, min(round(-100 * down), 32767))
    sign = report.name.upper().encode("ascii", "replace")[:CALL_SIGN]
    return dialect.ADSB_VEHICLE, (
        FIRST_ADDRESS + report.number, round(latitude * 1e7), round(longitude * 1e7), round(height_m * 1e3), course,
        speed, climb, VALID, 0, numbers.ADSB_ALTITUDE_TYPE_GEOMETRIC, sign,
        numbers.ADSB_EMITTER_TYPE_UAV, min(round(now_s - report.time_s), 255),
    )  # fmt: skip
