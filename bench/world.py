"""Speed of the world on one core: rays, depth and colour pictures, a ring of 16 beams.

    python bench/world.py

Prints JSON. Rates are per second of processor time of this process: others use this machine as well. The bars: 2
million rays a second against 200,000 triangles (a lidar's scan of 16,000 rays, the worst order for a tree), 8 depth
pictures of 640 x 480 a second, and a campaign of flights with a ring of 16 beams at 10 Hz at 200 times real time (all
flights together, on one core, with the whole reference autopilot; `truth` is the controller that sees all).
"""

from __future__ import annotations

import functools
import json
import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ironbird.compiler.compiled import LANES
from ironbird.flight.inside import fly_lanes
from ironbird.flight.order import make_order
from ironbird.flight.prepare import fit
from ironbird.world.files import load_world
from ironbird.world.model import Hills, Mesh, Plane, World
from ironbird.world.rays import Scene
from ironbird.world.runner import WorldSensors, sensor_of
from ironbird.world.track import Track

HILLS = Hills(20.0, 300.0, 1000.0, 1000.0 / 316, seed=3)  # 99,856 cells: 199,712 triangles


def mesh_of_hills() -> Mesh:
    """The triangles of the hills as a mesh."""
    grid = HILLS.grid
    rows, columns = grid.heights_m.shape
    north = grid.north_m + grid.spacing_north_m * np.arange(rows)[:, None] + np.zeros((1, columns))
    east = grid.east_m + grid.spacing_east_m * np.arange(columns)[None, :] + np.zeros((rows, 1))
    place = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = (part.ravel() for part in (place[:-1, :-1], place[1:, :-1], place[:-1, 1:], place[1:, 1:]))
    triangles = np.concatenate([np.stack([a, d, b], -1), np.stack([a, c, d], -1)])
    corners = np.stack([north, east, -grid.heights_m], -1).reshape(-1, 3)
    return Mesh("hills", (0.0, 0.0, 0.0), vertices_m=corners, triangles=triangles)


def best(work: Callable[[], object], repeats: int = 7) -> float:
    """Shortest processor time of some runs, in seconds."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def campaign_with_ring(control: str, flights: int = 64, until_s: float = 20.0) -> dict[str, float]:
    """Times real time of flights side by side with a ring, by processor time and by the wall; and without it."""
    ring = {"kind": "ring", "name": "around", "beams": 16, "noise_m": 0.02}
    found = {}
    for name, sight in (("", [ring]), ("_without_ring", [])):
        order = make_order("quad_f450", control=control, mission="hover", world="forest", sight=sight, until_s=until_s,
                           log_s=0.1)  # fmt: skip
        model = fit(order).model
        model.library(LANES)  # compiling is not part of the time
        orders = [replace(order, seed=seed) for seed in range(flights)]
        cpu, wall = time.process_time(), time.perf_counter()
        fly_lanes(orders, model, threads=1)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        found[f"campaign_{control}{name}_times_real_time"] = flights * until_s / cpu
        found[f"campaign_{control}{name}_times_real_time_by_wall"] = flights * until_s / wall
    return found


def main() -> None:
    """Measure and print."""
    begin = time.process_time()
    meshed = Scene(World("mesh", terrain=Plane(-1e5), obstacles=(mesh_of_hills(),)))
    built_s = time.process_time() - begin
    grid = Scene(World("grid", terrain=HILLS))
    lidar = sensor_of({"kind": "scanning_lidar", "name": "l", "rings": 16, "columns": 1000, "low_deg": -25})
    ways = lidar.directions().reshape(-1, 3)  # type: ignore[attr-defined]
    origins = np.tile([0.0, 0.0, -25.0], (len(ways), 1))
    above = Track.still((0.0, 0.0, -25.0), (math.cos(0.1), 0.0, -math.sin(0.1), 0.0))
    figures = {"triangles": 199_712, "tree_built_s": built_s}
    for name, scene in (("mesh", meshed), ("grid", grid)):
        figures[f"{name}_lidar_Mrays_per_s"] = (
            1e-6 * len(ways) / best(functools.partial(scene.cast, origins, ways, 200.0))
        )
        for kind, more in (("depth_camera", {"max_m": 1000.0}), ("camera", {}), ("camera", {"shadows": False})):
            sensor = sensor_of({"kind": kind, "name": "c", **more})
            runner = WorldSensors(scene, [sensor])
            runner.due(above)
            key = f"{name}_{kind}{'' if more.get('shadows', True) else '_without_shadows'}_640x480_Hz"
            figures[key] = 1 / best(functools.partial(runner.due, above))
    ring = WorldSensors(load_world("forest"), [sensor_of({"kind": "ring", "name": "r", "beams": 16, "noise_m": 0.02})])
    still = Track.still((0.0, 0.0, -3.0))
    figures["ring_of_16_in_forest_times_real_time"] = 10 / best(lambda: ring.run(still, ring.next_s() + 10.0), 3)
    for control in ("truth", "reference"):
        figures |= campaign_with_ring(control)
    points = np.random.default_rng(1).uniform(-300, 300, (10_000, 3)) * [1, 1, 0.1]
    figures["distances_to_mesh_per_s"] = 10_000 / best(lambda: meshed.distance(points), 3)
    print(json.dumps({key: float(f"{value:.4g}") for key, value in figures.items()}, indent=2))


if __name__ == "__main__":
    main()
