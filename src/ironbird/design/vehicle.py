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

from ironbird.autopilots.ardupilot.params import vehicle_params
from ironbird.autopilots.px4.airframe import ground_station_text
from ironbird.autopilots.px4.airframes import airframe_of
from ironbird.design.evaluate import Craft, Evaluation
from ironbird.design.parts import ESTIMATES, BatteryPart
from ironbird.design.propulsion import static_coefficients
from ironbird.errors import RecordError
from ironbird.files.toml_text import write_toml
from ironbird.files.whole import write_text
from ironbird.vehicles.load import Vehicle, load_vehicle
from ironbird.vehicles.spec import SOURCES
from ironbird.vehicles.templates.multicopter import MulticopterSpec

SEA_LEVEL = 1.225
INERTIA_XY, INERTIA_Z, DRAG, DAMPING = 0.2405, 0.4482, 1.3229, 0.1812
TIME_CONSTANT_S = 0.02
FULL_CELL_V, EMPTY_CELL_V = 4.2, 3.3
MADE_BY = "made by ironbird vehicle design"
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
            "resistance_ohm": _short(craft.battery.resistance_ohm),
        },
        "provenance": {
            "body.mass_kg": f"derived: sum of {parts}, frame and payload"
            if craft.summed
            else "given: take-off mass, by whoever designed the vehicle",
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
            **_battery_sources(craft.battery),
        },
    }


def _battery_sources(battery: BatteryPart) -> dict[str, str]:
    """Where the numbers of the battery come from: its own source, or a rule if it does not give one."""
    word = battery.source.split(":")[0].split()[0]
    source = f"{word if word in SOURCES else 'assumed'}: {battery.name}"
    rule = ESTIMATES["battery"]
    keys = ("cells", "capacity_Ah", "resistance_ohm")
    return {f"battery.{key}": f"assumed: {rule.how}" if key in battery.estimated else source for key in keys}


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
    vehicle = load_vehicle(paths["vehicle"], control="external")
    write_text(paths["PX4"], _px4(vehicle))
    write_text(paths["ArduPilot"], _ardupilot(vehicle))
    return paths


def _px4(vehicle: Vehicle) -> str:
    """PX4's parameters of the craft itself (geometry, thrust, battery), the same as for a flight with PX4."""
    params = {
        name: value
        for name, value in airframe_of(vehicle).params.items()
        if name.startswith("CA_") or name in ("MAV_TYPE", "MPC_THR_HOVER", "MPC_THR_MIN", "THR_MDL_FAC")
    }
    battery = _spec(vehicle).battery
    params |= {"BAT1_N_CELLS": battery.cells, "BAT1_CAPACITY": 1e3 * battery.capacity_Ah}
    return ground_station_text(params, MADE_BY)


def _ardupilot(vehicle: Vehicle) -> str:
    """ArduPilot's parameters of the craft itself (frame, motors, battery), the same as for a flight with ArduPilot."""
    spec = _spec(vehicle)
    rows = {
        name: param.value
        for name, param in vehicle_params(spec).items()
        if name.startswith(("FRAME_", "MOT_")) or name == "BATT_CAPACITY"
    }
    cells = spec.battery.cells
    rows |= {"MOT_BAT_VOLT_MAX": round(FULL_CELL_V * cells, 2), "MOT_BAT_VOLT_MIN": round(EMPTY_CELL_V * cells, 2)}
    return f"# {MADE_BY}\n" + "".join(f"{name},{value:g}\n" for name, value in sorted(rows.items()))


def _spec(vehicle: Vehicle) -> MulticopterSpec:
    assert isinstance(vehicle.spec, MulticopterSpec)
    return vehicle.spec
