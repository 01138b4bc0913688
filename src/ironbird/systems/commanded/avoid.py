"""Front end `avoid`: flies the order's mission around obstacles that a lidar of the vehicle measures.

It closes the loop for faults of sensors that measure points. The planner is the vector field histogram of
`world/vfh.py`. Every 50 ms it turns the newest points of all these sensors, with their faults, and the autopilot's own
estimate into a velocity, which is the set-point of the mode offboard; take-off, landing and failsafes stay with the
autopilot. No external program takes part: an order repeats to the bit. For multicopters and helicopters. Not done: a
map, dead ends, the ground's height (heights are above home).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from ironbird import rotations
from ironbird.errors import LinkError
from ironbird.protocols.plan_file import LocalItem
from ironbird.rig.commander.commander import Commander
from ironbird.rig.commander.target import Target
from ironbird.systems.commanded.front import FrontOptions, ProgramFront, lasting, until
from ironbird.vehicles.in_world import hull_of
from ironbird.world.vfh import Avoidance

POLL_S = 0.05  # between two polls
NEAR_M = 1.0  # so near to it a place is reached
LIDAR = "--sight scanning_lidar:name=lidar,rings=9,columns=36,low_deg=-40,high_deg=40,max_m=30"
PLACES = ("waypoint", "takeoff", "loiter", "return")  # kinds of items that are flown to; `land` lands


class AvoidOptions(FrontOptions):
    """Options of the front end `avoid`: the speed of flight."""

    avoid_mps: Annotated[float, Field(gt=0, le=50, description="Speed in m/s where the way is free.")] = 3.0


class AvoidFront(ProgramFront):
    """Flies the waypoints of the order's mission one after the other, around obstacles."""

    options_type = AvoidOptions

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self._speed_mps = AvoidOptions.model_validate(dict(options or {})).avoid_mps
        super().__init__(self._fly)

    def open(self, commander: Commander) -> None:
        """Refuse missions with other items than waypoints and landings before the flight."""
        strange = [item.kind for item in commander.mission() if item.kind not in (*PLACES, "land")]
        if not commander.mission() or strange:
            reason = f"it has items of kind {strange[0]}" if strange else "there is none"
            raise LinkError(f"front end 'avoid' flies missions of waypoints and landings; {reason}")
        if commander.rig.sight is None:
            raise LinkError(f"front end 'avoid' sees nothing: order a world and a lidar, for example {LIDAR}")
        if refusal := commander.offboard(Target(velocity_N=(0.0, 0.0, 0.0), yaw=0.0)):
            raise LinkError(f"front end 'avoid': {refusal}")
        hull = hull_of(commander.vehicle.diagram)
        self._way = Avoidance(hull.level_reach_m, self._speed_mps)
        super().open(commander)

    def _fly(self, vehicle: Commander) -> Iterator[None]:
        yield from until(lambda: vehicle.arm() is None)
        vehicle.take_off(max(vehicle.mission()[0].height_m, 2 * self._way.lowest_m))
        yield from until(lambda: vehicle.mode == "hold")
        for item in vehicle.mission():
            if item.kind == "land":
                vehicle.land()
                break
            yield from self._go(vehicle, item)
            if not self._flown_by_us(vehicle):
                break
        else:
            return
        yield from until(lambda: not vehicle.armed)  # until it has landed, or its failsafe has ended the flight

    def _go(self, vehicle: Commander, item: LocalItem) -> Iterator[None]:
        """Fly to the place of an item and stay there as long as the item says."""
        height_m = -float(vehicle.seen().p_N[2]) if item.kind == "return" else item.height_m
        goal = np.array([item.north_m, item.east_m, -height_m])
        yaw, left_s = math.radians(item.yaw_deg), item.hold_s
        while left_s > 0 or float(np.linalg.norm(goal - vehicle.seen().p_N)) > NEAR_M:
            here = vehicle.seen()
            R = rotations.matrix(here.q_NB)
            feed = vehicle.rig.sight
            for sensor, sample in feed.take() if feed is not None else ():
                if "points_m" in sample.data:
                    points = sensor.in_body(sample.data["points_m"].reshape(-1, 3))
                    self._way.see(sample.time_s, here.p_N, R, points)
            vehicle.offboard(Target(velocity_N=self._way.velocity(here.p_N, goal).tolist(), yaw=yaw))
            if vehicle.mode == "hold":
                vehicle.set_mode("offboard")
            yield from lasting(vehicle, POLL_S)
            if not self._flown_by_us(vehicle):
                return
            if float(np.linalg.norm(goal - vehicle.seen().p_N)) <= NEAR_M:
                left_s -= POLL_S

    @staticmethod
    def _flown_by_us(vehicle: Commander) -> bool:
        return vehicle.armed and vehicle.mode in ("hold", "offboard")
