"""What a vehicle says over MAVLink, kept as one snapshot: the ears of programs, whoever flies the vehicle."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ironbird.ground.client.telemetry import Telemetry, Truth
from ironbird.ground.station import Station
from ironbird.protocols.mavlink import dialect
from ironbird.rotations import euler

ASK_STREAMS_S = 2.0  # what was asked for and does not come is asked for again
ASK_STREAMS = 5  # times
RATES_HZ = {  # asked for after the first heartbeat; the last is the truth, which simulations send
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
    """Keeps what a station receives as `telemetry`, and requests what that needs; `listen` takes what came."""

    def __init__(self, station: Station) -> None:
        self.station = station
        self.telemetry = Telemetry()
        self._asked = (0, -math.inf)  # how often streams were asked for, and when
        for message, taker in (
            (dialect.HEARTBEAT, self._take_heartbeat),
            (dialect.LOCAL_POSITION_NED, self._take_local),
            (dialect.ATTITUDE, self._take_attitude),
            (dialect.GLOBAL_POSITION_INT, self._take_position),
            (dialect.VFR_HUD, self._take_hud),
            (dialect.HIL_STATE_QUATERNION, self._take_truth),
            (dialect.SYS_STATUS, self._take_status),
            (dialect.GPS_RAW_INT, lambda said: self._know(fix=said.fix_type, satellites=said.satellites_visible)),
            (dialect.HOME_POSITION, lambda said: self._know(home=station.home)),
            (dialect.EXTENDED_SYS_STATE, lambda said: self._know(landed=station.landed)),
            (dialect.MISSION_CURRENT, lambda said: self._know(item=said.seq)),
            (dialect.STATUSTEXT, lambda said: self._know(text=station.last_text)),
        ):
            station.listen(message, taker)

    def listen(self, now_s: float) -> None:
        """Receive, send the heartbeat, and request what is missing; the time is that of deadlines."""
        station = self.station
        station.now_s = now_s
        station.receive()
        station.beat()
        times, asked_s = self._asked
        if station.system and times < ASK_STREAMS and now_s - asked_s >= ASK_STREAMS_S:
            self._asked = (times + 1, now_s)
            station.ask_for({message: rate for message, rate in RATES_HZ.items() if message.id not in station.heard})

    # ------------------------------------------------------------------------------------------ what came

    def _take_heartbeat(self, said: Any) -> None:
        station = self.station
        words = {name: word for word, name in reversed(station.modes.items())}
        self._know(
            autopilot=station.dialect.name, kind=station.kind, system=station.system, armed=station.armed,
            mode=words.get(station.mode, station.mode.lower()),
        )  # fmt: skip

    def _know(self, **changes: Any) -> None:
        """Take over what is a number; a message with anything else is left out."""
        values = [part for value in changes.values() for part in (value if isinstance(value, tuple) else (value,))]
        if any(isinstance(value, float) and not math.isfinite(value) for value in values):
            changes = {"bad": self.telemetry.bad + 1}
        self.telemetry = replace(self.telemetry, **changes)

    def _take_local(self, said: Any) -> None:
        place, speed = (said.x, said.y, said.z), (said.vx, said.vy, said.vz)
        self._know(time_s=said.time_boot_ms * 1e-3, position=place, velocity=speed)

    def _take_attitude(self, said: Any) -> None:
        rates = (said.rollspeed, said.pitchspeed, said.yawspeed)
        self._know(time_s=said.time_boot_ms * 1e-3, attitude=(said.roll, said.pitch, said.yaw), rates=rates)

    def _take_position(self, said: Any) -> None:
        place = {"latitude_deg": said.lat * 1e-7, "longitude_deg": said.lon * 1e-7}
        self._know(**place, height_m=said.relative_alt * 1e-3, sea_height_m=said.alt * 1e-3)

    def _take_hud(self, said: Any) -> None:
        self._know(airspeed_mps=said.airspeed, throttle=said.throttle * 0.01)

    def _take_truth(self, said: Any) -> None:
        stamp_us, q, rates = said[0], said[1:5], said[5:8]
        latitude, longitude, height, *speed = said[8:14]
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

    def _take_status(self, said: Any) -> None:
        known: dict[str, Any] = {"ready": self.station.healthy}
        if said.voltage_battery != 0xFFFF:
            known["battery_voltage_V"] = said.voltage_battery * 1e-3
        if said.current_battery >= 0:
            known["battery_current_A"] = said.current_battery * 1e-2
        if said.battery_remaining >= 0:
            known["battery_share"] = said.battery_remaining * 1e-2
        self._know(**known)
