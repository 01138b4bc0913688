"""ArduPilot's frame files (`Tools/autotest/models/*.json`): mass, size, a reference flight, battery, motors.

Meanings as in ArduPilot's SIM_Frame and SIM_Motor: thrust of a motor at command c is proportional to
(1 - propExpo) c + propExpo c^2 and hovers at hoverThrOut; drag comes from the tilt at the reference speed. Lines that
begin with # are comments.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.errors import VehicleError, shortened
from ironbird.files.problems import read_bytes
from ironbird.vehicles.geometry import GEOMETRIES
from ironbird.vehicles.imports.draft import Draft, as_id
from ironbird.vehicles.imports.rotors import MulticopterParts, RotorPart, draft_multicopter

FRAMES = {4: "4x", 6: "6x", 8: "8x"}  # frame assumed if the file gives no motor positions
MOST, MOST_MOTORS = 1e9, 32
TIP_MPS = 150.0  # m/s, assumed speed of blade tips at full throttle, which sets the rotors' speed
KNOWN = {
    "mass", "diagonal_size", "refSpd", "refAngle", "refVoltage", "refCurrent", "refAlt", "refTempC", "refBatRes",
    "maxVoltage", "battCapacityAh", "propExpo", "refRotRate", "hoverThrOut", "disc_area", "moment_inertia",
    "num_motors",
}  # fmt: skip
UNUSED = {
    "pwmMin": "it belongs to the autopilot", "pwmMax": "it belongs to the autopilot",
    "spin_min": "it belongs to the autopilot", "spin_max": "it belongs to the autopilot",
    "slew_max": "motors have a time constant here", "mdrag_coef": "the drag of the reference flight has it",
    "bbdrag_coef": "the drag of the reference flight has it",
}  # fmt: skip


def import_ardupilot(path: Path) -> Draft:
    """A multicopter from ArduPilot's frame file."""
    data = _read(path)
    if "mass" not in data and "diagonal_size" not in data:
        keys = f"its keys are {', '.join(map(repr, list(data)[:5]))}" if data else "it is empty"
        raise VehicleError(
            f"{path} is no vehicle of ArduPilot: it has neither mass nor diagonal_size ({shortened(keys, 120)}); give "
            "a file such as ArduPilot's Tools/autotest/models/Callisto.json, or name another --format"
        )
    missing = [f"'{key}': {UNUSED.get(key, 'unknown')}" for key in data if key not in KNOWN and not _of_motor(key)]

    def value(key: str, usual: float | None = None, low: float = 0.0, high: float = MOST) -> float:
        entry = data.get(key, usual)
        if not isinstance(entry, int | float) or isinstance(entry, bool) or not low <= entry <= high:
            bounds = f"of at least {low:g}" if high == MOST else f"from {low:g} to {high:g}"
            raise VehicleError(f"{path}: {key} = {shortened(repr(entry))} is not a number {bounds}")
        return float(entry)

    mass, size = value("mass", low=1e-3), value("diagonal_size", low=1e-2)
    count, hover = round(value("num_motors", 4.0, 1.0, MOST_MOTORS)), min(value("hoverThrOut", 0.39, 0.01), 1.0)
    expo = value("propExpo", 0.65)
    rotors = _rotors(data, path, count, size, missing)
    # Thrust over command: (1 - e) c + e c^2, one at full command; at hover it carries the weight
    share = (1 - expo) * hover + expo * hover * hover
    full_N = mass * STANDARD_GRAVITY_MPS2 / share / count
    area = value("disc_area", math.pi / 4 * (0.5 * size) ** 2 * count, 1e-6) / count
    radius = math.sqrt(area / math.pi)
    top = round(TIP_MPS / radius, 3)
    thrust = full_N / top**2
    # Induced power over speed, [Leishman2006] momentum theory with a figure of merit of 0.7
    hover_radps = math.sqrt(mass * STANDARD_GRAVITY_MPS2 / count / thrust)
    induced = math.sqrt(mass * STANDARD_GRAVITY_MPS2 / count / (2 * 1.225 * area))
    torque = mass * STANDARD_GRAVITY_MPS2 / count * induced / 0.7 / hover_radps / hover_radps**2
    throttle = hover_radps / top
    missing.append(
        f"hoverThrOut = {hover:g}: the speed of a motor is linear in its command here, it hovers at {throttle:.3f}"
    )
    for rotor in rotors:
        rotor.thrust_Ns2, rotor.torque_Nms2, rotor.top_radps = _short(thrust), _short(torque), top
    speed, angle = value("refSpd", 0.0), math.radians(value("refAngle", 0.0))
    drag = mass * STANDARD_GRAVITY_MPS2 * math.tan(angle) / speed**2 if speed > 0 and angle > 0 else 0.0
    inertia = data.get("moment_inertia")
    if isinstance(inertia, list) and len(inertia) == 3 and all(isinstance(v, int | float) and v > 0 for v in inertia):
        matrix, source = np.diag(np.array(inertia, float)), f"published: {path.name}"
    else:  # default of SIM_Frame
        across = mass * 0.25 * (size / 2) ** 2
        matrix, source = np.diag([across, across, 2 * across]), "derived: m d^2 / 16 and m d^2 / 8, as SIM_Frame has it"
    cells = round(value("maxVoltage", 0.0) / 4.2)
    parts = MulticopterParts(
        as_id(path.stem), f"{path.stem} (imported)", path.name, mass, rotors, matrix, drag_Ns2pm2=_short(drag),
        cells=cells, capacity_Ah=value("battCapacityAh", 0.0), resistance_ohm=value("refBatRes", 0.0), missing=missing,
        more={
            "body.inertia_kgm2": source,
            "motor.*.slope_radps": f"assumed: blade tips at {TIP_MPS:g} m/s",
            "propeller.*.thrust_coefficient_Ns2": f"derived: {path.name}, hover throttle, propExpo and mass",
            "propeller.*.torque_coefficient_Nms2": "derived: induced power of the disc, figure of merit 0.7",
            "airframe.drag_Ns2pm2": f"derived: {path.name}, tilt at the reference speed",
        },
    )  # fmt: skip
    return draft_multicopter(parts)


def _short(value: float) -> float:
    return float(f"{value:.9g}")


def _of_motor(key: str) -> bool:
    return re.fullmatch(r"motor\d{1,2}_(position|vector|yaw)", key) is not None


def _read(path: Path) -> dict[str, Any]:
    try:
        text = read_bytes(path).decode()
        data = json.loads(re.sub(r"#[^\n\"]*(?=\n|$)", "", text))
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise VehicleError(f"{path}: it is no frame file of ArduPilot: {error}") from None
    if not isinstance(data, dict):
        raise VehicleError(f"{path}: it is no frame file of ArduPilot: it holds no table")
    return data


def _rotors(data: dict[str, Any], path: Path, count: int, size: float, missing: list[str]) -> list[RotorPart]:
    placed = [data.get(f"motor{n}_position") for n in range(1, count + 1)]
    if all(isinstance(p, list) and len(p) == 3 for p in placed):
        rotors = []
        for n, place in enumerate(placed, start=1):
            turn = data.get(f"motor{n}_yaw", 1.0 if n % 4 in (1, 2) else -1.0)
            if not all(isinstance(v, int | float) and abs(v) <= MOST for v in [turn, *(place or [])]):
                raise VehicleError(f"{path}: motor{n}_position and motor{n}_yaw must be numbers")
            vector = data.get(f"motor{n}_vector")
            if vector not in (None, [0, 0, -1]):
                missing.append(f"'motor{n}_vector': rotors push straight up here")
            rotors.append(
                RotorPart(f"motor_{n}", [float(v) for v in place or []], "ccw" if turn > 0 else "cw", 0, 0, 0)
            )
        return rotors
    if count not in FRAMES:
        raise VehicleError(f"{path}: {count} motors without motorN_position; such a frame is not known")
    geometry = GEOMETRIES[FRAMES[count]]
    missing.append(
        f"the frame's layout, which the file does not say: that of PX4's '{FRAMES[count]}' stands in its place"
    )
    arm = size / 2
    return [RotorPart(p.name, [arm * p.x, arm * p.y, arm * p.z], p.spin, 0, 0, 0) for p in geometry.rotors]
