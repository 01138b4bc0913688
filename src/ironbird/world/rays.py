"""Ray casting in a world: ranges, normals, distances, colours. Computed in `c/rays.c`.

Objects are numbered: 0 the terrain, 1 the water, then obstacles, pads, movers and bodies (other vehicles) in their
order; -1 is nothing. Pads are paint: a ray hits the ground, and the number of the pad is returned by `seen`. A ray that
starts inside an object hits its wall from within.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ironbird.errors import WorldError, shortened
from ironbird.rotations import matrix, multiply
from ironbird.world.marker import CELLS, marker_bits
from ironbird.world.model import FARTHEST_M, Box, Cylinder, Material, Mesh, Obstacle, Pad, Plane, World
from ironbird.world.native import BODY, NODE, PAD, PAINT, SceneC, library

RIM_M = 1e8  # m by which the ground extends beyond a grid
ROW = 16
SEE_WATER = 1
KINDS = {Box: 1, Cylinder: 2}  # kinds of primitives in the C code; 0 is a triangle, 3 a sphere
TERRAIN, WATER, NOTHING = 0, 1, -1


@dataclass(frozen=True)
class Hits:
    """Results of rays: ranges in metres (`most` where nothing is hit), object numbers, unit normals of surfaces."""

    range_m: np.ndarray
    object: np.ndarray
    normal: np.ndarray


def _address(array: np.ndarray | None) -> Any:
    return None if array is None else array.ctypes.data


def _rows(values: Any, what: str) -> np.ndarray:
    """Vectors as rows of three, in the memory layout of the C code."""
    array = np.ascontiguousarray(values, float)
    if array.ndim != 2 or array.shape[1] != 3:
        raise WorldError(f"{what} have shape {array.shape}; give rows of three (n, 3)")
    return array


class Scene:
    """A world at one moment; `at` changes the time, `place` sets the pose of a body.

    `bodies` are shapes of other vehicles, around their own origin; they start far away until they are placed.
    """

    def __init__(self, world: World, bodies: Sequence[Obstacle] = ()) -> None:
        self.world = world
        self.bodies = tuple(bodies)
        names = ["terrain", "water", *(o.name for o in world.obstacles), *(p.name for p in world.pads)]
        labels = ["terrain", "water", *(o.label for o in world.obstacles), *("pad" for _ in world.pads)]
        self.first_mover = len(names)
        self.first_body = self.first_mover + len(world.movers)
        self.names = (*names, *(m.name for m in world.movers), *(b.name for b in bodies))
        self.labels = (*labels, *(m.shape.label for m in world.movers), *(b.label for b in bodies))
        self._c = SceneC()
        self._lib = library()
        self._kept: list[np.ndarray] = []  # arrays that the C code points to
        self._ground(world)
        self._things(world)
        self._paint(world)
        self.at(0.0)

    # ------------------------------------------------------------------ construction

    def _keep(self, array: np.ndarray) -> int:
        self._kept.append(array)
        return int(array.ctypes.data)

    def _ground(self, world: World) -> None:
        ground, c = world.ground, self._c
        if world.water is not None:
            c.has_water, c.water = 1, world.water.height_m
        if isinstance(ground, Plane):
            c.plane = (ctypes.c_double * 3)(ground.height_m, ground.slope_north, ground.slope_east)
            return
        heights = np.ascontiguousarray(np.pad(ground.heights_m, 1, mode="edge"))
        c.rows, c.columns = heights.shape
        c.heights = self._keep(heights)
        c.norths = self._keep(_lines(ground.north_m, ground.spacing_north_m, ground.heights_m.shape[0]))
        c.easts = self._keep(_lines(ground.east_m, ground.spacing_east_m, ground.heights_m.shape[1]))
        nodes = np.zeros(heights.size, NODE)
        c.cells = nodes.ctypes.data
        used = self._lib.iw_build_grid(ctypes.byref(c), nodes.ctypes.data)
        c.cells = self._keep(nodes[:used].copy())

    def _things(self, world: World) -> None:
        """Build one tree over all static objects, and one for each mesh that moves."""
        c = self._c
        prims, kinds, objects, bounds = [np.zeros((0, ROW))], [np.zeros(0, np.int32)], [np.zeros(0, np.int32)], []
        for number, thing in enumerate(world.obstacles, start=2):
            rows, kind, box = _primitives(thing, np.asarray(thing.p_N_m), thing.R_NB)
            prims.append(rows)
            kinds.append(np.full(len(rows), kind, np.int32))
            objects.append(np.full(len(rows), number, np.int32))
            bounds.append(box)
        nodes = []
        c.root = -1
        if bounds:
            order, tree = self._tree(np.concatenate(bounds))
            prims, kinds, objects = [[np.concatenate(part)[order]] for part in (prims, kinds, objects)]
            nodes.append(tree)
            c.root = 0
        moving = np.zeros(len(world.movers) + len(self.bodies), BODY)
        first, node = len(prims[-1]), sum(len(n) for n in nodes)
        for number, thing in enumerate([*(m.shape for m in world.movers), *self.bodies]):
            row = moving[number]
            rows, kind, box = _primitives(thing, np.zeros(3), np.eye(3))
            row["object"], row["kind"], row["first"], row["root"] = self.first_mover + number, kind, first, -1
            far = np.maximum(np.abs(box[:, :3]), np.abs(box[:, 3:])).max(axis=0)
            row["radius"] = float(np.sqrt(far @ far)) * (1 + 1e-9)
            if isinstance(thing, Mesh):
                order, tree = self._tree(box)
                rows = rows[order]
                leaf = tree["count"] > 0
                tree["child"] += np.where(leaf, first, node).astype(np.int32)
                row["first"], row["root"] = -1, node
                nodes.append(tree)
                node += len(tree)
            prims.append(rows)
            kinds.append(np.full(len(rows), kind, np.int32))
            objects.append(np.full(len(rows), self.first_mover + number, np.int32))
            first += len(rows)
        self._moving = moving
        c.bodies, c.body_count = moving.ctypes.data, len(moving)
        c.prims = self._keep(np.ascontiguousarray(np.concatenate(prims)))
        c.kinds = self._keep(np.concatenate(kinds))
        c.objects = self._keep(np.concatenate(objects))
        c.nodes = self._keep(np.concatenate(nodes) if nodes else np.zeros(0, NODE))

    def _tree(self, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        bounds = np.ascontiguousarray(bounds)
        order = np.empty(len(bounds), np.int32)
        nodes = np.zeros(len(bounds) + 1, NODE)
        used = self._lib.iw_build(bounds.ctypes.data, len(bounds), order.ctypes.data, nodes.ctypes.data)
        return order, nodes[:used].copy()

    def _paint(self, world: World) -> None:
        materials: list[Material] = [
            world.ground.material,
            world.water.material if world.water else world.ground.material,
            *(o.material for o in world.obstacles),
            *(p.material for p in world.pads),
            *(m.shape.material for m in world.movers),
            *(b.material for b in self.bodies),
        ]
        self.materials = tuple(materials)
        self._paints = np.zeros(len(materials), PAINT)
        for row, material in zip(self._paints, materials, strict=True):
            row["colour"], row["second"] = material.colour, material.colour_2
            row["checker"], row["reflectance"] = material.checker_m, material.reflectance
        self._pads = np.zeros(len(world.pads), PAD)
        movers = [mover.name for mover in world.movers]
        for number, (row, pad) in enumerate(zip(self._pads, world.pads, strict=True)):
            row["place"] = (pad.north_m, pad.east_m, pad.radius_m, np.cos(pad.yaw_rad), np.sin(pad.yaw_rad))
            row["object"], row["body"] = 2 + len(world.obstacles) + number, -1
            if pad.mover:
                row["body"] = movers.index(pad.mover)
                row["top"] = _top(pad, world.movers[row["body"]].shape)
            if pad.marker >= 0:
                row["cells"], row["marker"] = CELLS, marker_bits(pad.marker)

    # ------------------------------------------------------------------ motion

    def at(self, time_s: float) -> Scene:
        """Set all movers to their poses at a time in s."""
        for number, mover in enumerate(self.world.movers):
            place, turn = mover.pose_at(time_s)
            rotation = matrix(turn)
            self._put(number, place + rotation @ np.asarray(mover.shape.p_N_m), multiply(turn, mover.shape.q_NB))
        return self

    def place(self, body: int, p_N_m: Any, q_NB: Any) -> None:
        """Set the pose of a body; bodies are numbered from 0."""
        if not 0 <= body < len(self.bodies):
            raise WorldError(f"body {body} is not there; the scene has {len(self.bodies)}")
        shape = self.bodies[body]
        place = np.asarray(p_N_m, float) + matrix(q_NB) @ np.asarray(shape.p_N_m)
        self._put(len(self.world.movers) + body, place, multiply(q_NB, shape.q_NB))

    def _put(self, number: int, place: np.ndarray, turn: np.ndarray) -> None:
        if not (np.isfinite(place).all() and np.isfinite(turn).all()):
            raise WorldError(f"{self.names[self.first_mover + number]}: its pose {place}, {turn} is not finite")
        self._moving[number]["p"] = place
        self._moving[number]["R"] = matrix(turn).reshape(-1)

    def pose_of(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Position and R_NB of a mover or body by its object number, from the C code."""
        row = self._moving[number - self.first_mover]
        return row["p"].copy(), row["R"].reshape(3, 3).copy()

    # ------------------------------------------------------------------ queries

    def cast(
        self, origins_m: Any, directions: Any, most_m: float = FARTHEST_M, *, skip: int = -2, water: bool = True
    ) -> Hits:
        """The first object on each ray; directions have any nonzero length, ranges are in metres.

        `skip` is the object number of a body that does not count: the one that carries the sensor. Without `water` rays
        go through its surface, as sound does.
        """
        origins, directions = _rows(origins_m, "origins"), _rows(directions, "directions")
        if origins.shape != directions.shape:
            raise WorldError(f"{len(origins)} origins and {len(directions)} directions; give one for each")
        count = len(origins)
        hits = Hits(np.empty(count), np.empty(count, np.int32), np.empty((count, 3)))
        wrong = self._lib.iw_cast(
            ctypes.byref(self._c), count, _address(origins), _address(directions), float(most_m), int(skip),
            SEE_WATER if water else 0, _address(hits.range_m), _address(hits.object), _address(hits.normal),
        )  # fmt: skip
        if wrong >= 0:
            raise WorldError(
                f"ray {wrong} from {origins[wrong].tolist()} along {directions[wrong].tolist()} is not finite, or has "
                "no direction"
            )
        return hits

    def distance(
        self, points_m: Any, most_m: float = FARTHEST_M, *, skip: int = -2, terrain: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Distance of points to the nearest surface and its object number; negative inside closed objects and below
        ground.

        If a point is inside several objects, the deepest counts. Water does not count.
        """
        points = _rows(points_m, "points")
        if not np.isfinite(points).all():
            raise WorldError(f"point {int(np.argwhere(~np.isfinite(points))[0][0])} is not finite")
        distance, number = np.empty(len(points)), np.empty(len(points), np.int32)
        self._lib.iw_distance(
            ctypes.byref(self._c), len(points), _address(points), float(most_m), int(skip), int(terrain),
            _address(distance), _address(number),
        )  # fmt: skip
        for mesh, inside in self._inside_meshes(points, skip):
            deep = -np.abs(self._mesh_distance(mesh, points[inside]))
            now = distance[inside]
            distance[inside] = np.minimum(now, deep)
            number[inside] = np.where(deep < now, mesh, number[inside])
        return distance, number

    def inside(self, points_m: Any, *, skip: int = -2) -> np.ndarray:
        """Object numbers of what points are inside of (or below: the terrain); -1 outside of everything."""
        distance, number = self.distance(points_m, skip=skip)
        return np.where(distance < 0, number, NOTHING)

    def check_start(self, name: str, points_m: Any, *, skip: int = -2) -> None:
        """Raise if one of the points of a vehicle at its start is inside an object."""
        points = _rows(points_m, "points")
        numbers = self.inside(points, skip=skip)
        wrong = np.flatnonzero(numbers != NOTHING)
        if len(wrong):
            place = points[wrong[0]]
            what = self.names[numbers[wrong[0]]]
            where = "below the terrain" if numbers[wrong[0]] == TERRAIN else f"inside '{what}'"
            raise WorldError(
                f"{name} starts {where} of world '{self.world.name}' with its point at north {place[0]:.2f} m, east "
                f"{place[1]:.2f} m, height {-place[2]:.2f} m; start it at another place, or move the obstacle"
            )

    def _inside_meshes(self, points: np.ndarray, skip: int) -> list[tuple[int, np.ndarray]]:
        """Closed meshes that contain points: object numbers, and which points."""
        inside = []
        for number, mesh in self._closed:
            if number == skip:
                continue
            local = self._own(number, points)
            low, high = mesh.vertices_m.min(axis=0), mesh.vertices_m.max(axis=0)
            near = np.flatnonzero(((local >= low) & (local <= high)).all(axis=1))
            if len(near):
                alone, _ = self._alone(number)
                leaves = np.empty(len(near), np.int32)
                start = np.ascontiguousarray(local[near])
                # a direction that is parallel to no face or edge of usual models
                way = np.array([0.2672612419, 0.5345224838, -0.8017837257])
                self._lib.iw_leaves(
                    ctypes.byref(alone._c), 0, len(near), _address(start), _address(way), _address(leaves)
                )
                if leaves.any():
                    inside.append((number, near[leaves > 0]))
        return inside

    @functools.cached_property
    def _closed(self) -> list[tuple[int, Mesh]]:
        shapes = [*enumerate(self.world.obstacles, start=2)]
        shapes += [*enumerate([*(m.shape for m in self.world.movers), *self.bodies], start=self.first_mover)]
        return [(number, shape) for number, shape in shapes if isinstance(shape, Mesh) and shape.closed]

    def _own(self, number: int, points: np.ndarray) -> np.ndarray:
        """Points in an object's own axes."""
        if number >= self.first_mover:
            place, rotation = self.pose_of(number)
        else:
            thing = self.world.obstacles[number - 2]
            place, rotation = np.asarray(thing.p_N_m), thing.R_NB
        return (points - place) @ rotation

    def _alone(self, number: int) -> tuple[Scene, Mesh]:
        """A mesh in a scene of its own, in its own axes."""
        return self._lonely[number]

    @functools.cached_property
    def _lonely(self) -> dict[int, tuple[Scene, Mesh]]:
        scenes = {}
        for number, mesh in self._closed:
            own = Mesh(mesh.name, (0.0, 0.0, 0.0), vertices_m=mesh.vertices_m, triangles=mesh.triangles)
            scenes[number] = (Scene(World(mesh.name, terrain=Plane(-FARTHEST_M), obstacles=(own,))), own)
        return scenes

    def _mesh_distance(self, number: int, points: np.ndarray) -> np.ndarray:
        alone, _ = self._alone(number)
        local = np.ascontiguousarray(self._own(number, points))
        distance, triangle = np.empty(len(local)), np.empty(len(local), np.int32)
        alone._lib.iw_distance(
            ctypes.byref(alone._c),
            len(local),
            _address(local),
            FARTHEST_M,
            -2,
            0,
            _address(distance),
            _address(triangle),
        )
        return distance

    def seen(self, origins_m: np.ndarray, directions: np.ndarray, hits: Hits) -> np.ndarray:
        """Object numbers of hits, with those of pads where a ray ends on one; directions must have length one."""
        number = hits.object.copy()
        origins, directions = _rows(origins_m, "origins"), _rows(directions, "directions")
        self._lib.iw_pads(
            ctypes.byref(self._c), _address(self._pads), len(self._pads), len(number), _address(origins),
            _address(directions), _address(hits.range_m), _address(number),
        )  # fmt: skip
        return number

    def reflectance(self, hits: Hits) -> np.ndarray:
        """Reflectance of what the rays hit; 0 where there is nothing."""
        return np.where(hits.object >= 0, self._paints["reflectance"][np.maximum(hits.object, 0)], 0.0)

    def shade(
        self, origins_m: np.ndarray, directions: np.ndarray, hits: Hits, *, fog_per_m: float, shadows: bool
    ) -> np.ndarray:
        """Colours of hits in linear light (n, 3); directions must have length one."""
        light = self.world.light
        up, flat = np.sin(light.sun_elevation_rad), np.cos(light.sun_elevation_rad)
        sun = np.array([flat * np.cos(light.sun_azimuth_rad), flat * np.sin(light.sun_azimuth_rad), -up])
        sky, out = np.array(light.sky), np.empty((len(hits.range_m), 3))
        origins, directions = _rows(origins_m, "origins"), _rows(directions, "directions")
        self._lib.iw_shade(
            ctypes.byref(self._c), _address(self._paints), _address(self._pads), len(self._pads), len(out),
            _address(origins), _address(directions), _address(hits.range_m), _address(hits.object),
            _address(hits.normal), _address(sun), light.ambient, _address(sky), fog_per_m, int(shadows), _address(out),
        )  # fmt: skip
        return out

    def number_of(self, name: str) -> int:
        """Object number of an object by its name."""
        if name not in self.names:
            raise WorldError(f"world '{self.world.name}' has no object '{shortened(name)}'")
        return self.names.index(name)


def _lines(first: float, spacing: float, count: int) -> np.ndarray:
    """Coordinates of a grid with the far rim around it."""
    inner = first + spacing * np.arange(count)
    return np.concatenate([[inner[0] - RIM_M], inner, [inner[-1] + RIM_M]])


def _primitives(thing: Obstacle, place: np.ndarray, rotation: np.ndarray) -> tuple[np.ndarray, int, np.ndarray]:
    """Rows of the C code for an object at a pose, their kind, and their bounding boxes."""
    if isinstance(thing, Mesh):
        corners = (thing.vertices_m @ rotation.T + place)[thing.triangles]
        rows = np.zeros((len(corners), ROW))
        rows[:, 0:3] = corners[:, 0]
        rows[:, 3:6], rows[:, 6:9] = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        return rows, 0, np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)
    rows = np.zeros((1, ROW))
    rows[0, :9], rows[0, 9:12] = rotation.reshape(-1), place
    if isinstance(thing, Box):
        half = np.asarray(thing.size_m) / 2
        rows[0, 12:15] = half
        reach = np.abs(rotation) @ half
    elif isinstance(thing, Cylinder):
        rows[0, 12:14] = thing.radius_m, thing.height_m / 2
        axis = rotation[:, 2]
        reach = np.abs(axis) * thing.height_m / 2 + thing.radius_m * np.sqrt(np.maximum(1 - axis**2, 0.0))
    else:
        rows[0, 12] = thing.radius_m
        reach = np.full(3, thing.radius_m)
    reach = reach * (1 + 1e-9) + 1e-9
    return rows, KINDS.get(type(thing), 3), np.concatenate([place - reach, place + reach])[None]


def _top(pad: Pad, shape: Obstacle) -> float:
    """Down coordinate of a mover's deck in its own axes: the upper side of a box, cylinder or mesh."""
    if isinstance(shape, Box):
        return -shape.size_m[2] / 2
    if isinstance(shape, Cylinder):
        return -shape.height_m / 2
    if isinstance(shape, Mesh):
        return float(shape.vertices_m[:, 2].min())
    raise WorldError(f"pad '{pad.name}' lies on a ball; put it on a box, a cylinder or a mesh")
