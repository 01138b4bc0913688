"""What is near: the same shapes as a look at all of them, the ground as a plane, starts inside walls refused."""

from __future__ import annotations

import numpy as np
import pytest

from ironbird.errors import WorldError
from ironbird.symbolic import shapes as sh
from ironbird.world.files import load_world
from ironbird.world.model import Box, Cylinder, Heightfield, Mesh, Mover, Pad, Plane, Sphere, World
from ironbird.world.near import Near, Shapes, columns_of
from ironbird.world.rays import Scene

CUBE = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
FACES = np.array([
    [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4],
    [1, 5, 7], [1, 7, 3],
])  # fmt: skip


def signed_distances(places: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Distance of places (…, 3) from the shapes of slots (SLOT_ROWS, …): written with numpy, for all at once."""
    kind = columns[sh.KIND]
    centre = np.moveaxis(columns[sh.CENTRE : sh.CENTRE + 3], 0, -1)
    away = places - centre
    axes = columns[sh.AXES : sh.AXES + 9]  # column by column: axis x of the shape first
    x, y, z = (
        sum(axes[3 * axis + i] * away[..., i] for i in range(3)) for axis in range(3)
    )  # fmt: skip
    half = columns[sh.HALF : sh.HALF + 3]
    ball, box = kind == sh.BALL, kind == sh.BOX
    around = np.sqrt(x * x + y * y)
    first = np.where(box, np.abs(x), np.where(ball, np.sqrt(x * x + y * y + z * z), around)) - half[0]
    second = np.where(box, np.abs(y) - half[1], -np.inf)
    third = np.where(ball, -np.inf, np.abs(z) - half[2])
    inside = np.maximum(np.maximum(first, second), third)
    outside = np.sqrt(sum(np.maximum(part, 0.0) ** 2 for part in (first, second, third)))
    return np.asarray(np.where(kind == sh.NOTHING, sh.FAR_M, np.where(inside > 0, outside, inside)))


def forest(count: int) -> World:
    random = np.random.default_rng(5)
    trees = [
        Cylinder(f"tree_{i}", (float(n), float(e), -4.0), radius_m=0.3, height_m=8.0)
        for i, (n, e) in enumerate(random.uniform(-150, 150, (count, 2)))
    ]
    return World("forest", obstacles=tuple(trees))


@pytest.mark.parametrize("count", [5, 400])
def test_the_nearest_shapes_are_found_among_few_and_many(count: int) -> None:
    near = Near(forest(count))
    places = np.random.default_rng(6).uniform(-160, 160, (40, 3)) * [1, 1, 0.02] - [0, 0, 4]
    table = near.fixed.columns

    found = near.slots(places, 0.0, 3)

    for place, slots in zip(places, found, strict=True):
        expected = np.sort(signed_distances(place[None], table))[:3]
        expected = expected[expected < 50.0]
        there = slots[slots[:, sh.KIND] != sh.NOTHING]
        ours = signed_distances(place[None], there.T) if len(there) else np.zeros(0)
        np.testing.assert_allclose(ours, expected)


@pytest.mark.parametrize("count", [5, 400])
def test_of_equally_near_shapes_the_first_is_nearer_and_loose_ones_come_last(count: int) -> None:
    """Every shape is there twice: with friction 0.1 the first time, 0.2 the second, and once more as a loose one."""
    near = Near(forest(count))
    columns = np.concatenate([near.fixed.columns, near.fixed.columns], axis=1)
    columns[sh.FRICTION] = np.repeat([0.1, 0.2], count)
    twice = Near(World("none"))
    twice.fixed = Shapes(columns, np.tile(near.fixed.bounds_m, 2))
    twice._table, twice._index = np.ascontiguousarray(columns.T), np.arange(2 * count, dtype=np.int32)
    if count > 48:
        twice._sort()
    loose = near.fixed.columns.copy()
    loose[sh.FRICTION] = 0.3
    places = np.random.default_rng(6).uniform(-100, 100, (40, 3)) * [1, 1, 0.02] - [0, 0, 4]
    for slots in twice.slots(places, 0.0, 3, Shapes(loose, near.fixed.bounds_m)):
        if slots[0, sh.KIND] != sh.NOTHING:
            assert slots[:, sh.FRICTION].tolist() == [0.1, 0.2, 0.3]
            assert len({tuple(slot[sh.CENTRE : sh.CENTRE + 3]) for slot in slots}) == 1


def test_the_ground_is_the_tangent_plane_of_its_triangles() -> None:
    heights = np.random.default_rng(7).uniform(0, 5, (6, 6))
    world = World("hills", terrain=Heightfield(heights, 10.0, 10.0, -25.0, -25.0))
    places = np.random.default_rng(8).uniform(-20, 20, (50, 3))

    z, slope = Near(world).ground(places)

    np.testing.assert_allclose(z, -world.height_at(places[:, 0], places[:, 1]))
    for axis in range(2):
        h = 1e-6
        step = np.zeros(3)
        step[axis] = h
        ahead = -world.height_at(*(places + step)[:, :2].T)
        behind = -world.height_at(*(places - step)[:, :2].T)
        np.testing.assert_allclose(slope[:, axis], (ahead - behind) / (2 * h), atol=1e-6)


def test_a_mesh_stands_as_plates_behind_its_triangles() -> None:
    mesh = Mesh("cube", (3.0, 0.0, 0.0), vertices_m=CUBE, triangles=FACES)
    box = Box("box", (3.0, 0.0, 0.0), size_m=(2.0, 2.0, 2.0))
    outside = np.random.default_rng(9).normal(3.0, 3.0, (100, 3)) - np.array([0.0, 3.0, 3.0])
    exact = signed_distances(outside, columns_of(box))

    plates = signed_distances(outside[:, None], columns_of(mesh)[:, None]).min(axis=1)

    far = exact > 0
    np.testing.assert_allclose(plates[far], exact[far], atol=1e-9)


def test_movers_are_where_their_script_says_with_their_speed_and_decks_may_be_landed_on() -> None:
    def ship(name: str, north: float) -> Mover:
        path = np.array([[north, 0.0, 0.0], [north, 20.0, 0.0]])
        return Mover(name, Sphere(name, (0.0, 0.0, 0.0), radius_m=1.0), np.array([0.0, 10.0]), path, np.zeros((2, 3)))

    world = World("sea", movers=(ship("a", 0.0), ship("b", 5.0)), pads=(Pad("pad", 0.0, 0.0, mover="a"),))

    first, second = Near(world).slots(np.array([[0.0, 9.0, 0.0]]), 5.0, 2)[0]

    np.testing.assert_allclose(first[sh.CENTRE : sh.CENTRE + 3], [0.0, 10.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(first[sh.VELOCITY : sh.VELOCITY + 3], [0.0, 2.0, 0.0], atol=1e-6)
    assert first[sh.LANDING] == 1.0 and second[sh.LANDING] == 0.0


def test_a_start_inside_a_wall_is_refused_with_its_name_and_a_cure() -> None:
    near = Near(World("yard", obstacles=(Box("shed", (5.0, 0.0, -1.0), size_m=(2.0, 2.0, 2.0)),)))

    near.check_start("the quad", np.zeros(3), np.zeros((1, 3)), 0.3)
    with pytest.raises(
        WorldError, match=r"the quad begins inside 'shed' of world 'yard': it is 0\.50 m deep .*--start"
    ):
        near.check_start("the quad", np.array([3.8, 0.0, -1.0]), np.array([[3.8, 0.0, -1.0]]), 0.3 + 0.4)


@pytest.mark.parametrize("name", ["field", "forest", "city_block", "harbour"])
def test_shipped_worlds_are_looked_up(name: str) -> None:
    world = load_world(name)
    near = Near(world)
    places = np.array([[0.0, 0.0, -10.0], [30.0, 20.0, -3.0]])

    slots = near.slots(places, 1.0, 3)

    scene = Scene(world)
    scene.at(1.0)
    theirs, _ = scene.distance(places, terrain=False)
    for place, row, expected in zip(places, slots, theirs, strict=True):
        if expected < 50.0:
            assert signed_distances(place[None], row[:1].T)[0] == pytest.approx(expected, abs=0.2)  # meshes: plates
    assert isinstance(world.ground, Plane) != near.uneven
