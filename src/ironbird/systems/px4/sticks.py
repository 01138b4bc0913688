"""An underwater vehicle flown with sticks: PX4's submarines have no missions.

In v1.17 PX4's position control of submarines takes its target position from the sticks (mode POSCTL), or from a topic
that only ROS 2 publishes (`trajectory_setpoint6dof`); neither its navigator nor MAVLink reach it [PX4] uuv_pos_control.
So this pilot holds the sticks: they move that target along north, east and down, and about yaw, towards one waypoint
after the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ironbird.errors import LinkError
from ironbird.ground.handshakes import Script
from ironbird.ground.pilot import ESTIMATOR_HZ, RATES_HZ, Clock, Pilot
from ironbird.host.process import AutopilotProcess
from ironbird.protocols.geodesy import to_local
from ironbird.protocols.mavlink import dialect
from ironbird.protocols.mavlink.numbers import DO_CHANGE_SPEED, FRAME_GLOBAL
from ironbird.protocols.plan_file import NEEDS_PLACE, PlanItem
from ironbird.vehicles.templates.underwater import UnderwaterSpec

STICKS_S = 0.1  # between two messages; PX4 counts them as lost after 0.5 s
LOOK_HZ = 10.0  # of place and heading
GAIN_1PS, YAW_GAIN_1PS = 0.15, 0.3
ARRIVED_M, ARRIVED_RAD = 0.5, math.radians(10)
LEG_S = 60.0  # for a leg, beyond four times what it takes at the stick's full speed


class StickPilot(Pilot):
    """Goes through the waypoints of a plan with MANUAL_CONTROL messages, and disarms at the last.

    It turns to the heading of a waypoint that has one. Home is at the surface. Full deflection of a stick commands the
    vehicle's cruise speed or its yaw rate: UUV_PGM_VEL and UUV_SGM_YAW.
    """

    def __init__(
        self,
        spec: UnderwaterSpec,
        plan: Sequence[PlanItem],
        *,
        port: int,
        peer_port: int,
        process: AutopilotProcess | None = None,
    ) -> None:
        if spec.station is None:
            raise LinkError(f"vehicle '{spec.id}' does not hold its place: sticks do not steer it")
        wrong = [item.command for item in plan if item.command not in (*NEEDS_PLACE, DO_CHANGE_SPEED)]
        if wrong:
            raise LinkError(f"sticks go to waypoints only, and the plan has MAV_CMD {wrong[0]}: take it out")
        self._home = spec.home
        self._waypoints = [item for item in plan if item.command != DO_CHANGE_SPEED]
        self.full_mps, self.full_radps = spec.station.cruise_speed_mps, spec.station.yaw_rate_radps
        self.place: tuple[float, float, float] | None = None  # north, east, down as PX4 has it
        self.heading = 0.0
        self.sticks = (0.0, 0.0, 0.0, 0.0)  # north, east, down, yaw: -1 to 1
        self._sticks_s = -math.inf
        super().__init__("px4", kind="sub", port=port, peer_port=peer_port, process=process)
        self.station.listen(dialect.LOCAL_POSITION_NED, self._take_place)
        self.station.listen(dialect.ATTITUDE, self._take_heading)

    def poll(self, rig: Clock) -> None:
        """Poll as any pilot does, and send the sticks periodically."""
        station = self.station
        super().poll(rig)
        if station.system and not self.finished and station.now_s - self._sticks_s >= STICKS_S:
            self._sticks_s = station.now_s
            north, east, down, yaw = (round(1000 * value) for value in self.sticks)
            station.say(dialect.MANUAL_CONTROL, target=station.system, x=north, y=east, z=500 - down // 2, r=yaw)

    def _fly(self) -> Script:
        station = self.station
        yield from self.hands.wait("heartbeat", lambda: station.system > 0, wall_s=90, sim_s=90)
        looked_at = {dialect.ATTITUDE: LOOK_HZ, dialect.LOCAL_POSITION_NED: LOOK_HZ}
        station.ask_for(RATES_HZ | looked_at | {station.dialect.estimator: ESTIMATOR_HZ})
        yield from self.hands.wait("a position", lambda: self.place is not None, wall_s=240, sim_s=120)
        yield from self.hands.set_mode("POSCTL")
        yield from self.hands.wait("readiness", self._is_ready, wall_s=240, sim_s=150)
        self.ready = True
        station.note("ready", f"ready after {station.now_s:.1f} s")
        yield from self.hands.arm()
        station.flying = True
        for number, item in enumerate(self._waypoints):
            yield from self._go(number, item)
        station.mission_done = True
        yield from self._obey("disarm")
        self.finished = True
        station.note("finished", "disarmed")

    def _go(self, number: int, item: PlanItem) -> Script:
        """Go to a waypoint, and stay there."""
        station = self.station
        assert self.place is not None
        height = item.altitude_m + (0.0 if item.frame == FRAME_GLOBAL else self._home.height_m)
        target = to_local(self._home, item.latitude_deg, item.longitude_deg, height)
        hold_s, yaw = item.params[0], math.radians(item.params[3])
        if math.isnan(yaw):
            yaw = self.heading
        leg_s = 4 * (math.dist(target, self.place) / self.full_mps + math.pi / self.full_radps) + LEG_S + hold_s
        station.note("item", f"item {number}")
        self.hands.begin(f"item {number}", wall_s=max(2 * leg_s, 120.0), sim_s=leg_s)
        since_s = math.inf
        while True:
            off = [t - p for t, p in zip(target, self.place, strict=True)]
            turn = math.remainder(yaw - self.heading, 2 * math.pi)
            self.sticks = self._towards(off, turn)
            there = math.hypot(*off) < ARRIVED_M and abs(turn) < ARRIVED_RAD
            since_s = min(since_s, station.now_s) if there else math.inf
            if there and station.now_s - since_s >= hold_s:
                break
            yield
        self.sticks = (0.0, 0.0, 0.0, 0.0)
        station.reached = number
        station.note("item", f"item {number} reached")

    def _towards(self, off: Sequence[float], turn: float) -> tuple[float, float, float, float]:
        """Sticks in proportion to the remaining distance and in its direction, limited to full deflection."""
        speed = [GAIN_1PS * value / self.full_mps for value in off]
        size = max(math.hypot(*speed), 1.0)
        north, east, down = (value / size for value in speed)
        return north, east, down, max(-1.0, min(1.0, YAW_GAIN_1PS * turn / self.full_radps))

    def _take_place(self, message: Any) -> None:
        self.place = (message.x, message.y, message.z)

    def _take_heading(self, message: Any) -> None:
        self.heading = message.yaw
