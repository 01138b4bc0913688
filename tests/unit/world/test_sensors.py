"""Sensors of the world: geometry against closed forms and OpenCV, errors against their statistics, pictures by hash."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import cv2
import numpy as np
import pytest

from ironbird.errors import IronbirdError, WorldError
from ironbird.rotations import from_euler, matrix, multiply
from ironbird.world.files import load_world
from ironbird.world.marker import marker_cells
from ironbird.world.model import Box, Cylinder, Light, Material, Mover, Pad, Plane, Sphere, Water, World
from ironbird.world.native import exponential, normals, sine_cosine, uniforms
from ironbird.world.rays import Scene
from ironbird.world.runner import WorldSensors, sensor_of
from ironbird.world.sensors import SENSORS
from ironbird.world.sensors.camera import RENDERER_VERSION, Camera, srgb
from ironbird.world.sensors.sensor import Data
from ironbird.world.sensors.solid_state_lidar import load_pattern, pattern_names
from ironbird.world.track import Track

WHITE = Material("white", reflectance=0.9, colour=(0.9, 0.9, 0.9))
FLAT = World("flat", terrain=Plane(material=WHITE))
WALL = World("wall", obstacles=(Box("wall", (10.5, 0.0, -50.0), material=WHITE, size_m=(1.0, 200.0, 200.0)),))


def one(world: World | Scene, track: Track, seed: int = 1, /, **table: Any) -> Data:
    runner = WorldSensors(world, [sensor_of({"name": "s", **table})], seed=seed)
    return runner.due(track)[0].data


def standing(height_m: float = 10.0, euler_deg: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Track:
    return Track.still((0.0, 0.0, -height_m), from_euler(np.radians(euler_deg)))


# ---------------------------------------------------------------------- chance and functions


def test_random_numbers_repeat_and_have_their_moments() -> None:
    many = normals(7, "a", 3, 100_000)
    assert np.array_equal(many[:501], normals(7, "a", 3, 501))  # a number does not depend on how many are drawn
    assert abs(many.mean()) < 0.015 and many.std() == pytest.approx(1.0, abs=0.01)  # 4 standard errors
    for other in (normals(8, "a", 3, 9), normals(7, "b", 3, 9), normals(7, "a", 4, 9)):
        assert not np.isclose(other, many[:9]).any()
    even = uniforms(7, "a", 3, 100_000)
    assert even.min() > 0 and even.max() < 1 and even.mean() == pytest.approx(0.5, abs=0.004)


def test_functions_that_are_the_same_on_every_machine_are_right() -> None:
    x = np.linspace(-20, 20, 1001).reshape(7, 143)
    sine, cosine = sine_cosine(x)
    assert sine == pytest.approx(np.sin(x), abs=1e-15) and cosine == pytest.approx(np.cos(x), abs=1e-15)
    assert exponential(x) == pytest.approx(np.exp(x), rel=1e-14)


# ---------------------------------------------------------------------- ranges


def test_a_tilted_rangefinder_reads_height_over_cosine() -> None:
    for tilt in (0.0, 20.0, 40.0):
        data = one(FLAT, standing(10, (tilt, 0, 0)), kind="rangefinder", euler_deg=[0, -90, 0])
        assert data["range_m"][0] == pytest.approx(10 / math.cos(math.radians(tilt)), rel=1e-12)


def test_a_wide_beam_reads_the_nearest_part() -> None:
    data = one(FLAT, standing(10, (20, 0, 0)), kind="rangefinder", euler_deg=[0, -90, 0], beam_deg=60)
    assert data["range_m"][0] == pytest.approx(10.0, rel=0.01)  # 20 degrees off the middle: a ring of the cone


def test_the_mount_is_taken_into_account() -> None:
    table = {"kind": "rangefinder", "position_B_m": [0.5, 0.0, 0.0]}
    track = Track.still((0.0, 0.0, -10.0), from_euler([0.0, 0.0, 0.3]))
    # a wall at north 10; the sensor is half a metre ahead of the middle, both turned
    assert one(WALL, track, **table)["range_m"][0] == pytest.approx(10 / math.cos(0.3) - 0.5, rel=1e-12)
    back = one(WALL, standing(), kind="rangefinder", euler_deg=[0, 0, 180])
    assert np.isnan(back["range_m"][0])


def test_a_ring_looks_clockwise_from_ahead() -> None:
    world = World("w", obstacles=(Box("east", (0.0, 6.0, -10.0), material=WHITE, size_m=(1.0, 2.0, 1.0)),))
    ranges = one(world, standing(), kind="ring", beams=8)["range_m"]
    assert ranges[2] == pytest.approx(5.0) and np.isnan(np.delete(ranges, 2)).all()


def test_an_echo_is_heard_as_far_as_the_lidar_equation_says() -> None:
    for reflectance, fog_m in ((0.1, 0.0), (0.02, 0.0), (0.5, 200.0)):
        grey = Material("grey", reflectance=reflectance)
        world = World("w", terrain=Plane(material=grey), light=Light(visibility_m=fog_m))
        heard = [
            h for h in range(5, 140)
            if not np.isnan(one(world, standing(h), kind="rangefinder", euler_deg=[0, -90, 0])["range_m"][0])
        ]  # fmt: skip
        per_m = 3.912 / fog_m if fog_m else 0.0
        expected = [h for h in range(5, 101) if reflectance * math.exp(-2 * per_m * h) >= 0.1 * (h / 100) ** 2]
        assert heard == expected


def test_noise_dropouts_and_steps_of_ranges_have_their_size() -> None:
    table = {"kind": "ring", "beams": 720, "euler_deg": [0, 0, 0], "noise_m": 0.1, "dropout": 0.25, "max_m": 60.0}
    tube = World("w", obstacles=(Sphere("s", (0.0, 0.0, -10.0), material=WHITE, radius_m=40.0),), terrain=Plane(-1e3))
    ranges = np.concatenate([one(tube, standing(), k, **table)["range_m"] for k in range(10)])
    lost = np.isnan(ranges)
    assert lost.mean() == pytest.approx(0.25, abs=0.02)
    assert ranges[~lost].std() == pytest.approx(0.1, rel=0.05) and ranges[~lost].mean() == pytest.approx(40.0, abs=0.01)
    coarse = one(tube, standing(), **{**table, "resolution_m": 0.5, "dropout": 0.0})["range_m"]
    assert np.unique(coarse % 0.5).tolist() == [0.0]


def test_rain_gives_false_echoes_near_the_sensor() -> None:
    table = {"kind": "ring", "beams": 720, "max_m": 60.0, "rain_mm_per_h": 50.0, "reflectance_at_max": 0.01}
    tube = World("w", obstacles=(Sphere("s", (0.0, 0.0, -10.0), material=WHITE, radius_m=40.0),), terrain=Plane(-1e3))
    ranges = np.concatenate([one(tube, standing(), k, **table)["range_m"] for k in range(20)])
    false = ranges < 10
    assert false.mean() == pytest.approx(4e-4 * 50, rel=0.2)
    assert ranges[~false] == pytest.approx(40.0)


def test_a_radar_altimeter_reads_the_height_over_ground_or_water() -> None:
    assert one(FLAT, standing(100), kind="radar_altimeter")["range_m"][0] == pytest.approx(100, rel=0.01)
    sea = World("sea", terrain=Plane(-50.0), water=Water(0.0))
    assert one(sea, standing(100), kind="radar_altimeter")["range_m"][0] == pytest.approx(100, rel=0.01)


def test_a_sonar_maps_a_flat_floor_and_hears_nothing_in_the_air() -> None:
    mud = Material("mud", reflectance=0.5)
    sea = World("sea", terrain=Plane(-30.0, material=mud), water=Water(0.0))
    table = {"kind": "multibeam_sonar", "beams": 33, "swath_deg": 100.0, "max_m": 200.0}
    data = one(sea, Track.still((0.0, 0.0, 10.0)), **table)
    angle = np.radians(np.linspace(-50, 50, 33))
    assert data["range_m"] == pytest.approx(20 / np.cos(angle), rel=1e-12)
    assert np.isnan(one(sea, standing(5), **table)["range_m"]).all()
    # rolled by 60 degrees some beams look up: they come back from the surface, 10 m above
    rolled = one(sea, Track.still((0.0, 0.0, 10.0), from_euler([math.radians(60), 0, 0])), **table)["range_m"]
    assert np.nanmax(rolled[[0, -1]]) == pytest.approx(10 / math.sin(math.radians(20)), rel=1e-9)


def test_a_lidar_draws_a_plane_as_a_plane() -> None:
    data = one(FLAT, standing(3, (4, -3, 50)), kind="scanning_lidar", columns=180, rings=8, max_m=60)
    points = data["points_m"].reshape(-1, 3)
    points = points[~np.isnan(points[:, 0])] @ matrix(from_euler(np.radians((4, -3, 50)))).T
    assert len(points) > 300 and points[:, 2] == pytest.approx(3.0, abs=1e-9)


def test_a_lidar_that_moves_sees_a_bent_wall() -> None:
    times = np.linspace(0, 1, 11)
    moving = Track(times, np.column_stack([5.0 * times, 0 * times, 0 * times - 10]), np.tile([1.0, 0, 0, 0], (11, 1)))
    runner = WorldSensors(WALL, [sensor_of({"kind": "scanning_lidar", "name": "s", "rings": 1, "columns": 360,
                                            "low_deg": 0, "high_deg": 0, "reflectance_at_max": 0})])  # fmt: skip
    data = runner.run(moving, 0.5)[-1].data
    east_of_ahead = data["points_m"][0, 200]  # 20.5 degrees right, measured 160 / 360 of a turn before the end
    at = 0.5 + data["offset_s"][200]
    assert data["offset_s"][200] == pytest.approx((201 / 360 - 1) / 10)
    assert east_of_ahead[0] == pytest.approx(10 - 5 * at, rel=1e-9)


@pytest.mark.parametrize("name", pattern_names())
def test_patterns_of_solid_state_lidars_look_where_they_say(name: str) -> None:
    rows = load_pattern(name)
    data = one(WALL, standing(), kind="solid_state_lidar", pattern=name, reflectance_at_max=0)
    right, up = np.radians(rows[:, 0]), np.radians(rows[:, 1])
    seen = ~np.isnan(data["range_m"])
    assert seen.sum() > 2000
    assert data["points_m"][seen, 0] == pytest.approx(10.0, abs=1e-9)
    assert data["points_m"][seen, 1] == pytest.approx(10 * np.tan(right[seen]), abs=1e-9)
    assert data["points_m"][seen, 2] == pytest.approx(-10 * np.tan(up[seen]) / np.cos(right[seen]), abs=1e-9)


# ---------------------------------------------------------------------- pictures


LENS = {"k1": -0.28, "k2": 0.07, "p1": 0.001, "p2": -0.0008, "k3": 0.002}


def test_known_points_are_seen_within_a_tenth_of_a_pixel() -> None:
    """Round plates that face the camera: the middle of each in the picture is where the projection puts it."""
    euler, place = (0.1, -0.3, 0.7), np.array([3.0, -4.0, -20.0])
    R = matrix(from_euler(euler))
    local = np.array([[12.0, y + 0.07 * z, z - 0.05 * y] for y in (-7.3, -2.4, 2.6, 7.1) for z in (-4.8, 0.1, 4.9)])
    facing = tuple(multiply(from_euler(euler), from_euler((0.0, math.pi / 2, 0.0))))
    plates = tuple(
        Cylinder(f"b{k}", tuple(place + R @ p), facing, radius_m=0.8, height_m=0.001) for k, p in enumerate(local)
    )
    world = World("w", terrain=Plane(-1e4), obstacles=plates)
    table = {"width": 640, "height": 480, "field_of_view_deg": 80.0}
    picture = one(world, Track.still(place, from_euler(euler)), kind="semantic_camera", **table)["object"]
    camera = sensor_of({"kind": "camera", "name": "c", **table})
    assert isinstance(camera, Camera)
    for k, (u, v) in enumerate(camera.project(local)):
        down, right = np.nonzero(picture == 2 + k)
        assert abs(right.mean() - u) < 0.1 and abs(down.mean() - v) < 0.1


def test_distortion_is_that_of_opencv() -> None:
    camera = sensor_of({"kind": "camera", "name": "c", "field_of_view_deg": 80.0, **LENS})
    assert isinstance(camera, Camera)
    random = np.random.default_rng(2)
    points = np.column_stack([random.uniform(2, 30, 500), random.uniform(-1, 1, 500), random.uniform(-0.7, 0.7, 500)])
    points[:, 1:] *= points[:, :1]
    u0, v0 = camera.centre_px
    matrix_cv = np.array([[camera.focal_px, 0, u0], [0, camera.focal_px, v0], [0, 0, 1.0]])
    lens = np.array([camera.k1, camera.k2, camera.p1, camera.p2, camera.k3])
    theirs, _ = cv2.projectPoints(points[:, [1, 2, 0]], np.zeros(3), np.zeros(3), matrix_cv, lens)
    assert camera.project(points) == pytest.approx(theirs[:, 0], abs=1e-9)
    # and back: the ray of every pixel is the one that OpenCV finds
    pixels = np.stack(np.meshgrid(np.arange(0, 640, 40.0), np.arange(0, 480, 40.0)), -1).reshape(-1, 2)
    criteria = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 100, 1e-12)
    straight = cv2.undistortPoints(pixels[:, None], matrix_cv, lens, criteria=criteria)[:, 0]
    ours = camera._directions.reshape(480, 640, 3)[::40, ::40].reshape(-1, 3)
    assert ours[:, 1:] / ours[:, :1] == pytest.approx(straight, abs=1e-6)


def test_the_optical_axis_is_the_middle_of_the_picture() -> None:
    """A wall whose edge is a little right of straight ahead fills exactly the right half of the pixels."""
    half = Box("half", (10.0, 50.1, -10.0), material=WHITE, size_m=(1.0, 100.0, 100.0))
    world = World("w", terrain=Plane(-1e3), obstacles=(half,))
    seen = one(world, standing(), kind="semantic_camera", width=64, height=48)["object"]
    assert (seen[:, :32] != 2).all() and (seen[:, 32:] == 2).all()


def test_a_lens_that_folds_the_picture_is_refused() -> None:
    with pytest.raises(WorldError, match="folds the picture"):
        one(FLAT, standing(), kind="camera", k1=-2.0, field_of_view_deg=100)


def test_depth_is_the_distance_along_the_axis() -> None:
    data = one(WALL, standing(), kind="depth_camera", width=64, height=48)
    assert data["depth_m"][data["depth_m"] > 0] == pytest.approx(10.0, abs=1e-9)
    noisy = one(WALL, standing(), kind="depth_camera", width=64, height=48, noise_at_1m=0.002)["depth_m"]
    assert noisy.std() == pytest.approx(0.002 * 100, rel=0.1)


def test_colours_follow_lamberts_law_and_the_fog_koschmieders() -> None:
    grey = Material("grey", colour=(0.5, 0.4, 0.2))
    for elevation in (0.3, 1.0):
        light = Light(sun_azimuth_rad=0.0, sun_elevation_rad=elevation, ambient=0.3, sky=(0.1, 0.2, 0.3))
        for visibility in (0.0, 50.0):
            fogged = Light(light.sun_azimuth_rad, elevation, 0.3, light.sky, visibility)
            world = World("w", terrain=Plane(material=grey), light=fogged)
            rgb = one(world, standing(20), kind="camera", width=2, height=2, euler_deg=[0, -90, 0],
                      field_of_view_deg=1)["rgb"][0, 0]  # fmt: skip
            clear = math.exp(-3.912 / visibility * 20) if visibility else 1.0
            lit = 0.3 + 0.7 * math.sin(elevation)
            expected = [clear * lit * c + (1 - clear) * s for c, s in zip(grey.colour, light.sky, strict=True)]
            assert np.abs(rgb.astype(int) - srgb(np.array(expected)).astype(int)).max() <= 1


def test_srgb_levels_are_those_of_the_standard() -> None:
    level = np.arange(256) / 255
    linear = np.where(level <= 0.04045, level / 12.92, ((level + 0.055) / 1.055) ** 2.4)
    assert np.array_equal(srgb(linear), np.arange(256))


def test_a_thing_throws_a_shadow_away_from_the_sun() -> None:
    light = Light(sun_azimuth_rad=math.pi / 2, sun_elevation_rad=math.pi / 4)  # from the east: the shadow goes west
    post = Box("post", (0.0, 0.0, -1.0), size_m=(1.0, 1.0, 2.0))
    world = World("w", obstacles=(post,), light=light)
    track = Track.still((0.0, 0.0, -30.0))
    rgb = one(world, track, kind="camera", euler_deg=[0, -90, 0], width=61, height=61, field_of_view_deg=20)["rgb"]
    metres = 2 * 30 * math.tan(math.radians(10)) / 61
    west, east = 30 - round(1.5 / metres), 30 + round(1.5 / metres)
    assert rgb[30, west].sum() < 0.75 * rgb[30, east].sum()


def test_a_marker_on_a_pad_is_drawn_as_it_is() -> None:
    for turn in (0.0, math.pi / 2):
        world = World("w", pads=(Pad("p", 0.0, 0.0, radius_m=1.0, marker=1234, yaw_rad=turn),))
        rgb = one(world, standing(4), kind="camera", euler_deg=[0, -90, 0], width=400, height=400)["rgb"]
        cell = 1.2 / 8 * 200 / 4  # pixels of a cell from 4 m: the focal length is 200 pixels
        middle = (np.arange(8) - 3.5) * cell + 199.5
        bright = rgb[np.round(middle).astype(int)][:, np.round(middle).astype(int), 0] > 100
        assert np.array_equal(bright, np.rot90(np.array(marker_cells(1234), bool), -1 if turn else 0))


def test_flow_is_what_moves_points_from_one_picture_to_the_next() -> None:
    times = np.array([0.0, 1.0])
    track = Track(times, [[0, 0, -10], [1.0, 0.5, -9.5]], [[1, 0, 0, 0], from_euler([0.02, 0.03, 0.05])])
    table = {"kind": "flow_camera", "width": 80, "height": 60, "rate_hz": 2.0, "k1": -0.1, "field_of_view_deg": 70.0}
    camera = sensor_of({"name": "s", **table})
    flow = one(WALL, track, **table)["flow_px"]
    place, R = track.at(0.5)
    point = np.array([10.0, 2.0, -11.0])  # on the wall
    before = camera.project((point - [0, 0, -10.0])[None])[0]  # type: ignore[attr-defined]
    after = camera.project(((point - place[0]) @ R[0])[None])[0]  # type: ignore[attr-defined]
    u, v = np.round(before).astype(int)
    assert flow[v, u] == pytest.approx(after - before, abs=0.05)  # the next pixel's point is a little off


def test_what_moves_has_its_own_flow() -> None:
    path = np.array([[0.0, 0.0, 0.0], [0.0, 10.0, 0.0]])
    car = Mover(
        "car", Box("car", (10.0, 0.0, -10.0), size_m=(1.0, 4.0, 4.0)), np.array([0.0, 10.0]), path, np.zeros((2, 3))
    )
    flow = one(World("w", movers=(car,)), standing(), kind="flow_camera", width=80, height=60, rate_hz=1.0)["flow_px"]
    assert flow[30, 40] == pytest.approx([40 * 1.0 / 9.5, 0.0], abs=1e-9)  # focal length 40 pixels, 1 m right in 1 s


def test_optical_flow_from_pictures_is_speed_over_height() -> None:
    grass = Material("g", colour=(0.2, 0.5, 0.1), colour_2=(0.5, 0.2, 0.3), checker_m=0.6)
    world = World("w", terrain=Plane(material=grass))
    for north, east in ((1.5, 0.0), (0.0, -2.0), (1.0, 1.0)):
        track = Track([0.0, 1.0], [[0.2, 0.3, -5], [0.2 + north, 0.3 + east, -5]], [[1.0, 0, 0, 0]] * 2)
        runner = WorldSensors(world, [sensor_of({"kind": "optical_flow", "name": "s", "rate_hz": 20.0})])
        data = runner.run(track, 0.1)[-1].data
        # looking down with the nose ahead: the ground goes down the picture as the vehicle goes north
        assert data["flow_rad"] * 20 == pytest.approx([-east / 5, north / 5], abs=0.02)
        assert data["quality"][0] > 150 and data["range_m"][0] == pytest.approx(5.0)
    bare = World("w", terrain=Plane())
    assert one(bare, standing(5), kind="optical_flow")["quality"][0] == 0


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"exposure_s": 0.02, "readout_s": 0.03},
        {
            "noise": 0.02,
            "shot_noise": 0.02,
            "dirt": 0.2,
            "rain_mm_per_h": 30.0,
            "blur_px": 1.2,
            "vignetting": 0.5,
            **LENS,
        },
    ],
)
def test_pictures_are_the_same_every_time(more: dict[str, float]) -> None:
    times = np.linspace(0, 1, 5)
    track = Track(times, np.column_stack([4 * times - 6, times, 0 * times - 3]), np.tile([1.0, 0, 0, 0.2], (5, 1)))
    hashes = set()
    for _ in range(2):
        sensor = sensor_of({"kind": "camera", "name": "c", "width": 96, "height": 72, "rate_hz": 4, **more})
        samples = WorldSensors(load_world("forest"), [sensor], seed=3).run(track, 0.5)
        hashes.add(hashlib.sha256(b"".join(s.data["rgb"].tobytes() for s in samples)).hexdigest())
    assert len(hashes) == 1


PICTURES = {1: "ae7aff50a6131400"}  # of each version of the renderer: hash of the picture below


def test_a_change_of_any_pixel_makes_a_new_version_of_the_renderer() -> None:
    track = Track.still((-25.0, -12.0, -3.0))
    rgb = one(load_world("field"), track, kind="camera", width=96, height=72, noise=0.02, k1=-0.05)["rgb"]
    assert PICTURES[RENDERER_VERSION] == hashlib.sha256(rgb.tobytes()).hexdigest()[:16]


def test_blur_dirt_and_noise_do_what_they_say() -> None:
    edge = World("w", terrain=Plane(-1e3), obstacles=(Box("wall", (11.0, 50.0, -10.0), material=WHITE,
                 size_m=(2.0, 100.0, 40.0)),), light=Light(sky=(0.0, 0.0, 0.0)))  # fmt: skip
    table = {"kind": "camera", "width": 64, "height": 48, "field_of_view_deg": 60.0}
    sharp = one(edge, standing(), **table)["rgb"][24, :, 0].astype(int)
    soft = one(edge, standing(), blur_px=3.0, **table)["rgb"][24, :, 0].astype(int)
    assert np.abs(np.diff(sharp)).max() > 4 * np.abs(np.diff(soft)).max()
    noisy = [one(FLAT, standing(), k, noise=0.01, euler_deg=[0, -90, 0], **table)["rgb"].astype(float) for k in (1, 2)]
    assert 1 < (noisy[0] - noisy[1]).std() < 6
    clean, dirty = (one(FLAT, standing(), euler_deg=[0, -90, 0], dirt=d, **table)["rgb"].mean() for d in (0.0, 0.5))
    assert dirty < 0.9 * clean


def test_a_rolling_shutter_leans_a_pole_that_goes_by() -> None:
    pole = Box("pole", (10.0, 0.0, -10.0), material=WHITE, size_m=(0.4, 0.4, 40.0))
    world = World("w", terrain=Plane(-1e3), obstacles=(pole,))
    track = Track([0.0, 1.0], [[0, 0, -10], [0, 20.0, -10]], [[1.0, 0, 0, 0]] * 2)
    for readout in (0.0, 0.05):
        seen = one(world, track, kind="semantic_camera", width=160, height=120, readout_s=readout)["object"]
        middle = [np.flatnonzero(seen[line] == 2).mean() for line in (10, 110)]
        # 20 m/s past 9.8 m with a focal length of 80 pixels, over 100 of 119 lines of the readout
        assert middle[1] - middle[0] == pytest.approx(-20 * readout * 100 / 119 * 80 / 9.8, abs=1.0)


# ---------------------------------------------------------------------- tables


def test_every_kind_of_sensor_measures_in_every_shipped_kind_of_world() -> None:
    small = {"width": 16, "height": 16, "rings": 2, "columns": 16, "beams": 8}
    track = Track.still((0.0, 0.0, 2.0))
    for kind, made in SENSORS.items():
        table = {key: value for key, value in small.items() if key in made.model_fields}
        data = one(load_world("sea_floor"), track, kind=kind, **table)
        assert data and set(data) <= set(made.UNITS)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"kind": "rangefinders", "name": "a"}, "unknown kind of sensor 'rangefinders'; did you mean 'rangefinder'"),
        ({"kind": "rangefinder", "name": "a", "colour": 1}, "unknown key 'colour'"),
        ({"kind": "rangefinder", "name": "1"}, "'1' is not"),
        ({"kind": "rangefinder", "name": "a", "rate_hz": math.nan}, "nan does not fit|outside"),
        ({"kind": "camera", "name": "a", "width": 8000, "height": 8000}, "the most is 4000000"),
        ({"kind": "solid_state_lidar", "name": "a", "pattern": "spiral"}, "unknown pattern 'spiral'"),
    ],
)
def test_a_sensor_that_makes_no_sense_is_refused(table: dict[str, object], says: str) -> None:
    with pytest.raises(IronbirdError, match=says):
        WorldSensors(FLAT, [sensor_of(table)]).due(standing())
