"""Plausibility of the numbers of a vehicle file, checked before anything is flown.

Impossible values are refused: an inertia that no body has, rotors that cannot lift the weight, hundreds of rotors.
Unlikely values give a warning: the vehicle can fly, but its file should be checked. Not checked: lift of wings,
helicopters' rotors, buoyancy. The step of integration is checked by the compiler (`ironbird.compiler.stability`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.files.problems import Words
from ironbird.files.toml_text import KeyPath
from ironbird.vehicles.spec import Table, VehicleSpec

SYMMETRY = 1e-6  # relative to the largest entry
# share by which rounded numbers may violate the triangle inequality; a flat plate meets it with equality
TRIANGLE = 1e-3
MOST_LIFT = 20.0  # times the weight; racing multicopters reach about 15
GYRATION = (0.02, 1.5)  # radius of gyration over the distance of the outermost rotor
LEAST_DAMPING = 0.2  # of the attitude loop
MOST_ROTORS = 32  # of ArduPilot's frames; the time of compilation grows with the square of their number
LEAST_REACH = 0.1  # of the feet from below the centre of mass, over its height: it falls over at a tilt of 6 degrees
LEVEL_M = 0.01  # m; feet that differ less in height stand on the ground together
DIRECTIONS = np.radians(np.arange(360.0))  # in which a vehicle may fall over


def impossible(spec: VehicleSpec) -> list[Words]:
    """Values that no vehicle can have: key, what is wrong, and the fix."""
    problems: list[Words] = []
    rotors = len(getattr(spec, "rotor", []))
    if rotors > MOST_ROTORS:
        why = f"{rotors} rotors are too many: a vehicle has at most {MOST_ROTORS}"
        return [(("rotor",), why, "describe several small rotors by one of their total thrust, torque and inertia")]
    for path, inertia in _inertias(spec):
        if why := _wrong_inertia(inertia):
            problems.append((path, why, "check the figures: unit kg m^2, about the centre of mass, axes x, y, z"))
    lift, weight_N = spec.hover_lift_N(), spec.total_mass_kg() * _gravity(spec)
    if lift is not None and lift < weight_N:
        why = f"it cannot take off: it weighs {weight_N:.4g} N and its rotors lift {lift:.4g} N at full throttle"
        problems.append((("body", "mass_kg"), why, "check mass, motors, propellers and the number of rotors"))
    return problems


def odd(spec: VehicleSpec) -> list[str]:
    """Warnings about unlikely values, a sentence each."""
    warnings = _narrow_feet(spec)
    mass_kg = spec.total_mass_kg()
    lift, weight_N = spec.hover_lift_N(), mass_kg * _gravity(spec)
    if lift is not None and lift > MOST_LIFT * weight_N:
        warnings.append(f"its rotors lift {lift / weight_N:.3g} times its weight at full throttle: is the mass in kg?")
    reach_m = max((math.hypot(*rotor.position_B_m) for rotor in getattr(spec, "rotor", [])), default=0.0)
    for path, inertia in _inertias(spec) if reach_m else ():
        for axis, moment in zip("xyz", (inertia if inertia.ndim == 1 else np.diag(inertia)).tolist(), strict=True):
            radius = math.sqrt(max(moment, 0.0) / mass_kg) / reach_m
            if not GYRATION[0] <= radius <= GYRATION[1]:
                warnings.append(
                    f"{'.'.join(map(str, path))}: {moment:.4g} kg m^2 about {axis} is that of {mass_kg:g} kg at "
                    f"{radius * reach_m:.3g} m, and the outermost rotor is at {reach_m:.3g} m"
                )
                break
    control: Any = getattr(spec, "control", None)
    attitude, rate = (getattr(control, name, None) for name in ("attitude_gain", "rate_gain"))
    if attitude is not None and rate is not None:
        for axis, outer, inner in zip(("roll", "pitch", "yaw"), attitude, rate, strict=True):
            # s^2 + k_rate s + k_rate k_attitude: an attitude loop around a rate loop, motors without lag
            damping = 0.5 * math.sqrt(inner / outer) if outer > 0 else math.inf
            if damping < LEAST_DAMPING:
                warnings.append(
                    f"control: rate_gain {inner:g} with attitude_gain {outer:g} damps {axis} by {damping:.2g} of the "
                    "critical damping: it will oscillate"
                )
                break
    return warnings


def _narrow_feet(spec: VehicleSpec) -> list[str]:
    """A warning if a vehicle that takes off from its feet stands like on a pin; none for one that is launched."""
    points = getattr(getattr(spec, "contact", None), "points_B_m", None)
    if points is None or getattr(spec, "launcher", None) is not None:
        return []
    table = np.asarray(points, float)
    down, across = (-table[:, 0], table[:, 1:]) if spec.lands_on_tail() else (table[:, 2], table[:, :2])
    height_m = float(down.max())
    feet = across[down > height_m - LEVEL_M]
    # the least distance from below the centre of mass to an edge of the area between the feet; negative outside of it
    reach_m = float((feet @ np.array([np.cos(DIRECTIONS), np.sin(DIRECTIONS)])).max(axis=0).min())
    if reach_m >= LEAST_REACH * height_m:
        return []
    if reach_m > 0:
        falls = f"it falls over when tilted by {math.degrees(math.atan2(reach_m, height_m)):.2g} degrees"
    else:
        falls = "it cannot stand"
    return [
        f"contact.points_B_m: its feet reach {max(reach_m, 0.0):.3g} m from below the centre of mass, which is "
        f"{height_m:.3g} m high: {falls}; put the feet at least {LEAST_REACH * height_m:.3g} m out, all round"
    ]


def _gravity(spec: VehicleSpec) -> float:
    model = spec.environment.gravity
    return STANDARD_GRAVITY_MPS2 if isinstance(model, str) else model


def _inertias(spec: VehicleSpec) -> Iterator[tuple[KeyPath, np.ndarray]]:
    """Every inertia of the file's tables as a matrix, also where only its three moments are given."""
    for name, table in vars(spec).items():
        if not isinstance(table, Table):
            continue
        values = vars(table)
        for key in ("inertia_kgm2", "inertia_diag_kgm2"):
            if isinstance(value := values.get(key), list):
                yield (name, key), np.asarray(value, float)


def _wrong_inertia(inertia: np.ndarray) -> str:
    """Why a matrix cannot be the inertia of a body; empty if it can."""
    if inertia.ndim == 1:
        least, middle, most = sorted(inertia.tolist())
    else:
        rows, most = inertia.tolist(), SYMMETRY * float(np.abs(inertia).max())
        if any(abs(rows[i][j] - rows[j][i]) > most for i, j in ((0, 1), (0, 2), (1, 2))):
            return "an inertia is symmetric, this matrix is not"
        least, middle, most = np.linalg.eigvalsh(inertia).tolist()
    if least <= 0.0:
        return f"an inertia has three positive principal moments, this one has {least:.4g} kg m^2"
    if most > (least + middle) * (1.0 + TRIANGLE):  # y^2 + z^2 <= (x^2 + y^2) + (x^2 + z^2), summed over the mass
        return (
            f"no body has such an inertia: its largest principal moment {most:.4g} kg m^2 is more than the sum of the "
            f"other two, {least + middle:.4g}"
        )
    return ""
