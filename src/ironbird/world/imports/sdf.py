"""Gazebo worlds (SDFormat): boxes, cylinders, spheres, planes, meshes, heightmaps, actors on scripts.

Gazebo's axes are x east, y north, z up, and forward-left-up for an object. Shapes are those of the collisions, colours
those of a link's visual. Includes are searched next to the world, as FOLDER/model.sdf or models/FOLDER/model.sdf;
nothing is fetched. Elements without a counterpart are listed in `World.missing`: joints, plugins, lights, wind, and
missing models. Models do not move, even those that are not static. Source: sdformat.org, specification 1.9.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from ironbird.errors import WorldError, shortened
from ironbird.files.problems import read_bytes
from ironbird.files.xml_tree import read_xml
from ironbird.rotations import from_euler, from_matrix, matrix
from ironbird.world.imports.tile import Tile
from ironbird.world.model import (
    DEFAULT,
    Box,
    Cylinder,
    Heightfield,
    Light,
    Material,
    Mesh,
    Mover,
    Obstacle,
    Origin,
    Plane,
    Sphere,
    World,
)

ENU = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])  # east-north-up to north-east-down
FLU = np.diag([1.0, -1.0, -1.0])  # forward-left-up to forward-right-down
DEEPEST = 8  # limit for nested includes and models
PERSON_M = (0.5, 0.5, 1.8)  # m, size of an actor, whose skin is not read


@dataclass
class _Scene:
    """Objects collected so far from the file."""

    folder: Path
    things: list[Obstacle] = field(default_factory=list)
    movers: list[Mover] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    ground: Plane | Heightfield | None = None
    names: set[str] = field(default_factory=set)

    def name(self, base: str) -> str:
        """A name made unique among those collected so far."""
        name, number = base, 2
        while name in self.names:
            name, number = f"{base}_{number}", number + 1
        self.names.add(name)
        return name


def read_sdf(data: bytes, path: Path) -> World:
    """The first world of an SDF file."""
    root = read_xml(data, WorldError)
    world = root if root.tag == "world" else root.find("world")
    if world is None:
        raise WorldError("it has no <world>; give a world file of Gazebo")
    scene = _Scene(path.parent)
    for element in world:
        if element.tag == "model":
            _model(element, np.eye(4), scene, 0)
        elif element.tag == "include":
            _include(element, np.eye(4), scene, 0)
        elif element.tag == "actor":
            _actor(element, scene)
        elif element.tag in ("plugin", "wind", "road", "population"):
            scene.missing.append(f"<{element.tag}> {shortened(element.get('name', ''))}".strip())
    if scene.ground is None:
        scene.missing.append("ground: the world has neither plane nor heightmap; it lies flat at height 0")
    return World(
        name=world.get("name") or path.stem,
        title=f"Gazebo world {path.name}",
        terrain=scene.ground or Plane(),
        obstacles=tuple(scene.things),
        movers=tuple(scene.movers),
        origin=_origin(world),
        light=_light(world),
        missing=tuple(dict.fromkeys(scene.missing)),
    )


def _numbers(element: Element | None, count: int, otherwise: Any) -> np.ndarray:
    """The numbers in an element's text; `otherwise` if there are none."""
    if element is None or not (element.text or "").strip():
        return np.array(otherwise, float)
    numbers = [float(word) for word in (element.text or "").split()]
    if len(numbers) != count or not all(math.isfinite(n) for n in numbers):
        raise WorldError(f"<{element.tag}> is '{shortened((element.text or '').strip())}'; it needs {count} numbers")
    return np.array(numbers)


def _pose(element: Element) -> np.ndarray:
    """The pose of an element as a matrix, in Gazebo's axes."""
    tag = element.find("pose")
    if tag is None:
        return np.eye(4)
    numbers = _numbers(tag, 6, [0.0] * 6)
    if tag.get("degrees") == "true":
        numbers[3:] = np.radians(numbers[3:])
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = matrix(from_euler(numbers[3:])), numbers[:3]
    return pose


def _model(model: Element, above: np.ndarray, scene: _Scene, depth: int) -> None:
    if depth > DEEPEST:
        raise WorldError(f"models are nested deeper than {DEEPEST}; flatten the world")
    pose = above @ _pose(model)
    for link in model.findall("link"):
        place = pose @ _pose(link)
        material = _material(link)
        for shape in link.findall("collision"):
            name = "/".join(part for part in (model.get("name"), link.get("name"), shape.get("name")) if part)
            _shape(shape, place @ _pose(shape), name, material, model.get("name") or "model", scene)
    for inner in model.findall("model"):
        _model(inner, pose, scene, depth + 1)
    for inner in model.findall("include"):
        _include(inner, pose, scene, depth + 1)
    if model.find("joint") is not None:
        scene.missing.append(f"joints of {shortened(model.get('name', 'a model'))}")


def _include(include: Element, above: np.ndarray, scene: _Scene, depth: int) -> None:
    uri = (include.findtext("uri") or "").strip()
    name = uri.removeprefix("model://").removeprefix("file://")
    path = _beside(name, scene.folder, "model.sdf")
    if path is None:
        scene.missing.append(f"the model {shortened(uri)}: it is not beside the world")
        if name in ("ground_plane", "Ground Plane") and scene.ground is None:
            scene.ground = Plane()
        return
    model = read_xml(read_bytes(path), WorldError).find("model")
    if model is None:
        raise WorldError(f"{path} has no <model>; give a model of Gazebo")
    if include.findtext("name"):
        model.set("name", str(include.findtext("name")).strip())
    pose = above @ _pose(include) if include.find("pose") is not None else above
    inner = replace(scene, folder=path.parent)  # the lists are shared
    _model(model, pose, inner, depth + 1)
    scene.ground = inner.ground


def _beside(name: str, folder: Path, inside: str = "") -> Path | None:
    """Path of a file that a world names, in its own folder or the folder `models` in it; never outside."""
    parts = Path(name).parts
    if not parts or Path(name).is_absolute() or ".." in parts or "://" in name or "\0" in name:
        return None
    for start in (folder, folder / "models"):
        path = start / name / inside if inside else start / name
        with contextlib.suppress(OSError):  # a name that no file can have
            if path.is_file():
                return path
    return None


def _material(link: Element) -> Material:
    """Material with the colour of a link's first visual, and friction and restitution of its first collision."""
    colour = _numbers(link.find("visual/material/diffuse"), 4, [0.6, 0.6, 0.6, 1.0])
    friction = _numbers(link.find("collision/surface/friction/ode/mu"), 1, [DEFAULT.friction])[0]
    rebound = _numbers(link.find("collision/surface/bounce/restitution_coefficient"), 1, [DEFAULT.restitution])[0]
    red, green, blue = (float(c) for c in np.clip(colour[:3], 0, 1))
    return Material(
        link.get("name") or "link", friction=float(np.clip(friction, 0, 10)), restitution=float(np.clip(rebound, 0, 1)),
        colour=(red, green, blue), colour_2=(0.8 * red, 0.8 * green, 0.8 * blue),
    )  # fmt: skip


def _shape(shape: Element, pose: np.ndarray, name: str, material: Material, label: str, scene: _Scene) -> None:
    geometry = shape.find("geometry")
    if geometry is None or not len(geometry):
        return
    kind = geometry[0]
    north, east, down = (float(v) for v in ENU @ pose[:3, 3])
    turn = from_matrix(ENU @ pose[:3, :3] @ FLU)
    q = (float(turn[0]), float(turn[1]), float(turn[2]), float(turn[3]))
    more: dict[str, Any] = {"p_N_m": (north, east, down), "q_NB": q, "material": material, "label": label}
    if kind.tag == "box":
        size = _numbers(kind.find("size"), 3, [1, 1, 1])
        scene.things.append(Box(scene.name(name), size_m=(float(size[0]), float(size[1]), float(size[2])), **more))
    elif kind.tag == "cylinder":
        radius, length = (_numbers(kind.find(key), 1, [1.0])[0] for key in ("radius", "length"))
        scene.things.append(Cylinder(scene.name(name), radius_m=float(radius), height_m=float(length), **more))
    elif kind.tag == "sphere":
        radius = _numbers(kind.find("radius"), 1, [1.0])[0]
        scene.things.append(Sphere(scene.name(name), radius_m=float(radius), **more))
    elif kind.tag == "plane":
        _plane(kind, pose, name, material, scene)
    elif kind.tag == "mesh":
        _mesh(kind, name, more, scene)
    elif kind.tag == "heightmap":
        _heightmap(kind, pose, material, scene)
    else:
        scene.missing.append(f"<{kind.tag}> of {shortened(name)}")


def _plane(kind: Element, pose: np.ndarray, name: str, material: Material, scene: _Scene) -> None:
    """Add a plane as the ground: infinite, whatever its size."""
    normal = ENU @ pose[:3, :3] @ _numbers(kind.find("normal"), 3, [0, 0, 1])
    north, east, down = ENU @ pose[:3, 3]
    if not -normal[2] > 0.1 or scene.ground is not None:
        scene.missing.append(f"the plane {shortened(name)}: only one plane, as the ground, is taken")
        return
    slope_north, slope_east = float(normal[0] / normal[2]), float(normal[1] / normal[2])
    # the surface rises against its normal: n . (p - p0) = 0
    height = float(-down - slope_north * north - slope_east * east)
    scene.ground = Plane(height, slope_north, slope_east, material)


def _mesh(kind: Element, name: str, more: dict[str, Any], scene: _Scene) -> None:
    from ironbird.world.imports import MESHES, read_mesh

    uri = (kind.findtext("uri") or "").strip().removeprefix("model://").removeprefix("file://")
    path = _beside(uri, scene.folder) or _beside(uri.partition("/")[2], scene.folder)
    if path is None or path.suffix.lower() not in MESHES:
        scene.missing.append(f"the mesh {shortened(uri)}: it is not beside the world, or no {', '.join(MESHES)}")
        return
    vertices, triangles = read_mesh(path)
    vertices = vertices * _numbers(kind.find("scale"), 3, [1, 1, 1])
    if path.suffix.lower() in (".gltf", ".glb"):
        vertices = vertices[:, [0, 2, 1]] * [1.0, -1.0, 1.0]  # y up to z up
    scene.things.append(oriented(Mesh, scene.name(name), vertices @ FLU.T, triangles, more))


def oriented(made: type[Mesh], name: str, vertices: np.ndarray, triangles: np.ndarray, more: dict[str, Any]) -> Mesh:
    """A mesh whose triangles are reversed if they are all inside out."""
    try:
        return made(name, vertices_m=vertices, triangles=triangles, **more)
    except WorldError as error:
        if "normals point inwards" not in str(error):
            raise
        return made(name, vertices_m=vertices, triangles=triangles[:, ::-1], **more)


def _heightmap(kind: Element, pose: np.ndarray, material: Material, scene: _Scene) -> None:
    from ironbird.world.imports import read_grid

    uri = (kind.findtext("uri") or "").strip().removeprefix("model://").removeprefix("file://")
    path = _beside(uri, scene.folder) or _beside(uri.partition("/")[2], scene.folder)
    if path is None:
        scene.missing.append(f"the heightmap {shortened(uri)}: it is not beside the world")
        return
    tile = read_grid(path)
    size = _numbers(kind.find("size"), 3, [1, 1, 1])
    north, east, down = ENU @ (pose[:3, 3] + _numbers(kind.find("pos"), 3, [0, 0, 0]))
    heights = tile.heights * size[2] - down if tile.picture else tile.heights - down
    scene.ground = grid_of(tile, heights, float(size[1]), float(size[0]), float(north), float(east), material)


def grid_of(
    tile: Tile, heights: np.ndarray, north_size: float, east_size: float, north: float, east: float, material: Material
) -> Heightfield:
    """A grid around a centre with given sides; rows of a tile run from north to south, Ironbird's to the north."""
    rows, columns = heights.shape
    if min(rows, columns) < 2:
        raise WorldError(f"a grid of {rows} x {columns} heights; give at least 2 x 2")
    return Heightfield(
        heights[::-1], north_size / (rows - 1), east_size / (columns - 1), north - north_size / 2, east - east_size / 2,
        material,
    )  # fmt: skip


def _actor(actor: Element, scene: _Scene) -> None:
    """Add an actor on its first trajectory as a box of a person's size."""
    rows = []
    for point in actor.findall("script/trajectory/waypoint"):
        pose = _numbers(point.find("pose"), 6, [0] * 6)
        time = _numbers(point.find("time"), 1, [0])[0]
        rows.append([time, *(ENU @ pose[:3]), math.pi / 2 - pose[5]])
    name = scene.name(actor.get("name") or "actor")
    if not rows:
        scene.missing.append(f"the actor {shortened(name)}: it has no trajectory")
        return
    path = np.array(rows)
    shape = Box(name, (0.0, 0.0, -PERSON_M[2] / 2), size_m=PERSON_M, label="person")
    turns = np.zeros((len(path), 3))
    turns[:, 2] = path[:, 4]
    repeats = (actor.findtext("script/loop") or "true").strip().lower() in ("true", "1") and len(path) > 1
    scene.movers.append(Mover(name, shape, path[:, 0], path[:, 1:4], turns, repeats))


def _origin(world: Element) -> Origin | None:
    place = world.find("spherical_coordinates")
    if place is None or place.find("latitude_deg") is None:
        return None
    numbers = [_numbers(place.find(key), 1, [0])[0] for key in ("latitude_deg", "longitude_deg", "elevation")]
    return Origin(*(float(n) for n in numbers))


def _light(world: Element) -> Light:
    """Light with the direction of the first directional light."""
    for light in world.findall("light"):
        if light.get("type") == "directional" and light.find("direction") is not None:
            north, east, down = -ENU @ _numbers(light.find("direction"), 3, [0, 0, -1])
            flat = math.hypot(north, east)
            if flat or down:
                return Light(math.atan2(east, north), math.atan2(-down, flat))
    return Light()
