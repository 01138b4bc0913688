"""What a vehicle says over MAVLink, kept as one snapshot: the ears of programs, whoever flies the vehicle."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ironbird.ground.client.telemetry import Telemetry, Truth
from ironbird.ground.dialects import PX4, dialects_by_number
from ironbird.ground.handshakes import Handshakes
from ironbird.ground.wires import Wire
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.rig.system import AutopilotEvent
from ironbird.rotations import euler
from ironbird.vehicles.kinds import VehicleClass

ASK_STREAMS_S = 2.0  # what was asked for and does not come is asked for again
ASK_STREAMS = 5  # times
MOST_NOTES = 200
KINDS: dict[int, VehicleClass] = {
    numbers.MAV_TYPE_FIXED_WING: "plane",
    numbers.MAV_TYPE_QUADROTOR: "copter",
    numbers.MAV_TYPE_COAXIAL: "copter",
    numbers.MAV_TYPE_HELICOPTER: "copter",
    numbers.MAV_TYPE_HEXAROTOR: "copter",
    numbers.MAV_TYPE_OCTOROTOR: "copter",
    numbers.MAV_TYPE_TRICOPTER: "copter",
    numbers.MAV_TYPE_GROUND_ROVER: "rover",
    numbers.MAV_TYPE_SURFACE_BOAT: "boat",
    numbers.MAV_TYPE_SUBMARINE: "sub",
    19: "vtol",  # two rotors on their tail
    numbers.MAV_TYPE_VTOL_QUADROTOR: "vtol",
    numbers.MAV_TYPE_VTOL_TILTROTOR: "vtol",
    numbers.MAV_TYPE_VTOL_FIXEDROTOR: "vtol",
    23: "vtol",
    24: "vtol",
    25: "vtol",
    29: "copter",  # twelve rotors
    35: "copter",  # ten rotors
}
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


class Listener(Handshakes):
    """What is known of one vehicle; `listen` takes what came."""

    def __init__(self, wire: Wire, *, system: int = 0) -> None:
        super().__init__(PX4, kind="copter", wire=wire, passive=False, plan=(), patience=1.0)
        self.telemetry = Telemetry()
        self._wanted = system
        self._known = dialects_by_number()
        self._others: set[str] = set()  # senders that are not the vehicle
        self._last = ""  # message
        self._last_wall = 0.0
        self._asked = (0, -math.inf)  # how often streams were asked for, and when
        self._heard: set[int] = set()
        self._words: dict[str, str] = {}  # of modes, by the autopilot's names
        for message, taker in (
            (dialect.LOCAL_POSITION_NED, self._take_local),
            (dialect.ATTITUDE, self._take_attitude),
            (dialect.VFR_HUD, self._take_hud),
            (dialect.HIL_STATE_QUATERNION, self._take_truth),
        ):
            self._listen(message, taker)

    def listen(self, now_s: float) -> None:
        """Receive, send the heartbeat, and request what is missing; the time is that of deadlines."""
        self._now_s = now_s
        self._receive()
        self._beat()
        times, asked_s = self._asked
        if self._system and times < ASK_STREAMS and now_s - asked_s >= ASK_STREAMS_S:
            self._asked = (times + 1, now_s)
            self._ask_for({message: rate for message, rate in RATES_HZ.items() if message.id not in self._heard})

    @property
    def modes(self) -> dict[str, str]:
        """The autopilot's names of modes by Ironbird's names."""
        return self.dialect.modes(self.kind)

    # ------------------------------------------------------------------------------------------ what came

    def _take_heartbeat(self, said: Any, system: int, component: int) -> bool:
        if component != numbers.MAV_COMP_ID_AUTOPILOT1 or said.autopilot == numbers.MAV_AUTOPILOT_INVALID:
            return False
        strange = self._wanted not in (0, system) or said.autopilot not in self._known
        if strange or self._system not in (0, system):
            if len(self._others) < 8:
                known = self._known.get(said.autopilot)
                name = known.name if known else f"autopilot {said.autopilot}, which is not known here"
                self._others.add(f"system {system} ({name})")
            if strange:
                return False
        if not self._system:
            self.dialect = self._known[said.autopilot]
            self.kind = KINDS.get(said.type, "copter")
            self._words = {name: word for word, name in reversed(self.modes.items())}
        if not super()._take_heartbeat(said, system, component):
            return False
        self._say_heard(dialect.HEARTBEAT.name)
        mode = self._words.get(self.mode, self.mode.lower())
        self._know(autopilot=self.dialect.name, kind=self.kind, system=system, mode=mode, armed=self.armed)
        return True

    def _know(self, **changes: Any) -> None:
        """Take over what is a number; a message with anything else is left out."""
        values = [part for value in changes.values() for part in (value if isinstance(value, tuple) else (value,))]
        if any(isinstance(value, float) and not math.isfinite(value) for value in values):
            changes = {"bad": self.telemetry.bad + 1}
        self.telemetry = replace(self.telemetry, **changes)

    def _say_heard(self, name: str) -> None:
        self._last, self._last_wall = name, self._wall_s()

    def _listen(self, message: dialect.Message, taker: Callable[[Any], None]) -> None:
        def take(said: Any) -> None:
            self._heard.add(message.id)
            self._say_heard(message.name)
            taker(said)

        super()._listen(message, take)

    def _take_local(self, said: Any) -> None:
        place, speed = (said.x, said.y, said.z), (said.vx, said.vy, said.vz)
        self._know(time_s=said.time_boot_ms * 1e-3, position=place, velocity=speed)

    def _take_attitude(self, said: Any) -> None:
        rates = (said.rollspeed, said.pitchspeed, said.yawspeed)
        self._know(time_s=said.time_boot_ms * 1e-3, attitude=(said.roll, said.pitch, said.yaw), rates=rates)

    def _take_position(self, said: Any) -> None:
        super()._take_position(said)
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
        super()._take_status(said)
        known: dict[str, Any] = {"ready": self.healthy}
        if said.voltage_battery != 0xFFFF:
            known["battery_voltage_V"] = said.voltage_battery * 1e-3
        if said.current_battery >= 0:
            known["battery_current_A"] = said.current_battery * 1e-2
        if said.battery_remaining >= 0:
            known["battery_share"] = said.battery_remaining * 1e-2
        self._know(**known)

    def _take_fix(self, said: Any) -> None:
        super()._take_fix(said)
        self._know(fix=said.fix_type, satellites=said.satellites_visible)

    def _take_home(self, said: Any) -> None:
        super()._take_home(said)
        assert self.home is not None
        self._know(home=self.home)

    def _take_landed(self, said: Any) -> None:
        super()._take_landed(said)
        self._know(landed=self.landed)

    def _take_current(self, said: Any) -> None:
        super()._take_current(said)
        self._know(item=said.seq)

    def _take_text(self, said: Any) -> None:
        super()._take_text(said)
        self._know(text=self.last_text)

    def _note(self, kind: str, text: str) -> None:
        self.autopilot_events.append(AutopilotEvent(self._now_s, kind, text))
        del self.autopilot_events[:-MOST_NOTES]
