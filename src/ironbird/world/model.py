"""Definition of a world: terrain, obstacles, materials, water, landing pads and objects that move on scripts.

Everything is in one north-east-down frame N, the one in which vehicles fly: metres, radians. Heights are upwards from
N's horizontal plane (`height_m` = -down).

The surface of every terrain is exact and the same for rays, contact and distances: a plane, or flat triangles over a
grid. Each cell of a grid, with corners 00, 10 (one step north), 01 (one step east) and 11, has the triangles (00, 10,
11) and (00, 11, 01). Beyond its rim a grid continues level, at right angles to the rim, without end. Hills are a recipe
for a grid.

Not modelled: caves and overhangs in a terrain (use meshes), soil that yields, waves on the water, the earth's
curvature below a world.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from ironbird.errors import WorldError, shortened
from ironbird.rotations import from_euler, matrix

FARTHEST_M = 1e6  # limit of any coordinate of a world
SMALLEST_M = 1e-4  # least size of anything
MOST_TRIANGLES = 4_000_000  # limit of one mesh
MOST_GRID_POINTS = 16_000_000
MOST_OBJECTS = 200_000
MOST_KNOTS = 100_000  # limit of a mover's path

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
LEVEL: Quaternion = (1.0, 0.0, 0.0, 0.0)


def _number(where: str, name: str, value: Any, low: float, high: float) -> float:
    """A finite number within its bounds; raises an error that names it."""
    if type(value) is float and low <= value <= high:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise WorldError(f"{where}: {name} is {shortened(repr(value))}; give a number")
    if not low <= value <= high:  # also false for NaN
        raise WorldError(f"{where}: {name} = {float(value):g} is outside [{low:g}, {high:g}]; give one within")
    return float(value)


def _vector(where: str, name: str, value: Any, most: float = FARTHEST_M) -> Vector:
    """Three finite numbers; raises an error that names them."""
    try:
        north, east, down = value
    except (TypeError, ValueError):
        raise WorldError(f"{where}: {name} is {shortened(repr(value))}; give three numbers") from None
    numbers = [_number(where, f"{name}[{i}]", v, -most, most) for i, v in enumerate((north, east, down))]
    return numbers[0], numbers[1], numbers[2]


def _quaternion(where: str, value: Any) -> Quaternion:
    """A unit quaternion; any nonzero length is normalised."""
    q = np.asarray(value, float)
    length = float(np.linalg.norm(q)) if q.shape == (4,) else math.nan
    if not 1e-6 < length < 1e6:
        raise WorldError(f"{where}: q_NB is {shortened(value)}; give four numbers w, x, y, z that are not all zero")
    w, x, y, z = (float(part) for part in q / length) if length != 1.0 else (float(part) for part in q)
    return w, x, y, z


def _frozen(array: Any, kind: type) -> np.ndarray:
    """A read-only copy of an array."""
    copy: np.ndarray = np.array(array, dtype=kind, order="C")
    copy.setflags(write=False)
    return copy


def upright(yaw_rad: float) -> Quaternion:
    """q_NB of an upright object with a heading in rad."""
    return math.cos(yaw_rad / 2), 0.0, 0.0, math.sin(yaw_rad / 2)


# ---------------------------------------------------------------------- materials


@dataclass(frozen=True)
class Material:
    """A surface material: friction, restitution, reflectance and colour.

    `reflectance` is the share of a lidar's light that comes back from a white-paper-like (Lambert) surface; `colour`
    is red, green, blue in linear light, 0 to 1. With `checker_m` > 0 the surface is a checkerboard of squares of that
    size, in `colour` and `colour_2`, which gives cameras visual features.
    """

    name: str
    friction: float = 0.6
    restitution: float = 0.2
    reflectance: float = 0.5
    colour: Vector = (0.5, 0.5, 0.5)
    colour_2: Vector = (0.3, 0.3, 0.3)
    checker_m: float = 0.0

    def __post_init__(self) -> None:
        where = f"material '{shortened(self.name)}'"
        for name, high in (("friction", 10.0), ("restitution", 1.0), ("reflectance", 1.0), ("checker_m", 1e4)):
            _number(where, name, getattr(self, name), 0.0, high)
        for name in ("colour", "colour_2"):
            value = _vector(where, name, getattr(self, name), 1.0)
            if min(value) < 0:
                raise WorldError(f"{where}: {name} is {value}; give red, green, blue between 0 and 1")
            object.__setattr__(self, name, value)


DEFAULT = Material("default")


# ---------------------------------------------------------------------- terrain


@dataclass(frozen=True)
class Plane:
    """Flat ground: `height_m` over the origin, rising by `slope_north` and `slope_east` metres per metre."""

    height_m: float = 0.0
    slope_north: float = 0.0
    slope_east: float = 0.0
    material: Material = DEFAULT

    def __post_init__(self) -> None:
        _number("terrain", "height_m", self.height_m, -FARTHEST_M, FARTHEST_M)
        for name in ("slope_north", "slope_east"):
            _number("terrain", name, getattr(self, name), -10.0, 10.0)

    def height_at(self, north_m: Any, east_m: Any) -> np.ndarray:
        """Height in m of the surface at positions."""
        north, east = np.asarray(north_m, float), np.asarray(east_m, float)
        return self.height_m + self.slope_north * north + self.slope_east * east

    def normal_at(self, north_m: Any, east_m: Any) -> np.ndarray:
        """Unit normals out of the ground at positions, in N."""
        return _normal(*np.broadcast_arrays(self.slope_north, self.slope_east + 0.0 * np.asarray(north_m, float)))


@dataclass(frozen=True, eq=False)
class Heightfield:
    """A grid of heights: `heights_m[i, j]` stands at north_m + i spacing, east_m + j spacing; flat triangles between.

    `material` is that of the whole ground.
    """

    heights_m: np.ndarray
    spacing_north_m: float
    spacing_east_m: float
    north_m: float = 0.0
    east_m: float = 0.0
    material: Material = DEFAULT

    def __post_init__(self) -> None:
        heights = np.asarray(self.heights_m)
        if heights.ndim != 2 or min(heights.shape) < 2:
            raise WorldError(f"terrain: the grid of heights has shape {heights.shape}; give at least 2 rows of 2")
        if heights.size > MOST_GRID_POINTS:
            raise WorldError(
                f"terrain: the grid has {heights.size} points, the most is {MOST_GRID_POINTS}; cut or thin it"
            )
        heights = _frozen(heights, float)
        wrong = ~(np.abs(heights) <= FARTHEST_M)  # also NaN
        if wrong.any():
            i, j = (int(n) for n in np.argwhere(wrong)[0])
            raise WorldError(
                f"terrain: {int(wrong.sum())} heights are not finite numbers, the first in row {i}, column {j} "
                f"({heights[i, j]}); fill the gaps of the elevation data before"
            )
        object.__setattr__(self, "heights_m", heights)
        for name in ("spacing_north_m", "spacing_east_m"):
            _number("terrain", name, getattr(self, name), SMALLEST_M, FARTHEST_M)
        for name, spacing, count in (
            ("north_m", self.spacing_north_m, heights.shape[0]), ("east_m", self.spacing_east_m, heights.shape[1]),
        ):  # fmt: skip
            first = _number("terrain", name, getattr(self, name), -FARTHEST_M, FARTHEST_M)
            _number("terrain", f"end of {name}", first + spacing * (count - 1), -FARTHEST_M, FARTHEST_M)

    def _cell(self, north_m: Any, east_m: Any) -> tuple[np.ndarray, ...]:
        """Corner heights 00, 10, 01, 11, the position in the cell (0 to 1), and whether it is on the grid."""
        rows, columns = self.heights_m.shape
        x = (np.asarray(north_m, float) - self.north_m) / self.spacing_north_m
        y = (np.asarray(east_m, float) - self.east_m) / self.spacing_east_m
        u, v = np.clip(x, 0.0, rows - 1.0), np.clip(y, 0.0, columns - 1.0)
        i = np.minimum(u.astype(np.int64), rows - 2)
        j = np.minimum(v.astype(np.int64), columns - 2)
        h = self.heights_m
        return h[i, j], h[i + 1, j], h[i, j + 1], h[i + 1, j + 1], u - i, v - j, x == u, y == v

    def height_at(self, north_m: Any, east_m: Any) -> np.ndarray:
        """Height in m of the triangles at positions."""
        h00, h10, h01, h11, u, v, _, _ = self._cell(north_m, east_m)
        near_north = h00 + u * (h10 - h00) + v * (h11 - h10)  # triangle 00, 10, 11
        near_east = h00 + v * (h01 - h00) + u * (h11 - h01)  # triangle 00, 11, 01
        return np.where(u >= v, near_north, near_east)

    def normal_at(self, north_m: Any, east_m: Any) -> np.ndarray:
        """Unit normals out of the ground, in N; beyond the rim the ground is level at right angles to it."""
        h00, h10, h01, h11, u, v, in_north, in_east = self._cell(north_m, east_m)
        north = np.where(u >= v, h10 - h00, h11 - h01) / self.spacing_north_m
        east = np.where(u >= v, h11 - h10, h01 - h00) / self.spacing_east_m
        return _normal(np.where(in_north, north, 0.0), np.where(in_east, east, 0.0))


def _normal(slope_north: np.ndarray, slope_east: np.ndarray) -> np.ndarray:
    """Unit normal out of the ground (up is -z) of a surface with these slopes."""
    length = np.sqrt(slope_north**2 + slope_east**2 + 1.0)
    return np.stack([-slope_north / length, -slope_east / length, -1.0 / length], axis=-1)


@dataclass(frozen=True)
class Hills:
    """Rolling hills as a recipe: waves of falling length in directions that a seed draws, sampled on a grid.

    `height_m` is the standard deviation of the heights around `base_m`, `length_m` the longest wave. Around the origin,
    out to `flat_m`, the ground is level at `base_m`, and it takes `flat_m` more to become hilly: a place to start from.
    A synthetic landscape; no erosion, no rivers.
    """

    height_m: float
    length_m: float
    size_m: float
    spacing_m: float
    seed: int = 0
    flat_m: float = 20.0
    base_m: float = 0.0
    material: Material = DEFAULT

    def __post_init__(self) -> None:
        _number("terrain", "height_m", self.height_m, 0.0, 1e4)
        _number("terrain", "base_m", self.base_m, -FARTHEST_M / 2, FARTHEST_M / 2)
        _number("terrain", "length_m", self.length_m, 0.1, FARTHEST_M)
        _number("terrain", "size_m", self.size_m, 0.1, FARTHEST_M)
        _number("terrain", "spacing_m", self.spacing_m, SMALLEST_M, self.size_m / 2)
        _number("terrain", "flat_m", self.flat_m, 0.0, FARTHEST_M)
        _number("terrain", "seed", self.seed, 0, 2**32 - 1)
        if (self.size_m / self.spacing_m + 1) ** 2 > MOST_GRID_POINTS:
            raise WorldError(
                f"terrain: size_m / spacing_m = {self.size_m / self.spacing_m:g} gives more than "
                f"{MOST_GRID_POINTS} points; make the spacing larger"
            )

    @functools.cached_property
    def grid(self) -> Heightfield:
        """The terrain as a grid of heights."""
        count = round(self.size_m / self.spacing_m) + 1
        place = (np.arange(count) - (count - 1) / 2) * self.spacing_m
        north, east = place[:, None], place[None, :]
        random = np.random.Generator(np.random.Philox(self.seed))
        heights, power = np.zeros((count, count)), 0.0
        for octave in range(5):
            for _ in range(4):
                angle, phase = random.uniform(0.0, 2 * math.pi, 2)
                k = 2 * math.pi * 2.0**octave / self.length_m
                share = 2.0**-octave  # equal slopes for all waves
                heights += share * np.sin(k * (math.cos(angle) * north + math.sin(angle) * east) + phase)
                power += share**2 / 2
        heights *= self.height_m / math.sqrt(power)
        if self.flat_m > 0:
            way = np.clip(np.sqrt(north**2 + east**2) / self.flat_m - 1.0, 0.0, 1.0)
            heights *= way * way * (3.0 - 2.0 * way)  # smooth step
        heights = np.round(heights + self.base_m, 6)  # the last bits of sine differ between machines
        first = float(place[0])
        return Heightfield(heights, self.spacing_m, self.spacing_m, first, first, self.material)

    def height_at(self, north_m: Any, east_m: Any) -> np.ndarray:
        """Height in m of the triangles at positions."""
        return self.grid.height_at(north_m, east_m)

    def normal_at(self, north_m: Any, east_m: Any) -> np.ndarray:
        """Unit normals out of the ground at positions, in N."""
        return self.grid.normal_at(north_m, east_m)


Terrain = Plane | Hills | Heightfield


@dataclass(frozen=True)
class Water:
    """Water with a level surface at `height_m`; below it, where the terrain is lower, there is water."""

    height_m: float = 0.0
    material: Material = Material("water", 0.0, 0.0, 0.03, (0.05, 0.15, 0.25), (0.04, 0.12, 0.2), 2.0)

    def __post_init__(self) -> None:
        _number("water", "height_m", self.height_m, -FARTHEST_M, FARTHEST_M)


# ---------------------------------------------------------------------- obstacles


@dataclass(frozen=True)
class _Shape:
    """An object with its pose: `p_N_m` is the centre (of a mesh: its origin), `q_NB` rotates its own axes to N.

    `label` is its class in semantic images: building, tree, car …
    """

    name: str
    p_N_m: Vector
    q_NB: Quaternion = LEVEL
    material: Material = DEFAULT
    label: str = "obstacle"

    def __post_init__(self) -> None:
        object.__setattr__(self, "p_N_m", _vector(self.where, "p_N_m", self.p_N_m))
        object.__setattr__(self, "q_NB", _quaternion(self.where, self.q_NB))

    @property
    def where(self) -> str:
        """Name of the object for messages."""
        return f"{type(self).__name__.lower()} '{shortened(self.name)}'"

    @property
    def R_NB(self) -> np.ndarray:
        """Rotation matrix from the object's own axes to N."""
        return matrix(self.q_NB)


@dataclass(frozen=True)
class Box(_Shape):
    """A box, `size_m` along its own x, y and z."""

    size_m: Vector = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        size = _vector(self.where, "size_m", self.size_m)
        for axis, length in enumerate(size):
            _number(self.where, f"size_m[{axis}]", length, SMALLEST_M, FARTHEST_M)
        object.__setattr__(self, "size_m", size)


@dataclass(frozen=True)
class Cylinder(_Shape):
    """A cylinder with flat ends; its axis is its own z."""

    radius_m: float = 0.5
    height_m: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("radius_m", "height_m"):
            _number(self.where, name, getattr(self, name), SMALLEST_M, FARTHEST_M)


@dataclass(frozen=True)
class Sphere(_Shape):
    """A sphere with a radius in m."""

    radius_m: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        _number(self.where, "radius_m", self.radius_m, SMALLEST_M, FARTHEST_M)


def equal_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows of a matrix in order, and the index of each row among them: `np.unique`, but faster."""
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    is_first = np.ones(len(rows), bool)
    is_first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    numbers = np.empty(len(rows), np.int64)
    numbers[order] = np.cumsum(is_first) - 1
    return ordered[is_first], numbers


@dataclass(frozen=True, eq=False)
class Mesh(_Shape):
    """Triangles in own axes: `vertices_m` (n, 3) and `triangles` (m, 3), counter-clockwise seen from outside.

    Both sides of a triangle stop rays. Only a closed mesh has an inside; of an open one (a sheet) there is none.
    """

    vertices_m: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    triangles: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), np.int64))

    def __post_init__(self) -> None:
        super().__post_init__()
        if max(len(self.vertices_m), len(self.triangles)) > MOST_TRIANGLES:
            raise WorldError(
                f"{self.where}: {len(self.triangles)} triangles and {len(self.vertices_m)} vertices, the most is "
                f"{MOST_TRIANGLES}; decimate the mesh"
            )
        try:
            vertices, triangles = _frozen(self.vertices_m, float), _frozen(self.triangles, np.int64)
        except (TypeError, ValueError) as error:
            raise WorldError(f"{self.where}: vertices or triangles are no numbers: {shortened(error)}") from None
        if vertices.ndim != 2 or vertices.shape[1:] != (3,) or triangles.ndim != 2 or triangles.shape[1:] != (3,):
            raise WorldError(
                f"{self.where}: vertices have shape {vertices.shape} and triangles {triangles.shape}; "
                "both need three columns"
            )
        if not len(triangles):
            raise WorldError(f"{self.where}: it has no triangles; export the object with its faces")
        wrong = np.flatnonzero(~(np.abs(vertices) <= FARTHEST_M).all(axis=1))
        if len(wrong):
            raise WorldError(
                f"{self.where}: vertex {wrong[0]} is {vertices[wrong[0]].tolist()}; coordinates are finite and at "
                f"most {FARTHEST_M:g} m"
            )
        wrong = np.flatnonzero(((triangles < 0) | (triangles >= len(vertices))).any(axis=1))
        if len(wrong):
            raise WorldError(
                f"{self.where}: triangle {wrong[0]} names vertices {triangles[wrong[0]].tolist()}, there are "
                f"{len(vertices)}; the mesh file is broken"
            )
        object.__setattr__(self, "vertices_m", vertices)
        object.__setattr__(self, "triangles", triangles)
        if self.closed and self.volume_m3 < 0:
            raise WorldError(
                f"{self.where}: its triangles are clockwise seen from outside (volume {self.volume_m3:g} m3), so its "
                "normals point inwards; turn them round (flip = true)"
            )
        if not self.closed and self._watertight:
            raise WorldError(
                f"{self.where}: some of its triangles are turned round against their neighbours, so it has no outside; "
                "let your mesh program make its normals consistent"
            )

    def _corners(self) -> np.ndarray:
        """Triangles (n, 3) without those of zero area; vertices at equal positions count as one.

        Many exporters write each corner of a face for itself.
        """
        corners = equal_rows(self.vertices_m)[1][self.triangles]
        return np.asarray(
            corners[
                (corners[:, 0] != corners[:, 1]) & (corners[:, 1] != corners[:, 2]) & (corners[:, 2] != corners[:, 0])
            ]
        )

    @property
    def _watertight(self) -> bool:
        """Whether every edge belongs to two triangles, in any direction."""
        corners = self._corners()
        ends = np.sort(np.stack([corners, corners[:, [1, 2, 0]]], axis=-1).reshape(-1, 2), axis=1)
        counts = np.bincount(equal_rows(ends)[1])
        return bool(len(counts) and (counts == 2).all())

    @functools.cached_property
    def closed(self) -> bool:
        """Whether every edge belongs to two triangles that run along it in opposite directions."""
        corners = self._corners()
        if not len(corners):
            return False
        a, b = corners.reshape(-1), corners[:, [1, 2, 0]].reshape(-1)
        count = int(corners.max()) + 1
        there, back = np.sort(a * count + b), np.sort(b * count + a)
        return bool(np.array_equal(there, back) and (np.diff(there) > 0).all())

    @functools.cached_property
    def volume_m3(self) -> float:
        """The signed volume of a closed mesh: sum of a . (b x c) / 6 over its triangles."""
        a, b, c = (self.vertices_m[self.triangles[:, corner]] for corner in range(3))
        return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


Obstacle = Box | Cylinder | Sphere | Mesh


# ---------------------------------------------------------------------- pads and movers


@dataclass(frozen=True)
class Pad:
    """A round landing pad on the ground, or on a mover's deck; it has no thickness.

    With `marker` of 0 or more it carries a square black-and-white marker with that number, its side 1.2 times
    the radius, which cameras see (`world/marker.py`).
    """

    name: str
    north_m: float
    east_m: float
    radius_m: float = 1.0
    yaw_rad: float = 0.0
    marker: int = -1
    mover: str = ""  # lies on this mover; north and east are then forward and right of its centre
    material: Material = Material("pad", colour=(0.25, 0.25, 0.25), reflectance=0.3)

    def __post_init__(self) -> None:
        where = f"pad '{shortened(self.name)}'"
        for name in ("north_m", "east_m"):
            _number(where, name, getattr(self, name), -FARTHEST_M, FARTHEST_M)
        _number(where, "radius_m", self.radius_m, 0.01, 1e4)
        _number(where, "yaw_rad", self.yaw_rad, -1e3, 1e3)
        _number(where, "marker", self.marker, -1, 4095)


@dataclass(frozen=True)
class Sway:
    """Motion of a ship on waves: heave, roll and pitch as sines of one period, each with its own phase of the wave.

    A regular sea from one side; no drift, no irregular waves.
    """

    period_s: float = 8.0
    heave_m: float = 0.0
    roll_rad: float = 0.0
    pitch_rad: float = 0.0

    def __post_init__(self) -> None:
        _number("sway", "period_s", self.period_s, 0.1, 1e4)
        _number("sway", "heave_m", self.heave_m, 0.0, 100.0)
        _number("sway", "roll_rad", self.roll_rad, 0.0, 1.5)
        _number("sway", "pitch_rad", self.pitch_rad, 0.0, 1.5)

    def at(self, time_s: float) -> tuple[float, float, float]:
        """Heave in m (down positive), roll and pitch in rad; the turns lag heave by a quarter period."""
        angle = 2 * math.pi * time_s / self.period_s
        return -self.heave_m * math.sin(angle), self.roll_rad * math.cos(angle), self.pitch_rad * math.cos(angle)


@dataclass(frozen=True, eq=False)
class Mover:
    """An object on a script: at `times_s` it is at `positions_m` (k, 3) with `euler_rad` (k, 3) roll, pitch, yaw.

    Between them it moves linearly and turns the shorter way. Before the first time it waits there, after the last one
    it stays, or begins again if it `repeat`s. The object's own pose is on top of this. It moves as given, whatever
    hits it.
    """

    name: str
    shape: Obstacle
    times_s: np.ndarray
    positions_m: np.ndarray
    euler_rad: np.ndarray
    repeat: bool = False
    sway: Sway | None = None

    def __post_init__(self) -> None:
        where = f"mover '{shortened(self.name)}'"
        try:
            times, places, turns = (_frozen(a, float) for a in (self.times_s, self.positions_m, self.euler_rad))
        except (TypeError, ValueError) as error:
            raise WorldError(f"{where}: its path is no table of numbers: {shortened(error)}") from None
        if times.ndim != 1 or not 1 <= len(times) <= MOST_KNOTS or places.shape != (len(times), 3):
            raise WorldError(
                f"{where}: {times.size} times and {places.shape} positions; give 1 to {MOST_KNOTS} rows of three"
            )
        if turns.shape != places.shape:
            raise WorldError(f"{where}: {places.shape} positions and {turns.shape} turns; give one for each time")
        if not (np.abs(places) <= FARTHEST_M).all() or not (np.abs(turns) <= 1e3).all():
            raise WorldError(f"{where}: a position or turn is not finite or beyond {FARTHEST_M:g} m; correct the path")
        if not (np.diff(times) > 0).all() or not (np.abs(times) <= 1e7).all():
            raise WorldError(f"{where}: times {shortened(times.tolist())} do not rise; put them in order")
        if times[0] < 0:
            raise WorldError(f"{where}: its first time is {times[0]:g} s; flights begin at 0")
        if self.repeat and len(times) < 2:
            raise WorldError(f"{where}: it repeats a path of one time; give at least two")
        for name, value in (("times_s", times), ("positions_m", places)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "euler_rad", _frozen(np.unwrap(turns, axis=0), float))

    def pose_at(self, time_s: float) -> tuple[np.ndarray, np.ndarray]:
        """Position p_N_m and attitude q_NB at a time in s."""
        knots = self.times_s
        on_path = float(time_s)
        if self.repeat and on_path > knots[0]:
            on_path = float(knots[0]) + math.fmod(on_path - float(knots[0]), float(knots[-1] - knots[0]))
        place = np.array([np.interp(on_path, knots, self.positions_m[:, axis]) for axis in range(3)])
        turn = np.array([np.interp(on_path, knots, self.euler_rad[:, axis]) for axis in range(3)])
        if self.sway is not None:
            heave, roll, pitch = self.sway.at(float(time_s))
            place[2] += heave
            turn += (roll, pitch, 0.0)
        return place, from_euler(turn)

    def velocity_at(self, time_s: float) -> np.ndarray:
        """Velocity of its origin in N, m/s: the difference over 2 ms."""
        before = max(time_s - 1e-3, 0.0)
        return (self.pose_at(time_s + 1e-3)[0] - self.pose_at(before)[0]) / (time_s + 1e-3 - before)


# ---------------------------------------------------------------------- the world


@dataclass(frozen=True)
class Origin:
    """Geodetic position of N's origin; `height_m` above mean sea level."""

    latitude_deg: float
    longitude_deg: float
    height_m: float = 0.0

    def __post_init__(self) -> None:
        _number("origin", "latitude_deg", self.latitude_deg, -90.0, 90.0)
        _number("origin", "longitude_deg", self.longitude_deg, -180.0, 180.0)
        _number("origin", "height_m", self.height_m, -12e3, 1e5)


@dataclass(frozen=True)
class Light:
    """Light for cameras: direction of the sun, colour of the sky, and fog.

    `visibility_m` is the meteorological optical range, at which 5 % of the contrast is left (0: clear).
    """

    sun_azimuth_rad: float = 2.5
    sun_elevation_rad: float = 0.8
    ambient: float = 0.35
    sky: Vector = (0.55, 0.7, 0.9)
    visibility_m: float = 0.0

    def __post_init__(self) -> None:
        _number("light", "sun_azimuth_rad", self.sun_azimuth_rad, -7.0, 7.0)
        _number("light", "sun_elevation_rad", self.sun_elevation_rad, -math.pi / 2, math.pi / 2)
        _number("light", "ambient", self.ambient, 0.0, 1.0)
        _number("light", "visibility_m", self.visibility_m, 0.0, FARTHEST_M)
        object.__setattr__(self, "sky", _vector("light", "sky", self.sky, 1.0))


@dataclass(frozen=True)
class World:
    """Everything around the vehicles: terrain, obstacles, water, pads, movers and light."""

    name: str
    title: str = ""
    terrain: Terrain = Plane()
    obstacles: tuple[Obstacle, ...] = ()
    materials: Mapping[str, Material] = field(default_factory=dict)
    water: Water | None = None
    pads: tuple[Pad, ...] = ()
    movers: tuple[Mover, ...] = ()
    origin: Origin | None = None
    light: Light = Light()
    missing: tuple[str, ...] = ()  # content of an imported file that a world does not support
    lee: bool = False  # the steady wind is weaker behind buildings

    def __post_init__(self) -> None:
        for name in ("obstacles", "pads", "movers"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if len(self.obstacles) + len(self.movers) > MOST_OBJECTS:
            raise WorldError(
                f"world '{shortened(self.name)}' has {len(self.obstacles)} obstacles and {len(self.movers)} movers; "
                f"the most is {MOST_OBJECTS}: join some into meshes"
            )
        _once("obstacle or mover", [*(o.name for o in self.obstacles), *(m.name for m in self.movers)])
        _once("pad", [p.name for p in self.pads])
        names = {mover.name for mover in self.movers}
        for pad in self.pads:
            if pad.mover and pad.mover not in names:
                known = ", ".join(sorted(names)) or "none"
                raise WorldError(f"pad '{pad.name}' is on mover '{pad.mover}', which is not there; there is {known}")

    @functools.cached_property
    def ground(self) -> Plane | Heightfield:
        """The terrain's surface for rays and contact."""
        return self.terrain.grid if isinstance(self.terrain, Hills) else self.terrain

    def height_at(self, north_m: Any, east_m: Any) -> np.ndarray:
        """Height in m of the ground (below water: of its floor) at positions; obstacles do not count."""
        return self.ground.height_at(north_m, east_m)

    def mover(self, name: str) -> Mover:
        """The mover with a name; raises if there is none."""
        match = next((mover for mover in self.movers if mover.name == name), None)
        if match is None:
            known = ", ".join(mover.name for mover in self.movers) or "none"
            raise WorldError(f"world '{self.name}' has no mover '{shortened(name)}'; there is {known}")
        return match

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the world's content: equal for equal worlds, whatever file they come from."""
        digest = hashlib.sha256()
        _feed_hash(digest, self)
        return digest.hexdigest()


def _once(what: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str) or not name:
            raise WorldError(f"{what} {shortened(repr(name))}: its name is no text; give one")
        if name in seen:
            raise WorldError(f"{what} '{shortened(name)}' is there twice; give each its own name")
        seen.add(name)


def _feed_hash(digest: Any, value: Any) -> None:
    """Feed a value, its type and its parts to a hash."""
    if is_dataclass(value):
        digest.update(f"<{type(value).__name__}".encode())
        for one in fields(value):
            if one.name == "lee" and not getattr(value, one.name):  # keeps the digests of earlier versions
                continue
            digest.update(f" {one.name}=".encode())
            _feed_hash(digest, getattr(value, one.name))
        digest.update(b">")
    elif isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode() + value.tobytes())
    elif isinstance(value, Mapping):
        _feed_hash(digest, sorted(value.items()))
    elif isinstance(value, list | tuple):
        digest.update(f"({len(value)}".encode())
        for entry in value:
            _feed_hash(digest, entry)
        digest.update(b")")
    else:
        digest.update(f"{type(value).__name__}:{value!r};".encode())
