"""Telemetry of a vehicle over MAVLink, kept as one snapshot, for programs that observe or command it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ironbird.ground.client.telemetry import Telemetry, Truth
from ironbird.ground.station import Station
from ironbird.protocols.mavlink import dialect
from ironbird.rotations import euler

ASK_STREAMS_S = 2.0  # after so long, streams that do not arrive are requested again
ASK_STREAMS = 5  # times
RATES_HZ = {  # requested after the first heartbeat; the last is the truth, which simulations send
    dialect.LOCAL_POSITION_NED: 20.0,
    dialect.ATTITUDE: 20.0,
    dialect.GLOBAL_POSITION_INT: 5.0,
    dialect.EXTENDED_SYS_STATE: 5.0,
    dialect.SYS_STATUS: 2.0,
    dialect.GPS_RAW_INT: 2.0,
    dialect.VFR_HUD: 2.0,
    dialect.MISSION_CURRENT: 2.0,
    dialect.HOME_POSITION: 1.0,
    dialect.HIL_STATE_QUATERNION: 20.0,
}


class Listener:
    """Keeps what a station receives as `telemetry`, and requests the messages it needs; call `listen` periodically."""

    def __init__(self, station: Station) -> None:
        self.station = station
        self.telemetry = Telemetry()
        self._asked = (0, -math.inf)  # number of requests for streams, and time of the last
        for message, taker in (
            (dialect.HEARTBEAT, self._take_heartbeat),
            (dialect.LOCAL_POSITION_NED, self._take_local),
            (dialect.ATTITUDE, self._take_attitude),
            (dialect.GLOBAL_POSITION_INT, self._take_position),
            (dialect.VFR_HUD, self._take_hud),
            (dialect.HIL_STATE_QUATERNION, self._take_truth),
            (dialect.SYS_STATUS, self._take_status),
            (
                dialect.GPS_RAW_INT,
                lambda fields: self._know(fix=fields.fix_type, satellites=fields.satellites_visible),
            ),
            (dialect.HOME_POSITION, lambda fields: self._know(home=station.home)),
            (dialect.EXTENDED_SYS_STATE, lambda fields: self._know(landed=station.landed)),
            (dialect.MISSION_CURRENT, lambda fields: self._know(item=fields.seq)),
            (dialect.STATUSTEXT, lambda fields: self._know(text=station.last_text)),
        ):
            station.listen(message, taker)

    def listen(self, now_s: float) -> None:
        """Receive, send the heartbeat, and request missing messages; `now_s` is the time for deadlines."""
        station = self.station
        station.now_s = now_s
        station.receive()
        station.beat()
        times, asked_s = self._asked
        if station.system and times < ASK_STREAMS and now_s - asked_s >= ASK_STREAMS_S:
            self._asked = (times + 1, now_s)
            station.ask_for({message: rate for message, rate in RATES_HZ.items() if message.id not in station.heard})

    # ------------------------------------------------------------------------------------------ what came

    def _take_heartbeat(self, message: Any) -> None:
        station = self.station
        words = {name: word for word, name in reversed(station.modes.items())}
        self._know(
            autopilot=station.dialect.name, kind=station.kind, system=station.system, armed=station.armed,
            mode=words.get(station.mode, station.mode.lower()),
        )  # fmt: skip

    def _know(self, **changes: Any) -> None:
        """Update the telemetry; a message with a value that is not finite is ignored."""
        values = [part for value in changes.values() for part in (value if isinstance(value, tuple) else (value,))]
        if any(isinstance(value, float) and not math.isfinite(value) for value in values):
            changes = {"bad": self.telemetry.bad + 1}
        self.telemetry = replace(self.telemetry, **changes)

    def _take_local(self, message: Any) -> None:
        place, speed = (message.x, message.y, message.z), (message.vx, message.vy, message.vz)
        self._know(time_s=message.time_boot_ms * 1e-3, position=place, velocity=speed)

    def _take_attitude(self, message: Any) -> None:
        rates = (message.rollspeed, message.pitchspeed, message.yawspeed)
        self._know(time_s=message.time_boot_ms * 1e-3, attitude=(message.roll, message.pitch, message.yaw), rates=rates)

    def _take_position(self, message: Any) -> None:
        place = {"latitude_deg": message.lat * 1e-7, "longitude_deg": message.lon * 1e-7}
        self._know(**place, height_m=message.relative_alt * 1e-3, sea_height_m=message.alt * 1e-3)

    def _take_hud(self, message: Any) -> None:
        self._know(airspeed_mps=message.airspeed, throttle=message.throttle * 0.01)

    def _take_truth(self, message: Any) -> None:
        stamp_us, q, rates = message[0], message[1:5], message[5:8]
        latitude, longitude, height, *speed = message[8:14]
        length = math.hypot(*q)
        if not all(map(math.isfinite, (*q, *rates))) or not 0.5 < length < 2.0:
            self._know(bad=self.telemetry.bad + 1)
            return
        roll, pitch, yaw = (float(angle) for angle in euler([part / length for part in q]))
        north, east, down = (part * 1e-2 for part in speed)
        truth = Truth(
            stamp_us * 1e-6, latitude * 1e-7, longitude * 1e-7, height * 1e-3, (north, east, down), (roll, pitch, yaw),
            (rates[0], rates[1], rates[2]),
        )  # fmt: skip
        self._know(truth=truth)

    def _take_status(self, message: Any) -> None:
        known: dict[str, Any] = {"ready": self.station.healthy}
        if message.voltage_battery != 0xFFFF:
            known["battery_voltage_V"] = message.voltage_battery * 1e-3
        if message.current_battery >= 0:
            known["battery_current_A"] = message.current_battery * 1e-2
        if message.battery_remaining >= 0:
            known["battery_share"] = message.battery_remaining * 1e-2
        self._know(**known)
