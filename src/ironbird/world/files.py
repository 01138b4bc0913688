"""Worlds from files: Ironbird's TOML, Gazebo's SDF, Aerialist's YAML; and the ones that come with Ironbird, by name."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from ironbird.errors import UnknownNameError, WorldError, shortened
from ironbird.files.problems import (
    Problem,
    Source,
    grammar_words,
    near_words,
    noting_reads,
    other_kind,
    read_bytes,
    read_source,
    schema_problems,
)
from ironbird.files.registry import Registry
from ironbird.files.toml_text import KeyPath
from ironbird.rotations import from_euler
from ironbird.world import grammar as g
from ironbird.world.imports import parse, read_grid, read_mesh
from ironbird.world.imports.aerialist import read_aerialist
from ironbird.world.imports.sdf import grid_of, read_sdf
from ironbird.world.imports.tile import Tile
from ironbird.world.model import (
    DEFAULT,
    LEVEL,
    Box,
    Cylinder,
    Heightfield,
    Hills,
    Light,
    Material,
    Mesh,
    Mover,
    Obstacle,
    Origin,
    Pad,
    Plane,
    Sphere,
    Sway,
    Terrain,
    Water,
    World,
)

BUILT_IN = Path(__file__).parent / "worlds"
SCHEMA = 1
OTHERS = {".sdf": read_sdf, ".world": read_sdf, ".yaml": read_aerialist, ".yml": read_aerialist}
AXES = {  # of a mesh file to Ironbird's: forward (north), right (east), down
    "z": np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]]),
    "y": np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]),
    "ned": np.eye(3),
}
DRAWS = 200  # places that are tried for one thing that is strewn


WORLDS: Registry[Path] = Registry(
    "worlds",
    {name.removesuffix(".toml"): name for name in sorted(os.listdir(BUILT_IN)) if name.endswith(".toml")},
    Path,
    what="world",
    listed_by="ironbird world list",
    error=WorldError,
)  # those of packages and users are paths of files


def world_names() -> list[str]:
    """Worlds by name: those that come with Ironbird, with packages, and those of the user."""
    return list(WORLDS)


def is_built_in(name: str) -> bool:
    """Whether a world comes with Ironbird."""
    return WORLDS.is_own(name)


def load_world(name: str | Path) -> World:
    """A world by name (`forest`), or from a file: .toml, .sdf or .world (Gazebo), .yaml (Aerialist's obstacles)."""
    path = Path(name)
    suffix = path.suffix.lower()
    if suffix in OTHERS:
        try:
            data = read_bytes(path)
        except (OSError, ValueError) as error:
            raise WorldError(f"{path}: cannot read it: {getattr(error, 'strerror', error)}; give a file") from None
        return parse(data, path, OTHERS[suffix], "world")
    if suffix != ".toml":
        if not is_built_in(str(name)):
            return load_world(WORLDS.load(str(name)))
        path = BUILT_IN / f"{name}.toml"
    source = read_source(path, f"give one of {', '.join(world_names())}, or the path of a file")
    if isinstance(source, Problem):
        raise WorldError(source)
    return world_of(source)


def world_files(path: str | Path) -> list[Path]:
    """All files of a world that is a file: itself first, then meshes, elevation and what these take."""
    with noting_reads() as noted:
        load_world(path)
    return list(dict.fromkeys(noted))


def world_of(source: Source) -> World:
    """The world of a TOML file that was read; all problems of its grammar in one error."""
    if problems := other_kind(source, "terrain") or schema_problems(source, SCHEMA):
        raise WorldError(*problems)
    try:
        table = g.WorldTable.model_validate(source.data)
    except ValidationError as error:
        found = grammar_words(g.WorldTable, source.data, error)
        raise WorldError(*(source.problem(*words) for words in found)) from None
    return _Builder(source, table).world()


class _Builder:
    """From the tables of a file to a world; every error says the table it is about."""

    def __init__(self, source: Source, table: g.WorldTable) -> None:
        self.source, self.table = source, table
        self.materials = {name: _material(name, entry) for name, entry in table.material.items()}
        self.ground: Terrain = Plane()
        self.place: Origin | None = None

    def world(self) -> World:
        table = self.table
        self.ground = self._within(("terrain",), self._terrain)
        things: list[Obstacle] = []
        for kind in ("box", "cylinder", "sphere", "mesh"):
            for number, entry in enumerate(getattr(table, kind)):
                make = getattr(self, f"_{kind}")
                name = entry.name or f"{kind}_{number + 1}"
                things.append(self._within((kind, number), make, entry, name))
        for number, entry in enumerate(table.scatter):
            things += self._within(("scatter", number), self._scatter, entry)
        movers = [self._within(("mover", n), self._mover, entry) for n, entry in enumerate(table.mover)]
        pads = [self._within(("pad", n), self._pad, entry) for n, entry in enumerate(table.pad)]
        water = self._within(("water",), self._water) if table.water else None
        origin = Origin(**table.origin.model_dump()) if table.origin else self.place
        return self._within(
            (),
            lambda: World(
                self.source.path.stem, table.title, self.ground, tuple(things), self.materials, water, tuple(pads),
                tuple(movers), origin, self._light(), lee=table.lee,
            ),
        )  # fmt: skip

    def _within(self, path: KeyPath, make: Any, *arguments: Any) -> Any:
        """Call, and let an error say where in the file it is."""
        try:
            return make(*arguments)
        except WorldError as error:
            if error.problems and isinstance(error.problems[0], Problem):
                raise
            message, _, cure = str(error).rpartition("; ")
            raise WorldError(self.source.problem(path, message or cure, cure if message else "correct it")) from None

    def _named(self, name: str | None, otherwise: Material = DEFAULT) -> Material:
        if name is None:
            return otherwise
        if name not in self.materials:
            unknown = UnknownNameError("material", name, self.materials)
            raise WorldError(f"material '{shortened(name)}' is not there; {near_words(unknown, 'add its table')}")
        return self.materials[name]

    def _file(self, name: str) -> Path:
        """A file that the world names: in its folder or below, so that the whole can be moved and kept."""
        path = Path(name)
        folder = self.source.path.parent
        inside = not path.is_absolute() and ".." not in path.parts and "\0" not in name and bool(path.parts)
        with contextlib.suppress(OSError, RuntimeError):  # a ring of links: reading it says so
            inside = inside and (folder / path).resolve().is_relative_to(folder.resolve())
        if not inside:
            raise WorldError(f"file '{shortened(name)}' is not below the world's folder; put it beside the world")
        return folder / path

    # ------------------------------------------------------------------ ground

    def _terrain(self) -> Terrain:
        t = self.table.terrain
        material = self._named(t.material)
        given = t.model_fields_set - {"kind", "material"}
        allowed = {
            "plane": {"height_m", "slope_north", "slope_east"},
            "hills": {"height_m", "length_m", "size_m", "spacing_m", "seed", "flat_m", "base_m"},
            "grid": {"file", "heights_m", "height_m", "spacing_m", "spacing_north_m", "spacing_east_m", "north_m",
                     "east_m", "low_m", "high_m", "latitude_deg", "longitude_deg", "extent_m"},
        }[t.kind]  # fmt: skip
        if given - allowed:
            raise WorldError(
                f"{', '.join(sorted(given - allowed))} has no meaning for a terrain of kind {t.kind}; it takes "
                f"{', '.join(sorted(allowed))}"
            )
        if t.kind == "plane":
            return Plane(t.height_m, t.slope_north, t.slope_east, material)
        if t.kind == "hills":
            spacing = t.spacing_m or t.size_m / 200
            return Hills(t.height_m, t.length_m, t.size_m, spacing, t.seed, t.flat_m, t.base_m, material)
        return self._grid(t, material)

    def _grid(self, t: g.TerrainTable, material: Material) -> Heightfield:
        if (t.file is None) == (t.heights_m is None):
            raise WorldError("a grid has either file or heights_m; give one of them")
        if t.heights_m is not None:
            widths = {len(row) for row in t.heights_m}
            if len(widths) != 1:
                raise WorldError(f"rows of heights_m have {sorted(widths)[:2]} numbers; give each row as many")
            tile = Tile(np.array(t.heights_m, float))
        else:
            tile = read_grid(self._file(str(t.file)))
        where = (t.latitude_deg, t.longitude_deg, t.extent_m)
        if any(value is not None for value in where):
            if t.latitude_deg is None or t.longitude_deg is None or t.extent_m is None:
                raise WorldError("a part of a tile needs latitude_deg, longitude_deg and extent_m; give all three")
            tile = tile.cut(t.latitude_deg, t.longitude_deg, t.extent_m)
        north, east = tile.spacing_m()
        north, east = t.spacing_north_m or t.spacing_m or north, t.spacing_east_m or t.spacing_m or east
        if not (north > 0 and east > 0):
            raise WorldError("the grid does not say how far its heights are apart; give spacing_m")
        heights = tile.heights
        if tile.picture:
            heights = t.low_m + heights * (t.high_m - t.low_m)
        rows, columns = heights.shape
        shift = 0.0
        if tile.degrees:  # the middle becomes the origin
            latitude, longitude = tile.middle
            sample = grid_of(tile, heights, rows - 1.0, columns - 1.0, 0.0, 0.0, material)
            shift = round(float(sample.height_at(0.0, 0.0)), 3)
            self.place = Origin(latitude, longitude, shift - t.height_m)
        return grid_of(
            tile, heights - shift + t.height_m, north * (rows - 1), east * (columns - 1), t.north_m, t.east_m, material
        )

    def _water(self) -> Water:
        assert self.table.water is not None
        return Water(self.table.water.height_m, self._named(self.table.water.material, Water().material))

    def _light(self) -> Light:
        entry = self.table.light
        azimuth = math.remainder(math.radians(entry.sun_azimuth_deg), 2 * math.pi)
        red, green, blue = entry.sky
        elevation = math.radians(entry.sun_elevation_deg)
        return Light(azimuth, elevation, entry.ambient, (red, green, blue), entry.visibility_m)

    # ------------------------------------------------------------------ things

    def _at(self, entry: g.ThingTable, name: str, half_m: float, on_path: bool = False) -> dict[str, Any]:
        """What all things have; the foot stands on the ground below the middle."""
        foot = entry.height_m
        if entry.above == "ground" and not on_path:
            foot += float(self.ground.height_at(entry.north_m, entry.east_m))
        turn = LEVEL
        if entry.roll_deg or entry.pitch_deg or entry.yaw_deg:
            q = from_euler([math.radians(a) for a in (entry.roll_deg, entry.pitch_deg, entry.yaw_deg)])
            turn = (float(q[0]), float(q[1]), float(q[2]), float(q[3]))
        return {
            "name": name,
            "p_N_m": (entry.north_m, entry.east_m, -(foot + half_m)),
            "q_NB": turn,
            "material": self._named(entry.material),
            "label": entry.label,
        }

    def _box(self, entry: g.BoxTable, name: str, on_path: bool = False) -> Box:
        x, y, z = entry.size_m
        return Box(**self._at(entry, name, z / 2, on_path), size_m=(x, y, z))

    def _cylinder(self, entry: g.CylinderTable, name: str, on_path: bool = False) -> Cylinder:
        at = self._at(entry, name, entry.tall_m / 2, on_path)
        return Cylinder(**at, radius_m=entry.radius_m, height_m=entry.tall_m)

    def _sphere(self, entry: g.SphereTable, name: str, on_path: bool = False) -> Sphere:
        return Sphere(**self._at(entry, name, entry.radius_m, on_path), radius_m=entry.radius_m)

    def _mesh(self, entry: g.MeshTable, name: str, on_path: bool = False) -> Mesh:
        path = self._file(entry.file)
        vertices, triangles = read_mesh(path)
        axes = AXES[entry.up or ("y" if path.suffix.lower() in (".gltf", ".glb") else "z")]
        if entry.flip:
            triangles = triangles[:, ::-1]
        return Mesh(
            **self._at(entry, name, 0.0, on_path), vertices_m=entry.scale * vertices @ axes.T, triangles=triangles
        )

    def _scatter(self, entry: g.ScatterTable) -> list[Obstacle]:
        """Places one by one; a place too near to another one is drawn again."""
        for key, (low, high) in (("tall_m", entry.tall_m), ("wide_m", entry.wide_m)):
            if low > high:
                raise WorldError(f"{key} goes from {low:g} to {high:g}; write the smaller number first")
        random = np.random.Generator(np.random.Philox(entry.seed))
        places = np.zeros((0, 2))
        things: list[Obstacle] = []
        for number in range(entry.count):
            for _ in range(DRAWS):
                place = np.round(random.uniform(-0.5, 0.5, 2) * entry.extent_m + (entry.north_m, entry.east_m), 3)
                away = math.hypot(*place)
                if away >= entry.free_m and (not len(places) or _nearest(places, place) >= entry.apart_m):
                    break
            else:
                raise WorldError(
                    f"only {number} of {entry.count} things find a place {entry.apart_m:g} m apart on "
                    f"{entry.extent_m:g} m; strew fewer, or nearer to each other"
                )
            places = np.vstack([places, place])
            tall, wide = (round(float(random.uniform(a, b)), 3) for a, b in (entry.tall_m, entry.wide_m))
            turn = round(float(random.uniform(0, 2 * math.pi)), 3)
            things += self._strewn(entry, f"{entry.name}_{number + 1}", place, tall, wide, turn)
        return things

    def _strewn(
        self, entry: g.ScatterTable, name: str, place: np.ndarray, tall: float, wide: float, turn: float
    ) -> list[Obstacle]:
        north, east = float(place[0]), float(place[1])
        ground = float(self.ground.height_at(north, east))
        material, label = self._named(entry.material), entry.label or entry.kind
        q = (math.cos(turn / 2), 0.0, 0.0, math.sin(turn / 2))
        if entry.kind == "box":
            box = Box(name, (north, east, -(ground + tall / 2)), q, material, label, size_m=(wide, wide, tall))
            return [box]
        if entry.kind == "rock":
            return [Sphere(name, (north, east, -(ground + 0.2 * wide)), q, material, label, radius_m=wide / 2)]
        crown = round(0.3 * tall, 3)  # its radius
        leaves = self._named(entry.crown_material, material)
        trunk = Cylinder(
            f"{name}_trunk", (north, east, -(ground + tall / 2 - 0.25)), q, material, label, radius_m=wide / 2,
            height_m=tall - crown + 0.5,
        )  # fmt: skip
        at = (north, east, -(ground + tall - crown))
        return [trunk, Sphere(f"{name}_crown", at, q, leaves, label, radius_m=crown)]

    def _pad(self, entry: g.PadTable) -> Pad:
        return Pad(
            entry.name, entry.north_m, entry.east_m, entry.radius_m, math.radians(entry.yaw_deg),
            -1 if entry.marker is None else entry.marker, entry.mover or "",
            self._named(entry.material, Material("pad", colour=(0.25, 0.25, 0.25), reflectance=0.3)),
        )  # fmt: skip

    def _mover(self, entry: g.MoverTable) -> Mover:
        shapes = {kind: getattr(entry, kind) for kind in ("box", "cylinder", "sphere", "mesh")}
        given = [kind for kind, shape in shapes.items() if shape is not None]
        if len(given) != 1:
            raise WorldError(
                f"mover '{entry.name}' has {', '.join(given) or 'no shape'}; give one of {', '.join(shapes)}"
            )
        shape = getattr(self, f"_{given[0]}")(shapes[given[0]], entry.name, True)
        path = np.array(entry.path, float)
        turns = np.zeros((len(path), 3))
        turns[:, 2] = np.radians(path[:, 4])
        sway = None
        if entry.sway:
            roll, pitch = math.radians(entry.sway.roll_deg), math.radians(entry.sway.pitch_deg)
            sway = Sway(entry.sway.period_s, entry.sway.heave_m, roll, pitch)
        places = path[:, 1:4] * [1.0, 1.0, -1.0]
        return Mover(entry.name, shape, path[:, 0], places, turns, entry.repeat, sway)


def _nearest(places: np.ndarray, place: np.ndarray) -> float:
    return float(np.sqrt(((places - place) ** 2).sum(axis=1).min()))


def _material(name: str, entry: g.MaterialTable) -> Material:
    red, green, blue = entry.colour
    second = entry.colour_2 or [0.7 * part for part in entry.colour]
    return Material(
        name, entry.friction, entry.restitution, entry.reflectance, (red, green, blue),
        (second[0], second[1], second[2]), entry.checker_m,
    )  # fmt: skip
