"""Files of others: meshes written by trimesh, elevation written by tifffile, pictures by OpenCV, Gazebo, Aerialist."""

from __future__ import annotations

import base64
import json
import math
from pathlib import Path

import cv2
import numpy as np
import pytest
import tifffile
import trimesh

from ironbird.errors import WorldError
from ironbird.rotations import from_euler, matrix
from ironbird.world.files import load_world
from ironbird.world.imports import read_grid, read_mesh
from ironbird.world.model import Box, Cylinder, Heightfield, Mesh, Plane, Sphere
from ironbird.world.png import read_png, write_png
from ironbird.world.rays import Scene

SDF = """<?xml version="1.0"?>
<sdf version="1.9"><world name="yard">
  <spherical_coordinates><latitude_deg>47.4</latitude_deg><longitude_deg>8.5</longitude_deg>
    <elevation>488</elevation></spherical_coordinates>
  <light type="directional" name="sun"><direction>-0.5 0.1 -0.9</direction></light>
  <model name="ground"><static>true</static><link name="l"><collision name="c"><geometry><plane>
    <normal>0 0 1</normal><size>100 100</size></plane></geometry></collision></link></model>
  <model name="house"><pose>10 20 0 0 0 0.5</pose><link name="l"><pose>0 0 2 0 0 0</pose>
    <collision name="c"><geometry><box><size>6 4 4</size></box></geometry>
      <surface><friction><ode><mu>0.9</mu></ode></friction></surface></collision>
    <visual name="v"><geometry><box><size>6 4 4</size></box></geometry>
      <material><diffuse>0.8 0.1 0.1 1</diffuse></material></visual></link></model>
  <model name="mast"><link name="l"><collision name="c"><pose>5 -3 4 0 0 0</pose><geometry><cylinder>
    <radius>0.2</radius><length>8</length></cylinder></geometry></collision></link></model>
  <model name="ball"><pose>0 7 1 0 0 0</pose><link name="l"><collision name="c"><geometry><sphere><radius>1</radius>
    </sphere></geometry></collision></link><joint name="j" type="fixed"/></model>
  <model name="thing"><pose>-8 0 0 0 0 1.5708</pose><link name="l"><collision name="c"><geometry><mesh>
    <uri>model://meshes/thing.stl</uri><scale>2 1 1</scale></mesh></geometry></collision></link></model>
  <actor name="walker"><script><trajectory id="0" type="walk">
    <waypoint><time>0</time><pose>0 0 0 0 0 0</pose></waypoint>
    <waypoint><time>10</time><pose>10 0 0 0 0 0</pose></waypoint></trajectory></script></actor>
  <include><uri>model://oak_tree</uri></include>
  <plugin name="wind" filename="x"/>
</world></sdf>
"""


def signed_volume(vertices: np.ndarray, triangles: np.ndarray) -> float:
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


@pytest.mark.parametrize("ending", ["obj", "stl", "glb", "gltf"])
def test_meshes_written_by_trimesh_are_read_as_they_were(tmp_path: Path, ending: str) -> None:
    made = trimesh.creation.icosphere(subdivisions=2, radius=1.5)
    made.apply_translation([1.0, 2.0, 3.0])
    path = tmp_path / f"m.{ending}"
    if ending == "gltf":
        files = trimesh.exchange.gltf.export_gltf(trimesh.Scene(made))  # type: ignore[no-untyped-call]
        for name, content in files.items():
            (tmp_path / name).write_bytes(content)
        path = tmp_path / "model.gltf"
    else:
        made.export(path)
    vertices, triangles = read_mesh(path)
    assert len(triangles) == len(made.faces)
    assert vertices.min(axis=0) == pytest.approx(made.bounds[0], abs=1e-6)
    assert signed_volume(vertices, triangles) == pytest.approx(made.volume, rel=1e-6)
    assert Mesh("m", (0, 0, 0), vertices_m=vertices, triangles=triangles).closed


def test_nodes_of_a_gltf_scene_move_and_turn_their_meshes(tmp_path: Path) -> None:
    made = trimesh.creation.box(extents=[1.0, 2.0, 3.0])
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = matrix(from_euler([0.3, 0.5, -1.0])), (4.0, 5.0, 6.0)
    scene = trimesh.Scene()
    scene.add_geometry(made, transform=pose)
    (tmp_path / "m.glb").write_bytes(scene.export(file_type="glb"))  # type: ignore[no-untyped-call]
    vertices, _ = read_mesh(tmp_path / "m.glb")
    expected = made.vertices @ pose[:3, :3].T + pose[:3, 3]
    assert np.sort(vertices.round(4), axis=0)[[0, -1]] == pytest.approx(
        np.sort(expected.round(4), axis=0)[[0, -1]], abs=1e-4
    )


def test_a_text_stl_is_read(tmp_path: Path) -> None:
    made = trimesh.creation.box(extents=[1.0, 2.0, 3.0])
    (tmp_path / "m.stl").write_text(trimesh.exchange.stl.export_stl_ascii(made))
    vertices, triangles = read_mesh(tmp_path / "m.stl")
    assert (len(vertices), len(triangles)) == (8, 12)
    assert signed_volume(vertices, triangles) == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.obj", b"v 0 0 0\nf 1 2 3\n", "line 2: face 'f 1 2 3' names a vertex that is not there"),
        ("a.obj", b"v 0 0\n", "line 1: a vertex has three numbers"),
        ("a.obj", b"v 0 0 zero\n", "no whole mesh"),
        ("a.stl", b"nothing", "neither a text STL nor a binary one"),
        ("a.glb", b"glTF\x02\0\0\0\xff\xff\0\0", "not a whole glTF 2"),
        ("a.gltf", b"[1, 2", "no whole mesh"),
        ("a.gltf", b'{"asset": {"version": "1.0"}}', "no glTF of version 2"),
        (
            "a.gltf",
            b'{"asset": {"version": "2.0"}, "extensionsRequired": ["KHR_draco_mesh_compression"]}',
            "without compression",
        ),
        ("a.gltf", b'{"asset": {"version": "2.0"}, "nodes": [{"children": [0]}]}', "in a ring"),
        ("h.hgt", b"\0" * 8, "name it like N47E008.hgt"),
        ("h.png", b"\x89PNG\r\n\x1a\n", "no whole|cut off|no PNG"),
        ("h.csv", b"1,2\n3\n", "its rows have"),
        ("h.tif", b"II+\0\0\0\0\0", "no TIFF"),
    ],
)
def test_broken_files_of_others_are_refused_in_words(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    read = read_mesh if name[0] == "a" else read_grid
    with pytest.raises(WorldError, match=says) as error:
        read(tmp_path / name)
    assert name in str(error.value)


def test_a_gltf_buffer_is_never_taken_from_elsewhere(tmp_path: Path) -> None:
    for uri in ("../../secret.bin", "http://example.org/a.bin", "/etc/passwd"):
        document = {
            "asset": {"version": "2.0"}, "nodes": [{"mesh": 0}], "buffers": [{"uri": uri, "byteLength": 36}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}], "bufferViews": [{"buffer": 0}],
            "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
        }  # fmt: skip
        (tmp_path / "a.gltf").write_text(json.dumps(document))
        with pytest.raises(WorldError, match="not a file beside it"):
            read_mesh(tmp_path / "a.gltf")
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], "<f4").tobytes()
    document["buffers"] = [{"uri": "data:;base64," + base64.b64encode(corners).decode(), "byteLength": 36}]
    (tmp_path / "a.gltf").write_text(json.dumps(document))
    assert read_mesh(tmp_path / "a.gltf")[1].tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("kind", ["int16", "uint16", "float32"])
@pytest.mark.parametrize("packed", [None, "zlib"])
@pytest.mark.parametrize("tiled", [False, True])
def test_elevation_written_by_tifffile_is_read_to_the_last_bit(
    tmp_path: Path, kind: str, packed: str | None, tiled: bool
) -> None:
    heights = (1000 * np.random.default_rng(1).random((70, 50))).astype(kind)
    geo = [
        (33550, "d", 3, (0.001, 0.002, 0.0), True),
        (33922, "d", 6, (0.0, 0.0, 0.0, 8.0, 47.0, 0.0), True),
        (34735, "H", 8, (1, 1, 0, 1, 1024, 0, 1, 2), True),
    ]
    predictor = {"uint16": 2, "int16": 2}.get(kind) if packed else None
    tifffile.imwrite(
        tmp_path / "h.tif", heights, compression=packed, predictor=predictor, extratags=geo, photometric="minisblack",
        tile=(32, 32) if tiled else None, metadata=None,
    )  # fmt: skip
    tile = read_grid(tmp_path / "h.tif")
    assert np.array_equal(tile.heights, heights.astype(float))
    assert tile.degrees and (tile.step_north, tile.step_east) == (0.002, 0.001)
    assert (tile.north, tile.west) == pytest.approx((47.0 - 0.001, 8.0 + 0.0005))  # the middle of the first pixel


def test_lzw_of_the_tiff_specification_is_unpacked() -> None:
    from ironbird.world.imports.geotiff import _lzw

    # codes 256, 7, 258, 8, 8, 258, 6, 6, 257 of TIFF 6.0, section 13: 7 7 7 8 8 7 7 6 6
    codes = [256, 7, 258, 8, 8, 258, 6, 6, 257]
    bits = "".join(f"{code:09b}" for code in codes)
    bits += "0" * (-len(bits) % 8)
    raw = bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8))
    assert list(_lzw(raw, 9)) == [7, 7, 7, 8, 8, 7, 7, 6, 6]


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 3])
def test_pictures_are_exchanged_with_opencv(kind: type, channels: int) -> None:
    smooth = np.add.outer(np.arange(40) ** 2, np.arange(60) * 3)  # makes writers use all filters
    picture: np.ndarray = np.stack([(smooth * (k + 3)) % np.iinfo(kind).max for k in range(channels)], -1).astype(kind)
    picture = picture[:, :, 0] if channels == 1 else picture
    theirs = cv2.imdecode(np.frombuffer(write_png(picture), np.uint8), cv2.IMREAD_UNCHANGED)
    assert theirs is not None
    assert np.array_equal(theirs if channels == 1 else theirs[:, :, ::-1], picture)
    for strategy in range(4):
        done, raw = cv2.imencode(".png", picture, [cv2.IMWRITE_PNG_STRATEGY, strategy, cv2.IMWRITE_PNG_COMPRESSION, 9])
        ours, most = read_png(raw.tobytes())
        ours = ours[:, :, 0] if channels == 1 else ours[:, :, ::-1]
        assert done and most == np.iinfo(kind).max and np.array_equal(ours, picture)


def test_a_gazebo_world_stands_where_gazebo_has_it(tmp_path: Path) -> None:
    (tmp_path / "yard.sdf").write_text(SDF)
    (tmp_path / "meshes").mkdir()
    trimesh.creation.box(extents=[1.0, 2.0, 3.0]).export(tmp_path / "meshes" / "thing.stl")
    world = load_world(tmp_path / "yard.sdf")
    assert world.name == "yard" and isinstance(world.ground, Plane)
    assert world.origin is not None and world.origin.height_m == 488
    house, mast, ball, thing = world.obstacles
    assert isinstance(house, Box) and house.p_N_m == pytest.approx((20, 10, -2)) and house.size_m == (6, 4, 4)
    assert house.material.friction == 0.9 and house.material.colour == pytest.approx((0.8, 0.1, 0.1))
    # its long side points 0.5 rad north of east
    assert house.R_NB[:, 0] == pytest.approx([math.sin(0.5), math.cos(0.5), 0.0], abs=1e-12)
    assert isinstance(mast, Cylinder) and mast.p_N_m == pytest.approx((-3, 5, -4))
    assert isinstance(ball, Sphere) and ball.p_N_m == pytest.approx((7, 0, -1))
    assert isinstance(thing, Mesh) and thing.closed
    corners = thing.vertices_m @ thing.R_NB.T + np.array(thing.p_N_m)
    assert corners.max(axis=0) - corners.min(axis=0) == pytest.approx([2.0, 2.0, 3.0], abs=1e-4)  # turned to the north
    place, _ = world.movers[0].pose_at(5.0)
    assert place == pytest.approx([0.0, 5.0, 0.0])
    assert any("oak_tree" in text for text in world.missing) and any("joints" in text for text in world.missing)
    hit = Scene(world).cast([[20.0, 10.0, -30.0]], [[0.0, 0.0, 1.0]])
    assert hit.range_m[0] == pytest.approx(26.0)


def test_a_heightmap_of_gazebo_lies_the_right_way_round(tmp_path: Path) -> None:
    picture = np.zeros((5, 5), np.uint8)
    picture[0, 4] = 255  # the north-east corner
    (tmp_path / "h.png").write_bytes(write_png(picture))
    (tmp_path / "w.sdf").write_text(
        '<sdf version="1.9"><world name="w"><model name="m"><link name="l"><collision name="c"><geometry><heightmap>'
        "<uri>h.png</uri><size>40 80 10</size><pos>0 0 1</pos></heightmap></geometry></collision></link></model>"
        "</world></sdf>"
    )
    ground = load_world(tmp_path / "w.sdf").ground
    assert isinstance(ground, Heightfield)
    assert float(ground.height_at(40.0, 20.0)) == pytest.approx(11.0)
    assert float(ground.height_at(-40.0, 20.0)) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('<!DOCTYPE a [<!ENTITY b "c">]><sdf><world/></sdf>', "document type"),
        ("<sdf><model/></sdf>", "no <world>"),
        ("<sdf><world>", "no whole XML"),
        ("<a>" * 100 + "</a>" * 100, "nested deeper"),
        (SDF.replace("6 4 4", "6 4"), "it needs 3 numbers"),
        (SDF.replace("6 4 4", "6 4 nan"), "it needs 3 numbers"),
    ],
)
def test_a_broken_or_hostile_gazebo_world_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "w.sdf").write_text(text)
    with pytest.raises(WorldError, match=says):
        load_world(tmp_path / "w.sdf")


def test_aerialists_obstacles_become_boxes_and_cylinders(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(
        "simulation:\n  obstacles:\n"
        "  - {size: {l: 10, w: 5, h: 20}, position: {x: 10, y: 20, z: 0, r: 30}}\n"
        "  - {shape: cylinder, size: {r: 2, h: 8}, position: {x: -5, y: 1, z: 1}}\n"
    )
    (tmp_path / "r.yaml").write_text("simulation:\n  obstacles: [10, 5, 20, 10, 20, 0, 30]\n")
    box, can = load_world(tmp_path / "t.yaml").obstacles
    (same,) = load_world(tmp_path / "r.yaml").obstacles
    assert isinstance(box, Box) and box == same and box.p_N_m == (10, 20, -10)
    assert box.R_NB[:, 0] == pytest.approx([math.cos(math.radians(30)), 0.5, 0.0])  # clockwise from above
    assert isinstance(can, Cylinder) and can.p_N_m == (-5, 1, -5) and can.radius_m == 2
    (tmp_path / "b.yaml").write_text("simulation:\n  obstacles: [1, 2, 3]\n")
    with pytest.raises(WorldError, match="7 numbers each"):
        load_world(tmp_path / "b.yaml")
