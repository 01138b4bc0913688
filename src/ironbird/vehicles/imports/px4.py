"""Import of PX4's airframe scripts, parameter files (geometry by CA_*) and mixer files of version 1.13 and before.

They contain positions and spin of the rotors; mass and, in a mixer file, the arm are not in the files and must be
given. The thrust follows from MPC_THR_HOVER: the vehicle hovers there.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.errors import VehicleError
from ironbird.files.problems import read_bytes
from ironbird.vehicles.imports.draft import Draft, as_id
from ironbird.vehicles.imports.rotors import MulticopterParts, RotorPart, draft_multicopter
from ironbird.vehicles.imports.xml_file import as_number
from ironbird.vehicles.mixer import MultirotorMixer, load_mixer

_SET = re.compile(r"^\s*param\s+set(?:-default)?\s+([A-Z][A-Z0-9_]{1,15})\s+(\S+)", re.MULTILINE)
_ROW = re.compile(r"^\d+[\t ]+\d+[\t ]+([A-Z][A-Z0-9_]{1,15})[\t ]+(\S+)[\t ]+[69]\s*$", re.MULTILINE)
OLD_HOVER, TOP_RADPS, IDLE_RADPS, LEVER_M = 0.5, 1000.0, 150.0, 0.05  # assumed if not given
MOST_ROTORS = 12


def read_params(path: Path) -> dict[str, float]:
    """Parameters in an airframe script (`param set-default`) or in QGroundControl's parameter file."""
    try:
        text = read_bytes(path).decode(errors="replace")
    except OSError as error:
        raise VehicleError(
            f"cannot read {path}: {error.strerror or error}; give a model of Gazebo, ArduPilot, PX4 or JSBSim"
        ) from None
    texts = {name: value for pattern in (_SET, _ROW) for name, value in pattern.findall(text)}
    if not texts:
        raise VehicleError(f"{path}: no parameter was found; give an airframe script or a .params file of PX4")
    numbers = {}
    for name, value in texts.items():
        try:
            numbers[name] = as_number(value, f"{path}: {name}")
        except VehicleError:
            continue  # a text value, or a variable of the script
    return numbers


def import_px4(path: Path, mass_kg: float | None, arm_m: float | None) -> Draft:
    """Import a multicopter from PX4's files."""
    if mass_kg is None or not 0 < mass_kg < 1e4:
        raise VehicleError(f"{path}: PX4's files say nothing of the mass: give one with --mass-kg")
    if path.suffix == ".mix":
        return _of_mixer(path, mass_kg, arm_m)
    params = read_params(path)
    airframe = params.get("CA_AIRFRAME", 0.0)
    if airframe != 0:
        raise VehicleError(
            f"{path}: CA_AIRFRAME is {airframe:g}; only multirotors (0) are imported from PX4's parameters"
        )
    count = round(params.get("CA_ROTOR_COUNT", 0.0))
    if not 4 <= count <= MOST_ROTORS:
        raise VehicleError(f"{path}: CA_ROTOR_COUNT is {count}; a multicopter has 4 to {MOST_ROTORS} rotors")
    hover = min(max(params.get("MPC_THR_HOVER", OLD_HOVER), 0.05), 0.95)
    top = max((params.get(f"SIM_GZ_EC_MAX{n}", 0.0) for n in range(1, count + 1)), default=0.0) or TOP_RADPS
    idle = max((params.get(f"SIM_GZ_EC_MIN{n}", 0.0) for n in range(1, count + 1)), default=0.0)
    thrust = _thrust(mass_kg, count, hover, top, idle)
    rotors, used = [], {"CA_AIRFRAME", "CA_ROTOR_COUNT", "MPC_THR_HOVER"}
    for n in range(count):
        place = [params.get(f"CA_ROTOR{n}_P{axis}", 0.0) for axis in "XYZ"]
        along = np.array([params.get(f"CA_ROTOR{n}_A{axis}", -1.0 if axis == "Z" else 0.0) for axis in "XYZ"])
        if not np.linalg.norm(along) > 0:
            raise VehicleError(f"{path}: the axis CA_ROTOR{n}_AX/AY/AZ is zero")
        lever = params.get(f"CA_ROTOR{n}_KM", LEVER_M)
        used |= {f"CA_ROTOR{n}_{key}" for key in ("PX", "PY", "PZ", "AX", "AY", "AZ", "KM", "CT")}
        rotors.append(
            RotorPart(
                f"motor_{n + 1}", place, "ccw" if lever >= 0 else "cw", thrust, thrust * (abs(lever) or LEVER_M), top,
                idle,
                axis_B=(along / np.linalg.norm(along)).tolist(),
            )
        )  # fmt: skip
    used |= {f"SIM_GZ_EC_{end}{n}" for end in ("MIN", "MAX", "FUNC") for n in range(1, count + 1)}
    rest = sorted(name for name in params if name not in used)
    missing = [
        f"{len(rest)} parameters of the autopilot: {', '.join(rest[:12])}{', …' if len(rest) > 12 else ''}"
    ] * bool(rest)
    parts = MulticopterParts(as_id(path.stem), f"{path.stem} (imported)", path.name, mass_kg, rotors, missing=missing)
    return draft_multicopter(_with_sources(parts, "MPC_THR_HOVER" in params, "SIM_GZ_EC_MAX1" in params))


def _thrust(mass_kg: float, count: int, hover: float, top: float, idle: float) -> float:
    """Thrust coefficient (N s^2) at which the vehicle hovers at the given throttle."""
    speed = idle + hover * (top - idle)
    return float(f"{mass_kg * STANDARD_GRAVITY_MPS2 / count / speed**2:.9g}")


def _with_sources(parts: MulticopterParts, hover: bool, speeds: bool) -> MulticopterParts:
    parts.more = {
        "body.mass_kg": "assumed: given at the import",
        "propeller.*.thrust_coefficient_Ns2": f"derived: {parts.source}, MPC_THR_HOVER"
        if hover
        else f"assumed: hovers at {OLD_HOVER:g}",
        "propeller.*.torque_coefficient_Nms2": f"derived: {parts.source}, CA_ROTOR*_KM times the thrust",
    }
    if not speeds:
        parts.more["motor.*"] = f"assumed: {TOP_RADPS:g} rad/s at full throttle"
    return parts


def _of_mixer(path: Path, mass_kg: float, arm_m: float | None) -> Draft:
    mixer = load_mixer(path)
    frames = [m for m in mixer.mixers if isinstance(m, MultirotorMixer)]
    if len(frames) != 1:
        raise VehicleError(
            f"{path}: it has {len(frames)} multirotor mixers (R:), not one; other frames are not imported"
        )
    if arm_m is None or not 0 < arm_m < 100:
        raise VehicleError(f"{path}: a mixer file has no lengths: give the arm with --arm-m")
    frame = frames[0]
    thrust = _thrust(mass_kg, frame.count, OLD_HOVER, TOP_RADPS, IDLE_RADPS)
    lever = frame.geometry.lever * arm_m or LEVER_M
    rotors = [
        RotorPart(
            p.name, [arm_m * p.x, arm_m * p.y, arm_m * p.z], p.spin, thrust, float(f"{thrust * lever:.9g}"), TOP_RADPS,
            IDLE_RADPS, axis_B=(np.array(p.axis) / math.sqrt(sum(v * v for v in p.axis))).tolist(),
        )
        for p in frame.geometry.rotors
    ]  # fmt: skip
    others = mixer.count - frame.count
    missing = [*mixer.warnings, *[f"{others} outputs of other mixers"] * bool(others)]
    scales = (frame.roll, frame.pitch, frame.yaw)
    if scales != (1.0, 1.0, 1.0):
        missing.append(f"scales of roll, pitch and yaw {scales}: the controller here has gains of its own")
    parts = MulticopterParts(as_id(path.name.split(".")[0]), f"{path.name} (imported)", path.name, mass_kg, rotors)
    parts.missing = missing
    parts = _with_sources(parts, False, False)
    parts.more |= {
        "rotor.*.position_B_m": "derived: geometry of the mixer, arm given at the import",
        "propeller.*.torque_coefficient_Nms2": "derived: lever of PX4's geometry times the arm",
    }
    return draft_multicopter(parts)
