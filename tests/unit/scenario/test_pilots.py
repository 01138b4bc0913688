"""Guidance of vehicles of a scenario: a follower lands after the one that it follows, and only then."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from ironbird.blocks.controllers.mission_table import DISARMED, LANDING, OFFBOARD
from ironbird.scenario.fleet import Fleet, Report
from ironbird.scenario.grammar import FollowTable, load_scenario
from ironbird.scenario.pilots import Follower
from ironbird.scenario.run import fly_scenario
from ironbird.vehicles import places as at
from ironbird.vehicles.in_world import Hull

HULL = Hull((0.0, 0.0, 0.0), (0.3, 0.3, 0.1))
UP_AND_DOWN = (
    'mission = { item = [{ kind = "waypoint", north_m = 3.0, height_m = 5.0 }, { kind = "land", north_m = 3.0 }] }'
)


class Told:
    """A fleet with one follower at a place, which keeps what it is told."""

    def __init__(self, *place: float) -> None:
        self.inputs: dict[str, object] = {}
        flat = SimpleNamespace(u=SimpleNamespace(start={"offboard_velocity": 0, "command": 1}))
        state = SimpleNamespace(model=SimpleNamespace(flat=flat), set_input=self._set)
        self.groups = [SimpleNamespace(state=state, hull=HULL)]
        self.place, self.members = [(0, 0)], [SimpleNamespace(name="follower")]
        self.position = np.array([place])
        self.report: Report | None = None
        self.time_s = 0.0

    def _set(self, name: str, value: object, lane: int) -> None:
        self.inputs[name] = value

    def motion(self) -> SimpleNamespace:
        return SimpleNamespace(position=self.position)

    def heard(self, number: int) -> dict[str, Report]:
        return {} if self.report is None else {"leader": self.report}


def commands(on_ground: list[bool], place: tuple[float, float, float]) -> list[float | None]:
    """What a follower is told after reports of a leader at the origin, one every half second."""
    fleet, pilot = Told(*place), Follower(FollowTable(vehicle="leader", offset_m=list(place)))
    found = []
    for number, grounded in enumerate(on_ground):
        fleet.time_s = 0.5 * number
        fleet.report = Report(fleet.time_s, np.zeros(3), np.zeros(3), grounded)
        pilot.fly(cast(Fleet, fleet), 0)
        found.append(fleet.inputs["command"])
    return cast("list[float | None]", found)


@pytest.mark.parametrize(
    ("on_ground", "lands"),
    [
        ([True] * 8, []),  # a car, or a leader before its take-off: it is followed
        ([True, False, False, True, True, True, True], [5, 6]),  # on the ground since report 3, for 1 s in report 5
        ([False, True, True, False, True, True, False], []),  # touch and go
        ([False, True, True, True, False, False], [3]),  # it takes off again: followed again
    ],
)
def test_it_lands_when_the_other_has_flown_and_stood_for_a_second(on_ground: list[bool], lands: list[int]) -> None:
    told = commands(on_ground, (-5.0, 0.0, 0.0))

    assert [i for i, command in enumerate(told) if command == LANDING] == lands
    assert all(command == OFFBOARD for i, command in enumerate(told) if i not in lands)


def test_it_does_not_come_down_on_the_other() -> None:
    on_ground = [False, True, True, True, True]
    apart = Follower.APART_M + HULL.level_reach_m

    assert LANDING not in commands(on_ground, (0.0, 0.0, -3.0))
    assert LANDING not in commands(on_ground, (-apart + 0.01, 0.0, -3.0))
    assert LANDING in commands(on_ground, (-apart - 0.01, 0.0, -3.0))


def test_without_a_report_it_is_told_nothing() -> None:
    fleet = Told(0.0, 0.0, 0.0)
    Follower(FollowTable(vehicle="leader", offset_m=[1.0, 0.0, 0.0])).fly(cast(Fleet, fleet), 0)

    assert not fleet.inputs


def test_a_follower_lands_after_its_leader_and_stops_its_motors(tmp_path: Path) -> None:
    file = tmp_path / "pair.toml"
    file.write_text(
        'schema = 1\nworld = "field"\nuntil_s = 40.0\n'
        f'[[vehicle]]\nname = "leader"\nvehicle = "quad_f450"\ncontrol = "truth"\n{UP_AND_DOWN}\n'
        '[[vehicle]]\nname = "wing"\nvehicle = "quad_f450"\ncontrol = "truth"\nnorth_m = -5.0\n'
        'follow = { vehicle = "leader", offset_m = [-5.0, 0.0, -1.0] }\n'
    )
    flown = fly_scenario(load_scenario(file))
    leader, wing = flown.vehicle("leader"), flown.vehicle("wing")

    assert flown.verdict == "pass", flown.sentence
    end_s = {
        one.name: float(one.log.time_s[len(one.log.lane(at.NAVIGATOR.mode, one.lane)) - 1]) for one in (leader, wing)
    }
    assert 0.5 < end_s["wing"] - end_s["leader"] < 5.0  # s: 1 m at 0.7 m/s, and a second on the ground, after 1 s
    assert wing.log.lane(at.NAVIGATOR.mode, wing.lane)[-1] == DISARMED
    assert wing.path_N_m[-1, 2] == pytest.approx(leader.path_N_m[-1, 2], abs=0.02)  # m: both stand on a level field
    assert wing.path_N_m[-1, 0] == pytest.approx(leader.path_N_m[-1, 0] - 5.0, abs=0.5)
