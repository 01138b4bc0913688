"""PX4 behind RflySim's ports, as CopterSim provides it: PX4 flies, clients command it through the interface.

In the MAVLink modes bytes of clients at 20100 go to PX4 and those of PX4 go to 20101 unchanged, with the truth in
between. In the UDP modes the structs become MAVLink for PX4, and its telemetry becomes structs. RflySim's own PX4 has
special topics (`rfly_ctrl`, `rfly_ext`, `rfly_px4`); the published PX4 has `debug_array` instead: rfly_ctrl and
ExtToPX4 go to it as DEBUG_FLOAT_ARRAY of that name, and one of the name rfly_px4 that it sends goes to 40101.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ironbird import rotations
from ironbird.autopilots.px4.process import COMMAND_PORT, PILOT_PORT, Px4Process, free_instance
from ironbird.errors import LinkError
from ironbird.ground.client.listener import Listener
from ironbird.ground.client.setpoints import SetPoint, leaning, moving, turning
from ironbird.ground.dialects import PX4
from ironbird.ground.station import Station
from ironbird.ground.texts import IN_AIR, LANDING, ON_GROUND
from ironbird.ground.wires import Port, Source
from ironbird.protocols.geodesy import to_geodetic
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.protocols.plan_file import Home
from ironbird.rflysim.front import RflySimFront
from ironbird.rflysim.mavlink import CopterSimEndpoint, say_truth
from ironbird.rflysim.messages import Shown
from ironbird.rflysim.ports import Ports
from ironbird.rig.commander.gauges import Status
from ironbird.rig.commander.stand import Motion, Stand
from ironbird.rig.commander.target import Target, impossible
from ironbird.rig.rig import Rig
from ironbird.systems.px4.link import Px4
from ironbird.vehicles.load import Vehicle

ASK_S = 0.5  # s of simulation time between two requests for the same thing
EXT_S = 0.02  # between two of ExtToPX4
TO_HOVER, TO_CRUISE = float(numbers.MAV_VTOL_STATE_MC), float(numbers.MAV_VTOL_STATE_FW)
FORCED = 21196.0
OF_PX4 = "rfly_px4"
MOST_ARRAYS = 16
ARRAY = 58  # numbers of DEBUG_FLOAT_ARRAY
LANDED = {ON_GROUND: "on_ground", IN_AIR: "in_air", LANDING: "landing", "taking off": "taking_off"}
# PX4 flies without a remote control and a ground station, as RflySim's programs expect it
PARAMS = {"NAV_RCL_ACT": 0, "NAV_DLL_ACT": 0, "COM_RCL_EXCEPT": 4}


class Tapped(Port):
    """PX4's port; received bytes are kept for the relay."""

    def __init__(self, port: int, **more: Any) -> None:
        super().__init__(port, **more)
        self.said: list[bytes] = []

    def read(self) -> Iterator[tuple[Source, bytes]]:
        for source, data in super().read():
            self.said.append(data)
            yield source, data


class Px4Commander(Stand):
    """PX4 as a vehicle that takes commands.

    A command that has not taken effect yet counts as refused, to be repeated.
    """

    def __init__(self, vehicle: Vehicle, rig: Rig, wire: Tapped, **observers: Callable[..., None]) -> None:
        super().__init__(vehicle, rig, **observers)
        self.wire = wire
        self.station = Station(wire)
        self.listener = Listener(self.station)
        self.arrays: dict[str, tuple[float, ...]] = {}  # by name; PX4 also repeats those that it is sent
        self.station.listen(dialect.DEBUG_FLOAT_ARRAY, self._take_array)
        self._asked_s: dict[str, float] = {}

    def poll(self) -> None:
        """Receive from PX4; its modes, texts and failsafes become events of the flight."""
        self.listener.listen(self.time_s)
        for event in self.station.autopilot_events:
            self.note(event.kind, event.text)
        self.station.autopilot_events.clear()

    def close(self) -> None:
        """Close the port of the ground station."""
        self.station.close()

    def _take_array(self, message: Any) -> None:
        """Store an array that PX4 sent, such as rfly_px4."""
        name = message[2].partition(b"\0")[0].decode("ascii", "replace")
        if name in self.arrays or len(self.arrays) < MOST_ARRAYS:
            self.arrays[name] = tuple(value if math.isfinite(value) else 0.0 for value in message[3:])

    def say_array(self, name: str, time_us: int, values: Sequence[float]) -> None:
        """Send numbers for PX4's topic debug_array."""
        row = [*values, *[0.0] * ARRAY][:ARRAY]
        self.station.send(dialect.DEBUG_FLOAT_ARRAY, [time_us, 0, name.encode()[:10], *row])

    # ------------------------------------------------------------------ what is

    @property
    def mode(self) -> str:
        """PX4's mode, by Ironbird's names."""
        mode = self.listener.telemetry.mode
        return "armed" if mode in ("hold", "take-off") and self.armed and not self.flying else mode

    @property
    def armed(self) -> bool:
        """Whether PX4 reports that it is armed."""
        return self.station.armed

    @property
    def flying(self) -> bool:
        """Whether PX4 reports that it has left the ground."""
        return self.kind.flies and self.armed and self.station.landed not in ("", ON_GROUND)

    def estimate(self) -> Motion:
        """PX4's estimate; zeros until it was received."""
        telemetry = self.listener.telemetry
        position, velocity, angles, rates = (
            np.nan_to_num(np.array(row, float))
            for row in (telemetry.position, telemetry.velocity, telemetry.attitude, telemetry.rates)
        )
        felt = self.rig.accels[0].values.copy() if self.rig.accels else np.zeros(3)
        return Motion(position, velocity, rotations.from_euler(angles), angles, rates, felt)

    def seen(self) -> Motion:
        """The motion that the controller uses: PX4's estimate."""
        return self.estimate()

    def status(self) -> Status:
        """PX4's status from its telemetry."""
        telemetry, here = self.listener.telemetry, self.estimate()
        details = self.rig.receivers[0].details if self.rig.receivers else {}
        eph_m, epv_m = (float(details[name][0]) if name in details else math.nan for name in ("eph", "epv"))
        return Status(
            mode=self.mode, armed=self.armed, landed=LANDED.get(self.station.landed, "on_ground"),
            healthy=(telemetry.ready or self.armed) and not math.isnan(telemetry.position[0]),
            failsafes=("px4",) if self.station.failsafe else (),
            item=max(telemetry.item, 0), items=0, done=False, battery_share=telemetry.battery_share,
            battery_voltage_V=telemetry.battery_voltage_V, battery_current_A=telemetry.battery_current_A,
            position_set=here.p_N, yaw_set=float(here.rpy[2]), airspeed_mps=telemetry.airspeed_mps,
            throttle=0.0 if math.isnan(telemetry.throttle) else telemetry.throttle, gnss_fix=telemetry.fix,
            satellites=telemetry.satellites, eph_m=eph_m, epv_m=epv_m, accepts=frozenset(PX4.words),
        )  # fmt: skip

    def actuators(self) -> dict[str, float]:
        """PX4's commands to the actuators, by place."""
        return {place: float(self.rig.stepper.inputs[row]) for place, row in self.rig.actuators.items()}

    # ------------------------------------------------------------------ commands

    def _ask(self, what: str, done: bool, send: Callable[[], None]) -> str | None:
        """None if `done`; otherwise call `send`, at intervals, and return the reason."""
        if done:
            self._asked_s.pop(what, None)
            return None
        if not self.listener.telemetry.system:
            return "PX4 has not been received yet"
        if self.time_s - self._asked_s.get(what, -math.inf) >= ASK_S:
            self._asked_s[what] = self.time_s
            send()
        return f"PX4 does not do it yet; its last message: {self.station.last_text or 'nothing'}"

    def _at_once(self, number: int, *params: float) -> str | None:
        self.station.command(number, *params)
        return None

    def arm(self) -> str | None:
        """Arm; refused until PX4 reports that it is armed."""
        return self._ask("arm", self.armed, lambda: self.station.command(numbers.COMPONENT_ARM_DISARM, 1.0))

    def disarm(self, force: bool = False) -> str | None:
        """Send one disarm command; with `force` also in flight."""
        return self._at_once(numbers.COMPONENT_ARM_DISARM, 0.0, FORCED if force else 0.0)

    def set_mode(self, mode: str) -> str | None:
        """Change to a mode; refused until PX4's heartbeat reports it."""
        name = PX4.words.get(mode)
        if name is None:
            return f"PX4 has no mode '{mode[:40]}'; it has {', '.join(PX4.words)}"
        main, sub = PX4.mode_numbers("copter", name)
        return self._ask(
            mode,
            self.station.mode == name,
            lambda: self.station.command(
                numbers.DO_SET_MODE, float(numbers.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED), float(main), float(sub)
            ),
        )

    def take_off(self, height_m: float | None = None) -> str | None:
        """Take off to a height above home (m, default 10)."""
        home = self.station.home
        if home is None:
            return "PX4 has no home position yet"
        height = home[2] + (10.0 if height_m is None else height_m)
        nan = math.nan
        return self._ask(
            "take off",
            self.flying,
            lambda: self.station.command(numbers.NAV_TAKEOFF, 0.0, 0.0, 0.0, nan, nan, nan, height),
        )

    def land(self) -> str | None:
        """Land, by PX4's mode AUTO.LAND."""
        return self.set_mode("land")

    def hold(self) -> str | None:
        """Hold the position, by PX4's mode AUTO.LOITER."""
        return self.set_mode("hold")

    def offboard(self, target: Target) -> str | None:
        """Send one set-point of the stream."""
        refusal = impossible(target)
        if refusal:
            return refusal
        try:
            point = _set_point(target)
        except LinkError as error:
            return str(error)
        stamp = {"time_boot_ms": round(self.time_s * 1e3)}
        self.station.say(point.message, **point.fields, **stamp, **self.station.target)
        return None

    def reposition(self, p_N: Sequence[float], yaw: float | None = None) -> str | None:
        """Fly to a place (m in N) and hold there."""
        home = self.station.home
        if home is None:
            return "PX4 has no home position yet"
        latitude, longitude, _ = to_geodetic(Home(*home), p_N)
        self.station.say(
            dialect.COMMAND_INT, command=numbers.DO_REPOSITION, frame=numbers.FRAME_GLOBAL, param1=-1.0, param2=1.0,
            param4=math.nan if yaw is None else yaw, x=round(latitude * 1e7), y=round(longitude * 1e7),
            z=home[2] - float(p_N[2]), **self.station.target,
        )  # fmt: skip
        return None

    def transition(self, wings: bool) -> str | None:
        """Command the transition to wings, or back to rotors."""
        return self._at_once(numbers.DO_VTOL_TRANSITION, TO_CRUISE if wings else TO_HOVER)

    def set_speed(self, speed_mps: float) -> str | None:
        """Set the speed of missions and flights to a place, m/s."""
        return self._at_once(numbers.DO_CHANGE_SPEED, 1.0, speed_mps, -1.0)

    def set_loiter_radius(self, radius_m: float) -> str | None:
        """Set PX4's parameter of the radius of circles, m."""
        self.station.say(
            dialect.PARAM_SET, param_id=PX4.radius_param.encode(), param_value=radius_m, param_type=9,
            **self.station.target,
        )  # fmt: skip
        return None


def _set_point(target: Target) -> SetPoint:
    if any(math.isfinite(value) for value in (target.course, target.airspeed, target.height, target.speed)):
        raise LinkError("PX4 takes no set-point of course, height and speed; give places, or fly a mission")
    if target.attitude_rpy is not None:
        roll, pitch, yaw = map(float, target.attitude_rpy)
        return leaning(roll, pitch, yaw, target.thrust)
    if target.rates_B is not None:
        p, q, r = map(float, target.rates_B)
        return turning(p, q, r, target.thrust)
    heading, rate = (value if math.isfinite(value) else None for value in (target.yaw, target.yaw_rate))
    body = target.frame == "B"
    rows = [
        tuple(map(float, row)) if any(map(math.isfinite, row)) else None
        for row in (target.position_N, target.velocity_N, target.acceleration_N)
    ]
    point = moving(
        position=_known(rows[0]), velocity=_known(rows[1]), acceleration=_known(rows[2]), yaw=heading,
        yaw_rate=rate if heading is None else None, frame="body" if body else "earth",
    )  # fmt: skip
    masked = 0  # axes that are left free
    for place, row in enumerate(rows):
        if row is not None:
            masked |= sum(1 << 3 * place + axis for axis, value in enumerate(row) if math.isnan(value))
    point.fields["type_mask"] |= masked
    if heading is None and rate is None and not masked & 0b111 and rows == [None] * 3:
        raise LinkError("the set-point asks for nothing")
    return point


def _known(row: tuple[float, ...] | None) -> tuple[float, float, float] | None:
    if row is None:
        return None
    x, y, z = (0.0 if math.isnan(value) else value for value in row)
    return x, y, z


class Relay:
    """MAVLink modes: relay between a client's port and PX4, byte by byte."""

    def __init__(self, ports: Ports, host: str, structs: Callable[[bytes], None]) -> None:
        self._endpoint = CopterSimEndpoint((ports.vehicle - 1) % 250 + 1, ports, host, structs)

    def open(self, commander: Px4Commander) -> None:
        """Bind the UDP port for commands of clients."""
        self._endpoint.open()
        self._commander = commander

    def poll(self) -> None:
        """Forward received bytes in both directions."""
        wire = self._commander.wire
        for _, data in self._endpoint.receive():
            wire.send(memoryview(data))
        for channel in self._endpoint.channels:
            for data in wire.said:
                channel.pass_on(data)
        wire.said.clear()

    def tell_truth(self, shown: Shown) -> None:
        """Send the true motion between PX4's messages."""
        say_truth(self._endpoint.channels, shown)

    def close(self) -> None:
        """Close the UDP port of the relay."""
        self._endpoint.close()


class Px4Front(RflySimFront):
    """RflySim's ports of a vehicle that PX4 flies."""

    relay: Relay | None = None

    def open(self, commander: Any) -> None:
        """Bind the ports, and the one of the MAVLink modes for the relay."""
        assert isinstance(commander, Px4Commander)
        self._behind = commander
        super().open(commander)

    def _open_mavlink(self, commander: Any) -> None:
        self.relay = Relay(self.ports, self.options.host, lambda data: self.command(commander, data))
        self.relay.open(commander)

    def _poll_mavlink(self, commander: Any) -> None:
        if self.relay is not None:
            self.relay.poll()
        else:
            self._behind.wire.said.clear()

    def _tell_mavlink(self, shown: Shown) -> None:
        if self.relay is not None:
            self.relay.tell_truth(shown)

    def _rfly_ctrl(self, data: Sequence[float]) -> None:
        self._behind.say_array("rfly_ctrl", self._behind.rig.time_us, data)

    def _px4_ext(self, shown: Shown) -> bytes:
        return shown.px4_ext(self._behind.arrays.get(OF_PX4))

    def close(self) -> None:
        """Close all ports, also that of the relay."""
        if self.relay is not None:
            self.relay.close()
        super().close()


class ServedPx4(Px4):
    """PX4 on a vehicle behind RflySim's ports."""

    fills = "px4"
    open_ended = True

    def __init__(self, front: Px4Front, process: Px4Process, *, announce: Callable[[str], None] | None = None) -> None:
        super().__init__(process, params=PARAMS, instance=free_instance(front.ports.vehicle - 1))
        self.front, self._announce = front, announce
        self.commander: Px4Commander | None = None
        self._ext_s = 0.0

    def start(self, rig: Rig) -> None:
        """Start PX4, then open the ports."""
        assert self.instance is not None
        wire = Tapped(
            PILOT_PORT + self.instance, peer=("127.0.0.1", COMMAND_PORT + self.instance), process=self.process
        )
        self.commander = Px4Commander(
            rig.vehicle, rig, wire, note=lambda kind, words: self.note(rig, kind, words)  # by whom, PX4 does not say
        )  # fmt: skip
        super().start(rig)
        self.front.open(self.commander)
        if self._announce is not None:
            for line in self.front.announce():
                self._announce(line)

    def exchange(self, rig: Rig) -> None:
        """Make a step of PX4, then serve the ports."""
        super().exchange(rig)
        commander = self.commander
        assert commander is not None
        commander.poll()
        if rig.time_s >= self._ext_s:
            self._ext_s = rig.time_s + EXT_S
            commander.say_array("ExtToPX4", rig.time_us, self.front.ext_to_px4(commander))
        self.front.poll(commander)

    @property
    def finished(self) -> bool:
        """Whether a client has requested a restart."""
        return self.front.finished

    def stop(self) -> None:
        """End PX4 and close all ports."""
        self.front.close()
        if self.commander is not None:
            self.commander.close()
        super().stop()
