"""Pilot: a ground station that takes an autopilot through a mission over MAVLink, in simulation time.

It is polled from the run loop and never blocks; its actions are a script of steps. Modes and readiness: [PX4],
[ArduPilotDev].
"""

from __future__ import annotations

import contextlib
import itertools
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ironbird.ground.dialects import DIALECTS
from ironbird.ground.handshakes import Handshakes, Script
from ironbird.ground.relay import Relay
from ironbird.ground.sight import TOLD, message_of
from ironbird.ground.station import Station
from ironbird.ground.texts import IN_AIR, LANDING, ON_GROUND, UNDEFINED
from ironbird.ground.traffic import adsb_vehicle
from ironbird.ground.wires import Port, Wire
from ironbird.host.process import AutopilotProcess
from ironbird.protocols.mavlink import dialect, numbers
from ironbird.protocols.plan_file import TOUCHES, PlanItem
from ironbird.rig.rig import Rig, TrafficReport
from ironbird.vehicles.kinds import VehicleClass
from ironbird.world.runner import Feed

SEEN_S = 3.0  # so that other ground stations receive the end too
OFF_THE_GROUND_M = 1.0  # above home, if the autopilot does not say that it flies
STANDS_S, STILL_MPS = 5.0, 0.15  # landing for so long without sinking: it stands and has not detected it
GONE_S = 1.0  # after which an autopilot that was restarted is gone
RATES_HZ = {  # requested after the first heartbeat, in simulation time
    dialect.SYS_STATUS: 2.0,
    dialect.GPS_RAW_INT: 2.0,
    dialect.GLOBAL_POSITION_INT: 5.0,
    dialect.HOME_POSITION: 1.0,
    dialect.EXTENDED_SYS_STATE: 5.0,
    dialect.MISSION_CURRENT: 2.0,
}
ESTIMATOR_HZ = 5.0
ENDS = (numbers.NAV_LAND, numbers.NAV_RETURN_TO_LAUNCH, numbers.NAV_VTOL_LAND)


class Clock(Protocol):
    """The part of a rig that a pilot needs: its simulation time."""

    @property
    def time_s(self) -> float:
        """Simulation time in seconds."""


class Pilot:
    """A ground station for one flight. `poll` it about every 20 ms of simulation time; `close` it in any case.

    It waits for the autopilot, sets `params` (None: store the present value as soon as it is not 0), restarts the
    autopilot
    if `restart` is set, uploads `fence`, `rally` and `plan`, arms and starts the mission; without a plan it takes
    off to
    `takeoff_m` and stays. `order` (`land`, `return`, `hold`, `takeoff`, or a mode's name) may come at any time.
    PX4 is received on 14540 + instance and sent to on 14580 + instance (`peer_port`); ArduPilot on the port that its
    --serial0 sends to; with a given `wire` it needs no port.
    In virtual time other ground stations can receive the same messages at `mirror_port`.
    A `passive` one sends nothing: it observes another ground station, and is finished when the vehicle has been in
    the air
    (or driven) and is landed and disarmed again, as many times as `flights` says (0: never).
    Not done: offboard control.
    """

    def __init__(
        self,
        autopilot: str,
        *,
        kind: VehicleClass = "copter",
        port: int = 0,
        peer_port: int | None = None,
        host: str = "127.0.0.1",
        plan: Sequence[PlanItem] = (),
        fence: Sequence[PlanItem] = (),
        rally: Sequence[PlanItem] = (),
        takeoff_m: float = 10.0,
        params: Mapping[str, float | None] | None = None,
        restart: bool = False,
        accept_calibration: bool = False,
        arm_after_s: float = 0.0,
        patience: float = 1.0,
        passive: bool = False,
        flights: int = 1,
        process: AutopilotProcess | None = None,
        mirror_port: int | None = None,
        relay: Relay | None = None,
        wire: Wire | None = None,
    ) -> None:
        self.plan = list(plan)
        self.passive = passive
        self.finished = False
        self.takeoff_m = takeoff_m
        self.restart = restart
        self.accept_calibration = accept_calibration
        self.fence, self.rally = list(fence), list(rally)
        self.params = dict(params or {})
        self.arm_after_s = arm_after_s
        self.ready = False
        self.relay = relay
        self._sank_s = 0.0  # when it last sank or did not try to land
        self._orders: list[str] = []
        self._sights: dict[str, int] = {}  # numbers of sensors of the world
        if wire is None:
            peer = (host, peer_port) if peer_port is not None and not passive else None
            wire = Port(port, host, peer=peer, who=autopilot, process=process, mirror_port=mirror_port)
        self.station = Station(wire, DIALECTS.load(autopilot), kind=kind, passive=passive)
        self.hands = Handshakes(self.station, patience=patience)
        self.autopilot_events = self.station.autopilot_events
        self.station.listen(dialect.MISSION_ITEM_REACHED, self._take_reached)
        self._script = self._watch(flights) if passive else self._fly()

    def __enter__(self) -> Pilot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the ports; further calls do nothing."""
        self.station.close()
        if self.relay is not None:
            self.relay.close()

    def order(self, what: str) -> None:
        """Carry out `land`, `return`, `hold`, `takeoff`, `disarm` or a mode as soon as the script allows it."""
        self._orders.append(what)

    def poll(self, rig: Clock) -> None:
        """Process received messages, send what is due, advance the script."""
        station = self.station
        station.now_s = rig.time_s
        station.disturb(getattr(rig, "links", None))
        station.receive()
        if self.relay is not None:
            self.relay.poll(round(1e6 * rig.time_s), rig if isinstance(rig, Rig) else None)
        station.beat()
        if station.health and not self.passive:  # sent earlier, ArduPilot never began the requested streams
            self._tell_sight(getattr(rig, "sight", None))
            self._tell_traffic(rig)
        if not self.finished:
            self.hands.check_deadlines()
        with contextlib.suppress(StopIteration):
            next(self._script)

    def _tell_sight(self, feed: Feed | None) -> None:
        """Send measurements of sensors of the world, as a companion computer would."""
        for sensor, sample in feed.take() if feed is not None else ():
            if isinstance(sensor, TOLD):
                number = self._sights.setdefault(sensor.name, len(self._sights))
                message, fields = message_of(sensor, sample, number, flow=self.station.dialect.optical_flow)
                self.station.send(message, fields)

    def _tell_traffic(self, rig: Clock) -> None:
        """Send ADS-B reports of other vehicles, as a receiver on the vehicle would."""
        reports: deque[TrafficReport] | None = getattr(rig, "traffic", None)
        while reports:
            report = reports.popleft()
            message, fields = adsb_vehicle(report, rig.geodetic(report.position_N), rig.time_s)  # type: ignore[attr-defined]
            self.station.send(message, fields)

    # ------------------------------------------------------------------------------------------ the flight

    def _fly(self) -> Script:
        station = self.station
        rates_hz = RATES_HZ | {station.dialect.estimator: ESTIMATOR_HZ}
        yield from self.hands.wait("heartbeat", lambda: station.system > 0, wall_s=90, sim_s=90)
        station.ask_for(rates_hz)
        for name, value in self.params.items():
            yield from self.hands.set_param(name, value)
        if self.restart:
            yield from self._start_again()
            station.ask_for(rates_hz)
        if self.accept_calibration:
            yield from self._accept_calibration()
        yield from self.hands.wait("readiness", self._is_ready, wall_s=240, sim_s=150)
        self.ready = True
        station.note("ready", f"ready after {station.now_s:.1f} s")
        if self.fence:
            yield from self.hands.hand_over("fence", numbers.MAV_MISSION_TYPE_FENCE, self.fence)
        if self.rally:
            yield from self.hands.hand_over("rally", numbers.MAV_MISSION_TYPE_RALLY, self.rally)
        if self.plan:
            yield from self.hands.upload(self.plan)
        yield from self.hands.wait("the time to arm", lambda: station.now_s >= self.arm_after_s, wall_s=3600, sim_s=1e9)
        if self.plan:
            yield from self.hands.start_mission()
        elif station.kind in TOUCHES:
            yield from self.hands.arm()
        else:
            yield from self.hands.take_off(self.takeoff_m)
        station.flying = True
        yield from self._until_down()
        self.finished = True
        station.note("finished", "landed and disarmed" if station.kind not in TOUCHES else "disarmed")

    def _start_again(self) -> Script:
        """Restart the autopilot, so that parameters that are read at the start take effect."""
        yield from self.hands.ask("restart", numbers.PREFLIGHT_REBOOT_SHUTDOWN, 1)
        begin_s = self.station.now_s
        while self.station.now_s - begin_s < GONE_S:
            yield
        self.station.system = 0
        yield from self.hands.wait("heartbeat after the restart", lambda: self.station.system > 0, wall_s=90, sim_s=90)

    def _accept_calibration(self) -> Script:
        """Make ArduPilot accept the given offsets for its sensors, once it has detected them."""
        attitude = numbers.ESTIMATOR_ATTITUDE
        yield from self.hands.wait("attitude", lambda: bool(self.station.ekf_flags & attitude), wall_s=240, sim_s=150)
        yield from self.hands.ask_to_accept_calibration()

    def _watch(self, flights: int) -> Script:
        station = self.station
        yield from self.hands.wait("heartbeat", lambda: station.system > 0, wall_s=90, sim_s=90)
        self.hands.step = None
        down = "landed and disarmed" if station.kind not in TOUCHES else "disarmed"
        for number in itertools.count(1):
            while not station.flying:
                off = station.kind in TOUCHES or station.landed == IN_AIR or station.height_m > OFF_THE_GROUND_M
                station.flying = station.armed and off
                yield
            yield from self._until_down()
            if number == flights:
                break
            station.flying = False
            station.note("pilot", f"{down}: flight {number}" + (f" of {flights}" if flights else ""))
        down_s = station.now_s
        while station.now_s - down_s < SEEN_S:
            yield
        self.finished = True
        station.note("finished", down)

    def _is_ready(self) -> bool:
        return self.station.dialect.is_ready(self.station, by_plan=bool(self.plan))

    def _until_down(self) -> Script:
        station = self.station
        self.hands.step = None
        ends_itself = bool(self.plan) and self.plan[-1].command in ENDS
        told_to_end = not self.plan
        while True:
            while self._orders:
                yield from self._obey(self._orders.pop(0))
                self.hands.step = None
            if station.mission_done and not ends_itself and not told_to_end and station.armed:
                told_to_end = True
                self._orders.append("disarm" if station.kind in TOUCHES else "land")
            if not station.armed and station.landed in ("", UNDEFINED, ON_GROUND):
                return
            if self._stands_unaware():
                station.note(
                    "pilot", f"landing, but has not sunk for {STANDS_S:g} s: sticks to the middle, throttle down"
                )
                self._orders += ["settle", "land"]
            yield

    def _stands_unaware(self) -> bool:
        """Whether it stands on the ground and does not detect it."""
        station = self.station
        may = station.dialect.settling_mode(station.kind) and not self.passive
        if not may or station.landed != LANDING or abs(station.sink_mps) > STILL_MPS:
            self._sank_s = station.now_s
        unaware = station.now_s - self._sank_s > STANDS_S
        if unaware:
            self._sank_s = station.now_s
        return unaware

    def _settle(self) -> Script:
        """Change to a mode in which it detects the ground."""
        station = self.station
        yield from self.hands.set_mode(station.dialect.settling_mode(station.kind))
        begin_s = station.now_s
        while station.landed != ON_GROUND and station.now_s - begin_s < STANDS_S:
            yield

    def _obey(self, what: str) -> Script:
        if what == "takeoff":
            yield from self.hands.take_off(self.takeoff_m)
        elif what == "disarm":
            yield from self.hands.ask("disarming", numbers.COMPONENT_ARM_DISARM, 0)
            yield from self.hands.wait("disarmed", lambda: not self.station.armed, wall_s=30, sim_s=20)
        elif what == "settle":
            yield from self._settle()
        else:
            yield from self.hands.set_mode(self.station.modes.get(what, what))

    def _take_reached(self, message: Any) -> None:
        station = self.station
        if message.seq >= len(station.dialect.mission_items(self.plan, station.home)) - 1:
            self.station.mission_done = True
