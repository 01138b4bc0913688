"""Surroundings of a vehicle in a world: the nearest shapes as slots of the kernel, and the ground below.

Distances are exact for boxes, cylinders and balls. A triangle of a mesh is replaced by the plate behind it: a rectangle
around the triangle, `PLATE_M` thick to the inside (a sheet: to both sides), so that sharp tips of thin meshes are
blunt. A mover with a mesh is replaced by the box around it. Objects farther than `REACH_M` are ignored.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ironbird.errors import WorldError
from ironbird.rotations import matrix
from ironbird.symbolic import shapes as sh
from ironbird.world.model import Box, Cylinder, Mesh, Obstacle, Plane, Sphere, World
from ironbird.world.native import library
from ironbird.world.rays import Scene

REACH_M = 50.0
PLATE_M = 0.1
FEW = 48  # number of shapes that are all examined, without a search for the nearest cells
MOST_RESTITUTION = 0.9  # limit of the contact law with the kernel's step
START_DEPTH_M = 1e-3  # depth in an obstacle that is allowed at the start: the vehicle stands on it


@dataclass(frozen=True)
class Shapes:
    """Shapes as arrays: the columns of slots, (SLOT_ROWS, n), and the radius of a bounding sphere for each."""

    columns: np.ndarray
    bounds_m: np.ndarray


def _column(shape: Obstacle, place: np.ndarray, q: Sequence[float] | np.ndarray, kind: int, half: Any) -> np.ndarray:
    column = np.zeros(sh.SLOT_ROWS)
    column[sh.KIND] = kind
    column[sh.CENTRE : sh.CENTRE + 3] = place
    column[sh.AXES : sh.AXES + 9] = matrix(q).flatten(order="F")
    column[sh.HALF : sh.HALF + 3] = half
    column[sh.FRICTION] = shape.material.friction
    column[sh.RESTITUTION] = min(shape.material.restitution, MOST_RESTITUTION)
    return column


def columns_of(shape: Obstacle) -> np.ndarray:
    """A static shape as slots, (SLOT_ROWS, n): one, or one for every triangle of a mesh."""
    place, q = np.array(shape.p_N_m), shape.q_NB
    if isinstance(shape, Box):
        return _column(shape, place, q, sh.BOX, np.array(shape.size_m) / 2)[:, None]
    if isinstance(shape, Cylinder):
        half = [shape.radius_m, 0.0, shape.height_m / 2]
        return _column(shape, place, q, sh.CYLINDER, half)[:, None]
    if isinstance(shape, Sphere):
        return _column(shape, place, q, sh.BALL, [shape.radius_m, 0.0, 0.0])[:, None]
    return _plates(shape)


def _plates(mesh: Mesh) -> np.ndarray:
    """A plate behind each triangle, along its shortest side: two halves of a rectangle give the same plate."""
    R = mesh.R_NB
    corners = (mesh.vertices_m @ R.T + mesh.p_N_m)[mesh.triangles]  # (n, 3, 3)
    sides = np.roll(corners, -1, axis=1) - corners
    lengths = np.linalg.norm(sides, axis=2)
    shortest = lengths.argmin(axis=1)
    normal = np.cross(sides[:, 0], sides[:, 1])
    area = np.linalg.norm(normal, axis=1)
    keep = area > 1e-12
    corners, sides, lengths, shortest, normal, area = (
        a[keep] for a in (corners, sides, lengths, shortest, normal, area)
    )
    rows = np.arange(len(corners))
    z = normal / area[:, None]
    x = sides[rows, shortest] / lengths[rows, shortest][:, None]
    y = np.cross(z, x)
    spans = []
    for axis in (x, y):
        along = np.einsum("nij,nj->ni", corners, axis)
        spans.append((along.min(axis=1), along.max(axis=1)))
    height = np.einsum("nj,nj->n", corners[:, 0], z)
    thick = PLATE_M / 2
    middle = height - thick if mesh.closed else height
    centre = x * spans[0][0][:, None] / 2 + x * spans[0][1][:, None] / 2
    centre += y * (spans[1][0] + spans[1][1])[:, None] / 2 + z * middle[:, None]
    columns = np.zeros((sh.SLOT_ROWS, len(corners)))
    columns[sh.KIND] = sh.BOX
    columns[sh.CENTRE : sh.CENTRE + 3] = centre.T
    columns[sh.AXES : sh.AXES + 9] = np.concatenate([x, y, z], axis=1).T
    columns[sh.HALF], columns[sh.HALF + 1] = ((high - low) / 2 for low, high in spans)
    columns[sh.HALF + 2] = thick
    columns[sh.FRICTION] = mesh.material.friction
    columns[sh.RESTITUTION] = min(mesh.material.restitution, MOST_RESTITUTION)
    return columns


def _bounds(columns: np.ndarray) -> np.ndarray:
    """Radius of a bounding sphere for each shape."""
    kind, half = columns[sh.KIND], columns[sh.HALF : sh.HALF + 3]
    box = np.sqrt((half**2).sum(axis=0))
    return np.asarray(
        np.where(kind == sh.BALL, half[0], np.where(kind == sh.CYLINDER, np.hypot(half[0], half[2]), box))
    )


class Near:
    """Search for near shapes of a world. Has no state: the result depends only on time and position."""

    def __init__(self, world: World) -> None:
        self.world = world
        parts = [columns_of(shape) for shape in world.obstacles]
        columns = np.concatenate([*parts, np.zeros((sh.SLOT_ROWS, 0))], axis=1)
        self.fixed = Shapes(columns, _bounds(columns))
        count = columns.shape[1]
        self._table = np.ascontiguousarray(columns.T)
        self._index = np.arange(count, dtype=np.int32)
        self._cells: dict[tuple[int, int], tuple[int, int]] = {}  # range of the index for each cell
        if count > FEW:
            self._sort()
        self.anything = bool(count or world.movers)
        self.uneven = not isinstance(world.ground, Plane)
        self._decks = {pad.mover for pad in world.pads if pad.mover}

    def _sort(self) -> None:
        """Build the index of shapes within reach of each cell of a level grid of `REACH_M`."""
        centre, bounds = self.fixed.columns[sh.CENTRE : sh.CENTRE + 2], self.fixed.bounds_m
        low = np.floor((centre - bounds - REACH_M) / REACH_M).astype(int)
        high = np.floor((centre + bounds + REACH_M) / REACH_M).astype(int)
        cells: dict[tuple[int, int], list[int]] = {}
        for number in range(centre.shape[1]):
            for i in range(low[0, number], high[0, number] + 1):
                for j in range(low[1, number], high[1, number] + 1):
                    cells.setdefault((i, j), []).append(number)
        ends = np.cumsum([0, *(len(numbers) for numbers in cells.values())]).tolist()
        self._cells = {cell: (ends[k], ends[k + 1]) for k, cell in enumerate(cells)}
        self._index = np.array([number for numbers in cells.values() for number in numbers], np.int32)

    def moving(self, time_s: float) -> Shapes:
        """Shapes of the movers at a time."""
        columns = [self._mover(number, time_s) for number in range(len(self.world.movers))]
        table = np.stack(columns, axis=1) if columns else np.zeros((sh.SLOT_ROWS, 0))
        return Shapes(table, _bounds(table))

    def _mover(self, number: int, time_s: float) -> np.ndarray:
        mover = self.world.movers[number]
        place, q = mover.pose_at(time_s)
        R = matrix(q)
        shape = mover.shape
        if isinstance(shape, Mesh):
            own = shape.vertices_m @ shape.R_NB.T + shape.p_N_m
            low, high = own.min(axis=0), own.max(axis=0)
            column = _column(shape, R @ ((low + high) / 2), q, sh.BOX, np.maximum((high - low) / 2, PLATE_M / 2))
        else:
            column = columns_of(shape)[:, 0]
            column[sh.CENTRE : sh.CENTRE + 3] = R @ column[sh.CENTRE : sh.CENTRE + 3]
            column[sh.AXES : sh.AXES + 9] = (R @ column[sh.AXES : sh.AXES + 9].reshape(3, 3, order="F")).flatten("F")
        column[sh.CENTRE : sh.CENTRE + 3] += place
        column[sh.VELOCITY : sh.VELOCITY + 3] = mover.velocity_at(time_s)
        column[sh.LANDING] = float(mover.name in self._decks)
        return column

    def slots(self, places: np.ndarray, time_s: float, count: int, more: Shapes | None = None) -> np.ndarray:
        """The `count` nearest shapes of each place (k, 3), (k, count, SLOT_ROWS), the nearest first.

        `more` are shapes in addition to the world's: decks of other vehicles.
        """
        places = np.ascontiguousarray(places, float)
        result = np.zeros((len(places), count, sh.SLOT_ROWS))
        moving = self.moving(time_s) if self.world.movers else None
        parts = [part.columns.T for part in (moving, more) if part is not None]
        loose = np.ascontiguousarray(np.concatenate([*parts, np.zeros((0, sh.SLOT_ROWS))]))
        first, last = self._lists(places)
        library().iw_near(
            len(places), places.ctypes.data, self._table.ctypes.data, self.fixed.bounds_m.ctypes.data,
            self._index.ctypes.data, first.ctypes.data, last.ctypes.data, loose.ctypes.data, len(loose), count,
            REACH_M, result.ctypes.data,
        )  # fmt: skip
        return result

    def _lists(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Range of `_index` with the fixed shapes within reach of each position."""
        if not self._cells:
            return np.zeros(len(places), np.int64), np.full(len(places), len(self._index), np.int64)
        cells = np.floor(places[:, :2] / REACH_M).astype(int).tolist()
        parts = np.array([self._cells.get((i, j), (0, 0)) for i, j in cells], np.int64).reshape(-1, 2)
        return np.ascontiguousarray(parts[:, 0]), np.ascontiguousarray(parts[:, 1])

    def ground(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """z (down) in m of the ground below positions (k, 3), and its slope north and east, (k, 2)."""
        north, east = places[:, 0], places[:, 1]
        normal = np.broadcast_to(self.world.ground.normal_at(north, east), places.shape)
        # z = -height; the normal is (-h_n, -h_e, -1) over its length, and dz/dn = -h_n
        return -self.world.height_at(north, east), -normal[:, :2] / normal[:, 2:]

    def check_start(self, who: str, centre: np.ndarray, balls: np.ndarray, radius_m: float) -> None:
        """Raise if a hull of balls (n, 3) around a position begins inside an obstacle."""
        distances, numbers = self._scene.distance(balls, terrain=False)
        deepest = int(distances.argmin())
        depth_m = radius_m - float(distances[deepest])
        if depth_m > START_DEPTH_M:
            raise WorldError(
                f"{who} begins inside '{self._scene.names[numbers[deepest]]}' of world '{self.world.name}': it is "
                f"{depth_m:.2f} m deep at {centre[0]:.1f} m north, {centre[1]:.1f} m east; give it another start "
                "(--start NORTH,EAST), or move the obstacle"
            )

    @functools.cached_property
    def _scene(self) -> Scene:
        return Scene(self.world)
