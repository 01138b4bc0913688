"""Wind behind buildings: closed forms of the published zones, and a flight that feels it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ironbird.flight.flight import fly
from ironbird.flight.order import Weather
from ironbird.rotations import from_euler
from ironbird.vehicles import places as at
from ironbird.world.lee import Lee, cavity_length_m
from ironbird.world.model import Box, Cylinder, Sphere, World

H = 10.0
CUBE = Box("cube", (0.0, 0.0, -H / 2), size_m=(H, H, H))
NORTH = np.array([1.0, 0.0])


def share(world: World, north: float, east: float, height: float, along: np.ndarray = NORTH) -> float:
    return Lee(world).share(np.array([north, east, -height]), along)


def test_the_cavity_of_a_cube_is_as_long_as_published() -> None:
    assert cavity_length_m(H, H, H) == pytest.approx(1.8 / 1.24 * H)  # 1.45 H; measured: 1.4 to 1.6
    assert cavity_length_m(H, 1e6 * H, H) == pytest.approx(1.8 / 0.24 * H, rel=1e-4)  # a long wall: 7.5 H


def test_it_blows_back_in_the_cavity_and_recovers_in_the_wake() -> None:
    world = World("w", obstacles=(CUBE,))
    reach = cavity_length_m(H, H, H)
    lee = H / 2
    assert share(world, lee + 1e-9, 0.0, 0.0) == pytest.approx(-1.0)
    assert share(world, lee + reach / 2, 0.0, 0.0) == pytest.approx(-0.25)
    assert share(world, lee + reach, 0.0, 0.0) == pytest.approx(0.0, abs=1e-9)
    assert share(world, lee + 3 * reach, 0.0, 0.0) == pytest.approx(1 - 3**-1.5)
    d = reach * math.sqrt((1 - 0.5**2) * (1 - 0.6**2))  # half way to the side, at 0.6 H
    assert share(world, lee + 2 * d, H / 4, 0.6 * H) == pytest.approx(1 - 2**-1.5)


@pytest.mark.parametrize("place", [(-20.0, 0.0, 2.0), (20.0, 5.01, 2.0), (20.0, 0.0, 10.01), (0.0, 0.0, 12.0)])
def test_in_front_beside_and_above_the_wind_is_free(place: tuple[float, float, float]) -> None:
    assert share(World("w", obstacles=(CUBE,)), *place) == 1.0


def test_the_wind_may_come_from_anywhere_and_the_larger_deficit_counts() -> None:
    turned = Box("turned", (0.0, 0.0, -H / 2), tuple(from_euler([0.0, 0.0, 0.7])), size_m=(H, H, H))
    along = np.array([math.cos(0.7), math.sin(0.7)])
    there = 12.0 * along
    assert share(World("w", obstacles=(turned,)), there[0], there[1], 2.0, along) == pytest.approx(
        share(World("w", obstacles=(CUBE,)), 12.0, 0.0, 2.0)
    )
    low = Box("low", (9.0, 0.0, -1.0), size_m=(1.0, 4.0, 2.0))
    both = share(World("w", obstacles=(low, CUBE)), 12.0, 0.0, 1.0)
    assert both == min(share(World("w", obstacles=(thing,)), 12.0, 0.0, 1.0) for thing in (low, CUBE))


def test_things_without_a_lee() -> None:
    lean = Box("lean", (0.0, 0.0, -H / 2), tuple(from_euler([0.3, 0.0, 0.0])), size_m=(H, H, H))
    assert share(World("w", obstacles=(Sphere("s", (0.0, 0.0, -5.0), radius_m=5.0), lean)), 12.0, 0.0, 2.0) == 1.0
    tower = Cylinder("c", (0.0, 0.0, -H / 2), radius_m=H / 2, height_m=H)
    assert share(World("w", obstacles=(tower,)), 12.0, 0.0, 2.0) == share(World("w", obstacles=(CUBE,)), 12.0, 0.0, 2.0)


def test_a_vehicle_behind_a_wall_is_in_its_lee() -> None:
    wall = (
        'schema = 1\nlee = {}\n[terrain]\nkind = "plane"\n'
        '[[box]]\nname = "wall"\nnorth_m = -10.0\nsize_m = [1.0, 60.0, 30.0]\n'
    )
    wind = Weather(8.0, 180.0)  # from the south, over the wall
    sheltered, free = (
        fly("quad_f450", control="truth", world=wall.format(lee), weather=wind, mission="hover", until_s=6.0)
        for lee in ("true", "false")
    )
    told = sheltered.log[at.LEE("wind_N")]
    assert told[-1, 0] < -8.0 and at.LEE.path not in free.model.flat.diagram.blocks  # it blows back
    assert sheltered.order.digest() != free.order.digest()
    tilts = [np.abs(one.log[at.BODY.attitude][-1]).reshape(3, 3)[2, 2] for one in (sheltered, free)]
    assert tilts[0] > tilts[1]  # it leans less
