"""Guidance of a vehicle of a scenario: follow another, land on a deck, go round obstacles; or your own.

A pilot is asked every `PILOT_TICKS` and sets the offboard inputs of the vehicle's own navigator, which keeps its
take-off, failsafes and limits. What it knows of others are their ADS-B reports; a deck has a beacon that is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from ironbird.blocks.controllers.mission_table import DISARMED, LANDING, OFFBOARD
from ironbird.errors import ScenarioError
from ironbird.runtime.lanes import lanes_of
from ironbird.scenario.grammar import LIDAR, AvoidTable, FollowTable, LandTable
from ironbird.vehicles import places as at
from ironbird.world.vfh import Avoidance

if TYPE_CHECKING:
    from ironbird.scenario.fleet import Fleet, Report

PILOT_TICKS = 50  # of 1 ms
BY_PLACE, BY_SPEED = 0.0, 1.0  # kinds of a set-point


class Pilot(Protocol):
    """Asked every `PILOT_TICKS`."""

    def fly(self, fleet: Fleet, number: int) -> None:
        """Look at the fleet and set what the vehicle shall do."""


class Reins:
    """The offboard inputs of one vehicle."""

    def __init__(self, fleet: Fleet, number: int) -> None:
        group, self.lane = fleet.place[number]
        self.state = fleet.groups[group].state
        self.name = fleet.members[number].name
        known = self.state.model.flat.u.start
        if "offboard_velocity" not in known or "command" not in known:
            raise ScenarioError(
                f"vehicle '{self.name}' ({fleet.members[number].order.vehicle}, control "
                f"'{fleet.members[number].order.control}') takes no set-points: give it a mission, or a multicopter "
                "with control 'reference' or 'truth'"
            )

    def _set(self, name: str, value: float | np.ndarray) -> None:
        self.state.set_input(name, value, self.lane)

    def go_to(self, position_N: np.ndarray, yaw_rad: float = 0.0) -> None:
        """Fly to a place with the navigator's own speed and acceleration."""
        self._set("offboard_kind", BY_PLACE)
        self._set("offboard_position", position_N)
        self._set("offboard_yaw", yaw_rad)
        self._set("command", float(OFFBOARD))

    def go_with(self, velocity_N: np.ndarray, yaw_rad: float = 0.0) -> None:
        """Fly with a velocity."""
        self._set("offboard_kind", BY_SPEED)
        self._set("offboard_velocity", velocity_N)
        self._set("offboard_yaw", yaw_rad)
        self._set("command", float(OFFBOARD))

    def land(self) -> None:
        """Come straight down where it is; the navigator stops the motors when the vehicle stands."""
        self._set("command", float(LANDING))

    def motors_off(self) -> None:
        """Stand still."""
        self._set("command", float(DISARMED))

    def held(self, path: str) -> np.ndarray:
        """An output of a sampled block of this vehicle."""
        return lanes_of(self.state, self.state.held, self.state.model.flat.held.rows(path))[self.lane]

    def estimated(self, fleet: Fleet, number: int) -> np.ndarray:
        """Where the vehicle thinks that it is; one without an estimator knows."""
        if at.ESTIMATOR.position in self.state.model.flat.held.start:
            return self.held(at.ESTIMATOR.position)
        return fleet.motion().position[number]


class Follower:
    """Keeps an offset to another vehicle by its ADS-B reports, carried on with their velocity.

    When the other has flown and then reports for `DOWN_S` that it is on the ground, the follower lands where it is and
    its navigator stops the motors; if the other takes off before that, it follows again. A vehicle that never flies (a
    car, a boat) is followed all the time. Next to the other (`APART_M` between it and the follower's hull, seen from
    above) it does not land but keeps its place. Not modelled: a search for a free landing place.
    """

    DOWN_S = 1.0
    APART_M = 2.0

    def __init__(self, table: FollowTable) -> None:
        self.table = table
        self.has_flown = False  # the other one
        self.down_since_s = np.nan  # it has been on the ground since; nan in the air

    def fly(self, fleet: Fleet, number: int) -> None:
        """Go to where the other should be now, plus the offset; land after it has landed."""
        report = fleet.heard(number).get(self.table.vehicle)
        if report is None:
            return
        reins = Reins(fleet, number)
        if self._is_over(report) and self._has_room(fleet, number, report):
            reins.land()
            return
        ahead = report.position + report.velocity * (fleet.time_s - report.time_s)
        reins.go_to(ahead + np.asarray(self.table.offset_m))

    def _is_over(self, report: Report) -> bool:
        """Whether the other has landed after a flight and stood for `DOWN_S`."""
        if not report.on_ground:
            self.has_flown, self.down_since_s = True, np.nan
        elif np.isnan(self.down_since_s):
            self.down_since_s = report.time_s
        return self.has_flown and report.time_s - self.down_since_s >= self.DOWN_S

    def _has_room(self, fleet: Fleet, number: int, report: Report) -> bool:
        """Whether the follower would come down beside the other, not on it."""
        hull = fleet.groups[fleet.place[number][0]].hull
        away = fleet.motion().position[number] - report.position
        return float(np.hypot(away[0], away[1])) > self.APART_M + hull.level_reach_m


class DeckLander:
    """Waits above a deck, goes with it, and comes down on it; the motors stop when it stands."""

    GAIN = 0.6  # 1/s
    FASTEST_MPS = 4.0
    SINK_MPS = 0.5
    ABOVE_M, STEADY_MPS = 0.4, 0.5  # it comes down when it is so exactly above, so steadily, for a while
    STEADY_S, STANDS_S = 1.0, 0.5

    def __init__(self, table: LandTable) -> None:
        self.table = table
        self.steady_s = 0.0
        self.stands_s = 0.0
        self.down = self.over = False
        self.landed_s = np.nan

    def fly(self, fleet: Fleet, number: int) -> None:
        """One step of the approach."""
        reins = Reins(fleet, number)
        if self.over:
            reins.motors_off()
            return
        motion = fleet.motion()
        group = fleet.groups[fleet.place[number][0]]
        deck, deck_velocity = fleet.deck(self.table.on)
        feet = group.hull.centre_m[2] + group.hull.half_m[2]
        level = motion.velocity[number] - deck_velocity
        error = deck - motion.position[number]
        error[2] -= feet  # of its feet over the deck: negative is below
        dt = PILOT_TICKS * group.model.step_s
        near = np.hypot(error[0], error[1]) < self.ABOVE_M and np.linalg.norm(level[:2]) < self.STEADY_MPS
        high = abs(error[2] - self.table.height_m) < self.ABOVE_M
        self.steady_s = self.steady_s + dt if near and high else 0.0
        late = fleet.time_s >= self.table.after_s
        self.down = self.down or (late and self.steady_s > self.STEADY_S)
        if self.down:
            climb = self.SINK_MPS
        else:
            climb = float(np.clip(self.GAIN * (error[2] - self.table.height_m), -2.0, 1.5))
        wanted = np.clip(self.GAIN * error[:2], -self.FASTEST_MPS, self.FASTEST_MPS)
        reins.go_with(deck_velocity + np.array([wanted[0], wanted[1], climb]))
        stands = self.down and abs(level[2]) < 0.5 * self.SINK_MPS and abs(error[2]) < 0.15
        self.stands_s = self.stands_s + dt if stands else 0.0
        if self.stands_s > self.STANDS_S:
            self.over, self.landed_s = True, fleet.time_s


class Avoider:
    """Flies to a place round what its lidar sees: the sensor `lidar` of its order, faults and all."""

    def __init__(self, table: AvoidTable, fleet: Fleet, number: int) -> None:
        group = fleet.groups[fleet.place[number][0]]
        self.goal = np.array([table.north_m, table.east_m, -table.height_m])
        self.way = Avoidance(group.hull.level_reach_m, table.speed_mps)
        self.seen = -1  # number of the newest turn of the lidar

    def fly(self, fleet: Fleet, number: int) -> None:
        """Look at what has come of the lidar, and fly on."""
        reins = Reins(fleet, number)
        place = reins.estimated(fleet, number)
        R = fleet.motion().attitude[number]
        sights, lane = fleet.sights(number)
        sample = sights.feeds[lane].newest.get(LIDAR)
        if sample is not None and sample.number > self.seen:
            self.seen = sample.number
            self.way.see(sample.time_s, place, R, sample.data["points_m"].reshape(-1, 3))
        reins.go_with(self.way.velocity(place, self.goal))
