"""World files: what is read, and what is refused in words."""

from __future__ import annotations

import math
import struct
import tomllib
from pathlib import Path

import numpy as np
import pytest
import tifffile

from ironbird.errors import IronbirdError, UnknownNameError, WorldError
from ironbird.rotations import matrix
from ironbird.world.files import BUILT_IN, load_world, world_names
from ironbird.world.imports.tile import metres_per_degree
from ironbird.world.model import Box, Cylinder, Heightfield, Hills, Mesh, Mover, Pad, Plane, Sphere, World
from ironbird.world.png import write_png
from ironbird.world.rays import Scene

HEAD = 'schema = 1\n[terrain]\nkind = "plane"\n'
CUBE = """
v -1 -1 -1
v 1 -1 -1
v 1 1 -1
v -1 1 -1
v -1 -1 1
v 1 -1 1
v 1 1 1
v -1 1 1
f 1 4 3 2
f 5 6 7 8
f 1 2 6 5
f 2 3 7 6
f 3 4 8 7
f 4 1 5 8
"""


def write(folder: Path, text: str, name: str = "w.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", world_names())
def test_every_shipped_world_loads_and_a_vehicle_can_start_at_its_origin(name: str) -> None:
    world = load_world(name)
    scene = Scene(world)
    assert world.title and world.digest == load_world(name).digest
    scene.check_start("a vehicle", [[0.0, 0.0, -0.3], [0.3, 0.3, -0.3], [-0.3, -0.3, -0.1]])
    surface = world.water.height_m if world.water else float(world.height_at(0.0, 0.0))
    assert surface == 0.0


def test_the_mountain_is_elevation_of_a_real_place_with_its_source() -> None:
    world = load_world("mountain")
    path = BUILT_IN / "mountain.tif"
    with tifffile.TiffFile(path) as file:  # a second reader
        page = file.pages[0]
        assert isinstance(page, tifffile.TiffPage)
        heights, place, step = page.asarray(), page.tags[33922].value, page.tags[33550].value
    assert "SRTM" in tomllib.loads((BUILT_IN / "mountain.toml").read_text())["source"]
    assert isinstance(world.ground, Heightfield) and world.origin is not None
    assert world.ground.heights_m[::-1] + world.origin.height_m == pytest.approx(heights)
    # SRTM3 has a height at every whole multiple of three arc seconds
    assert [step[0] * 1200, step[1] * 1200, place[4] * 1200 % 1, place[3] * 1200 % 1] == pytest.approx(
        [1, 1, 0, 0], abs=1e-9
    )
    assert world.origin.latitude_deg == pytest.approx(place[4] - 32 * step[1])
    assert float(heights.max()) - world.origin.height_m == 629.0


def test_there_is_a_world_for_every_kind_of_vehicle() -> None:
    assert {"field", "forest", "city_block", "indoor_hall", "harbour", "sea_floor", "mountain"} <= set(world_names())


def test_things_stand_on_the_ground_below_them(tmp_path: Path) -> None:
    text = (
        'schema = 1\n[terrain]\nkind = "plane"\nheight_m = 5\nslope_north = 0.1\n'
        '[[box]]\nname = "on"\nnorth_m = 10\nsize_m = [2, 2, 4]\n'
        '[[box]]\nname = "up"\nnorth_m = 10\nheight_m = 3\nabove = "origin"\nsize_m = [2, 2, 4]\n'
    )
    world = load_world(write(tmp_path, text))
    assert world.obstacles[0].p_N_m[2] == pytest.approx(-(5 + 1 + 2))
    assert world.obstacles[1].p_N_m[2] == pytest.approx(-(3 + 2))


def test_a_mesh_comes_out_the_right_way_up(tmp_path: Path) -> None:
    write(tmp_path, CUBE.replace("v 1 1 1\n", "v 1 1 3\n"), "cube.obj")  # one corner is higher
    text = HEAD + '[[mesh]]\nfile = "cube.obj"\nheight_m = 1\n'
    mesh = load_world(write(tmp_path, text)).obstacles[0]
    assert isinstance(mesh, Mesh) and mesh.closed and mesh.volume_m3 > 0
    north, east, down = mesh.vertices_m[np.argmin(mesh.vertices_m[:, 2])]
    assert (north, east, down) == (1.0, 1.0, -3.0)


def test_movers_pads_scatter_and_light_are_read(tmp_path: Path) -> None:
    text = HEAD + (
        "[light]\nvisibility_m = 500\n"
        '[[scatter]]\nkind = "tree"\nname = "t"\ncount = 9\nextent_m = 60\napart_m = 3\nfree_m = 5\n'
        "tall_m = [4, 6]\nwide_m = [0.2, 0.3]\n"
        '[[mover]]\nname = "ship"\npath = [[0, 0, 0, 1, 350], [10, 0, 20, 1, 10]]\n'
        "[mover.box]\nsize_m = [4, 2, 2]\n[mover.sway]\nheave_m = 0.5\nperiod_s = 8\n"
        '[[pad]]\nname = "deck"\nmover = "ship"\nmarker = 5\n'
    )
    world = load_world(write(tmp_path, text))
    assert len(world.obstacles) == 18 and world.light.visibility_m == 500
    trunks = [o for o in world.obstacles if isinstance(o, Cylinder)]
    places = np.array([o.p_N_m[:2] for o in trunks])
    apart = np.linalg.norm(places[:, None] - places[None], axis=2) + 100 * np.eye(9)
    assert apart.min() >= 3 and np.linalg.norm(places, axis=1).min() >= 5
    place, q = world.movers[0].pose_at(5.0)
    assert place[1] == 10.0 and place[2] == pytest.approx(-1 - 0.5 * math.sin(2 * math.pi * 5 / 8))
    assert matrix(q) == pytest.approx(np.eye(3), abs=1e-12)  # the shorter way through north
    assert load_world(tmp_path / "w.toml").digest == world.digest


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file is empty"),
        ('schema = 2\n[terrain]\nkind = "plane"\n', "schema 2 is not known"),
        ('schema = 1\n[terrain]\nkind = "moon"\n', "'moon' is not known here"),
        (HEAD + "[[box]]\nsize_m = [1, 1, 1]\ncolor = 3\n", "unknown key 'color'"),
        (HEAD + "[[box]]\nsize_m = [1, 1, true]\n", "true does not fit here; write a number"),
        (HEAD + "[[box]]\nsize_m = [1, 1, '1']\n", "'1' does not fit here; write a number"),
        (HEAD + "[box]\nsize_m = [1, 1, 1]\n", r"a table does not fit here; write \[\[box\]\]"),
        (HEAD + "[[box]]\nsize_m = [1, 1]\n", "2 entries are too few"),
        (HEAD + "[[box]]\nsize_m = [1, 1, -1]\n", "-1.0 is outside its bounds|-1 is outside its bounds"),
        (HEAD + "[[box]]\nsize_m = [1, 1, nan]\n", "does not fit here|outside its bounds"),
        (HEAD + '[[box]]\nsize_m = [1, 1, 1]\nmaterial = "gold"\n', "material 'gold' is not there"),
        (
            HEAD + '[[scatter]]\nkind = "box"\nname = "s"\ncount = 2\nextent_m = 9\ntall_m = [8, 4]\nwide_m = [1, 2]\n',
            "tall_m goes from 8 to 4; write the smaller number first",
        ),
        (HEAD + '[[mesh]]\nfile = "none.obj"\n', "none.obj: the mesh cannot be read: No such file"),
        (HEAD + '[[mesh]]\nfile = "../etc/passwd.obj"\n', "not below the world's folder"),
        (HEAD + '[[mesh]]\nfile = "house.dae"\n', "cannot be read from '.dae'; export it as .obj"),
        (
            'schema = 1\n[terrain]\nkind = "grid"\nspacing_m = 1\nheights_m = [[1, 2], [3, nan]]\n',
            "does not fit|bounds",
        ),
        ('schema = 1\n[terrain]\nkind = "grid"\nheights_m = [[1, 2], [3, 4]]\n', "give spacing_m"),
        ('schema = 1\n[terrain]\nkind = "plane"\nfile = "a.png"\n', "file has no meaning for a terrain of kind plane"),
        (HEAD + '[[pad]]\nname = "p"\nmover = "ship"\n', "on mover 'ship', which is not there"),
        (HEAD + '[[mover]]\nname = "m"\npath = [[0, 0, 0, 0, 0]]\n', "has no shape"),
        (
            HEAD + '[[mover]]\nname = "m"\npath = [[5, 0, 0, 0, 0], [1, 0, 0, 0, 0]]\n[mover.sphere]\nradius_m = 1\n',
            "do not rise",
        ),
        (
            HEAD + '[[box]]\nname = "a"\nsize_m = [1, 1, 1]\n' * 1 + '[[sphere]]\nname = "a"\nradius_m = 1\n',
            "there twice",
        ),
    ],
)
def test_a_broken_world_is_refused_with_place_and_cure(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(WorldError, match=says) as error:
        load_world(write(tmp_path, text))
    assert "w.toml:" in str(error.value)


def test_a_case_file_is_not_taken_for_a_world(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match="this is a mission file"):
        load_world(write(tmp_path, "schema = 1\n[[item]]\n"))


def test_an_unknown_name_gives_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'forest'"):
        load_world("forrest")


def test_a_mesh_inside_out_is_refused_and_flip_cures_it(tmp_path: Path) -> None:
    turned = "\n".join(
        " ".join(["f", *reversed(line.split()[1:])]) if line.startswith("f") else line for line in CUBE.splitlines()
    )
    write(tmp_path, turned, "cube.obj")
    with pytest.raises(WorldError, match=r"normals point inwards.*flip = true"):
        load_world(write(tmp_path, HEAD + '[[mesh]]\nfile = "cube.obj"\n'))
    world = load_world(write(tmp_path, HEAD + '[[mesh]]\nfile = "cube.obj"\nflip = true\n'))
    mesh = world.obstacles[0]
    assert isinstance(mesh, Mesh) and mesh.volume_m3 == pytest.approx(8.0)


def test_a_mesh_with_some_triangles_turned_round_is_refused() -> None:
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    assert Mesh("m", (0.0, 0.0, 0.0), vertices_m=corners, triangles=faces).closed
    turned = faces.copy()
    turned[3] = turned[3][::-1]
    with pytest.raises(WorldError, match="turned round against their neighbours"):
        Mesh("m", (0.0, 0.0, 0.0), vertices_m=corners, triangles=turned)
    assert not Mesh("m", (0.0, 0.0, 0.0), vertices_m=corners, triangles=turned[:3]).closed  # an open one is a sheet


def test_a_link_to_a_file_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.obj").write_text(CUBE)
    (tmp_path / "world").mkdir()
    (tmp_path / "world" / "mesh.obj").symlink_to(tmp_path / "elsewhere.obj")
    text = HEAD + '[[mesh]]\nname = "m"\nfile = "mesh.obj"\nnorth_m = 20\n'
    with pytest.raises(WorldError, match=r"'mesh\.obj' is not below the world's folder"):
        load_world(write(tmp_path / "world", text))


def test_a_key_of_very_many_parts_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match="nested too deeply; the most is 32"):
        load_world(write(tmp_path, HEAD + ".".join(["a"] * 50_000) + " = 1\n"))
    long = 'title = "' + "1.5 2.5 " * 1000 + "a.b.c." * 5 + '"\n' + HEAD  # dots in a text are no keys
    assert load_world(write(tmp_path, long)).title


def test_a_huge_mesh_is_refused_before_it_is_built() -> None:
    corners = np.zeros((4_000_001, 3))
    with pytest.raises(WorldError, match=r"4000001 vertices, the most is 4000000; decimate"):
        Mesh("m", (0, 0, 0), vertices_m=corners, triangles=np.zeros((1, 3), np.int64))


def test_heights_that_are_not_numbers_are_named_by_row_and_column() -> None:
    heights = np.zeros((3, 4))
    heights[1, 2] = math.nan
    with pytest.raises(WorldError, match=r"1 heights are not finite.*row 1, column 2"):
        Heightfield(heights, 1.0, 1.0)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Box("b", (0, 0, math.inf)), r"box 'b': p_N_m\[2\] = inf is outside"),
        (lambda: Sphere("s", (0, 0, 0), radius_m=0.0), "radius_m = 0 is outside"),
        (lambda: Box("b", (0, 0, 0), (0, 0, 0, 0)), "not all zero"),
        (lambda: Plane(math.nan), "height_m = nan"),
        (lambda: Hills(1.0, 10.0, 1e5, 0.5), "more than 16000000 points"),
        (lambda: Mesh("m", (0, 0, 0)), "it has no triangles"),
        (
            lambda: Mesh("m", (0, 0, 0), vertices_m=np.zeros((2, 3)), triangles=np.array([[0, 1, 2]])),
            r"names vertices \[0, 1, 2\]",
        ),
        (lambda: Pad("p", 0, 0, marker=5000), "marker = 5000 is outside"),
        (
            lambda: Mover("m", Sphere("s", (0, 0, 0)), np.zeros(1), np.zeros((1, 3)), np.zeros((1, 3)), repeat=True),
            "at least two",
        ),
        (lambda: World("w", obstacles=(Box("a", (0, 0, 0)), Box("a", (1, 0, 0)))), "there twice"),
    ],
)
def test_a_model_that_makes_no_sense_cannot_be_made(make: object, says: str) -> None:
    with pytest.raises(IronbirdError, match=says):
        make()  # type: ignore[operator]


def test_a_part_of_an_elevation_tile_lies_where_the_earth_has_it(tmp_path: Path) -> None:
    side = 1201
    rows = np.add.outer(np.arange(side)[::-1], 2 * np.arange(side)).astype(">i2")  # rises to north and twice to east
    (tmp_path / "N46E008.hgt").write_bytes(rows.tobytes())
    text = (
        'schema = 1\n[terrain]\nkind = "grid"\nfile = "N46E008.hgt"\nlatitude_deg = 46.5\nlongitude_deg = 8.5\n'
        "extent_m = 4000\n"
    )
    world = load_world(write(tmp_path, text))
    assert isinstance(world.ground, Heightfield) and world.origin is not None
    assert world.origin.latitude_deg == pytest.approx(46.5, abs=1e-9)
    assert world.origin.height_m == pytest.approx(600 + 2 * 600, abs=1)
    per_north, per_east = metres_per_degree(46.5)
    assert world.ground.spacing_north_m == pytest.approx(per_north / 1200)
    assert float(world.height_at(0.0, 0.0)) == 0.0
    assert float(world.height_at(1000.0, 0.0)) == pytest.approx(1000 / (per_north / 1200), rel=1e-6)
    assert float(world.height_at(0.0, 1000.0)) == pytest.approx(2000 / (per_east / 1200), rel=1e-6)
    with pytest.raises(WorldError, match="over the rim of the tile"):
        load_world(write(tmp_path, text.replace("8.5", "8.99")))


def test_gaps_of_an_elevation_tile_are_told(tmp_path: Path) -> None:
    rows = np.zeros((3, 3), ">i2")
    rows[1, 1] = -32768
    (tmp_path / "N46E008.hgt").write_bytes(rows.tobytes())
    with pytest.raises(WorldError, match="1 heights are not finite"):
        load_world(write(tmp_path, 'schema = 1\n[terrain]\nkind = "grid"\nfile = "N46E008.hgt"\n'))
    (tmp_path / "N46E008.hgt").write_bytes(struct.pack(">5h", 1, 2, 3, 4, 5))
    with pytest.raises(WorldError, match="no square"):
        load_world(tmp_path / "w.toml")


def test_a_picture_of_16_bits_becomes_heights(tmp_path: Path) -> None:
    picture = np.array([[0, 65535], [13107, 0], [0, 0]], np.uint16)
    (tmp_path / "h.png").write_bytes(write_png(picture))
    text = 'schema = 1\n[terrain]\nkind = "grid"\nfile = "h.png"\nspacing_m = 10\nlow_m = -5\nhigh_m = 20\n'
    ground = load_world(write(tmp_path, text)).ground
    assert isinstance(ground, Heightfield)
    assert ground.heights_m == pytest.approx(np.array([[-5, -5], [0, -5], [-5, 20]]))  # the first line is the north
    assert (ground.north_m, ground.east_m) == (-10.0, -5.0)
