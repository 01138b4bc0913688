"""Sensors at work: rates, latency, faults with their witness, and files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from ironbird.errors import IronbirdError
from ironbird.faults.catalog import parse_fault
from ironbird.faults.sight import SIGHT_FAULTS
from ironbird.world.model import Box, Material, Plane, World
from ironbird.world.outputs import write_samples
from ironbird.world.png import read_png
from ironbird.world.runner import Sample, WorldSensors, load_sensors, sensor_of
from ironbird.world.sensors.sensor import Sensor
from ironbird.world.track import Track

CHECKED = Material("c", reflectance=0.8, colour=(0.8, 0.2, 0.2), colour_2=(0.2, 0.8, 0.2), checker_m=1.0)
WORLD = World(
    "w",
    terrain=Plane(material=CHECKED),
    obstacles=(Box("wall", (25.5, 0.0, -10.0), material=CHECKED, size_m=(1.0, 200.0, 60.0)),),
)
AHEAD = Track([0.0, 10.0], [[0, 0, -5.0], [20.0, 0, -5.0]], [[1.0, 0, 0, 0]] * 2)  # 2 m/s towards a wall


def front(**more: object) -> Sensor:
    return sensor_of({"kind": "rangefinder", "name": "front", **more})


def camera(**more: object) -> Sensor:
    return sensor_of({"kind": "camera", "name": "front", "width": 24, "height": 16, **more})


def fly(sensor: Sensor, *faults: str, until_s: float = 3.0) -> tuple[WorldSensors, list[Sample]]:
    runner = WorldSensors(WORLD, [sensor], faults=[parse_fault(text, SIGHT_FAULTS) for text in faults])
    return runner, runner.run(AHEAD, until_s)


def test_sensors_sample_at_their_own_rates_in_their_own_order() -> None:
    sensors = [front(rate_hz=4.0), sensor_of({"kind": "rangefinder", "name": "down", "rate_hz": 10.0, "latency_s": 0.05,
                                              "euler_deg": [0, -90, 0]})]  # fmt: skip
    samples = WorldSensors(WORLD, sensors).run(AHEAD, 0.5)
    assert [(s.sensor, s.time_s) for s in samples][:4] == [("front", 0), ("down", 0), ("down", 0.1), ("down", 0.2)]
    assert sum(s.sensor == "front" for s in samples) == 3
    assert all(s.arrives_s == pytest.approx(s.time_s + 0.05) for s in samples if s.sensor == "down")
    by_time = {s.time_s: float(s.data["range_m"][0]) for s in samples if s.sensor == "front"}
    assert by_time == pytest.approx({t: 25 - 2 * t for t in (0.0, 0.25, 0.5)})


def test_a_run_in_pieces_is_the_run_in_one() -> None:
    noisy = front(noise_m=0.3, rate_hz=20.0)
    _, whole = fly(noisy)
    runner = WorldSensors(WORLD, [noisy])
    pieces = [sample for end in (0.3, 0.31, 1.7, 3.0) for sample in runner.run(AHEAD, end)]
    assert [s.data["range_m"][0] for s in pieces] == [s.data["range_m"][0] for s in whole]


def test_a_frozen_sensor_repeats_its_last_sample_and_recovers() -> None:
    runner, samples = fly(front(), "sight.frozen@1:instance=front,start=1,end=2")
    ranges = {round(s.time_s, 1): float(s.data["range_m"][0]) for s in samples}
    assert {ranges[t / 10] for t in range(10, 20)} == {ranges[0.9]} and ranges[2.0] == pytest.approx(21.0)
    (witness,) = runner.witnesses
    assert witness.effective and witness.first_s == pytest.approx(1.0) and witness.samples == witness.differing == 10
    assert "acted on 'front' from 1.000 s; 10 of 10 samples differed" in witness.sentence()


def test_black_occluded_and_shifted_do_what_their_names_say() -> None:
    _, black = fly(front(), "sight.black@1:instance=front,start=1")
    assert np.isnan(black[-1].data["range_m"][0])
    _, dark = fly(camera(), "sight.black@1:instance=front,start=1", until_s=1.0)
    assert dark[0].data["rgb"].any() and not dark[-1].data["rgb"].any()
    _, half = fly(camera(), "sight.occluded@1:instance=front,severity=0.5,start=1", until_s=1.0)
    assert not half[-1].data["rgb"][:8].any() and half[-1].data["rgb"][8:].any()
    _, near = fly(front(min_m=0.2), "sight.occluded@1:instance=front,start=1")
    assert near[-1].data["range_m"][0] == 0.2
    _, turned = fly(front(), "sight.shifted@1:instance=front,severity=1,start=1")
    assert turned[-1].data["range_m"][0] == pytest.approx(19 / math.cos(math.radians(20)))


def test_delayed_samples_are_old_and_late_ones_are_true() -> None:
    runner, old = fly(front(), "sight.delayed@1:instance=front,severity=0.5,start=1")
    assert old[-1].data["range_m"][0] == pytest.approx(19 + 2 * 0.5) and old[-1].arrives_s == old[-1].time_s
    _, late = fly(front(), "sight.latency@1:instance=front,severity=0.5,start=1")
    assert late[-1].data["range_m"][0] == pytest.approx(19.0)
    assert late[-1].arrives_s == pytest.approx(late[-1].time_s + 0.5)
    assert runner.witnesses[0].first_s == pytest.approx(1.0)


def test_lost_samples_do_not_arrive() -> None:
    runner, samples = fly(front(rate_hz=100.0), "sight.dropout@1:instance=front,severity=0.3,start=0", until_s=10.0)
    assert len(samples) == pytest.approx(1001 * 0.7, abs=60)
    assert runner.witnesses[0].differing == 1001 - len(samples)


def test_a_fault_that_changes_nothing_is_told_to_be_ineffective() -> None:
    track = Track.still((0.0, 0.0, -5.0))
    fault = parse_fault("sight.frozen@1:instance=front,start=1,end=2", SIGHT_FAULTS)
    runner = WorldSensors(WORLD, [front()], faults=[fault])
    runner.run(track, 3.0)
    assert not runner.witnesses[0].effective and "ineffective" in runner.witnesses[0].sentence()


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("sight.frozen@1:instance=rear", "unknown sensor 'rear'"),
        ("sight.frozen@1:instance=front,when=time > 3 s", "a condition .when=. is not read here"),
    ],
)
def test_faults_that_do_not_fit_are_refused(fault: str, says: str) -> None:
    with pytest.raises(IronbirdError, match=says):
        fly(front(), fault)


def test_the_renderer_is_part_of_what_defines_a_flight_with_cameras() -> None:
    assert set(WorldSensors(WORLD, [front()]).version()) == {"world"}
    told = WorldSensors(WORLD, [camera()]).version()
    assert told["world"] == WORLD.digest and isinstance(told["renderer"], int)


def test_sensors_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('schema = 1\n[[sensor]]\nkind = "ring"\nname = "around"\nbeams = 16\n')
    (ring,) = load_sensors(path)
    assert ring.name == "around" and ring.model_dump()["beams"] == 16
    for text, says in (
        ("schema = 1\n", "has .*sensor.* tables"),
        ('schema = 1\n[[sensor]]\nkind = "rong"\nname = "a"\n', "unknown kind of sensor 'rong'"),
        ('schema = 1\n[[sensor]]\nkind = "ring"\nname = "a"\nbeams = 0\n', "beams: 0 is outside its bounds"),
    ):
        path.write_text(text)
        with pytest.raises(IronbirdError, match=says) as error:
            load_sensors(path)
        assert "s.toml:" in str(error.value)


def test_samples_become_tables_and_pictures(tmp_path: Path) -> None:
    sensors = [
        sensor_of({"kind": "ring", "name": "around", "beams": 4}),
        sensor_of({"kind": "camera", "name": "eye", "width": 8, "height": 6}),
        sensor_of({"kind": "depth_camera", "name": "deep", "width": 8, "height": 6, "max_m": 60.0}),
    ]
    samples = WorldSensors(WORLD, sensors).run(AHEAD, 0.2)
    write_samples(tmp_path, sensors, samples)
    table = pq.read_table(tmp_path / "around.parquet")
    ring = [s for s in samples if s.sensor == "around"]
    assert table["time_s"].to_pylist() == [s.time_s for s in ring]
    assert np.array_equal(table["range_m"][2].as_py(), ring[2].data["range_m"], equal_nan=True)
    assert table.schema.field("range_m").metadata == {b"unit": b"m", b"shape": b"4"}
    picture, _ = read_png((tmp_path / "eye" / "000001.png").read_bytes())
    assert np.array_equal(picture, next(s for s in samples if s.sensor == "eye" and s.number == 1).data["rgb"])
    depth, most = read_png((tmp_path / "deep" / "000000_depth.png").read_bytes())
    assert most == 65535 and depth.max() == pytest.approx(25000, abs=1)


@pytest.mark.parametrize(
    ("times", "places", "turns", "says"),
    [
        ([0, 0], [[0, 0, 0]] * 2, [[1, 0, 0, 0]] * 2, "do not rise"),
        ([0], [[0, 0, math.nan]], [[1, 0, 0, 0]], "not finite"),
        ([0], [[0, 0, 0]], [[0, 0, 0, 0]], "without length"),
        ([0, 1], [[0, 0, 0]], [[1, 0, 0, 0]], "a track has 2 times"),
    ],
)
def test_a_track_that_makes_no_sense_is_refused(times: list, places: list, turns: list, says: str) -> None:
    with pytest.raises(IronbirdError, match=says):
        Track(times, places, turns)


@pytest.mark.parametrize("kind", ["scanning_lidar", "solid_state_lidar"])
def test_points_go_with_the_rays_that_a_fault_ends(kind: str) -> None:
    lidar = sensor_of({"kind": kind, "name": "front", "min_m": 0.5})
    _, (healthy, *_) = fly(lidar, until_s=0.0)
    _, (black, *_) = fly(lidar, "sight.black@1:instance=front", until_s=0.0)
    _, (hidden, *_) = fly(lidar, "sight.occluded@1:instance=front,severity=0.5", until_s=0.0)
    assert np.isfinite(healthy.data["points_m"]).any() and np.isnan(black.data["points_m"]).all()
    ranges, points = hidden.data["range_m"], hidden.data["points_m"]
    there = np.isfinite(points[..., 0])
    np.testing.assert_allclose(np.linalg.norm(points, axis=-1)[there], ranges[there], rtol=1e-12)
    assert (ranges.reshape(-1)[: ranges.size // 2] == 0.5).all()
