"""A fixed wing's airframe by itself: trims and modes in constant air, for comparison with published figures."""

from __future__ import annotations

import numpy as np

from ironbird.analysis.linear import LinearModel
from ironbird.blocks.actuators.surface_mixer import SurfaceMixer
from ironbird.blocks.environment.air_data import AirData
from ironbird.compiler.compiled import CompiledModel, compile_model
from ironbird.model.diagram import Diagram
from ironbird.vehicles.templates.fixed_wing import SURFACES, FixedWingSpec, add_aerodynamics, drive_surfaces
from ironbird.vehicles.templates.surroundings import add_body


def airframe(spec: FixedWingSpec) -> CompiledModel:
    """Body, wing or panels, and propeller of a file; inputs are what drives them, densities and gravity.

    Inputs: `aileron`, `elevator`, `rudder` (rad), `throttle` (or `speed` of a puller), `wing_density` or
    `PANEL_density`, `propeller_density` where it counts, `gravity`.
    """
    diagram = Diagram(f"{spec.id}_airframe")
    mass_kg, inertia_kgm2, height_m = spec.body.mass_kg, spec.body.inertia_kgm2, spec.start.height_m
    place = (diagram, spec.home, spec.environment)
    body = add_body(*place, mass_kg=mass_kg, inertia_kgm2=inertia_kgm2, height_above_home_m=height_m)
    air = diagram.add("air", AirData())
    diagram.connect(body.v_NB_B, air.v_NB_B)
    diagram.connect(body.R_NB, air.R_NB)
    aero, propeller = add_aerodynamics(diagram, spec, body, air)
    if spec.wing is not None:
        for name in SURFACES:
            diagram.export(aero["wing"][name], name)
    else:
        mixer = diagram.add(
            "surface/mixer", SurfaceMixer(SURFACES, list(spec.surfaces), "rad"), matrix=spec.mixing().tolist()
        )
        drive_surfaces(diagram, spec, aero, {name: mixer[f"{name}_out"] for name in spec.surfaces})
        for name in SURFACES:
            diagram.export(mixer[f"{name}_in"], name)
    drive = "throttle" if "throttle" in propeller else "speed"
    diagram.export(propeller[drive], drive)
    for name, part in {**aero, "propeller": propeller}.items():
        if "density" in part:
            diagram.export(part.density, f"{name}_density")
    diagram.export(body.gravity_N, "gravity")
    return compile_model(diagram)


def longitudinal_and_lateral(linear: LinearModel) -> tuple[np.ndarray, np.ndarray]:
    """Parts (u, w, q, pitch) and (v, p, r, roll) of A, with Euler angles for the quaternion.

    The linear model is that of `airframe` with the one output `body.euler`.
    """
    x = {name: slice(*rows) for name, rows in {"v": (3, 6), "q": (6, 10), "w": (10, 13)}.items()}
    assert [linear.states[s.start].rpartition("[")[0] for s in x.values()] == ["body.v", "body.q", "body.w"]
    to_euler = linear.C[:, x["q"]]
    q = linear.point["body.q"]
    from_euler = np.linalg.solve(np.vstack([to_euler, q]), np.eye(4)[:, :3])  # keeps the length of the quaternion
    back = np.zeros((13, 9))  # velocity, rates, Euler angles -> states
    back[x["v"], 0:3], back[x["w"], 3:6], back[x["q"], 6:9] = np.eye(3), np.eye(3), from_euler
    there = np.zeros((9, 13))
    there[0:3, x["v"]], there[3:6, x["w"]], there[6:9, x["q"]] = np.eye(3), np.eye(3), to_euler
    A = there @ linear.A @ back
    lon, lat = [0, 2, 4, 7], [1, 3, 5, 6]
    return A[np.ix_(lon, lon)], A[np.ix_(lat, lat)]
