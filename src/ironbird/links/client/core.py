"""The protocol core of the client: one thread that hears, keeps the streams going and goes on with every call.

A call is a generator, as the steps of a ground station are (`ground/handshakes.py`): it yields while it waits. The
faces (`faces.py`) hand calls over and wait for their result, blocking or in asyncio. Each call has one deadline for all
that it does. Time is the wall's, but streams also follow the vehicle's clock, so that a simulation that is faster than
real time gets its set-points as often as it needs them.
"""

from __future__ import annotations

import contextlib
import math
import select
import socket
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ironbird.errors import IronbirdError, LinkError
from ironbird.links.client.setpoints import SetPoint
from ironbird.links.client.telemetry import Telemetry, Truth
from ironbird.links.ground.handshakes import Handshakes, Script, Step
from ironbird.links.ground.texts import modes_by_word
from ironbird.links.ground.wires import Wire
from ironbird.links.mavlink import dialect, numbers
from ironbird.links.plan_file import VehicleClass
from ironbird.links.system import Happening
from ironbird.rotations import euler

T = TypeVar("T")
Call = Generator[None, None, T]
STREAM_S = 0.05  # between two set-points, of the wall and of the vehicle's clock; autopilots want 0.5 s at most
LOOK_S = 0.02  # between two looks at what a call waits for, if nothing comes
IDLE_S = 0.2
SEE_MODE_S = 3.0  # heartbeats come once a second
ASK_STREAMS_S = 2.0  # what was asked for and does not come is asked for again
ASK_STREAMS = 5  # times
MOST_NOTES = 200
AUTOPILOTS = {numbers.MAV_AUTOPILOT_PX4: "px4", numbers.MAV_AUTOPILOT_ARDUPILOTMEGA: "ardupilot"}
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


@dataclass
class Running:
    """A call on its way."""

    script: Generator[None, None, Any]
    future: Future[Any] = field(default_factory=Future)
    until: float = math.inf  # monotonic
    within_s: float = math.inf
    step: Step | None = None


class Core(Handshakes):
    """What a client knows of one vehicle, and its thread. `start` it, `submit` calls, `close` it in any case."""

    refusals = (numbers.MAV_RESULT_DENIED, numbers.MAV_RESULT_UNSUPPORTED)

    def __init__(self, wire: Wire, *, system: int = 0) -> None:
        super().__init__("px4", kind="copter", wire=wire, passive=False, plan=(), patience=1.0)
        self.telemetry = Telemetry()
        self.streams: dict[str, SetPoint] = {}
        self._wanted = system
        self._others: set[str] = set()  # who was heard and is not the vehicle
        self._last = ""  # message
        self._last_wall = 0.0
        self._wall_0 = time.monotonic()
        self._sent = (-math.inf, -math.inf)  # when the streams were, by the wall and by the vehicle
        self._asked = (0, -math.inf)  # how often streams were asked for, and when
        self._heard: set[int] = set()
        self._words: dict[str, str] = {}  # of modes, by the autopilot's names
        self._running: list[Running] = []
        self._now: Running | None = None
        self._broken: LinkError | None = None
        self._closing = False
        self._lock = threading.Lock()
        self._wake, self._woken = socket.socketpair()
        for end in (self._wake, self._woken):
            end.setblocking(False)
        for message, taker in (
            (dialect.LOCAL_POSITION_NED, self._take_local),
            (dialect.ATTITUDE, self._take_attitude),
            (dialect.VFR_HUD, self._take_hud),
            (dialect.HIL_STATE_QUATERNION, self._take_truth),
        ):
            self._listen(message, taker)
        self._thread = threading.Thread(target=self._run, name=f"ironbird client {wire.name}", daemon=True)

    # ------------------------------------------------------------------------------------------ the thread

    def start(self) -> None:
        """Begin to hear."""
        self._thread.start()

    def submit(self, script: Generator[None, None, T]) -> Future[T]:
        """Have a call gone on with; its future has the result or the error."""
        running = Running(script)
        with self._lock:
            if self._closing:
                raise LinkError(f"{self.wire.name}: the connection is closed")
            self._running.append(running)
        with contextlib.suppress(OSError):
            self._wake.send(b"\0")
        return running.future

    def close(self) -> None:
        """End the streams, all calls that wait, and the thread. May be called twice."""
        with self._lock:
            self._closing = True
        with contextlib.suppress(OSError):
            self._wake.send(b"\0")
        if self._thread.is_alive():
            self._thread.join()
        self._fail_all(LinkError(f"{self.wire.name}: the connection was closed while a call waited"))
        super().close()
        self._wake.close()
        self._woken.close()

    def _run(self) -> None:
        while not self._closing:
            came = self._wait_for_bytes()
            received = self.received
            self._turn()
            if came and received == self.received:
                time.sleep(1e-3)  # a line that hangs up is always ready, and empty
        self.streams.clear()

    def _turn(self) -> None:
        self._now_s = time.monotonic() - self._wall_0
        if self._broken is None:
            try:
                self._receive()
                self._beat()
                self._keep_streams()
            except OSError as error:
                self._broken = LinkError(f"{self.wire.name}: the link is cut: {error.strerror or error}")
        with self._lock:
            running = list(self._running)
        over = [one for one in running if not self._goes_on(one)]
        if over:
            with self._lock:
                self._running = [one for one in self._running if one not in over]

    def _goes_on(self, one: Running) -> bool:
        """Go on with a call; False when it is over."""
        if one.future.cancelled():
            one.script.close()
            return False
        self._now, self._step = one, one.step
        try:
            if self._broken is not None:
                raise self._broken
            self._check_deadlines()
            next(one.script)
        except StopIteration as end:
            _settle(one.future, end.value, None)
            return False
        except IronbirdError as error:
            one.script.close()
            _settle(one.future, None, error)
            return False
        except Exception as error:  # of a function that the caller gave
            _settle(one.future, None, error)
            return False
        one.step, self._now = self._step, None
        return True

    def _wait_for_bytes(self) -> bool:
        with self._lock:
            wait_s = LOOK_S if self._running else STREAM_S if self.streams else IDLE_S
        handles = [self._woken.fileno()] + ([self.wire.handle] if self._broken is None else [])
        ready, _, _ = select.select(handles, [], [], wait_s)
        if self._woken.fileno() in ready:
            with contextlib.suppress(BlockingIOError):
                self._woken.recv(4096)
        return self._broken is None and self.wire.handle in ready

    def _fail_all(self, error: LinkError) -> None:
        with self._lock:
            running, self._running = self._running, []
        for one in running:
            one.script.close()
            _settle(one.future, None, error)

    # ------------------------------------------------------------------------------------------ streams

    def stream(self, name: str, point: SetPoint) -> None:
        """Say this from now on, at once and then again and again."""
        self.streams[name] = point
        self._send(point)

    def _keep_streams(self) -> None:
        wall, vehicle = self._now_s, self.telemetry.time_s
        if self.streams and (wall - self._sent[0] >= STREAM_S or vehicle - self._sent[1] >= STREAM_S):
            for point in list(self.streams.values()):
                self._send(point)
        times, asked_s = self._asked
        if self._system and times < ASK_STREAMS and wall - asked_s >= ASK_STREAMS_S:
            self._asked = (times + 1, wall)
            self._ask_for({message: rate for message, rate in RATES_HZ.items() if message.id not in self._heard})

    def _send(self, point: SetPoint) -> None:
        vehicle = self.telemetry.time_s
        self._sent = (self._now_s, vehicle if math.isfinite(vehicle) else -math.inf)
        fields = dict(point.fields)
        if point.message is dialect.MANUAL_CONTROL:
            fields["target"] = self._system
        else:
            stamp_ms = round(1000 * self._now_s) & 0xFFFFFFFF
            fields |= {"time_boot_ms": stamp_ms, "target_system": self._system, "target_component": self._component}
        self._say(point.message, **fields)

    # ------------------------------------------------------------------------------------------ calls

    def allow(self, within_s: float) -> None:
        """The deadline of the call that goes on now."""
        if not 0.0 < within_s <= 1e7:
            raise LinkError(f"a deadline of {within_s!r} s: give more than 0")
        assert self._now is not None
        self._now.until, self._now.within_s = time.monotonic() + within_s, within_s

    def wait(self, name: str, done: Callable[[], bool]) -> Script:
        """Until something is so, or the call's deadline."""
        yield from self._wait(name, done, wall_s=math.inf, sim_s=math.inf)

    def _begin(self, name: str, wall_s: float, sim_s: float) -> Step:
        now = time.monotonic()
        left_s = self._now.until - now if self._now is not None else wall_s
        self._step = Step(name, max(left_s, 0.0), math.inf, now, self._now_s)
        return self._step

    def _failed(self, step: Step, why: str) -> LinkError:
        within_s = self._now.within_s if self._now is not None else math.nan
        who = f"{self.autopilot} (system {self._system})" if self._system else "nobody"
        heard = f"{time.monotonic() - self._last_wall:.1f} s ago {self._last}" if self._last else "none"
        others = f"; heard, but not the vehicle: {', '.join(sorted(self._others))}" if self._others else ""
        if why.startswith("not done"):
            why = f"not done within {within_s:g} s"
        return LinkError(
            f"{self.wire.name}, {who}: '{step.name}' {why}"
            + (f"; {step.note}" if step.note else "")
            + f"; last heartbeat: {self.last_heartbeat or 'none'}; last text: {self.last_text or 'none'}; "
            + f"last message: {heard}{others}"
        )

    def _arm(self) -> Script:
        if not self.armed:
            yield from super()._arm()

    @property
    def modes(self) -> dict[str, str]:
        """The autopilot's names of modes by our words."""
        return modes_by_word(self.autopilot, self.kind)

    def change_mode(self, word: str) -> Script:
        """Ask for a mode by word or by the autopilot's own name, and see it in the heartbeat."""
        name = self.modes.get(word.lower(), word).upper()
        while self.mode != name:  # asked again if it fell back before it was seen
            yield from self._set_mode(name)

    def _see_mode(self, name: str) -> Script:
        until = time.monotonic() + SEE_MODE_S
        step = self._begin(f"mode {name} in the heartbeat", 0, 0)
        step.note = "it was accepted"
        while self.mode != name and time.monotonic() < until:
            yield

    # ------------------------------------------------------------------------------------------ what came

    def _take_heartbeat(self, said: Any, system: int, component: int) -> bool:
        if component != numbers.MAV_COMP_ID_AUTOPILOT1 or said.autopilot == numbers.MAV_AUTOPILOT_INVALID:
            return False
        strange = self._wanted not in (0, system) or said.autopilot not in AUTOPILOTS
        if strange or self._system not in (0, system):
            if len(self._others) < 8:
                known = AUTOPILOTS.get(said.autopilot, f"autopilot {said.autopilot}, which is not known here")
                self._others.add(f"system {system} ({known})")
            if strange:
                return False
        if not self._system:
            self.autopilot = "ardupilot" if AUTOPILOTS[said.autopilot] == "ardupilot" else "px4"
            self.kind = KINDS.get(said.type, "copter")
            self._words = {name: word for word, name in reversed(self.modes.items())}
        if not super()._take_heartbeat(said, system, component):
            return False
        self._say_heard(dialect.HEARTBEAT.name)
        mode = self._words.get(self.mode, self.mode.lower())
        self._know(autopilot=self.autopilot, kind=self.kind, system=system, mode=mode, armed=self.armed)
        return True

    def _know(self, **changes: Any) -> None:
        """Take over what is a number; a message with anything else is left out."""
        values = [part for value in changes.values() for part in (value if isinstance(value, tuple) else (value,))]
        if any(isinstance(value, float) and not math.isfinite(value) for value in values):
            changes = {"bad": self.telemetry.bad + 1}
        self.telemetry = replace(self.telemetry, **changes)

    def _say_heard(self, name: str) -> None:
        self._last, self._last_wall = name, time.monotonic()

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
        known: dict[str, Any] = {"ready": bool(self._health & numbers.MAV_SYS_STATUS_PREARM_CHECK)}
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
        self.happenings.append(Happening(self._now_s, kind, text))
        del self.happenings[:-MOST_NOTES]


def _settle(future: Future[Any], value: Any, error: BaseException | None) -> None:
    """Result or error, unless nobody waits any more."""
    if future.set_running_or_notify_cancel():
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)
