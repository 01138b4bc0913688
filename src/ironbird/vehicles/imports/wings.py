"""A fixed wing's vehicle file from imported data; gear, launcher and control are those of a known plane."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.vehicles.imports.draft import Draft

KNOWN = "px4_plane"  # plane whose gains and mission are used where nothing is given


@dataclass
class WingParts:
    """Imported data of a plane: lifting surfaces (`panels`) or coefficients (`wing`), and its propeller."""

    id: str
    title: str
    source: str
    mass_kg: float
    inertia_kgm2: np.ndarray
    panels: dict[str, dict[str, Any]]
    surfaces: dict[str, list[float]]
    puller: dict[str, Any]
    travel_rad: float = 0.53
    bottom_B_m: float = 0.0
    foot_B_m: tuple[float, float] = (0.0, 0.0)
    wing: dict[str, float] = field(default_factory=dict)
    simple_propeller: dict[str, Any] = field(default_factory=dict)
    speed_mps: float = 15.0
    start: dict[str, float] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    more: dict[str, str] = field(default_factory=dict)


def draft_fixed_wing(parts: WingParts) -> Draft:
    """The file of a plane. Its trim and gains are the known plane's: confirm them by `ironbird vehicle trim`."""
    from ironbird.vehicles.load import read_tables, vehicle_path

    known = read_tables(vehicle_path(KNOWN))
    source = f"published: {parts.source}"
    tables: dict[str, Any] = {
        "id": parts.id,
        "title": parts.title,
        "template": "fixed_wing",
        "summary": f"{parts.mass_kg:.4g} kg plane, from {parts.source}.",
        "mission": "return",
        "body": {"mass_kg": parts.mass_kg, "inertia_kgm2": np.asarray(parts.inertia_kgm2).tolist()},
    }
    if parts.wing:
        tables["wing"] = parts.wing
    else:
        tables["panel"] = parts.panels
    if parts.puller:
        tables["puller"] = parts.puller
    else:
        tables["simple_propeller"] = parts.simple_propeller
    if parts.surfaces:
        tables["surfaces"] = parts.surfaces
    tables["servo"] = {**known["servo"], "travel_rad": parts.travel_rad}
    ratio = parts.mass_kg / known["body"]["mass_kg"]
    x, y, z = (*parts.foot_B_m, parts.bottom_B_m) if parts.bottom_B_m > 0 else (0.235, 0.235, 0.125)
    tables["contact"] = {
        **{k: v * (ratio if k != "friction" else 1.0) for k, v in known["contact"].items() if k != "points_B_m"},
        "points_B_m": [[a * x, b * y, z] for a in (1.0, -1.0) for b in (1.0, -1.0)],
    }
    speed = parts.speed_mps / known["control"]["cruise_speed_mps"]
    # A catapult that gives the cruise speed on its stroke: m v^2 / 2 = (F - m g sin(pitch)) s
    launcher = dict(known["launcher"])
    launcher["stroke_m"] = launcher["stroke_m"] * speed**2
    slope = math.sin(math.radians(launcher["pitch_deg"]))
    launcher["pull_N"] = round(
        parts.mass_kg * (parts.speed_mps**2 / 2 / launcher["stroke_m"] + STANDARD_GRAVITY_MPS2 * slope), 3
    )
    tables["launcher"] = launcher
    tables["start"] = {**known["start"], **parts.start, "airspeed_mps": parts.speed_mps}
    control = dict(known["control"])
    for key in ("cruise_speed_mps", "min_speed_mps", "approach_speed_mps"):
        control[key] = round(control[key] * speed, 3)
    for key in ("acceptance_radius_m", "loiter_radius_m"):
        control[key] = round(control[key] * speed**2, 1)
    tables["control"] = control
    provenance = {
        "body.*": source,
        ("wing.*" if parts.wing else "panel.*"): source,
        "puller.no_thrust_speed_mps": "assumed: as Gazebo's motor model has it",
        ("puller.*" if parts.puller else "simple_propeller.*"): source,
        "surfaces.*": "derived: names of the joints and signs of their gains",
        "servo.travel_rad": "derived: limits of the joints",
        "servo.*": f"assumed: as {KNOWN}",
        "contact.points_B_m": f"derived: {parts.source}, bottom of its collision body"
        if parts.bottom_B_m > 0
        else f"assumed: as {KNOWN}",
        "contact.*": f"assumed: as {KNOWN}, by the mass",
        "launcher.*": "assumed: reaches the cruise speed",
        "start.height_m": f"assumed: as {KNOWN}",
        "start.*": f"assumed: trim of {KNOWN}; find this vehicle's own with 'ironbird vehicle trim'",
        "control.*": f"assumed: gains of {KNOWN}, speeds and radii scaled",
        **parts.more,
    }
    if not parts.puller:
        provenance.pop("puller.no_thrust_speed_mps")
    if not parts.surfaces:
        provenance.pop("surfaces.*")
    return Draft(tables, provenance, parts.missing)
