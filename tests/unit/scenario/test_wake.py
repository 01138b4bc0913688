"""Wakes of rotors: the round jet against its closed form, and vehicles that fly in them."""

from __future__ import annotations

import functools
import math
from pathlib import Path

import numpy as np
import pytest

from ironbird.errors import ScenarioError
from ironbird.scenario.fleet import Fleet
from ironbird.scenario.grammar import Scenario, load_scenario
from ironbird.scenario.pilots import Reins
from ironbird.scenario.run import ScenarioFlight, fly_scenario
from ironbird.scenario.wake import DECAY, Discs, axis_speed, induced_speed, jet_speed, travel_time, wake_at
from ironbird.vehicles import places as at

D, T, RHO = np.array([0.24]), np.array([3.5]), np.array([1.225])
WASH = at.WASH("wind_N")


def rotors(*hubs: list[float], drift: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Discs:
    count = len(hubs)
    down = np.tile([0.0, 0.0, 1.0], (count, 1))
    diameter, thrust, density = (np.repeat(one, count) for one in (D, T, RHO))
    return Discs(np.array(hubs), down, diameter, thrust, density, np.tile(drift, (count, 1)))


def flux(discs: Discs, z: float, half_m: float = 12.0, step_m: float = 0.03) -> float:
    """Momentum flux through a level plane, N, by a sum over squares."""
    side = np.arange(-half_m, half_m, step_m)
    total = 0.0
    for north in side:
        points = np.stack([np.full_like(side, north), side, np.full_like(side, z)], axis=1)
        speed = wake_at(points, discs, np.ones((len(side), len(discs.thrust)), bool))[:, 2]
        total += float(RHO[0] * (speed * speed).sum() * step_m**2)
    return total


def test_the_induced_speed_is_that_of_momentum_theory() -> None:
    v = induced_speed(T, D, RHO)[0]

    assert T[0] == pytest.approx(2 * RHO[0] * math.pi * D[0] ** 2 / 4 * v**2)
    assert induced_speed(np.array([0.0, -2.0]), D, RHO).tolist() == [0.0, 0.0]


def test_the_axis_decays_as_published_and_never_exceeds_the_contracted_wake() -> None:
    v = induced_speed(T, D, RHO)
    x = np.array([0.1, 0.5, 2.0, 4.0, 8.0])
    found = axis_speed(v, D, x)

    assert 5.8 <= DECAY <= 6.1  # the measurements in Table 5.1 of [Pope2000]
    assert found[:2] == pytest.approx(2 * v[0])
    assert found[2:] == pytest.approx(DECAY * (D[0] / math.sqrt(2)) * 2 * v[0] / x[2:])
    assert jet_speed(v, D, np.array([4.0]), np.array([0.094 * 4.0]))[0] == pytest.approx(found[3] / 2)
    assert axis_speed(v, D, np.array([-0.5]))[0] == 0.0


@pytest.mark.parametrize("z", [0.3, 1.5, 4.0])
def test_the_momentum_flux_is_the_thrust_at_every_distance(z: float) -> None:
    assert flux(rotors([0.0, 0.0, 0.0]), z) == pytest.approx(T[0], rel=2e-3)


def test_jets_that_merge_keep_the_thrust_of_all() -> None:
    square = [[0.16, 0.16, 0.0], [-0.16, 0.16, 0.0], [0.16, -0.16, 0.0], [-0.16, -0.16, 0.0]]

    assert flux(rotors(*square), 2.0) == pytest.approx(4 * T[0], rel=2e-3)


def test_the_wind_carries_a_wake_by_the_time_that_it_takes() -> None:
    x = 3.0
    v = induced_speed(T, D, RHO)
    fine = np.linspace(1e-6, x, 200_001)
    slow = 1 / axis_speed(v, D, fine)
    seconds = float(((slow[1:] + slow[:-1]) / 2 * np.diff(fine)).sum())
    discs = rotors([0.0, 0.0, 0.0], drift=(2.0, 0.0, 0.0))
    points = np.array([[2.0 * seconds, 0.0, x], [0.0, 0.0, x]])
    found = wake_at(points, discs, np.ones((2, 1), bool))

    assert travel_time(v, D, np.array([x]))[0] == pytest.approx(seconds, rel=1e-6)
    assert found[0, 2] == pytest.approx(axis_speed(v, D, np.array([x]))[0], rel=1e-6)
    assert found[1, 2] < 0.5 * found[0, 2]


# ---------------------------------------------------------------------- vehicles


class Place:
    """Comes from the side at its own height and stays."""

    def __init__(self, east_m: float, height_m: float) -> None:
        self.place = np.array([0.0, east_m, -height_m])

    def fly(self, fleet: Fleet, number: int) -> None:
        aside = 3.0 if fleet.time_s < 6.0 and self.place[2] > -6.0 else 0.0
        Reins(fleet, number).go_to(self.place + np.array([0.0, aside, 0.0]))


def pair(folder: Path, more: str, vehicle: str = "quad_f450") -> Scenario:
    file = folder / "pair.toml"
    both = "".join(
        f'[[vehicle]]\nname = "{name}"\nvehicle = "{vehicle}"\ncontrol = "truth"\neast_m = {east}\n'
        for name, east in (("high", 0.0), ("low", 3.0))
    )
    file.write_text(f'schema = 1\nworld = "field"\nuntil_s = 12.0\n{more}\n{both}')
    return load_scenario(file)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wake")


@functools.cache
def flown(folder: Path, more: str, east_m: float = 0.0, workers: int = 1) -> ScenarioFlight:
    pilots = {"high": Place(0.0, 6.5), "low": Place(east_m, 5.0)}
    return fly_scenario(pair(folder, more), workers=workers, pilots=pilots)


def sinks_m(flight: ScenarioFlight) -> float:
    """How far below its place the lower vehicle is in the end."""
    return float(flight.vehicle("low").path_N_m[-1, 2] + 5.0)


def test_a_vehicle_under_another_is_pushed_down_and_one_aside_is_not(folder: Path) -> None:
    below, aside, without = flown(folder, "wake = true"), flown(folder, "wake = true", 10.0), flown(folder, "")
    low, high, far = below.vehicle("low"), below.vehicle("high"), aside.vehicle("low")

    assert low.log.lane(WASH, low.lane)[-1, 2] > 3.0
    assert not high.log.lane(WASH, high.lane)[-1].any()  # nothing comes from below
    assert abs(far.log.lane(WASH, far.lane)).max() < 1e-3
    assert sinks_m(below) > 0.1
    assert abs(sinks_m(aside)) < 0.01
    assert abs(sinks_m(without)) < 0.01


def test_the_same_bytes_with_two_workers(folder: Path) -> None:
    assert flown(folder, "wake = true").sha256 == flown(folder, "wake = true", workers=2).sha256


def test_without_the_key_nothing_of_it_is_there(folder: Path) -> None:
    without, off = flown(folder, ""), flown(folder, "wake = false")

    assert WASH not in without.vehicle("low").log.signals
    assert without.sha256 == off.sha256
    assert without.scenario.digest() == off.scenario.digest()
    assert without.scenario.digest() != flown(folder, "wake = true").scenario.digest()


def test_a_wake_without_rotors_is_refused(folder: Path) -> None:
    file = folder / "boats.toml"
    file.write_text(
        'schema = 1\nworld = "field"\nuntil_s = 1.0\nwake = true\n'
        '[[vehicle]]\nname = "one"\nvehicle = "rover_differential"\n'
    )
    with pytest.raises(ScenarioError, match="no vehicle has a rotor of known diameter"):
        fly_scenario(file)
