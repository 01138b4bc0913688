"""A multicopter's vehicle file from imported data; missing values are derived or assumed, and marked as such."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.errors import VehicleError
from ironbird.vehicles.imports.draft import Draft

DRAG_AT_MPS = 5.0  # m/s at which a linear drag equals Ironbird's quadratic drag
ROTOR_INERTIA = 0.02  # assumed inertia of a rotor as a share of the vehicle's mass x arm^2
RATE_GAIN, ATTITUDE_GAIN = (22.0, 22.0, 4.0), (8.0, 8.0, 2.0)  # gains of the F450, whose motors have a lag of 12 ms
SLOWEST_SHARE = 0.35  # share of the motors' bandwidth that the rate loop may use
CELL_V, ENDURANCE_H = 3.7, 0.25


@dataclass
class RotorPart:
    """One rotor in Ironbird's frame; coefficients for speeds in rad/s."""

    name: str
    position_B_m: Sequence[float]
    spin: str
    thrust_Ns2: float
    torque_Nms2: float
    top_radps: float
    idle_radps: float = 0.0
    time_constant_s: float = 0.0
    inertia_kgm2: float = 0.0
    axis_B: Sequence[float] = (0.0, 0.0, -1.0)


@dataclass
class MulticopterParts:
    """Imported data of a multicopter; 0 or None for what the source does not give."""

    id: str
    title: str
    source: str  # name of the source for provenance: `iris.sdf`
    mass_kg: float
    rotors: list[RotorPart]
    inertia_kgm2: np.ndarray | None = None
    bottom_B_m: float = 0.0  # m, lowest point of the body below the centre of mass
    foot_B_m: tuple[float, float] = (0.0, 0.0)  # m, half length and half width of the body on the ground
    linear_drag_Nspm: float = 0.0
    drag_Ns2pm2: float = 0.0
    cells: int = 0
    capacity_Ah: float = 0.0
    resistance_ohm: float = 0.0
    more: dict[str, str] = field(default_factory=dict)  # provenance of values that are not "published"
    missing: list[str] = field(default_factory=list)


def draft_multicopter(parts: MulticopterParts) -> Draft:
    """The vehicle file of a multicopter that flies with the reference autopilot."""
    if len(parts.rotors) < 4:
        raise VehicleError(f"{parts.source}: {len(parts.rotors)} rotors that lift were found; a multicopter needs four")
    if not parts.mass_kg > 0:
        raise VehicleError(f"{parts.source}: its mass is {parts.mass_kg:g} kg; give one with --mass-kg")
    source, arm = f"published: {parts.source}", _arm(parts.rotors)
    provenance: dict[str, str] = {"body.mass_kg": source, **parts.more}
    inertia = parts.inertia_kgm2
    if inertia is None:
        # assumed: a disc of the arm's radius with a third of the mass, the rest near the centre
        across = parts.mass_kg / 3 * arm**2 / 2
        inertia = np.diag([across, across, 1.8 * across])
        provenance.setdefault(
            "body.inertia_kgm2", "assumed: a third of the mass spread over a disc of the arm's radius"
        )
    provenance.setdefault("body.*", source)
    lag = max(r.time_constant_s for r in parts.rotors) or 0.02
    tables: dict[str, Any] = {
        "id": parts.id,
        "title": parts.title,
        "template": "multicopter",
        "summary": f"{parts.mass_kg:g} kg multicopter with {len(parts.rotors)} rotors, from {parts.source}.",
        "body": {"mass_kg": round(parts.mass_kg, 9), "inertia_kgm2": _rounded(inertia)},
    }
    tables |= _propulsion(parts, lag, provenance, source)
    tables["airframe"] = _airframe(parts, inertia, provenance)
    tables["contact"] = _contact(parts, arm, provenance)
    tables["battery"] = _battery(parts, provenance)
    # Gains are accelerations per error, so those of the F450 fit other vehicles whose motors are fast enough
    share = min(1.0, SLOWEST_SHARE / (lag * RATE_GAIN[0]))
    tables["control"] = {
        "position_gain": 1.1, "velocity_gain": round(3.2 * max(share, 0.5), 3), "velocity_integral": 0.6,
        "attitude_gain": [round(g * share, 3) for g in ATTITUDE_GAIN],
        "rate_gain": [round(g * share, 3) for g in RATE_GAIN], "rate_integral": 2.0,
        "max_speed_mps": 10.0, "max_climb_mps": 3.0, "max_descent_mps": 2.0, "max_tilt_deg": 35.0,
        "max_rate_radps": [4.0, 4.0, 1.5], "cruise_speed_mps": 5.0, "cruise_acceleration_mps2": 2.0,
    }  # fmt: skip
    provenance["control.*"] = "derived: gains of quad_f450, scaled by the time constant of the motors"
    return Draft(tables, provenance, parts.missing)


def _rounded(matrix: np.ndarray) -> list[list[float]]:
    return [[float(f"{value:.9g}") for value in row] for row in np.asarray(matrix)]


def _arm(rotors: Sequence[RotorPart]) -> float:
    return float(np.mean([math.hypot(*r.position_B_m[:2]) for r in rotors])) or 0.2


def _propulsion(parts: MulticopterParts, lag: float, provenance: dict[str, str], source: str) -> dict[str, Any]:
    motors: dict[tuple[float, ...], str] = {}
    propellers: dict[tuple[float, ...], str] = {}
    rows, arm = [], _arm(parts.rotors)
    for rotor in parts.rotors:
        inertia = rotor.inertia_kgm2 or ROTOR_INERTIA * parts.mass_kg / len(parts.rotors) * (0.3 * arm) ** 2
        motor = (rotor.top_radps - rotor.idle_radps, rotor.idle_radps, rotor.time_constant_s or lag)
        blades = (rotor.thrust_Ns2, rotor.torque_Nms2, inertia)
        for values, kinds in ((motor, motors), (blades, propellers)):
            kinds.setdefault(values, "standard" if not kinds else f"kind_{len(kinds) + 1}")
        row = {
            "name": rotor.name,
            "position_B_m": [round(float(v), 9) for v in rotor.position_B_m],
            "spin": rotor.spin,
            "motor": motors[motor],
            "propeller": propellers[blades],
        }
        if list(rotor.axis_B) != [0.0, 0.0, -1.0]:
            row["axis_B"] = [round(float(v), 9) for v in rotor.axis_B]
        rows.append(row)
    provenance.setdefault("rotor.*", source)
    if not any(r.time_constant_s for r in parts.rotors):
        provenance.setdefault("motor.*.time_constant_s", "assumed: motors of this size")
    if not any(r.inertia_kgm2 for r in parts.rotors):
        provenance.setdefault("propeller.*.inertia_kgm2", "assumed: share of the vehicle's mass")
    provenance.setdefault("motor.*", source)
    provenance.setdefault("propeller.*", source)
    return {
        "motor": {
            name: {"slope_radps": v[0], "idle_speed_radps": v[1], "time_constant_s": v[2]} for v, name in motors.items()
        },
        "propeller": {
            name: {
                "thrust_coefficient_Ns2": v[0],
                "torque_coefficient_Nms2": float(f"{v[1]:.9g}"),
                "inertia_kgm2": float(f"{v[2]:.9g}"),
            }
            for v, name in propellers.items()
        },
        "rotor": rows,
    }


def _airframe(parts: MulticopterParts, inertia: np.ndarray, provenance: dict[str, str]) -> dict[str, Any]:
    if parts.drag_Ns2pm2:
        drag = parts.drag_Ns2pm2
        provenance.setdefault("airframe.drag_Ns2pm2", f"derived: {parts.source}")
    elif parts.linear_drag_Nspm:
        drag = parts.linear_drag_Nspm / DRAG_AT_MPS
        provenance["airframe.drag_Ns2pm2"] = (
            f"derived: {parts.source} has {parts.linear_drag_Nspm:.4g} N s/m of rotor drag, linear in the speed; "
            f"equal at {DRAG_AT_MPS:g} m/s"
        )
    else:
        drag = 0.05 * parts.mass_kg
        provenance["airframe.drag_Ns2pm2"] = "assumed: level flight at 7 m/s takes a tilt of 14 degrees"
    provenance["airframe.damping_Nms2prad2"] = "assumed: half of the moment of inertia per square of the rate"
    return {
        "drag_Ns2pm2": [round(drag, 9)] * 3,
        "damping_Nms2prad2": [round(float(0.5 * v), 9) for v in np.diag(inertia)],
    }


def _contact(parts: MulticopterParts, arm: float, provenance: dict[str, str]) -> dict[str, Any]:
    if parts.bottom_B_m > 0:
        x, y, z = *parts.foot_B_m, parts.bottom_B_m
        provenance["contact.points_B_m"] = f"derived: {parts.source}, bottom of its collision body"
    else:
        x = y = 0.5 * arm
        z = 0.5 * arm
        provenance["contact.points_B_m"] = "assumed: landing gear of half the arm"
    # compression of 1.4 mm under the vehicle's weight, as for the F450
    stiffness = parts.mass_kg * STANDARD_GRAVITY_MPS2 / 4 / 0.0014
    provenance["contact.*"] = "assumed: 1.4 mm under the own weight, 0.6 of critical damping, rubber on concrete"
    damping = 0.6 * 2 * math.sqrt(stiffness * parts.mass_kg / 4)
    return {
        "points_B_m": [[a * x, b * y, z] for a in (1.0, -1.0) for b in (1.0, -1.0)],
        "stiffness_Npm": round(stiffness, 3), "damping_Nspm": round(damping, 3), "friction": 0.7,
        "grip_stiffness_Npm": round(stiffness, 3), "grip_damping_Nspm": round(damping / 2, 3),
    }  # fmt: skip


def _battery(parts: MulticopterParts, provenance: dict[str, str]) -> dict[str, Any]:
    cells = parts.cells or (3 if parts.mass_kg < 1.0 else 4 if parts.mass_kg < 4.0 else 6 if parts.mass_kg < 12 else 12)
    weight = parts.mass_kg * STANDARD_GRAVITY_MPS2
    # Shaft power of hovering on these rotors: sum of torque times speed
    thrust = sum(r.thrust_Ns2 for r in parts.rotors)
    speed = math.sqrt(weight / thrust)
    power_W = sum(r.torque_Nms2 for r in parts.rotors) * speed**3 / 0.7
    capacity = parts.capacity_Ah or round(max(power_W, 20.0) * ENDURANCE_H / (cells * CELL_V), 2)
    source = f"published: {parts.source}"
    for key, value in (
        ("cells", parts.cells),
        ("capacity_Ah", parts.capacity_Ah),
        ("resistance_ohm", parts.resistance_ohm),
    ):
        if value:
            provenance.setdefault(f"battery.{key}", source)
    provenance.setdefault("battery.capacity_Ah", "assumed: a quarter of an hour of hovering")
    provenance["battery.*"] = "assumed: not given"
    return {
        "cells": cells,
        "capacity_Ah": capacity,
        "resistance_ohm": parts.resistance_ohm or round(0.005 * cells * 5.0 / max(capacity, 1.0), 5),
        "efficiency": 0.7,
        "electronics_W": 6.0,
    }
