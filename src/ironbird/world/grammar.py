"""Grammar of world files. Angles are in degrees and heights are upwards; `files.py` builds the world.

An object's `height_m` is that of its foot over the ground below it, or over the world's origin with
`above = "origin"`. Its position is that of its centre, about which it is turned by yaw, pitch, roll.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from ironbird.world.model import FARTHEST_M, MOST_KNOTS, SMALLEST_M

Metres = Annotated[float, Field(ge=-FARTHEST_M, le=FARTHEST_M)]
Size = Annotated[float, Field(ge=SMALLEST_M, le=FARTHEST_M)]
Degrees = Annotated[float, Field(ge=-36000, le=36000)]
Share = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1, max_length=80)]
Colour = Annotated[list[Share], Field(min_length=3, max_length=3)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, allow_inf_nan=False, strict=True)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self  # pydantic would otherwise copy a default for every file


class OriginTable(_Table):
    """Geodetic position of the world's origin."""

    latitude_deg: Annotated[float, Field(ge=-90, le=90)]
    longitude_deg: Annotated[float, Field(ge=-180, le=180)]
    height_m: Annotated[float, Field(ge=-12e3, le=1e5)] = 0.0


class TerrainTable(_Table):
    """`plane`: height_m, slope_north, slope_east. `hills`: a recipe. `grid`: heights in the file or in another one.

    The file of a grid is an elevation tile (.hgt, .tif), a grey picture (.png) or numbers in rows (.csv). Its first
    row is the north edge, as in all of these. The middle of the grid lies at north_m, east_m.
    """

    kind: Literal["plane", "hills", "grid"]
    material: Name | None = None
    height_m: Metres = 0.0
    slope_north: Annotated[float, Field(ge=-10, le=10)] = 0.0
    slope_east: Annotated[float, Field(ge=-10, le=10)] = 0.0
    length_m: Size = 200.0
    size_m: Size = 1000.0
    spacing_m: Size | None = None
    spacing_north_m: Size | None = None
    spacing_east_m: Size | None = None
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    flat_m: Annotated[float, Field(ge=0, le=FARTHEST_M)] = 20.0
    base_m: Metres = 0.0
    file: str | None = None
    heights_m: Annotated[list[list[Metres]], Field(max_length=4000)] | None = None
    north_m: Metres = 0.0
    east_m: Metres = 0.0
    low_m: Metres = 0.0  # of a picture: height of black, and of white
    high_m: Metres = 1.0
    latitude_deg: Annotated[float, Field(ge=-90, le=90)] | None = None  # which part of a tile, by its middle
    longitude_deg: Annotated[float, Field(ge=-180, le=180)] | None = None
    extent_m: Size | None = None  # and its side


class WaterTable(_Table):
    """Water with a level surface at a height."""

    height_m: Metres = 0.0
    material: Name | None = None


class LightTable(_Table):
    """Position of the sun, sky colour and fog."""

    sun_azimuth_deg: Degrees = 143.0
    sun_elevation_deg: Annotated[float, Field(ge=-90, le=90)] = 46.0
    ambient: Share = 0.35
    sky: Colour = [0.55, 0.7, 0.9]
    visibility_m: Annotated[float, Field(ge=0, le=FARTHEST_M)] = 0.0


class MaterialTable(_Table):
    """A surface material: colour, friction, restitution, reflectance."""

    friction: Annotated[float, Field(ge=0, le=10)] = 0.6
    restitution: Share = 0.2
    reflectance: Share = 0.5
    colour: Colour = [0.5, 0.5, 0.5]
    colour_2: Colour | None = None
    checker_m: Annotated[float, Field(ge=0, le=1e4)] = 0.0


class ThingTable(_Table):
    """Position and attitude of an object."""

    name: Name | None = None
    north_m: Metres = 0.0
    east_m: Metres = 0.0
    height_m: Metres = 0.0
    above: Literal["ground", "origin"] = "ground"
    yaw_deg: Degrees = 0.0
    pitch_deg: Degrees = 0.0
    roll_deg: Degrees = 0.0
    material: Name | None = None
    label: Name = "obstacle"


class BoxTable(ThingTable):
    """A box; size along its own x (north if it is not turned), y and z."""

    size_m: Annotated[list[Size], Field(min_length=3, max_length=3)]


class CylinderTable(ThingTable):
    """An upright cylinder with radius and height."""

    radius_m: Size
    tall_m: Size


class SphereTable(ThingTable):
    """A sphere with a radius."""

    radius_m: Size


class MeshTable(ThingTable):
    """Triangles from a file (.obj, .gltf, .glb, .stl); `up` is the axis that points up in it.

    z: x east, y north, z up, as in most programs; y: as in glTF, x east, y up, z south; ned: as Ironbird. Without it
    glTF is read with y, others with z.
    """

    file: str
    scale: Annotated[float, Field(gt=0, le=1e6)] = 1.0
    up: Literal["z", "y", "ned"] | None = None
    flip: bool = False  # turn all triangles round


class ScatterTable(_Table):
    """Things strewn over a square, at places that a seed draws: trees (trunk and crown), boxes or rocks (balls).

    Around the origin a circle of `free_m` stays empty; `apart_m` is the least distance between two objects.
    """

    kind: Literal["tree", "box", "rock"]
    name: Name
    count: Annotated[int, Field(ge=1, le=5000)]
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    north_m: Metres = 0.0
    east_m: Metres = 0.0
    extent_m: Size
    apart_m: Annotated[float, Field(ge=0, le=1e4)] = 0.0
    free_m: Annotated[float, Field(ge=0, le=FARTHEST_M)] = 0.0
    tall_m: Annotated[list[Size], Field(min_length=2, max_length=2)]  # from, to
    wide_m: Annotated[list[Size], Field(min_length=2, max_length=2)]  # of a trunk, box or rock: from, to
    material: Name | None = None
    crown_material: Name | None = None
    label: Name | None = None


class PadTable(_Table):
    """A landing pad; with a mover it lies on its deck."""

    name: Name
    north_m: Metres = 0.0
    east_m: Metres = 0.0
    radius_m: Annotated[float, Field(ge=0.01, le=1e4)] = 1.0
    yaw_deg: Degrees = 0.0
    marker: Annotated[int, Field(ge=0, le=4095)] | None = None
    mover: Name | None = None
    material: Name | None = None


class SwayTable(_Table):
    """Motion of a ship on waves: heave, roll, pitch, period."""

    period_s: Annotated[float, Field(ge=0.1, le=1e4)] = 8.0
    heave_m: Annotated[float, Field(ge=0, le=100)] = 0.0
    roll_deg: Annotated[float, Field(ge=0, le=85)] = 0.0
    pitch_deg: Annotated[float, Field(ge=0, le=85)] = 0.0


class MoverTable(_Table):
    """An object on a path: rows of time, north, east, height, yaw; one of box, cylinder, sphere, mesh is its shape.

    `height_m` of the shape counts from the path.
    """

    name: Name
    path: Annotated[
        list[Annotated[list[float], Field(min_length=5, max_length=5)]], Field(min_length=1, max_length=MOST_KNOTS)
    ]
    repeat: bool = False
    box: BoxTable | None = None
    cylinder: CylinderTable | None = None
    sphere: SphereTable | None = None
    mesh: MeshTable | None = None
    sway: SwayTable | None = None


class WorldTable(_Table):
    """Content of a world file: all its tables."""

    schema_version: Annotated[Literal[1], Field(alias="schema")]
    title: str = ""
    source: str = ""  # where its data come from, and their licence
    lee: bool = False  # the steady wind is weaker behind boxes and cylinders
    origin: OriginTable | None = None
    terrain: TerrainTable
    water: WaterTable | None = None
    light: LightTable = LightTable()
    material: dict[str, MaterialTable] = Field(default_factory=dict)
    box: list[BoxTable] = Field(default_factory=list)
    cylinder: list[CylinderTable] = Field(default_factory=list)
    sphere: list[SphereTable] = Field(default_factory=list)
    mesh: list[MeshTable] = Field(default_factory=list)
    scatter: Annotated[list[ScatterTable], Field(max_length=50)] = Field(default_factory=list)
    pad: list[PadTable] = Field(default_factory=list)
    mover: list[MoverTable] = Field(default_factory=list)
