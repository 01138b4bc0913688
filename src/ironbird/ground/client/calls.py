"""The calls of the client, each written once: which command it sends, what it waits for, and its deadline."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ironbird.errors import LinkError
from ironbird.ground.client.core import Call, Core
from ironbird.ground.client.setpoints import Frame, SetPoint, leaning, moving, moving_globally, sticks, turning
from ironbird.ground.client.telemetry import Telemetry
from ironbird.ground.handshakes import Script
from ironbird.ground.texts import ON_GROUND
from ironbird.ground.wires import Wire
from ironbird.protocols.geodesy import to_local
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.protocols.mavlink.failures import failure
from ironbird.protocols.plan_file import ITEMS_MOST, TOUCHES, Home, LocalItem, PlanItem, from_mission, load_plan

ARRIVED_M, ARRIVED_WING_M, ARRIVED_RAD = 1.0, 100.0, math.radians(10)
FORCE = 21196  # of COMPONENT_ARM_DISARM: also in flight [MAVLink2]
SPEEDS = {
    "air": numbers.SPEED_TYPE_AIRSPEED, "ground": numbers.SPEED_TYPE_GROUNDSPEED,
    "climb": numbers.SPEED_TYPE_CLIMB_SPEED, "descent": numbers.SPEED_TYPE_DESCENT_SPEED,
}  # fmt: skip
Mission = str | Path | Sequence[PlanItem] | Sequence[LocalItem]


class Calls:
    """A vehicle to be called. Lengths in m, speeds in m/s, angles in rad; north, east, down or forward, right, down.

    `within_s` is the deadline of a call in seconds of the wall: `LinkError` says then who did not do what, for how
    long, and what was received last.
    """

    def __init__(self, wire: Wire, *, system: int = 0, simulated: bool = False) -> None:
        self.core = Core(wire, system=system, simulated=simulated)
        self.station, self.hands = self.core.station, self.core.hands
        self.plan: list[PlanItem] = []
        self.table: dict[int, tuple[str, float]] = {}  # parameters by place
        self._table_size = -1
        self._mission_count = -1
        self._mission_items: dict[int, PlanItem] = {}
        self.station.listen(dialect.PARAM_VALUE, self._take_param)
        self.station.listen(dialect.MISSION_COUNT, self._take_count)
        self.station.listen(dialect.MISSION_ITEM_INT, self._take_item)

    @property
    def telemetry(self) -> Telemetry:
        """The newest telemetry of the vehicle."""
        return self.core.listener.telemetry

    def meet(self, within_s: float) -> Script:
        """Wait for the first heartbeat of the vehicle."""
        self.hands.allow(within_s)
        yield from self.hands.wait("the first heartbeat", lambda: self.station.system > 0)

    # ------------------------------------------------------------------------------------------ arming and modes

    def wait_ready(self, within_s: float = 120.0) -> Script:
        """Wait until the vehicle's own checks before arming pass and it knows its home."""
        self.hands.allow(within_s)

        def ready() -> bool:
            return self.telemetry.ready and (self.station.home is not None or self.station.kind == "sub")

        yield from self.hands.wait("ready to be armed", ready)

    def arm(self, within_s: float = 60.0) -> Script:
        """Arm: asked again while it is refused; waits until the vehicle says that it is armed.

        ArduPilot's copters, rovers and boats are put into GUIDED first: there they arm without a remote control.
        """
        self.hands.allow(within_s)
        mode = self.station.dialect.arming_mode(self.station.kind)
        if mode and not self.station.armed:
            yield from self.hands.change_mode(mode)
        yield from self.hands.arm()

    def disarm(self, force: bool = False, within_s: float = 30.0) -> Script:
        """Disarm, with `force` also in flight; waits until the vehicle says that it is disarmed."""
        self.hands.allow(within_s)
        self.core.streams.clear()
        yield from self.hands.ask("disarming", numbers.COMPONENT_ARM_DISARM, 0, FORCE if force else 0)
        yield from self.hands.wait("disarmed", lambda: not self.station.armed)

    def set_mode(self, mode: str, within_s: float = 30.0) -> Script:
        """Change to a mode; waits until the vehicle says that it is in it.

        By word (hold, mission, return, land, offboard, position, altitude, stabilized, manual, acro) or by the
        autopilot's own name.
        """
        self.hands.allow(within_s)
        yield from self._leave_for(mode)

    def hold(self, within_s: float = 30.0) -> Script:
        """Stay here (a wing circles); waits for the mode. Ends the stream of set-points."""
        self.hands.allow(within_s)
        yield from self._leave_for("hold")

    def return_home(self, within_s: float = 30.0) -> Script:
        """Fly home by the autopilot's rules; waits for the mode. Ends the stream of set-points."""
        self.hands.allow(within_s)
        yield from self._leave_for("return")

    # ------------------------------------------------------------------------------------------ up and down

    def take_off(self, height: float = 10.0, within_s: float = 120.0) -> Script:
        """Take off to a height over home; arms if need be. Waits until nine tenths of the height are reached."""
        station = self.station
        self.hands.allow(within_s)
        _need(0.0 < height < 1e5, f"a take-off to {height!r} m")
        _need(station.kind not in TOUCHES, f"a {station.kind} does not take off")
        if station.dialect.take_off_needs_home:
            yield from self.hands.wait("a home position", lambda: station.home is not None)
        if param := station.dialect.height_param(station.kind):
            yield from self.hands.set_param(param, height)
        self.core.streams.pop("set-point", None)
        mode = station.dialect.climbing_mode(station.kind)
        if mode and station.armed:
            yield from self.hands.change_mode(mode)
        yield from self.hands.take_off(height)
        yield from self.hands.wait(f"a height of {height:g} m", lambda: self.telemetry.height_m >= 0.9 * height)
        if station.dialect.take_off_is_a_mode(station.kind):
            yield from self.hands.wait("the end of the take-off", lambda: self.telemetry.mode != "take-off")

    def land(self, north: float | None = None, east: float | None = None, within_s: float = 120.0) -> Script:
        """Land here, or after a flight to a place at the present height; waits for the mode.

        A plane of ArduPilot returns instead; one of PX4 needs a landing in its mission.
        """
        self.hands.allow(within_s)
        if north is not None or east is not None:
            _, _, down = yield from self._known_position()
            yield from self._go((north or 0.0, east or 0.0, down), None, ARRIVED_M)
        yield from self._leave_for("land")

    def wait_landed(self, within_s: float = 120.0) -> Script:
        """Wait until the vehicle says that it is on the ground, or is disarmed."""
        self.hands.allow(within_s)
        yield from self.hands.wait("landed", lambda: self.station.landed == ON_GROUND or not self.station.armed)

    def wait_disarmed(self, within_s: float = 120.0) -> Script:
        """Wait until the motors are off."""
        self.hands.allow(within_s)
        yield from self.hands.wait("disarmed", lambda: not self.station.armed)

    # ------------------------------------------------------------------------------------------ set-points

    def goto(
        self,
        north: float = 0.0,
        east: float = 0.0,
        down: float = 0.0,
        yaw: float | None = None,
        frame: Frame = "earth",
        radius: float | None = None,
        within_s: float = 120.0,
    ) -> Script:
        """Fly to a place; waits until the vehicle is there, within `radius` (1 m, a wing 100 m) and 10 degrees of yaw.

        In frame "body" the place is forward, right and down of where the vehicle is now.
        """
        self.hands.allow(within_s)
        _need(self.station.armed, "not armed: call arm() and take_off() first")
        place = (north, east, down)
        if frame == "body":
            place = yield from self._ahead(place)
        wing = self.station.kind == "plane"
        yield from self._go(place, yaw, radius or (ARRIVED_WING_M if wing else ARRIVED_M))

    def goto_global(
        self,
        latitude_deg: float,
        longitude_deg: float,
        height: float,
        yaw: float | None = None,
        radius: float | None = None,
        within_s: float = 120.0,
    ) -> Script:
        """Fly to a place on the earth, its height over home, and wait until the vehicle is there."""
        self.hands.allow(within_s)
        _need(self.station.armed, "not armed: call arm() and take_off() first")
        target = Home(latitude_deg, longitude_deg, height)
        near = radius or (ARRIVED_WING_M if self.station.kind == "plane" else ARRIVED_M)
        yield from self._offboard(moving_globally(*target, yaw))

        def there() -> bool:
            return math.hypot(*_from(target, self.telemetry)) < near

        yield from self._arrive(f"arrival at {latitude_deg:.7f}, {longitude_deg:.7f}, {height:g} m", there)

    def position(
        self,
        north: float = 0.0,
        east: float = 0.0,
        down: float = 0.0,
        yaw: float | None = None,
        yaw_rate: float | None = None,
        frame: Frame = "earth",
        within_s: float = 30.0,
    ) -> Script:
        """Set-point of a place, sent again until another comes. Waits only for the mode offboard, if it is another."""
        self.hands.allow(within_s)
        place = (north, east, down)
        if frame == "body":
            place = yield from self._ahead(place)
        yield from self._offboard(moving(position=place, yaw=yaw, yaw_rate=yaw_rate))

    def position_global(
        self,
        latitude_deg: float,
        longitude_deg: float,
        height: float,
        yaw: float | None = None,
        within_s: float = 30.0,
    ) -> Script:
        """Set-point of a place on the earth, its height over home. Waits only for the mode offboard."""
        self.hands.allow(within_s)
        yield from self._offboard(moving_globally(latitude_deg, longitude_deg, height, yaw))

    def velocity(
        self,
        x: float = 0.0,
        y: float = 0.0,
        down: float = 0.0,
        yaw: float | None = None,
        yaw_rate: float | None = None,
        frame: Frame = "earth",
        within_s: float = 30.0,
    ) -> Script:
        """Set-point of a velocity: x and y are north and east, in frame "body" forward and right.

        Sent again until another comes. Waits only for the mode offboard, if it is another.
        """
        self.hands.allow(within_s)
        yield from self._offboard(moving(velocity=(x, y, down), yaw=yaw, yaw_rate=yaw_rate, frame=frame))

    def acceleration(
        self,
        x: float = 0.0,
        y: float = 0.0,
        down: float = 0.0,
        yaw: float | None = None,
        yaw_rate: float | None = None,
        frame: Frame = "earth",
        within_s: float = 30.0,
    ) -> Script:
        """Set-point of an acceleration, axes as of `velocity`. Waits only for the mode offboard."""
        self.hands.allow(within_s)
        yield from self._offboard(moving(acceleration=(x, y, down), yaw=yaw, yaw_rate=yaw_rate, frame=frame))

    def attitude(
        self, roll: float = 0.0, pitch: float = 0.0, yaw: float = 0.0, thrust: float = 0.5, within_s: float = 30.0
    ) -> Script:
        """Set-point of an attitude, and thrust from 0 to 1. Waits only for the mode offboard.

        ArduPilot takes thrust for a climb rate with 0.5 for none, unless its GUID_OPTIONS say otherwise.
        """
        self.hands.allow(within_s)
        yield from self._offboard(leaning(roll, pitch, yaw, thrust))

    def rates(
        self,
        roll_rate: float = 0.0,
        pitch_rate: float = 0.0,
        yaw_rate: float = 0.0,
        thrust: float = 0.5,
        within_s: float = 30.0,
    ) -> Script:
        """Set-point of rates of the body in rad/s, and thrust from 0 to 1. Waits only for the mode offboard."""
        self.hands.allow(within_s)
        yield from self._offboard(turning(roll_rate, pitch_rate, yaw_rate, thrust))

    def sticks(
        self, roll: float = 0.0, pitch: float = 0.0, throttle: float = 0.0, yaw: float = 0.0, buttons: int = 0
    ) -> Script:
        """Sticks from -1 to 1 (right, forward, up, clockwise), sent again until others come; waits for nothing.

        They fly the vehicle in its modes by hand: `set_mode("position")`.
        """
        self.hands.allow(30.0)
        self.core.stream("sticks", sticks(roll, pitch, throttle, yaw, buttons))
        yield from ()

    def release(self) -> Script:
        """End the streams of set-points and sticks: the vehicle's own failsafe takes over. Waits for nothing."""
        self.core.streams.clear()
        yield from ()

    # ------------------------------------------------------------------------------------------ limits and home

    def speed(self, speed: float, of: str = "ground", within_s: float = 30.0) -> Script:
        """Change the speed of flight (`of`: ground, air, climb, descent); waits for the answer."""
        self.hands.allow(within_s)
        _need(of in SPEEDS, f"a speed of '{of}'; give one of {', '.join(SPEEDS)}")
        _need(0.0 < speed < 1e3, f"a speed of {speed!r} m/s")
        yield from self.hands.ask(f"a speed of {speed:g} m/s", numbers.DO_CHANGE_SPEED, SPEEDS[of], speed, -1)

    def loiter_radius(self, radius: float, within_s: float = 30.0) -> Script:
        """Change the radius of a wing's circles, a parameter; waits until it is stored."""
        self.hands.allow(within_s)
        yield from self.hands.set_param(self.station.dialect.radius_param, radius)

    def set_home(
        self, latitude_deg: float | None = None, longitude_deg: float = 0.0, height: float = 0.0, within_s: float = 30.0
    ) -> Script:
        """Make this place home, or one on the earth with its height above the sea; waits for the answer."""
        self.hands.allow(within_s)
        here = latitude_deg is None
        place = (latitude_deg or 0.0, longitude_deg, height)
        yield from self.hands.ask_int(
            "a home position", numbers.DO_SET_HOME, (1.0 if here else 0.0, 0.0, 0.0, 0.0), place
        )

    # ------------------------------------------------------------------------------------------ missions

    def upload_mission(self, mission: Mission, within_s: float = 120.0) -> Script:
        """Upload a .plan or .waypoints file, `PlanItem`s, or items in metres from home; waits until it is accepted.

        A list of nothing deletes the mission.
        """
        station = self.station
        self.hands.allow(within_s)
        if isinstance(mission, str | Path):
            plan = load_plan(mission).items
        elif mission and not isinstance(mission[0], PlanItem):
            yield from self.hands.wait("a home position", lambda: station.home is not None)
            assert station.home is not None
            items = [LocalItem(*item) for item in mission]  # type: ignore[misc]
            plan = from_mission(items, Home(*station.home), kind=station.kind)
        else:
            plan = [item for item in mission if isinstance(item, PlanItem)]
        self.plan = plan
        if plan:
            yield from self.hands.upload(plan)
            return
        station.mission_ack = None
        self.hands.begin("deletion of the mission")
        yield from self.hands.repeat(
            lambda: station.say(dialect.MISSION_CLEAR_ALL, **station.target), lambda: station.mission_ack is not None
        )

    def download_mission(self, within_s: float = 60.0) -> Call[list[PlanItem]]:
        """The mission that the vehicle has; waits for every item."""
        self.hands.allow(within_s)
        step = self.hands.begin("the mission's length")
        self._mission_count, self._mission_items = -1, {}
        yield from self.hands.repeat(
            lambda: self.station.say(dialect.MISSION_REQUEST_LIST, **self.station.target),
            lambda: self._mission_count >= 0,
        )
        if self._mission_count > ITEMS_MOST:
            raise self.hands.failed(step, f"is {self._mission_count}, more than any mission ({ITEMS_MOST})")
        for number in range(self._mission_count):
            self.hands.begin(f"item {number} of {self._mission_count} of the mission")

            def ask(number: int = number) -> None:
                self.station.say(dialect.MISSION_REQUEST_INT, seq=number, **self.station.target)

            def came(number: int = number) -> bool:
                return number in self._mission_items

            yield from self.hands.repeat(ask, came)
        self.station.say(dialect.MISSION_ACK, **self.station.target)
        items = [self._mission_items[number] for number in range(self._mission_count)]
        return self.station.dialect.plan_of(items)

    def start_mission(self, item: int = 0, within_s: float = 60.0) -> Script:
        """Arm if need be and start the mission; waits for both modes. Ends the stream of set-points."""
        station = self.station
        self.hands.allow(within_s)
        station.flying, station.mission_done, station.reached = True, False, -1
        if item:
            self.hands.begin(f"item {item}")
            yield from self.hands.repeat(
                lambda: station.say(dialect.MISSION_SET_CURRENT, seq=item, **station.target),
                lambda: station.current == item,
            )
        yield from self.hands.start_mission()
        self.core.streams.pop("set-point", None)

    def wait_mission(self, within_s: float = 600.0) -> Script:
        """Wait until the last item is reached, the vehicle says that the mission is complete, or it is disarmed."""
        station = self.station
        self.hands.allow(within_s)
        last = len(station.dialect.mission_items(self.plan, None)) - 1 if self.plan else None

        def over() -> bool:
            return station.mission_done or not station.armed or (last is not None and station.reached >= last)

        yield from self.hands.wait("the end of the mission", over)

    # ------------------------------------------------------------------------------------------ parameters, faults

    def param(self, name: str, within_s: float = 10.0) -> Call[float]:
        """The value of a parameter; waits for the answer."""
        self.hands.allow(within_s)
        value, _ = yield from self.hands.read_param(_param_name(name))
        return value

    def set_param(self, name: str, value: float, within_s: float = 15.0) -> Script:
        """Set a parameter; waits until the vehicle says the new value."""
        self.hands.allow(within_s)
        _need(math.isfinite(value), f"parameter {name}: {value!r} is no number to set")
        yield from self.hands.set_param(_param_name(name), value)

    def params(self, within_s: float = 120.0) -> Call[dict[str, float]]:
        """All parameters by name; waits for every one, and asks again for those that were lost."""
        self.hands.allow(within_s)
        self.table, self._table_size = {}, -1
        step = self.hands.begin("the list of parameters")
        yield from self.hands.repeat(
            lambda: self.station.say(dialect.PARAM_REQUEST_LIST, **self.station.target), lambda: self._table_size >= 0
        )
        while len(self.table) < self._table_size:
            had, since = len(self.table), self.station.wall_s()
            step.note = f"{had} of {self._table_size} came"
            while len(self.table) == had and self.station.wall_s() - since < 0.5:
                yield
            if len(self.table) > had:
                continue
            missing = [place for place in range(self._table_size) if place not in self.table]
            for place in missing[:20]:
                self.station.say(dialect.PARAM_REQUEST_READ, param_index=place, **self.station.target)
        return dict(sorted(self.table.values()))

    def inject(self, unit: str, how: str, instance: int = 0, within_s: float = 15.0) -> Script:
        """Have a part fail (MAV_CMD_INJECT_FAILURE): `inject("motor", "off", 1)`; waits for the answer.

        PX4 wants SYS_FAILURE_EN 1. `instance` 0 is all of them; how "ok" ends it.
        """
        self.hands.allow(within_s)
        numbers_ = failure(unit, how)
        yield from self.hands.ask(f"failure of {unit} {instance}: {how}", numbers.INJECT_FAILURE, *numbers_, instance)

    def command(self, command: int, *params: float, within_s: float = 30.0) -> Script:
        """Any MAV_CMD by its number with up to seven parameters; waits until it is accepted."""
        self.hands.allow(within_s)
        _need(len(params) <= 7 and 0 <= command <= 0xFFFF, f"MAV_CMD {command} with {len(params)} parameters")
        yield from self.hands.ask(f"MAV_CMD {command}", command, *params)

    def wait_for(
        self, condition: Callable[[Telemetry], bool], what: str = "the condition", within_s: float = 60.0
    ) -> Call[Telemetry]:
        """Wait until a function of the telemetry is true; returns the telemetry then."""
        self.hands.allow(within_s)
        yield from self.hands.wait(what, lambda: condition(self.telemetry))
        return self.telemetry

    # ------------------------------------------------------------------------------------------ parts of calls

    def _leave_for(self, word: str) -> Script:
        """Change to a mode that ignores set-points; their stream ends when the mode is reported."""
        yield from self.hands.change_mode(word)
        if self.telemetry.mode != "offboard":
            self.core.streams.pop("set-point", None)

    def _offboard(self, point: SetPoint) -> Script:
        """Stream a set-point, and enter the mode that follows it."""
        before = self.core.streams.get("set-point")
        self.core.stream("set-point", point)
        try:
            yield from self.hands.change_mode("offboard")
        except (LinkError, GeneratorExit):
            if before is None:
                self.core.streams.pop("set-point", None)
            raise

    def _go(self, place: tuple[float, float, float], yaw: float | None, radius: float) -> Script:
        if self.station.kind == "plane":  # wings get a reposition command, with every autopilot
            yield from self.hands.reposition(place)
            self.core.streams.pop("set-point", None)
        else:
            yield from self._offboard(moving(position=place, yaw=yaw))

        def there() -> bool:
            now = self.telemetry
            near = math.dist(now.position, place) < radius
            return near and (yaw is None or abs(math.remainder(now.attitude[2] - yaw, 2 * math.pi)) < ARRIVED_RAD)

        yield from self._arrive("arrival at " + ", ".join(f"{part:g}" for part in place) + " m", there)

    def _arrive(self, name: str, there: Callable[[], bool]) -> Script:
        """Wait for an arrival; fails if the vehicle no longer follows its set-points."""
        station = self.station
        step, mode, streamed = self.hands.begin(name), station.mode, "set-point" in self.core.streams
        while not there():
            if (streamed and station.mode != mode) or not station.armed:  # a wing flies without a stream of set-points
                raise self.hands.failed(
                    step, f"is given up: the vehicle changed from mode {mode} to {station.last_heartbeat}"
                )
            yield

    def _known_position(self) -> Call[tuple[float, float, float]]:
        yield from self.hands.wait("a position", lambda: not math.isnan(self.telemetry.position[0]))
        return self.telemetry.position

    def _ahead(self, place: tuple[float, float, float]) -> Call[tuple[float, float, float]]:
        """A place forward, right and down of the vehicle as north, east and down."""
        north, east, down = yield from self._known_position()
        yield from self.hands.wait("a heading", lambda: not math.isnan(self.telemetry.attitude[2]))
        yaw = self.telemetry.attitude[2]
        return (
            north + place[0] * math.cos(yaw) - place[1] * math.sin(yaw),
            east + place[0] * math.sin(yaw) + place[1] * math.cos(yaw),
            down + place[2],
        )

    # ------------------------------------------------------------------------------------------ what came

    def _take_param(self, message: Any) -> None:
        value = self.station.dialect.decoded(message.param_value, message.param_type)
        name = message.param_id.partition(b"\0")[0].decode(errors="replace")
        if not math.isfinite(value):
            return
        place = message.param_index
        if place < message.param_count:
            self._table_size = message.param_count
        else:  # ArduPilot's answer to a new value has no place
            place = next((known for known, (its, _) in self.table.items() if its == name), None)
        if place is not None:
            self.table[place] = (name, value)

    def _take_count(self, message: Any) -> None:
        if message.mission_type == 0:
            self._mission_count = message.count

    def _take_item(self, message: Any) -> None:
        if message.mission_type != 0 or message.seq >= ITEMS_MOST or not math.isfinite(message.z):
            return
        self._mission_items[message.seq] = PlanItem(
            message.command,
            message.frame,
            (message.param1, message.param2, message.param3, message.param4),
            message.x * 1e-7,
            message.y * 1e-7,
            message.z,
        )


def _need(true: bool, otherwise: str) -> None:
    if not true:
        raise LinkError(otherwise)


def _param_name(name: str) -> str:
    _need(name.isascii() and 0 < len(name) <= 16, f"'{name[:40]}' is no name of a parameter: up to 16 ASCII signs")
    return name


def _from(place: Home, telemetry: Telemetry) -> tuple[float, float, float]:
    return to_local(place, telemetry.latitude_deg, telemetry.longitude_deg, telemetry.height_m)
