"""The page of a scenario: paths from above, distances over time, and the result of every vehicle."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.files.json_text import json_text
from ironbird.files.whole import write_text
from ironbird.flight.worlds import ordered_world
from ironbird.report.folder import SIGHT
from ironbird.report.page import write_page
from ironbird.report.svg_plot import Curve, lines_plot, track_plot
from ironbird.scenario.run import ScenarioFlight
from ironbird.vehicles import places as at
from ironbird.world.model import Box, Cylinder, Mesh, Obstacle, World
from ironbird.world.outputs import write_samples

INKS = tuple(f"var(--c{i})" for i in range(6))
OUTLINE = "var(--muted)"
MOST_PAIRS = 12  # curves of distances: the nearest pairs
MOST_OUTLINES = 200
ROUND = np.linspace(0.0, 2 * np.pi, 25)


def write_scenario_folder(flown: ScenarioFlight, folder: Path) -> Path:
    """Write logs (Parquet), summary (JSON) and page of a scenario; returns the path of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    for vehicle in flown.vehicles:
        vehicle.log.to_parquet(folder / f"{vehicle.name}.parquet", vehicle.lane)
        if vehicle.sensors:
            write_samples(folder / SIGHT / vehicle.name, vehicle.sensors, vehicle.samples)
    write_text(folder / "summary.json", json_text(flown.record(), "ironbird/scenario-summary/1"))
    page = folder / "report.html"
    write_page(page, "scenario.html.j2", _content(flown))
    return page


def _content(flown: ScenarioFlight) -> dict[str, Any]:
    world = ordered_world(flown.scenario.world)
    paths = [
        Curve(v.name, v.path_N_m[:, 1], v.path_N_m[:, 0], INKS[i % len(INKS)]) for i, v in enumerate(flown.vehicles)
    ]
    heights = [
        Curve(v.name, flown.time_s, -v.path_N_m[:, 2], INKS[i % len(INKS)]) for i, v in enumerate(flown.vehicles)
    ]
    events = [(hit.time_s, "var(--bad)") for hit in flown.hits]
    return {
        "title": flown.scenario.title,
        "verdict": flown.verdict,
        "sentence": flown.sentence,
        "lead": [
            f"{len(flown.vehicles)} vehicles in '{world.name}'",
            f"{flown.time_s[-1] if len(flown.time_s) else 0.0:.1f} s",
            f"{flown.wall_s:.1f} s of wall time",
        ],
        "top": track_plot("from above: east, north (m)", [*_outlines(world, paths), *paths]),
        "height": lines_plot("height", "m", heights, events),
        "distances": lines_plot("distance between the nearest pairs", "m", _distances(flown), events),
        "clearances": lines_plot("distance to the nearest obstacle or vehicle", "m", _clearances(flown), events),
        "vehicles": [
            {
                "name": v.name,
                "ink": INKS[i % len(INKS)],
                "kind": m.order.vehicle,
                "control": m.order.control,
                "verdict": v.judged.verdict,
                "outcome": v.judged.outcome,
                "nearest": f"{v.min_distance_m:.2f} m" if v.min_distance_m < 999 else "nothing near",
                "sentence": v.judged.sentence,
            }
            for i, (v, m) in enumerate(zip(flown.vehicles, flown.scenario.members, strict=True))
        ],
        "between": [
            {"name": j.name, "status": "pass" if j.holds else "fail", "margin": f"{j.margin:.3g}", "why": j.sentence}
            for j in flown.judgements
        ],
        "hits": [
            {"time": f"{h.time_s:.3f} s", "who": f"{h.first}, {h.second}", "speed": f"{h.speed_mps:.2f} m/s"}
            for h in flown.hits
        ],
        "sha256": flown.sha256,
        "digest": flown.scenario.digest(),
    }


def _distances(flown: ScenarioFlight) -> list[Curve]:
    """Curves of the distances between the pairs that came nearest."""
    names = [v.name for v in flown.vehicles]
    places = np.stack([v.path_N_m for v in flown.vehicles])
    every = max(1, places.shape[1] // 200)
    thin = places[:, ::every]
    pairs = sorted(
        combinations(range(len(names)), 2),
        key=lambda pair: float(((thin[pair[0]] - thin[pair[1]]) ** 2).sum(axis=1).min()),
    )[:MOST_PAIRS]
    return [
        Curve(f"{names[i]}, {names[j]}", flown.time_s, flown.distance(names[i], names[j]), INKS[k % len(INKS)])
        for k, (i, j) in enumerate(pairs)
    ]


def _clearances(flown: ScenarioFlight) -> list[Curve]:
    curves = []
    for i, v in enumerate(flown.vehicles):
        near = v.log.lane(at.CLEARANCE.min_distance, v.lane)
        curves.append(Curve(v.name, v.log.time(v.lane), np.where(near < 999, near, np.nan), INKS[i % len(INKS)]))
    return curves


def _outlines(world: World, paths: list[Curve]) -> list[Curve]:
    """Outlines of the obstacles around the paths, from above."""
    east = np.concatenate([p.x for p in paths])
    north = np.concatenate([p.y for p in paths])
    low, high = np.array([north.min(), east.min()]) - 20.0, np.array([north.max(), east.max()]) + 20.0
    outlines: list[Curve] = []
    for shape in world.obstacles:
        place = np.array(shape.p_N_m[:2])
        if (place < low).any() or (place > high).any() or len(outlines) >= MOST_OUTLINES:
            continue
        corners = _corners(shape)
        outlines.append(Curve(shape.name, corners[:, 1], corners[:, 0], OUTLINE))
    return outlines


def _corners(shape: Obstacle) -> np.ndarray:
    if isinstance(shape, Box):
        half = np.array(shape.size_m) / 2
        own = np.array([[1, 1, 0], [1, -1, 0], [-1, -1, 0], [-1, 1, 0], [1, 1, 0]]) * half
    elif isinstance(shape, Mesh):
        low, high = shape.vertices_m.min(axis=0), shape.vertices_m.max(axis=0)
        own = np.array([[low[0], low[1], 0], [low[0], high[1], 0], [high[0], high[1], 0], [high[0], low[1], 0]])
        own = np.concatenate([own, own[:1]])
    else:
        radius = shape.radius_m
        own = np.stack([radius * np.cos(ROUND), radius * np.sin(ROUND), 0 * ROUND], axis=1)
        if isinstance(shape, Cylinder):
            return np.asarray(own @ shape.R_NB.T + shape.p_N_m)
    return np.asarray(own @ shape.R_NB.T + shape.p_N_m)
