"""Rays and distances against closed forms, against plain loops over all triangles, and against Embree and trimesh."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ironbird.errors import WorldError
from ironbird.rotations import from_euler, matrix
from ironbird.world.model import (
    Box,
    Cylinder,
    Heightfield,
    Hills,
    Mesh,
    Mover,
    Obstacle,
    Pad,
    Plane,
    Sphere,
    Water,
    World,
)
from ironbird.world.rays import NOTHING, TERRAIN, WATER, Scene

DEEP = Plane(-1e5)  # far below all rays of these tests


def random_rays(count: int, seed: int, size_m: float = 20.0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    origins = random.uniform(-size_m, size_m, (count, 3))
    directions = random.normal(size=(count, 3))
    return origins, directions / np.linalg.norm(directions, axis=1)[:, None]


def brute_force(vertices: np.ndarray, triangles: np.ndarray, origin: np.ndarray, way: np.ndarray) -> float:
    """The nearest triangle on a ray by solving v0 + u e1 + w e2 = o + t d for all of them (Cramer's rule)."""
    a, b, c = (vertices[triangles[:, corner]] for corner in range(3))
    e1, e2, to = b - a, c - a, origin - a
    system = np.stack([e1, e2, np.broadcast_to(-way, e1.shape)], axis=-1)
    whole = np.linalg.det(system)
    with np.errstate(divide="ignore", invalid="ignore"):
        u, w, t = (
            np.linalg.det(np.concatenate([system[:, :, :k], to[:, :, None], system[:, :, k + 1 :]], axis=2)) / whole
            for k in range(3)
        )
    hit = (whole != 0) & (u >= 0) & (w >= 0) & (u + w <= 1) & (t >= 0)
    return float(t[hit].min()) if hit.any() else math.inf


def ball_mesh(rings: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """A closed mesh: a ball of radius 1, triangles counter-clockwise from outside."""
    up = np.linspace(0, math.pi, rings + 1)[1:-1]
    around = np.linspace(0, 2 * math.pi, 2 * rings, endpoint=False)
    inner = [(math.sin(t) * math.cos(p), math.sin(t) * math.sin(p), math.cos(t)) for t in up for p in around]
    vertices, n = np.array([(0, 0, 1), *inner, (0, 0, -1)], float), len(around)
    rows = []
    for j in range(n):
        k = (j + 1) % n
        rows.append((0, 1 + j, 1 + k))
        for i in range(len(up) - 1):
            a, b, c, d = 1 + i * n + j, 1 + i * n + k, 1 + (i + 1) * n + j, 1 + (i + 1) * n + k
            rows += [(a, c, d), (a, d, b)]
        rows.append((len(vertices) - 1, 1 + (len(up) - 1) * n + k, 1 + (len(up) - 1) * n + j))
    return vertices, np.array(rows)


@pytest.fixture(scope="module")
def mesh() -> Mesh:
    vertices, triangles = ball_mesh()
    bumpy = vertices * (5 + 2 * np.sin(7 * vertices[:, :1]))
    return Mesh("ball", (1.0, -2.0, 3.0), tuple(from_euler([0.3, -0.4, 1.0])), vertices_m=bumpy, triangles=triangles)


def test_a_ray_meets_a_sphere_where_the_quadratic_says() -> None:
    ball = Sphere("s", (1.0, 2.0, -3.0), radius_m=2.5)
    origins, directions = random_rays(2000, 1, 8.0)
    hits = Scene(World("w", terrain=DEEP, obstacles=(ball,))).cast(origins, directions, 1e4)
    rel = origins - np.array(ball.p_N_m)
    b, c = (rel * directions).sum(axis=1), (rel**2).sum(axis=1) - 2.5**2
    root = b * b - c
    with np.errstate(invalid="ignore"):
        first, second = -b - np.sqrt(root), -b + np.sqrt(root)
    expected = np.where(first >= 0, first, np.where(second >= 0, second, np.nan))
    found = hits.object == 2
    assert np.array_equal(found, ~np.isnan(expected)) and found.sum() > 20
    assert hits.range_m[found] == pytest.approx(expected[found], abs=1e-12)
    points = origins[found] + hits.range_m[found, None] * directions[found]
    assert hits.normal[found] == pytest.approx((points - np.array(ball.p_N_m)) / 2.5, abs=1e-12)


def test_a_turned_box_is_hit_on_its_six_faces() -> None:
    q = tuple(from_euler([0.4, -0.7, 2.0]))
    box = Box("b", (3.0, -1.0, -4.0), q, size_m=(2.0, 4.0, 6.0))
    scene, R = Scene(World("w", terrain=DEEP, obstacles=(box,))), matrix(q)
    for axis in range(3):
        for side in (-1.0, 1.0):
            out = R[:, axis] * side
            hit = scene.cast([np.array(box.p_N_m) + 10 * out], [-out])
            assert hit.range_m[0] == pytest.approx(10 - box.size_m[axis] / 2, abs=1e-12)
            assert hit.normal[0] == pytest.approx(out, abs=1e-12)


def test_rays_at_a_cylinder_end_on_its_wall_or_its_flat_ends() -> None:
    q = tuple(from_euler([1.0, 0.2, -0.5]))
    thing = Cylinder("c", (0.0, 1.0, -2.0), q, radius_m=1.5, height_m=4.0)
    origins, directions = random_rays(3000, 2, 5.0)
    hits = Scene(World("w", terrain=DEEP, obstacles=(thing,))).cast(origins, directions, 1e4)
    found = hits.object == 2
    local = (origins[found] + hits.range_m[found, None] * directions[found] - np.array(thing.p_N_m)) @ matrix(q)
    radius, along = np.hypot(local[:, 0], local[:, 1]), np.abs(local[:, 2])
    assert found.sum() > 100
    on_wall = np.isclose(radius, 1.5, atol=1e-9) & (along <= 2 + 1e-9)
    on_end = np.isclose(along, 2.0, atol=1e-9) & (radius <= 1.5 + 1e-9)
    assert (on_wall | on_end).all() and on_wall.any() and on_end.any()
    # nothing was nearer: points just before the hit are outside, unless the ray began inside
    rel = origins[found] - np.array(thing.p_N_m)
    began_in = (np.hypot(*(rel @ matrix(q))[:, :2].T) < 1.5) & (np.abs((rel @ matrix(q))[:, 2]) < 2)
    share = np.linspace(0.01, 0.99, 50)
    for k in np.flatnonzero(~began_in)[:200]:
        way = rel[k] + share[:, None] * hits.range_m[found][k] * directions[found][k]
        own = way @ matrix(q)
        assert not ((np.hypot(own[:, 0], own[:, 1]) < 1.5) & (np.abs(own[:, 2]) < 2)).any()


def test_a_sloping_plane_is_as_far_as_the_equation_says() -> None:
    plane = Plane(2.0, 0.1, -0.2)
    scene = Scene(World("w", terrain=plane))
    origins, directions = random_rays(500, 3)
    origins[:, 2] -= 60
    hits = scene.cast(origins, directions, 1e6)
    height = -origins[:, 2] - plane.height_at(origins[:, 0], origins[:, 1])
    sinks = directions[:, 2] + 0.1 * directions[:, 0] - 0.2 * directions[:, 1]  # towards the ground, per metre
    down = sinks > 1e-3
    assert hits.range_m[down] == pytest.approx((height / sinks)[down], rel=1e-12)
    assert (hits.object[sinks < 0] == NOTHING).all()
    assert hits.normal[down][0] == pytest.approx(plane.normal_at(0.0, 0.0), abs=1e-15)


def test_a_mesh_gives_the_ranges_of_a_loop_over_all_its_triangles(mesh: Mesh) -> None:
    origins, directions = random_rays(300, 4, 7.0)
    scene = Scene(World("w", terrain=DEEP, obstacles=(mesh,)))
    hits = scene.cast(origins, directions, 1e4)
    corners = mesh.vertices_m @ matrix(mesh.q_NB).T + np.array(mesh.p_N_m)
    expected = np.array([brute_force(corners, mesh.triangles, o, d) for o, d in zip(origins, directions, strict=True)])
    found = hits.object == 2
    assert np.array_equal(found, np.isfinite(expected)) and 50 < found.sum() < 299
    assert hits.range_m[found] == pytest.approx(expected[found], abs=1e-9)


def test_rays_agree_with_embree(mesh: Mesh) -> None:
    pytest.importorskip("embreex")  # no wheels for ARM
    from embreex import rtcore_scene
    from embreex.mesh_construction import TriangleMesh

    corners = (mesh.vertices_m @ matrix(mesh.q_NB).T + np.array(mesh.p_N_m)).astype(np.float32)
    origins, directions = (a.astype(np.float32) for a in random_rays(5000, 5, 7.0))
    theirs = rtcore_scene.EmbreeScene()
    TriangleMesh(theirs, corners, mesh.triangles.astype(np.int32))
    far = theirs.run(origins, directions, query="DISTANCE")
    own = Mesh("m", (0.0, 0.0, 0.0), vertices_m=corners, triangles=mesh.triangles)
    hits = Scene(World("w", terrain=DEEP, obstacles=(own,))).cast(origins, directions.astype(float), 1e4)
    both = (far < 1e30) & (hits.object == 2)
    assert ((far < 1e30) != (hits.object == 2)).mean() < 2e-3  # grazing rays, Embree has single precision
    close = np.isclose(hits.range_m[both], far[both], rtol=1e-4, atol=1e-4)
    assert both.sum() > 1000 and close.mean() > 0.998


def test_ground_of_triangles_is_hit_where_its_height_is() -> None:
    random = np.random.default_rng(6)
    grid = Heightfield(random.uniform(-3, 3, (17, 23)), 2.0, 3.0, -16.0, -33.0)
    scene = Scene(World("w", terrain=grid))
    places = random.uniform(-60, 60, (4000, 2))  # beyond the rim too
    origins = np.column_stack([places, np.full(len(places), -50.0)])
    hits = scene.cast(origins, np.tile([0.0, 0.0, 1.0], (len(places), 1)))
    assert (hits.object == TERRAIN).all()
    assert 50 - hits.range_m == pytest.approx(grid.height_at(places[:, 0], places[:, 1]), abs=1e-9)
    assert hits.normal == pytest.approx(grid.normal_at(places[:, 0], places[:, 1]), abs=1e-9)


def test_ground_and_the_same_triangles_as_a_mesh_give_one_range() -> None:
    grid = Hills(4.0, 60.0, 120.0, 3.0, seed=9).grid
    rows, columns = grid.heights_m.shape
    north = grid.north_m + grid.spacing_north_m * np.arange(rows)[:, None] + np.zeros((1, columns))
    east = grid.east_m + grid.spacing_east_m * np.arange(columns)[None, :] + np.zeros((rows, 1))
    place = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = (p.ravel() for p in (place[:-1, :-1], place[1:, :-1], place[:-1, 1:], place[1:, 1:]))
    rows_of = np.concatenate([np.stack([a, d, b], -1), np.stack([a, c, d], -1)])
    corners = np.stack([north, east, -grid.heights_m], -1).reshape(-1, 3)
    same = Mesh("ground", (0.0, 0.0, 0.0), vertices_m=corners, triangles=rows_of)
    origins, directions = random_rays(3000, 7, 20.0)
    origins[:, 2] = -15.0
    one = Scene(World("a", terrain=grid)).cast(origins, directions, 30.0)
    other = Scene(World("b", terrain=DEEP, obstacles=(same,))).cast(origins, directions, 30.0)
    assert np.array_equal(one.object >= 0, other.object >= 0) and (one.object >= 0).sum() > 300
    assert one.range_m == pytest.approx(other.range_m, abs=1e-9)


def test_distances_to_primitives_are_those_of_their_formulas() -> None:
    ball = Sphere("s", (10.0, 0.0, -5.0), radius_m=2.0)
    box = Box("b", (-10.0, 0.0, -5.0), size_m=(2.0, 4.0, 6.0))
    can = Cylinder("c", (0.0, 10.0, -5.0), radius_m=1.0, height_m=4.0)
    scene = Scene(World("w", terrain=DEEP, obstacles=(ball, box, can)))
    points = [(10, 0, -9), (10, 0, -5.5), (-10, 0, -10), (-10 + 4, 5, -8 - 4), (-9.25, 0, -5), (0, 10, -5), (0, 14, -7),
              (4, 10, -11)]  # fmt: skip
    distance, number = scene.distance(points)
    expected = [2.0, -1.5, 2.0, math.sqrt(3**2 + 3**2 + 4**2), -0.25, -1.0, 3.0, 5.0]
    assert distance == pytest.approx(expected, abs=1e-12)
    assert number.tolist() == [2, 2, 3, 3, 3, 4, 4, 4]


def test_distances_to_a_mesh_agree_with_trimesh(mesh: Mesh) -> None:
    import trimesh

    corners = mesh.vertices_m @ matrix(mesh.q_NB).T + np.array(mesh.p_N_m)
    points = np.random.default_rng(8).uniform(-10, 12, (150, 3))
    theirs = trimesh.Trimesh(corners, mesh.triangles, process=False)
    _, far, _ = trimesh.proximity.closest_point_naive(theirs, points)  # type: ignore[no-untyped-call]
    distance, number = Scene(World("w", terrain=DEEP, obstacles=(mesh,))).distance(points)
    assert np.abs(distance) == pytest.approx(far, abs=1e-9)
    assert (number == 2).all()
    inside = np.linalg.norm((points - np.array(mesh.p_N_m)) @ matrix(mesh.q_NB), axis=1) < 2.9  # it is 3 to 7 m thick
    assert inside.any() and (distance[inside] < 0).all()
    assert (distance[far > 8] > 0).all()


def test_distance_to_the_ground_is_negative_below_it() -> None:
    grid = Hills(3.0, 50.0, 100.0, 2.0, seed=1).grid
    scene = Scene(World("w", terrain=grid))
    random = np.random.default_rng(3)
    points = np.column_stack([random.uniform(-45, 45, (300, 2)), random.uniform(-8, 8, 300)])
    distance, number = scene.distance(points)
    up = -points[:, 2] - grid.height_at(points[:, 0], points[:, 1])
    assert (number == TERRAIN).all() and np.array_equal(distance > 0, up > 0)
    assert (np.abs(distance) <= np.abs(up) + 1e-12).all()
    # no point of the surface is nearer: a fine net of its points
    net = np.stack(np.meshgrid(np.linspace(-49, 49, 400), np.linspace(-49, 49, 400), indexing="ij"), -1).reshape(-1, 2)
    surface = np.column_stack([net, -grid.height_at(net[:, 0], net[:, 1])])
    for k in range(0, 300, 15):
        nearest = np.sqrt(((surface - points[k]) ** 2).sum(axis=1).min())
        assert abs(distance[k]) <= nearest + 1e-9 and nearest - abs(distance[k]) < 0.2  # the net has 0.25 m


def test_what_moves_is_where_its_script_says() -> None:
    path, times = np.array([[0.0, 0.0, 0.0], [100.0, 0.0, 0.0]]), np.array([0.0, 10.0])
    car = Mover("car", Box("car", (0.0, 0.0, -1.0), size_m=(4.0, 2.0, 2.0)), times, path, np.zeros((2, 3)))
    scene = Scene(World("w", movers=(car,)))
    for time_s, front in ((0.0, 2.0), (2.5, 27.0), (10.0, 102.0), (99.0, 102.0)):
        hit = scene.at(time_s).cast([[200.0, 0.0, -1.0]], [[-1.0, 0.0, 0.0]])
        assert 200 - hit.range_m[0] == pytest.approx(front, abs=1e-12)
        assert scene.names[hit.object[0]] == "car"
    distance, _ = scene.at(10.0).distance([[100.0, 0.0, -5.0]])
    assert distance[0] == pytest.approx(3.0, abs=1e-12)


def test_a_body_is_hit_at_its_pose_and_not_seen_by_itself() -> None:
    vertices, triangles = ball_mesh()
    bodies: list[Obstacle] = [Sphere("own", (0.0, 0.0, 0.0), radius_m=0.5),
              Mesh("other", (0.0, 0.0, 0.0), vertices_m=0.5 * vertices, triangles=triangles)]  # fmt: skip
    scene = Scene(World("w"), bodies)
    scene.place(0, (0.0, 0.0, -10.0), (1.0, 0.0, 0.0, 0.0))
    scene.place(1, (5.0, 0.0, -10.0), from_euler([0.0, 0.0, 1.0]))
    own = scene.first_body
    with_self = scene.cast([[0.0, 0.0, -10.0]], [[1.0, 0.0, 0.0]])
    without = scene.cast([[0.0, 0.0, -10.0]], [[1.0, 0.0, 0.0]], skip=own)
    assert with_self.object[0] == own and with_self.range_m[0] == pytest.approx(0.5)
    assert without.object[0] == own + 1 and without.range_m[0] == pytest.approx(4.5, abs=0.01)  # facets of the ball
    assert scene.distance([[5.0, 0.0, -10.0]])[0][0] < -0.45


def test_rays_stop_at_the_water_and_sound_goes_through() -> None:
    scene = Scene(World("w", terrain=Plane(-20.0), water=Water(0.0)))
    ray = ([[0.0, 0.0, -5.0]], [[0.0, 0.0, 1.0]])
    assert (scene.cast(*ray).object[0], scene.cast(*ray).range_m[0]) == (WATER, 5.0)
    assert (scene.cast(*ray, water=False).object[0], scene.cast(*ray, water=False).range_m[0]) == (TERRAIN, 25.0)


def test_pads_are_seen_where_they_lie() -> None:
    pad = Pad("p", 3.0, 4.0, radius_m=1.0)
    scene = Scene(World("w", pads=(pad,)))
    origins = np.array([[3.0, 4.9, -5.0], [3.0, 5.1, -5.0]])
    ways = np.tile([0.0, 0.0, 1.0], (2, 1))
    assert scene.seen(origins, ways, scene.cast(origins, ways)).tolist() == [2, TERRAIN]


def test_a_vehicle_that_starts_inside_a_wall_is_told_so() -> None:
    vertices, triangles = ball_mesh()
    wall, rock = Box("wall", (5.0, 0.0, -1.0), size_m=(1.0, 9.0, 4.0)), (2.0 * vertices, triangles)
    world = World("yard", obstacles=(wall, Mesh("rock", (20.0, 0.0, 0.0), vertices_m=rock[0], triangles=rock[1])))
    scene = Scene(world)
    scene.check_start("quad", [[0.0, 0.0, -0.5]])
    with pytest.raises(
        WorldError, match=r"quad starts inside 'wall' of world 'yard'.*north 5.00 m.*start it at another place"
    ):
        scene.check_start("quad", [[0.0, 0.0, -1.0], [5.0, 0.0, -1.0]])
    with pytest.raises(WorldError, match="inside 'rock'"):
        scene.check_start("quad", [[20.0, 0.5, -0.8]])
    with pytest.raises(WorldError, match="below the terrain"):
        scene.check_start("quad", [[0.0, 0.0, 0.3]])


@pytest.mark.parametrize(
    ("origins", "directions", "says"),
    [
        ([[0, 0, 0]], [[0, 0, 0]], "ray 0 .* has no direction"),
        ([[0, 0, math.nan]], [[0, 0, 1]], "ray 0 from .* is not finite"),
        ([[0, 0, 0]], [[0, 0, 1], [1, 0, 0]], "1 origins and 2 directions"),
        ([0, 0, 0], [[0, 0, 1]], "shape"),
    ],
)
def test_rays_that_make_no_sense_are_refused(origins: list, directions: list, says: str) -> None:
    with pytest.raises(WorldError, match=says):
        Scene(World("w")).cast(origins, directions)


def test_no_ray_slips_between_triangles() -> None:
    """Rays from inside a closed mesh, many of them right at its vertices and edges, all hit it."""
    vertices, triangles = ball_mesh()
    scene = Scene(World("w", terrain=DEEP, obstacles=(Mesh("m", (0, 0, 0), vertices_m=vertices, triangles=triangles),)))
    edges = (vertices[triangles[:, 0]] + vertices[triangles[:, 1]]) / 2
    ways = np.concatenate([vertices, edges, random_rays(3000, 1)[1]])
    hits = scene.cast(np.zeros_like(ways), ways, 100.0)
    assert (hits.object == 2).all()
