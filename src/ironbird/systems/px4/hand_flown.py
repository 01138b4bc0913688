"""A multicopter flown with sticks in PX4's position mode, where PX4's collision prevention acts.

PX4's own missions ignore obstacles [PX4] lib/collision_prevention: it brakes for obstacles of OBSTACLE_DISTANCE and
DISTANCE_SENSOR only in modes that sticks steer (parameter CP_DIST). This pilot takes off, holds the sticks towards one
waypoint after the other, and lands. It ignores obstacles itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ironbird.errors import LinkError
from ironbird.ground.handshakes import Script
from ironbird.ground.pilot import ESTIMATOR_HZ, RATES_HZ, Clock, Pilot
from ironbird.host.process import AutopilotProcess
from ironbird.protocols.mavlink import dialect
from ironbird.protocols.plan_file import LocalItem

STICKS_S = 0.05  # between two messages; PX4 counts them as lost after 0.5 s
LOOK_HZ = 20.0  # of place and heading
GAIN_1PS, CLIMB_GAIN_1PS = 0.5, 0.5
FULL_CLIMB_MPS = 3.0  # MPC_Z_VEL_MAX_UP of PX4's own defaults
ARRIVED_M, HEIGHT_M = 1.5, 1.0
STILL_MPS, STILL_S = 0.3, 6.0  # blocked: it has stood still for so long although the sticks are deflected
LEG_S = 60.0  # for a leg, beyond four times what it takes at the stick's full speed


def stick_params(speed_mps: float) -> Mapping[str, float]:
    """PX4 parameters with which sticks come by MAVLink and full deflection commands `speed_mps`."""
    params = {"COM_RC_IN_MODE": 1, "COM_RC_OVERRIDE": 0, "MPC_XY_MAN_EXPO": 0.0, "MAN_DEADZONE": 0.02}
    return {**params, "MPC_VEL_MANUAL": speed_mps}


class HandPilot(Pilot):
    """Flies to places with MANUAL_CONTROL messages; a leg ends when the place is reached or it stands still."""

    def __init__(
        self,
        items: Sequence[LocalItem],
        speed_mps: float,
        *,
        port: int,
        peer_port: int,
        process: AutopilotProcess | None = None,
    ) -> None:
        self._places = [item for item in items if item.kind == "waypoint"]
        if not self._places:
            raise LinkError("sticks fly to waypoints, and the mission has none")
        self.full_mps = speed_mps
        self.place: tuple[float, float, float] | None = None  # north, east, down as PX4 has it
        self.velocity = (0.0, 0.0, 0.0)
        self.heading = 0.0
        self.sticks = (0.0, 0.0, 0.0)  # forward, right, up: -1 to 1
        self._sticks_s = -math.inf
        super().__init__(
            "px4", kind="copter", port=port, peer_port=peer_port, process=process, takeoff_m=self._places[0].height_m
        )
        self.station.listen(dialect.LOCAL_POSITION_NED, self._take_place)
        self.station.listen(dialect.ATTITUDE, self._take_heading)

    def poll(self, rig: Clock) -> None:
        """Poll as any pilot does, and send the sticks periodically."""
        station = self.station
        super().poll(rig)
        if station.system and not self.finished and station.now_s - self._sticks_s >= STICKS_S:
            self._sticks_s = station.now_s
            forward, right, up = (round(1000 * value) for value in self.sticks)
            station.say(dialect.MANUAL_CONTROL, target=station.system, x=forward, y=right, z=500 + up // 2, r=0)

    def _fly(self) -> Script:
        station = self.station
        yield from self.hands.wait("heartbeat", lambda: station.system > 0, wall_s=90, sim_s=90)
        looked_at = {dialect.ATTITUDE: LOOK_HZ, dialect.LOCAL_POSITION_NED: LOOK_HZ}
        station.ask_for(RATES_HZ | looked_at | {station.dialect.estimator: ESTIMATOR_HZ})
        yield from self.hands.wait("readiness", self._is_ready, wall_s=240, sim_s=150)
        self.ready = True
        station.note("ready", f"ready after {station.now_s:.1f} s")
        yield from self.hands.take_off(self.takeoff_m)
        station.flying = True
        yield from self.hands.wait("height", self._is_up, wall_s=240, sim_s=60)
        yield from self.hands.set_mode("POSCTL")
        for number, item in enumerate(self._places):
            yield from self._go(number, item)
        station.mission_done = True
        yield from self._obey("land")
        yield from self._until_down()
        self.finished = True
        station.note("finished", "landed and disarmed")

    def _is_up(self) -> bool:
        return self.place is not None and -self.place[2] > self.takeoff_m - HEIGHT_M

    def _go(self, number: int, item: LocalItem) -> Script:
        """Hold the sticks towards a place until the vehicle is there, or stands still."""
        station = self.station
        assert self.place is not None
        target = (item.north_m, item.east_m, -item.height_m)
        leg_s = 4 * math.dist(target, self.place) / self.full_mps + LEG_S + item.hold_s
        self.hands.begin(f"item {number}", wall_s=max(4 * leg_s, 120.0), sim_s=leg_s)
        station.note("item", f"item {number}")
        moved_s, there_s, held_up = station.now_s, math.inf, False
        while not held_up:
            north, east, down = (t - p for t, p in zip(target, self.place, strict=True))
            self.sticks = self._towards(north, east, -down)
            if math.hypot(north, east) < ARRIVED_M and abs(down) < HEIGHT_M:
                there_s = min(there_s, station.now_s)
                if station.now_s - there_s >= item.hold_s:
                    break
            moved_s = station.now_s if math.hypot(*self.velocity) > STILL_MPS else moved_s
            held_up = math.isinf(there_s) and station.now_s - moved_s > STILL_S
            yield
        self.sticks = (0.0, 0.0, 0.0)
        if held_up:
            left_m = math.hypot(target[0] - self.place[0], target[1] - self.place[1])
            station.note("item", f"item {number} not reached: it stands {left_m:.1f} m before it")
        else:
            station.reached = number
            station.note("item", f"item {number} reached")

    def _towards(self, north: float, east: float, up: float) -> tuple[float, float, float]:
        """Sticks in proportion to the remaining distance and in its direction, limited to full deflection."""
        share = GAIN_1PS / self.full_mps
        size = max(share * math.hypot(north, east), 1.0)
        cosine, sine = math.cos(self.heading), math.sin(self.heading)
        forward, right = cosine * north + sine * east, cosine * east - sine * north
        climb = max(-1.0, min(1.0, CLIMB_GAIN_1PS * up / FULL_CLIMB_MPS))
        return share * forward / size, share * right / size, climb

    def _take_place(self, message: Any) -> None:
        self.place, self.velocity = (message.x, message.y, message.z), (message.vx, message.vy, message.vz)

    def _take_heading(self, message: Any) -> None:
        self.heading = message.yaw
