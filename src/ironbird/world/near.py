"""What of a world is near a vehicle: the nearest shapes as slots of the kernel, and the ground below.

Distances are exact for boxes, cylinders and balls. A triangle of a mesh stands as the plate behind it: the rectangle
around the triangle, `PLATE_M` thick to the inside (a sheet: to both sides), so that sharp tips of thin meshes are
blunt. A mover with a mesh stands as the box around it. Everything further than `REACH_M` away counts as not there.
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
from ironbird.world.rays import Scene

REACH_M = 50.0
PLATE_M = 0.1
FEW = 48  # shapes that are all looked at, without a search for the nearest cells
MOST_RESTITUTION = 0.9  # the law of contact holds up to here with the kernel's step
START_DEPTH_M = 1e-3  # a vehicle may begin so deep in something: it stands on it


@dataclass(frozen=True)
class Shapes:
    """Primitives as arrays: the columns of slots, (SLOT_ROWS, n), and the radius of a ball around each."""

    columns: np.ndarray
    bounds_m: np.ndarray


def signed_distances(places: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Distance of places (…, 3) from the shapes of slots (SLOT_ROWS, …): the numbers of `symbolic.shapes`."""
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
    """A plate behind each triangle, along its shortest side: two halves of a rectangle make the same plate."""
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
    """Radius of a ball around each shape."""
    kind, half = columns[sh.KIND], columns[sh.HALF : sh.HALF + 3]
    box = np.sqrt((half**2).sum(axis=0))
    return np.asarray(
        np.where(kind == sh.BALL, half[0], np.where(kind == sh.CYLINDER, np.hypot(half[0], half[2]), box))
    )


class Near:
    """Looks up a world. It has no memory: what it says depends on time and place alone."""

    def __init__(self, world: World) -> None:
        self.world = world
        parts = [columns_of(shape) for shape in world.obstacles]
        columns = np.concatenate([*parts, np.zeros((sh.SLOT_ROWS, 0))], axis=1)
        self.fixed = Shapes(columns, _bounds(columns))
        count = columns.shape[1]
        self._cells: dict[tuple[int, int], np.ndarray] = {}
        if count > FEW:
            self._sort()
        self.anything = bool(count or world.movers)
        self.uneven = not isinstance(world.ground, Plane)
        self._decks = {pad.mover for pad in world.pads if pad.mover}

    def _sort(self) -> None:
        """Which shapes are within reach of each cell of a level grid of `REACH_M`."""
        centre, bounds = self.fixed.columns[sh.CENTRE : sh.CENTRE + 2], self.fixed.bounds_m
        low = np.floor((centre - bounds - REACH_M) / REACH_M).astype(int)
        high = np.floor((centre + bounds + REACH_M) / REACH_M).astype(int)
        cells: dict[tuple[int, int], list[int]] = {}
        for number in range(centre.shape[1]):
            for i in range(low[0, number], high[0, number] + 1):
                for j in range(low[1, number], high[1, number] + 1):
                    cells.setdefault((i, j), []).append(number)
        self._cells = {cell: np.array(found) for cell, found in cells.items()}

    def moving(self, time_s: float) -> Shapes:
        """Movers at a time."""
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

        `more` are shapes beside the world's: decks of other vehicles.
        """
        found = np.zeros((len(places), count, sh.SLOT_ROWS))
        moving = self.moving(time_s) if self.world.movers else None
        loose = [part for part in (moving, more) if part is not None and part.columns.shape[1]]
        if not self._cells:
            table = self.fixed.columns
            if loose:
                table = np.concatenate([table, *(part.columns for part in loose)], axis=1)
            self._nearest(places, table, found)
            return found
        for number, place in enumerate(places):
            table = np.concatenate([self._around(place, count), *(part.columns for part in loose)], axis=1)
            self._nearest(place[None], table, found[number : number + 1])
        return found

    def _nearest(self, places: np.ndarray, table: np.ndarray, found: np.ndarray) -> None:
        if not table.shape[1]:
            return
        distances = signed_distances(places[:, None, :], table[:, None, :])
        order = np.argsort(distances, axis=1, kind="stable")[:, : found.shape[1]]
        chosen = np.moveaxis(table[:, order], 0, -1)  # (k, count, rows)
        near = np.take_along_axis(distances, order, axis=1) < REACH_M
        found[:, : order.shape[1]] = np.where(near[:, :, None], chosen, 0.0)

    def _around(self, place: np.ndarray, count: int) -> np.ndarray:
        """Columns of the fixed shapes among which the nearest ones of a place are."""
        cell = (int(np.floor(place[0] / REACH_M)), int(np.floor(place[1] / REACH_M)))
        inside = self._cells.get(cell)
        if inside is None:
            return np.zeros((sh.SLOT_ROWS, 0))
        least = np.linalg.norm(self.fixed.columns[sh.CENTRE : sh.CENTRE + 3, inside].T - place, axis=1)
        least -= self.fixed.bounds_m[inside]
        take = 4 * count
        while take < len(inside):
            nearest = np.argpartition(least, take)[: take + 1]
            columns = self.fixed.columns[:, inside[np.sort(nearest)]]
            exact = np.sort(signed_distances(place[None], columns))
            if exact[count - 1] <= least[nearest].max():
                return columns
            take *= 4
        return self.fixed.columns[:, inside]

    def ground(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """z (down) of the ground below places (k, 3), and its change per metre north and east, (k, 2)."""
        north, east = places[:, 0], places[:, 1]
        normal = np.broadcast_to(self.world.ground.normal_at(north, east), places.shape)
        # z = -height; the normal is (-h_n, -h_e, -1) over its length, and dz/dn = -h_n
        return -self.world.height_at(north, east), -normal[:, :2] / normal[:, 2:]

    def check_start(self, who: str, centre: np.ndarray, balls: np.ndarray, radius_m: float) -> None:
        """Raise if a hull of balls (n, 3) around a place begins inside an obstacle."""
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
