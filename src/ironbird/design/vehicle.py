"""A craft built of parts as a vehicle file, and as parameters of PX4 and ArduPilot.

Inertia and drag follow rules fitted to flyeval's published results, which agree to 0.1 % with both of them:
J = 0.2405 m d^2 about x and y, 0.4482 m d^2 about z, drag 1.3229 d^2, damping 0.1812 d^2 with the arm d. The throttle
curve is a straight line through the steady states of the chain. The motor's time constant is assumed: 20 ms.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from ironbird.constants import STANDARD_GRAVITY_MPS2
from ironbird.design.evaluate import Craft, Evaluation
from ironbird.design.propulsion import static_coefficients
from ironbird.errors import RecordError
from ironbird.files.toml_text import write_toml
from ironbird.files.whole import write_text
from ironbird.vehicles.load import load_spec

SEA_LEVEL = 1.225
INERTIA_XY, INERTIA_Z, DRAG, DAMPING = 0.2405, 0.4482, 1.3229, 0.1812
TIME_CONSTANT_S = 0.02
FULL_CELL_V = 4.2
ROTORS = (  # PX4's Quad X
    ("front_right", 1, 1, "ccw"),
    ("rear_left", -1, -1, "ccw"),
    ("front_left", 1, -1, "cw"),
    ("rear_right", -1, 1, "cw"),
)


def throttle_line(craft: Craft) -> tuple[float, float]:
    """Slope and idle speed in rad/s of a line through the steady speeds between 40 and 100 % throttle."""
    chain = craft.chain()
    duties = np.linspace(0.4, 1.0, 13)
    speeds = [float(np.ravel(chain.at_duty(float(d)).rpm)[0]) * 2 * math.pi / 60 for d in duties]
    slope, idle = np.polyfit(duties, speeds, 1)
    return float(slope), float(idle)


def vehicle_tables(evaluation: Evaluation, name: str) -> dict[str, Any]:
    """Content of the vehicle file; gains and landing gear are those of quad_f450."""
    craft = evaluation.craft
    if craft.rotors != 4:
        raise RecordError(f"a vehicle file is written for four rotors, not for {craft.rotors}")
    ct, cm, sigma = static_coefficients(craft.propeller)
    d, m, arm = craft.propeller.diameter_m, craft.mass_kg, craft.frame_m / 2
    slope, idle = throttle_line(craft)
    place = round(arm / math.sqrt(2), 6)
    parts = f"{craft.motor.name}, {craft.propeller.name}, {craft.esc.name}, {craft.battery.name}"
    # in rad/s: cT = rho D^4 CT/(4 pi^2), cM = rho D^5 CM/(4 pi^2)
    thrust, torque = (SEA_LEVEL * d**power * c / (4 * math.pi**2) for power, c in ((4, ct), (5, cm)))
    blade = f"derived: {craft.propeller.name}, ±{100 * sigma:.0f} % ({craft.propeller.source})"
    return {
        "schema": 1,
        "id": name,
        "base": "quad_f450",
        "title": f"Quadcopter of parts, {1e3 * craft.frame_m:.0f} mm",
        "summary": f"{m:.3g} kg: {parts}.",
        "body": {
            "mass_kg": _short(m),
            "inertia_diag_kgm2": [_short(f * m * arm**2) for f in (INERTIA_XY, INERTIA_XY, INERTIA_Z)],
        },
        "motor": {
            "standard": {
                "slope_radps": _short(slope),
                "idle_speed_radps": _short(idle),
                "dead_zone": 0.0,
                "time_constant_s": TIME_CONSTANT_S,
            }
        },
        "propeller": {
            "standard": {
                "thrust_coefficient_Ns2": _short(thrust),
                "torque_coefficient_Nms2": _short(torque),
                "inertia_kgm2": _short(8.18e-5 * (d / 0.2388) ** 4),
            }
        },
        "rotor": [{"name": n, "position_B_m": [x * place, y * place, 0.0], "spin": s} for n, x, y, s in ROTORS],
        "airframe": {
            "drag_Ns2pm2": [_short(DRAG * arm**2)] * 3,
            "damping_Nms2prad2": [_short(DAMPING * arm**2)] * 3,
        },
        "battery": {
            "cells": craft.battery.cells,
            "capacity_Ah": _short(craft.battery.capacity_Ah),
            "resistance_ohm": _short(max(craft.battery.resistance_ohm, 1e-3)),
        },
        "provenance": {
            "body.mass_kg": f"derived: sum of {parts}, frame and payload",
            "body.inertia_diag_kgm2": "derived: rule of flyeval, 0.2405 and 0.4482 m d^2",
            "motor.standard.slope_radps": f"derived: line through the steady speeds of {craft.motor.name} from "
            "40 to 100 %",
            "motor.standard.idle_speed_radps": "derived: as the slope",
            "motor.standard.dead_zone": "assumed: none",
            "motor.standard.time_constant_s": "assumed: 20 ms, usual of this size",
            "propeller.standard.thrust_coefficient_Ns2": blade,
            "propeller.standard.torque_coefficient_Nms2": blade,
            "propeller.standard.inertia_kgm2": "assumed: that of the F450 with the fourth power of the diameter",
            "rotor.*.position_B_m": "derived: frame at 45 degrees",
            "airframe.drag_Ns2pm2": "derived: rule of flyeval, 1.3229 d^2",
            "airframe.damping_Nms2prad2": "derived: rule of flyeval, 0.1812 d^2",
            "battery.cells": f"published: {craft.battery.name}",
            "battery.capacity_Ah": f"published: {craft.battery.name}",
            "battery.resistance_ohm": f"published: {craft.battery.name}",
        },
    }


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def write_design(evaluation: Evaluation, folder: Path, name: str) -> dict[str, Path]:
    """Write the vehicle file and both parameter files, load the vehicle as a check, and return the paths by kind."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {
        "vehicle": folder / f"{name}.toml",
        "PX4": folder / f"{name}.px4.params",
        "ArduPilot": folder / f"{name}.parm",
    }
    headed = {"body", "motor", "standard", "propeller", "rotor", "airframe", "battery", "provenance"}
    write_text(paths["vehicle"], write_toml(vehicle_tables(evaluation, name), headed))
    load_spec(paths["vehicle"])
    write_text(paths["PX4"], _px4(evaluation))
    write_text(paths["ArduPilot"], _ardupilot(evaluation))
    return paths


def _px4(evaluation: Evaluation) -> str:
    """PX4 parameter file in QGroundControl's format: system, component, name, value, type (6 integer, 9 float)."""
    craft = evaluation.craft
    ct, cm, _ = static_coefficients(craft.propeller)
    place = craft.frame_m / 2 / math.sqrt(2)
    rows: list[tuple[str, float, int]] = [("CA_AIRFRAME", 0, 6), ("CA_ROTOR_COUNT", craft.rotors, 6)]
    for number, (_, x, y, spin) in enumerate(ROTORS):
        rows += [
            (f"CA_ROTOR{number}_PX", x * place, 9),
            (f"CA_ROTOR{number}_PY", y * place, 9),
            (f"CA_ROTOR{number}_KM", (1 if spin == "ccw" else -1) * cm / ct * craft.propeller.diameter_m, 9),
        ]
    rows += [
        ("MPC_THR_HOVER", _thrust_share(evaluation), 9),
        ("BAT1_N_CELLS", craft.battery.cells, 6),
        ("BAT1_CAPACITY", 1e3 * craft.battery.capacity_Ah, 9),
    ]
    lines = [f"1\t1\t{name}\t{value if kind == 9 else int(value):g}\t{kind}" for name, value, kind in rows]
    return "# made by ironbird vehicle design\n" + "\n".join(lines) + "\n"


def _ardupilot(evaluation: Evaluation) -> str:
    craft = evaluation.craft
    cells = craft.battery.cells
    rows = {
        "FRAME_CLASS": 1,
        "FRAME_TYPE": 1,
        "MOT_THST_HOVER": round(min(max(_thrust_share(evaluation), 0.125), 0.6875), 4),
        "MOT_BAT_VOLT_MAX": round(FULL_CELL_V * cells, 2),
        "MOT_BAT_VOLT_MIN": round(3.3 * cells, 2),
        "BATT_CAPACITY": round(1e3 * craft.battery.capacity_Ah),
    }
    return "# made by ironbird vehicle design\n" + "".join(f"{name},{value:g}\n" for name, value in rows.items())


def _thrust_share(evaluation: Evaluation) -> float:
    """Hover thrust as a share of full thrust, as the autopilots' hover parameters take it."""
    return evaluation.craft.mass_kg * STANDARD_GRAVITY_MPS2 / evaluation["full lift"]
